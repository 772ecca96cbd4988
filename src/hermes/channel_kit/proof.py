"""Proves who sent a webhook call, and signs calls, by one row of a manifest. Pure.

The raw bytes are what counts: nothing is decoded and encoded again. Every comparison takes constant
time. `sign` is for those who play the platform's part; it shares its mistakes with `check_proof`, so
each scheme is also tested with what the platform has published.
"""

import base64
import binascii
import hashlib
import hmac
import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qsl, urlsplit, urlunsplit

import msgspec

from hermes.errors import Unauthenticated
from hermes.lazy import lazy
from hermes.ports.channel import HttpRequest
from hermes.ports.channel_rows import ProofRow

if TYPE_CHECKING:
    from hermes.channel_kit.ed25519 import is_signed_by, signature_by
else:
    is_signed_by = lazy("hermes.channel_kit.ed25519:is_signed_by")
    signature_by = lazy("hermes.channel_kit.ed25519:signature_by")

_MOST_SIGNATURES: Final = 10
_MOST_FIELDS: Final = 1000
# A form is read before it is proven: one of megabytes would hold up everybody else's calls.
_MOST_FORM_BYTES: Final = 131_072
_TIME: Final = re.compile(r"[0-9]{1,16}")
_FORM: Final = "application/x-www-form-urlencoded"
_BODY_HASH: Final = "bodySHA256"
_WHSEC: Final = "whsec_"
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}


def check_proof(
    row: ProofRow, request: HttpRequest, *, secret: str, now: float, url: str = ""
) -> bytes:
    """Return a digest of what was proven, the same for the same call; raise `Unauthenticated`.

    `url` is the public address that the platform called, for rows that sign it.
    """
    shown = _shown(row, request)
    check_time(row, request, now=now)
    if not secret:
        raise Unauthenticated(f"no {row.secret} is set to check a call by")
    if row.kind == "shared":
        return _check_shared(row, shown, secret)
    candidates = _candidates(row, shown)
    for address in _addresses(url) if "url" in row.signs else ("",):
        signed = _signed(row, request, secret=secret, url=address)
        if row.kind == "ed25519":
            key = secret if row.seeded else f"hex:{secret}"
            fits = any(is_signed_by(key, one, signed=signed) for one in candidates)
        else:
            expected = _made(row, signed, secret).encode()
            fits = any(hmac.compare_digest(one, expected) for one in candidates)
        if fits:
            return hashlib.sha256(signed).digest()
    raise _refused(row)


def glance_proof(row: ProofRow, headers: Mapping[str, str], *, secret: str, now: float) -> None:
    """Raise `Unauthenticated` for a call that no body could prove."""
    if not row.at.startswith("header:"):
        return
    request = HttpRequest(method="POST", path="", query={}, headers=headers, body=b"")
    shown = _shown(row, request)
    if not row.time or row.time.startswith("header:"):
        check_time(row, request, now=now)
    if row.kind == "shared":
        _check_shared(row, shown, secret)


def check_time(row: ProofRow, request: HttpRequest, *, now: float) -> None:
    """Raise `Unauthenticated` for a call that was signed too long ago, or in the future."""
    if not row.time:
        return
    shown = _text(row.time, request)
    if _TIME.fullmatch(shown) is None:
        raise Unauthenticated(f"{_name(row.time)} is missing or is not a time")
    at = int(shown) / (1000 if row.time_in == "ms" else 1)
    if row.window_s and not abs(now - at) <= row.window_s:
        raise Unauthenticated(
            f"{_name(row.time)} is more than {row.window_s:.0f} s away from this clock: an old call is "
            "not accepted again; check both clocks"
        )


def sign(
    row: ProofRow, request: HttpRequest, *, secret: str, now: float, url: str = ""
) -> HttpRequest:
    """Return a call with the time and the proof that its platform would send, for stand-ins.

    `secret` is the private key where the platform signs with one. A place in the body is not filled.
    """
    if row.time:
        stamp = str(round(now * 1000) if row.time_in == "ms" else int(now))
        request = _with(request, row.time, stamp)
    if row.kind == "shared":
        return _with(request, row.at, row.prefix + secret)
    signed = _signed(row, request, secret=secret, url=url)
    if row.kind == "ed25519":
        made = signature_by(secret if row.seeded else f"hex:{secret}", signed)
    else:
        made = _made(row, signed, secret)
    return _with(request, row.at, row.prefix + made)


def body_fields(body: bytes) -> Mapping[str, object]:
    """Return the object of a JSON body, and an empty one for any other body."""
    try:
        found = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def body_field(body: bytes, name: str) -> str:
    """Return a text in a JSON body (dots go into objects) or of an XML body; empty if it has none."""
    if body.lstrip()[:1] == b"<":
        return _xml_field(body, name)
    # Any JSON value: what a stranger sent.
    value: object = body_fields(body)
    for key in name.split("."):
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, str) else ""


def _xml_field(body: bytes, name: str) -> str:
    """Return the text of the only element of a name; an XML parser would do what its sender says."""
    head, tail = f"<{name}>".encode(), f"</{name}>".encode()
    _, found, rest = body.partition(head)
    inside, end, _ = rest.partition(tail)
    if not found or not end or body.count(head) != 1:
        return ""
    text = inside.strip()
    if text.startswith(b"<![CDATA[") and text.endswith(b"]]>"):
        text = text[9:-3]
    return "" if b"<" in text else text.decode("utf-8", "replace")


