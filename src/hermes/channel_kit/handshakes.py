"""How platforms try out a webhook's address before they use it. Pure.

Some do so without a proof. What is sent back then is bounded and never read as a page, and nothing is
signed that could be taken for an event.
"""

import hmac
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

import msgspec

from hermes.channel_kit.proof import body_field, body_fields
from hermes.errors import BadRequest, Forbidden, Unauthenticated
from hermes.http.json_body import json_response
from hermes.lazy import lazy
from hermes.ports.channel import HttpRequest, HttpResponse
from hermes.ports.channel_rows import Handshake, WebhookRow

if TYPE_CHECKING:
    from hermes.channel_kit.ed25519 import signature_by
else:
    signature_by = lazy("hermes.channel_kit.ed25519:signature_by")

_LONGEST: Final = 1000
# With these, what is signed can never be a time and a JSON object: that would be an event.
_QQ_TOKEN: Final = re.compile(r"[A-Za-z0-9_-]{1,100}")
_QQ_TIME: Final = re.compile(r"[0-9]{1,20}")
_QQ_CHECK: Final = 13
# Nobody has proven to be the platform yet: what is longer is not even decoded. A check has about 150 bytes.
_LONGEST_UNPROVEN: Final = 4096
_DISCORD_PING: Final = 1

Secrets = Mapping[str, str]
Answer = Callable[[WebhookRow, HttpRequest, Secrets], HttpResponse | None]


class HandshakeRules(msgspec.Struct, frozen=True, kw_only=True):
    """What answers a call before its proof is checked, and after; None leaves it to the channel."""

    unproven: Answer = lambda _row, _request, _secrets: None
    proven: Answer = lambda _row, _request, _secrets: None


def _meta_get(row: WebhookRow, request: HttpRequest, secrets: Secrets) -> HttpResponse | None:
    if request.method != "GET":
        return None
    if request.query.get("hub.mode") != "subscribe":
        raise BadRequest("a GET here is the check of a webhook's address: hub.mode is 'subscribe'")
    _check_word(row, request.query.get("hub.verify_token", ""), secrets)
    return _echoed(request.query.get("hub.challenge", ""))


def _echo_query(row: WebhookRow, request: HttpRequest, _secrets: Secrets) -> HttpResponse | None:
    found = request.query.get(row.echo) if row.echo else None
    return None if found is None else _echoed(found)


def _json_challenge(row: WebhookRow, request: HttpRequest, secrets: Secrets) -> HttpResponse | None:
    if b"url_verification" not in request.body:
        return None
    fields = body_fields(request.body)
    if fields.get("type") != "url_verification":
        return None
    if row.word:
        _check_word(row, body_field(request.body, "token"), secrets)
    challenge = fields.get("challenge")
    return json_response({"challenge": challenge[:_LONGEST] if isinstance(challenge, str) else ""})


def _discord_ping(_row: WebhookRow, request: HttpRequest, _secrets: Secrets) -> HttpResponse | None:
    kind = body_fields(request.body).get("type")
    return json_response({"type": _DISCORD_PING}) if kind == _DISCORD_PING else None


def _qq_op13(row: WebhookRow, request: HttpRequest, secrets: Secrets) -> HttpResponse | None:
    if len(request.body) > _LONGEST_UNPROVEN or b"plain_token" not in request.body:
        return None
    fields = body_fields(request.body)
    told = fields.get("d")
    if fields.get("op") != _QQ_CHECK or not isinstance(told, dict) or row.proof is None:
        return None
    token, at = told.get("plain_token"), str(told.get("event_ts"))
    if not isinstance(token, str) or not _QQ_TOKEN.fullmatch(token) or not _QQ_TIME.fullmatch(at):
        raise BadRequest(
            "the check of the address has no plain_token and event_ts that can be signed"
        )
    secret = secrets.get(row.proof.secret, "")
    if not secret:
        raise Unauthenticated(f"no {row.proof.secret} is set to answer the check of the address")
    signature = signature_by(secret, (at + token).encode())
    return json_response({"plain_token": token, "signature": signature})


def _wechat_echostr(
    _row: WebhookRow, request: HttpRequest, _secrets: Secrets
) -> HttpResponse | None:
    return _echoed(request.query.get("echostr", "")) if request.method == "GET" else None


def _check_word(row: WebhookRow, shown: str, secrets: Secrets) -> None:
    expected = secrets.get(row.word, "")
    if not expected or not hmac.compare_digest(shown.encode(errors="replace"), expected.encode()):
        raise Forbidden(f"the check of the address does not show {row.word}; set it on both sides")


def _echoed(text: str) -> HttpResponse:
    headers = {"x-content-type-options": "nosniff"}
    body = text[:_LONGEST].encode(errors="replace")
    return HttpResponse(body=body, content_type="text/plain; charset=utf-8", headers=headers)


HANDSHAKES: Final[Mapping[Handshake, HandshakeRules]] = {
    "meta_get": HandshakeRules(unproven=_meta_get),
    "echo_query": HandshakeRules(unproven=_echo_query),
    "json_challenge": HandshakeRules(proven=_json_challenge),
    "discord_ping": HandshakeRules(proven=_discord_ping),
    "qq_op13": HandshakeRules(unproven=_qq_op13),
    "wechat_echostr": HandshakeRules(proven=_wechat_echostr),
}
