"""Checks whether the receiving server has verified a mail's sender address (RFC 8601). Pure.

Only the topmost `Authentication-Results` of the configured server can vouch for a sender: the server
adds its own above all headers that were in the mail when it arrived, and anyone could have written
those. A line is read once from left to right, with comments and quoted strings as RFC 5322 defines
them: what a sender wrote is inside of these, and is never read as a result.
"""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from hermes.channels.email.addresses import read_domain
from hermes.channels.email.mime import Headers
from hermes.errors import BadRequest

_MAX: Final = 8000
_MAX_LINES: Final = 5
_MAX_PROPERTY: Final = 300
_QUOTED: Final = re.compile(r'"((?:[^"\\]++|\\.)*+)"', re.S)
_COMMENT_MARK: Final = re.compile(r"\\.|[()]", re.S)
_PLAIN: Final = re.compile(r'[^"(]++')
_PAIR: Final = re.compile(r"\\(.)", re.S)
# Characters with a meaning outside of quotes; no value that matters here contains any of them.
_MARKS: Final = re.compile(r'[;=@\s"\\()]')
# Only these separate words. Other white space may be in a sender's address, where no quotes are
# needed.
_SPACE: Final = re.compile(r"[ \t]+")
# No server writes control characters or other white space here: such a line is an attempt to
# deceive.
_UNSAFE: Final = re.compile(r"[^\S \t]|[\x00-\x08\x0e-\x1f\x7f-\x9f]")
_METHOD: Final = re.compile(r"([a-z0-9-]{1,40})(?:/[0-9.]{1,5})?")


class AuthResult(NamedTuple):
    """The server's result for one method."""

    method: str
    said: str
    properties: dict[str, str]


def is_vouched(headers: Headers, *, domain: str, authserv_id: str) -> bool:
    """Return whether the server confirms that the mail is from the domain that it names."""
    first, *others = _results_of(headers, authserv_id=authserv_id) or [[]]
    if _is_denied(first, others):
        return False
    return any(one.said == "pass" and _is_for(one, domain) for one in first)


def _results_of(headers: Headers, *, authserv_id: str) -> list[list[AuthResult]]:
    """Return the results of the configured server, line by line, down to the next `Received`.

    Only the first line is the server's own for certain: the sender's headers may follow it.
    """
    found: list[list[AuthResult]] = []
    for name, value in _lines(headers):
        if name == "received":
            if found:
                break
            continue
        server, results = _read(value)
        if results is None and not found:
            # It may be the server's own line, but its content is unknown: the mail is refused.
            return []
        if results is not None and server == authserv_id:
            found.append(results)
    return found


def topmost_server(headers: Headers) -> str:
    """Return the name of the server that wrote the topmost line; empty if there is none."""
    lines = (value for name, value in _lines(headers) if name != "received")
    return _read(next(lines, b""))[0]


def _lines(headers: Headers) -> Iterator[tuple[str, bytes]]:
    """Yield the relevant lines from the top, up to a maximum, so that a mail cannot cost much."""
    seen = 0
    for name, value in headers.fields:
        seen += name == "authentication-results"
        if seen > _MAX_LINES:
            return
        if name in {"received", "authentication-results"}:
            yield name, value


def _read(value: bytes) -> tuple[str, list[AuthResult] | None]:
    """Return a line's author and its results; None for a line that is too long or malformed."""
    text = value[: _MAX + 1].decode("utf-8", "replace")
    flat = None if len(value) > _MAX or _UNSAFE.search(text) else _flat(text)
    if flat is None:
        return "", None
    first, *others = map(_words, flat.split(";"))
    server = first[0].strip('"').lower() if first else ""
    return server, [result for one in others if (result := _result(one)) is not None]


def _words(text: str) -> list[str]:
    return [one for one in _SPACE.split(text) if one]


def _flat(text: str) -> str | None:
    """Return a line without comments; inside quotes, drop characters with a meaning outside of
    them.

    None if a comment or a quote does not end. The quotes themselves stay: a quoted part is never a
    domain, and an @ in it is part of a name.
    """
    kept: list[str] = []
    at = 0
    while at < len(text):
        if text[at] == "(":
            end = _end_of_comment(text, at)
            kept.append(" ")
        elif text[at] == '"':
            quoted = _QUOTED.match(text, at)
            end = -1 if quoted is None else quoted.end()
            said = "" if quoted is None else _MARKS.sub("_", _PAIR.sub(r"\1", quoted[1]))
            kept.append(f'"{said}"')
        else:
            plain = _PLAIN.match(text, at)
            end = -1 if plain is None else plain.end()
            kept.append(text[at:end])
        if end < 0:
            return None
        at = end
    return "".join(kept)


def _end_of_comment(text: str, begin: int) -> int:
    """Return where the comment that begins here ends; comments can be nested. -1 if it does not
    end.
    """
    depth = 0
    for mark in _COMMENT_MARK.finditer(text, begin):
        depth += (mark[0] == "(") - (mark[0] == ")")
        if depth == 0 and mark[0] == ")":
            return mark.end()
    return -1


def _result(said: list[str]) -> AuthResult | None:
    (method, verdict), *others = [*_pairs(said)] or [("", "")]
    found = _METHOD.fullmatch(method)
    if found is None:
        return None
    properties: dict[str, str] = {}
    for name, value in others:
        properties.setdefault(name, value[:_MAX_PROPERTY])
    return AuthResult(found[1], verdict, properties)


def _pairs(said: list[str]) -> Iterator[tuple[str, str]]:
    """Yield names and values; there may be space on both sides of the equals sign."""
    rest = iter(said)
    name = ""
    for word in rest:
        before, sign, value = word.partition("=")
        name = before or name
        if sign:
            yield name.lower(), (value or next(rest, "")).lower()


def _is_denied(first: list[AuthResult], others: list[list[AuthResult]]) -> bool:
    """Return whether a failure in any line outweighs every pass of the first.

    A forwarded mail fails SPF and one of several signatures may be broken, so a single failure of
    these two proves nothing.
    """
    failed = {one.method for line in (first, *others) for one in line if one.said == "fail"}
    passed = {one.method for one in first if one.said == "pass"}
    return "dmarc" in failed or {"spf", "dkim"} <= failed - passed


def _is_for(result: AuthResult, domain: str) -> bool:
    told = result.properties
    if result.method == "dmarc":
        # Without the property it is about the only From.
        return "header.from" not in told or _domain(told["header.from"]) == domain
    if result.method == "dkim":
        signer = told.get("header.d") or told.get("header.i", "")
        return _is_above(_domain(signer), domain)
    if result.method == "spf":
        return _is_above(_domain(told.get("smtp.mailfrom", "")), domain)
    return False


def _domain(value: str) -> str:
    """Return the domain of an address, or the value if it is a domain; empty for neither."""
    try:
        return read_domain(value.rpartition("@")[2])
    except BadRequest:
        return ""


def _is_above(signer: str, domain: str) -> bool:
    """Return whether the signing domain is the domain itself or a parent of it.

    The other way round, a customer's subdomain could sign for its provider.
    """
    is_parent = "." in signer and domain.endswith("." + signer)
    return bool(signer) and (domain == signer or is_parent)
