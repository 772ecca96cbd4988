"""Verifies a webhook's sender over the raw bytes, and finds its event id and kind. Pure.

The schemes are those of Standard Webhooks, GitHub, GitLab and a plain HMAC-SHA256; every comparison
takes constant time. Only Standard Webhooks sign the id; no scheme signs the header with the kind. So an
authentic call also has a keyed hash of what was signed, by which it is recognised again.
"""

import base64
import binascii
import hashlib
import hmac
import math
from collections.abc import Mapping
from typing import Final

import msgspec

from hermes.channels.webhook.settings import Route
from hermes.errors import BadRequest, Unauthenticated

MAX_AGE_S: Final = 300.0
_PREFIX: Final = "whsec_"
_LONGEST_ID: Final = 200
_MOST_SIGNATURES: Final = 10
_CONTENT: Final = "hermes-webhook-content"
Headers = Mapping[str, str]


class SignedCall(msgspec.Struct, frozen=True):
    """The headers of an authentic call: its id (empty if it has none) and its kind.

    `content_key` is the keyed hash of what the sender signed: the body, and the id if it is signed.
    """

    id: str
    event: str
    content_key: str = ""


def check(route: Route, headers: Headers, body: bytes, *, now: float) -> SignedCall:
    """Return the id and kind of an authentic call; raise `Unauthenticated` for any other."""
    _CHECKS[route.scheme](route, headers, body)
    if route.scheme == "standard":
        _check_age("webhook-timestamp", headers.get("webhook-timestamp", ""), now=now)
    id_header, event_header = _NAMES.get(route.scheme, (route.id_header, route.event_header))
    found = headers.get(id_header.lower(), "")
    if len(found) > _LONGEST_ID:
        raise BadRequest(f"{id_header} has {len(found)} characters, at most {_LONGEST_ID} fit")
    signed_id = found if is_id_signed(route) else ""
    return SignedCall(
        found,
        headers.get(event_header.lower(), "")[:_LONGEST_ID],
        _content_key(route.secret, signed_id, body),
    )


def is_id_signed(route: Route) -> bool:
    """Return whether the signature covers the id of a call."""
    return route.scheme == "standard"


def glance(route: Route, headers: Headers, *, now: float) -> None:
    """Raise `Unauthenticated` for a call that no body could make authentic."""
    if route.scheme == "gitlab":
        _check_gitlab(route, headers, b"")
        return
    name = _SIGNATURES.get(route.scheme, route.signature_header)
    if not headers.get(name.lower(), ""):
        raise Unauthenticated(f"{name} is missing: calls to this route are signed")
    if route.scheme == "standard":
        _check_age("webhook-timestamp", headers.get("webhook-timestamp", ""), now=now)


def sign_standard(secret: str, message_id: str, *, at: int, body: bytes) -> str:
    """Return the value of `webhook-signature` for a message of ours."""
    return f"v1,{_standard(secret, f'{message_id}.{at}.', body)}"


def _check_standard(route: Route, headers: Headers, body: bytes) -> None:
    message_id, stamp = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    expected = _standard(route.secret, f"{message_id}.{stamp}.", body).encode()
    shown = headers.get("webhook-signature", "").split(" ")[:_MOST_SIGNATURES]
    given = [one.partition(",")[2] for one in shown if one.startswith("v1,")]
    fitting = [one for one in given if hmac.compare_digest(one.encode(), expected)]
    if not fitting:
        raise _refused("webhook-signature")
    if not message_id:
        raise Unauthenticated("webhook-id is missing: Standard Webhooks have one in every call")


def _check_github(route: Route, headers: Headers, body: bytes) -> None:
    mac = hmac.new(route.secret.encode(), body, hashlib.sha256).hexdigest()
    _compare("X-Hub-Signature-256", headers.get("x-hub-signature-256", ""), f"sha256={mac}")


def _check_gitlab(route: Route, headers: Headers, _body: bytes) -> None:
    _compare("X-Gitlab-Token", headers.get("x-gitlab-token", ""), route.secret)


def _check_hmac(route: Route, headers: Headers, body: bytes) -> None:
    name = route.signature_header
    shown = headers.get(name.lower(), "").strip().lower().removeprefix("sha256=")
    _compare(name, shown, hmac.new(route.secret.encode(), body, hashlib.sha256).hexdigest())


_CHECKS: Final = {
    "standard": _check_standard,
    "github": _check_github,
    "gitlab": _check_gitlab,
    "hmac": _check_hmac,
}
_SIGNATURES: Final = {"standard": "webhook-signature", "github": "X-Hub-Signature-256"}
_NAMES: Final = {
    "standard": ("webhook-id", "webhook-event"),
    "github": ("x-github-delivery", "x-github-event"),
    "gitlab": ("x-gitlab-event-uuid", "x-gitlab-event"),
}


def _content_key(secret: str, signed_id: str, body: bytes) -> str:
    """Return a hash of signed content that is no signature of any scheme."""
    head = f"{_CONTENT}\0{signed_id}\0".encode()
    return hmac.new(secret.encode(), head + body, hashlib.sha256).hexdigest()


def _standard(secret: str, head: str, body: bytes) -> str:
    mac = hmac.new(_standard_key(secret), head.encode() + body, hashlib.sha256)
    return base64.b64encode(mac.digest()).decode()


def _standard_key(secret: str) -> bytes:
    """Return the key of a secret: base64 after its prefix, or the text itself."""
    if not secret.startswith(_PREFIX):
        return secret.encode()
    try:
        return base64.b64decode(secret[len(_PREFIX) :], validate=True)
    except binascii.Error:
        return secret.encode()


def _compare(name: str, shown: str, expected: str) -> None:
    if not hmac.compare_digest(shown.encode(), expected.encode()):
        raise _refused(name)


def _refused(name: str) -> Unauthenticated:
    return Unauthenticated(
        f"{name} does not match the body: check that the sender signs with the secret of this "
        "route, and that nothing between changes the bytes"
    )


def _check_age(name: str, stamp: str, *, now: float) -> None:
    try:
        at = float(stamp)
    except ValueError:
        at = math.nan
    if not abs(now - at) <= MAX_AGE_S:
        raise Unauthenticated(
            f"{name} is more than {MAX_AGE_S:.0f} s away from this clock: an old call is not "
            "accepted again; check both clocks"
        )