def _shown(row: ProofRow, request: HttpRequest) -> str:
    shown = _text(row.at, request)
    if not shown:
        raise Unauthenticated(f"{_name(row.at)} is missing: calls to this address are proven by it")
    return shown


def _check_shared(row: ProofRow, shown: str, secret: str) -> bytes:
    expected = (row.prefix + secret).encode()
    if not secret or not hmac.compare_digest(_raw(row.at, shown), expected):
        raise _refused(row)
    return hashlib.sha256(expected).digest()


def _candidates(row: ProofRow, shown: str) -> list[bytes]:
    """Return the signatures that a call shows, without their prefix."""
    texts = shown.split(row.many)[:_MOST_SIGNATURES] if row.many else [shown]
    if row.bare:
        bare = [one[_prefix_length(row.prefix, one) :] for one in texts]
    else:
        bare = [one[len(row.prefix) :] for one in texts if one.startswith(row.prefix)]
    if row.code == "hex":
        bare = [one.lower() for one in bare]
    return [one.encode(errors="replace") for one in bare]


def _prefix_length(prefix: str, shown: str) -> int:
    """Return how long the prefix of a signature is that may have none."""
    return len(prefix) if shown[: len(prefix)].lower() == prefix.lower() else 0


def _made(row: ProofRow, signed: bytes, secret: str) -> str:
    if row.kind == "digest":
        made = hashlib.new(row.algorithm, signed).digest()
    else:
        made = hmac.digest(_key(row.key, secret), signed, row.algorithm)
    return made.hex() if row.code == "hex" else base64.b64encode(made).decode()


@lru_cache(maxsize=64)
def _key(form: str, secret: str) -> bytes:
    """Return the key of a secret; one that is not written in its form is used as it stands."""
    try:
        if form == "hex":
            return bytes.fromhex(secret)
        if form == "base64" or (form == "whsec" and secret.startswith(_WHSEC)):
            return base64.b64decode(secret.removeprefix(_WHSEC), validate=True)
    except (ValueError, binascii.Error):
        pass
    return secret.encode()


def _signed(row: ProofRow, request: HttpRequest, *, secret: str, url: str) -> bytes:
    parts = [_part(name, request, secret=secret, url=url) for name in row.signs]
    return b"".join(sorted(parts) if row.sorted else parts)


def _part(name: str, request: HttpRequest, *, secret: str, url: str) -> bytes:
    read = _PARTS.get(name)
    if read is not None:
        return read(request)
    if name == "secret":
        return secret.encode()
    if name == "url":
        return url.encode()
    if name.startswith(("header:", "query:", "field:")):
        return _raw(name, _text(name, request))
    return name.encode()


def _text(place: str, request: HttpRequest) -> str:
    kind, _, name = place.partition(":")
    if kind == "header":
        return request.headers.get(name, "")
    return request.query.get(name, "") if kind == "query" else body_field(request.body, name)


def _raw(place: str, text: str) -> bytes:
    """Return the bytes that came: the server decodes headers as Latin-1."""
    if place.startswith("header:"):
        return text.encode("latin-1", "replace")
    return text.encode(errors="replace")


def _sorted_form(request: HttpRequest) -> bytes:
    """Return the fields of a form, sorted; a body of another type counts by its hash in the query."""
    if not request.body:
        return b""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != _FORM:
        stated = request.query.get(_BODY_HASH, "").lower().encode(errors="replace")
        if hmac.compare_digest(stated, hashlib.sha256(request.body).hexdigest().encode()):
            return b""
        raise Unauthenticated(f"the call is neither a form nor has it {_BODY_HASH} of its body")
    if len(request.body) > _MOST_FORM_BYTES:
        raise Unauthenticated(f"the form of the call has more than {_MOST_FORM_BYTES} bytes")
    try:
        text = request.body.decode("ascii")
        fields = parse_qsl(text, keep_blank_values=True, max_num_fields=_MOST_FIELDS)
    except ValueError:
        raise Unauthenticated("the form of the call cannot be read") from None
    return "".join(name + value for name, value in sorted(set(fields))).encode(errors="replace")


_PARTS: Final[Mapping[str, Callable[[HttpRequest], bytes]]] = {
    "body": lambda request: request.body,
    "sorted_form": _sorted_form,
}


def _addresses(url: str) -> Iterator[str]:
    """Yield the address as it is, and with and without its port: platforms sign either."""
    yield url
    try:
        parts, port = urlsplit(url), urlsplit(url).port
    except ValueError:
        return
    if port is not None:
        yield urlunsplit(parts._replace(netloc=parts.netloc.rpartition(":")[0]))
    elif parts.scheme in _DEFAULT_PORTS:
        yield urlunsplit(parts._replace(netloc=f"{parts.netloc}:{_DEFAULT_PORTS[parts.scheme]}"))


def _with(request: HttpRequest, place: str, value: str) -> HttpRequest:
    kind, _, name = place.partition(":")
    if kind == "header":
        value = value.encode(errors="replace").decode("latin-1")
        return msgspec.structs.replace(request, headers={**request.headers, name: value})
    if kind == "query":
        return msgspec.structs.replace(request, query={**request.query, name: value})
    return request


def _name(place: str) -> str:
    return place.partition(":")[2]


def _refused(row: ProofRow) -> Unauthenticated:
    return Unauthenticated(
        f"{_name(row.at)} does not match the call: check {row.secret} on both sides, and that nothing "
        "between changes the bytes"
    )
