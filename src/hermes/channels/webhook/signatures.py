"""How the calls of a route are proven, as rows of `channel_kit.proof`, and what an authentic call is.

Only Standard Webhooks sign the id; no scheme signs the header with the kind. So an authentic call also
has a keyed hash of what was signed, by which it is recognised again. Pure.
"""

import hashlib
import hmac
from typing import Final

import msgspec

from hermes.channel_kit.proof import sign
from hermes.channels.webhook.settings import Route
from hermes.errors import BadRequest, Unauthenticated
from hermes.ports.channel import HttpRequest
from hermes.ports.channel_rows import ProofRow

_LONGEST_ID: Final = 200
_CONTENT: Final = "hermes-webhook-content"
_HMAC: Final = ProofRow(kind="hmac", at="", secret="secret")
STANDARD: Final = ProofRow(
    kind="hmac",
    at="header:webhook-signature",
    secret="secret",
    key="whsec",
    code="base64",
    prefix="v1,",
    many=" ",
    signs=("header:webhook-id", ".", "header:webhook-timestamp", ".", "body"),
    time="header:webhook-timestamp",
    window_s=300,
)
_PROOFS: Final = {
    "standard": STANDARD,
    "github": msgspec.structs.replace(_HMAC, at="header:x-hub-signature-256", prefix="sha256="),
    "gitlab": ProofRow(kind="shared", at="header:x-gitlab-token", secret="secret"),
}
_NAMES: Final = {
    "standard": ("webhook-id", "webhook-event"),
    "github": ("x-github-delivery", "x-github-event"),
    "gitlab": ("x-gitlab-event-uuid", "x-gitlab-event"),
}


class SignedCall(msgspec.Struct, frozen=True):
    """The headers of an authentic call: its id (empty if it has none) and its kind.

    `content_key` is the keyed hash of what the sender signed: the body, and the id if it is signed.
    """

    id: str
    event: str
    content_key: str = ""


def proof_of(route: Route) -> ProofRow:
    """Return how the calls of a route are proven."""
    name = route.signature_header.lower()
    return _PROOFS.get(route.scheme) or msgspec.structs.replace(_HMAC, at=f"header:{name}")


def plain_call(route: Route, request: HttpRequest) -> HttpRequest:
    """Return a call with the bare signature of a plain HMAC, which some senders give a prefix."""
    name = route.signature_header.lower()
    shown = request.headers.get(name)
    if route.scheme != "hmac" or shown is None:
        return request
    bare = shown.strip().lower().removeprefix("sha256=")
    return msgspec.structs.replace(request, headers={**request.headers, name: bare})


def signed_call(route: Route, request: HttpRequest) -> SignedCall:
    """Return the id and kind of an authentic call; raise if its id is missing or too long."""
    id_header, event_header = _NAMES.get(route.scheme, (route.id_header, route.event_header))
    found = request.headers.get(id_header.lower(), "")
    if is_id_signed(route) and not found:
        raise Unauthenticated(f"{id_header} is missing: Standard Webhooks have one in every call")
    if len(found) > _LONGEST_ID:
        raise BadRequest(f"{id_header} has {len(found)} characters, at most {_LONGEST_ID} fit")
    kind = request.headers.get(event_header.lower(), "")[:_LONGEST_ID]
    head = f"{_CONTENT}\0{found if is_id_signed(route) else ''}\0".encode()
    # No scheme signs such a text: the hash is no signature of any of them.
    key = hmac.digest(route.secret.encode(), head + request.body, hashlib.sha256).hex()
    return SignedCall(found, kind, key)


def is_id_signed(route: Route) -> bool:
    """Return whether the signature covers the id of a call."""
    return route.scheme == "standard"


def sign_standard(secret: str, message_id: str, *, at: int, body: bytes) -> dict[str, str]:
    """Return the headers of a message of ours: its id, its time and its signature."""
    headers = {"webhook-id": message_id}
    post = HttpRequest(method="POST", path="", query={}, headers=headers, body=body)
    return dict(sign(STANDARD, post, secret=secret, now=at).headers)
