"""Whether the receiving server vouches for the address that a mail says it is from (RFC 8601). Pure.

Only the topmost block of `Authentication-Results` under the configured name counts: what stands
below the next `Received` was in the mail when it came, and anybody could have written it.
"""

import re
from typing import Final, NamedTuple

from hermes.channels.email import words
from hermes.channels.email.addresses import read_domain
from hermes.channels.email.mime import Headers
from hermes.errors import BadRequest

_MAX: Final = 8000
_QUOTED: Final = re.compile(r'"((?:[^"\\]|\\.)*)"')
_RESULT: Final = re.compile(
    r"([a-z0-9-]{1,40})(?:/[0-9.]{1,5})?\s*=\s*([a-z]{1,20})\b(.*)", re.I | re.S
)
_PROPERTY: Final = re.compile(r"\b([a-z]{1,20}\.[a-z0-9_-]{1,40})\s*=\s*(\S{1,300})", re.I)


class Result(NamedTuple):
    """What the server says of one method."""

    method: str
    said: str
    properties: dict[str, str]


def is_vouched(headers: Headers, *, domain: str, authserv_id: str) -> bool:
    """Tell whether the server says that the mail is from the domain that it names."""
    results = results_of(headers, authserv_id=authserv_id)
    if any(one.method == "dmarc" and one.said == "fail" for one in results):
        return False
    return any(one.said == "pass" and _is_for(one, domain) for one in results)


def results_of(headers: Headers, *, authserv_id: str) -> tuple[Result, ...]:
    """Return the results of the configured server, as far as they can only be its own."""
    found: list[Result] = []
    has_begun = False
    for name, value in headers.fields:
        if name == "received" and has_begun:
            break
        if name != "authentication-results":
            continue
        server, results = _read(value)
        if server == authserv_id:
            has_begun = True
            found += results
    return tuple(found)


def topmost_server(headers: Headers) -> str:
    """Return the name of the server that wrote the topmost of these lines; empty if there is none."""
    lines = (value for name, value in headers.fields if name == "authentication-results")
    return _read(next(lines, b""))[0]


def _read(value: bytes) -> tuple[str, list[Result]]:
    text = _without_comments(words.clean(value[:_MAX].decode("utf-8", "replace")))
    # A quoted value may hold the sign that parts the results; none that matter here does.
    text = _QUOTED.sub(lambda found: re.sub(r"[;\s]", "_", found[1]), text)
    first, *others = text.split(";")
    server = (first.split() or [""])[0].lower()
    return server, [result for one in others if (result := _result(one)) is not None]


def _result(text: str) -> Result | None:
    found = _RESULT.fullmatch(text.strip())
    if found is None:
        return None
    properties: dict[str, str] = {}
    for name, value in _PROPERTY.findall(found[3]):
        properties.setdefault(name.lower(), value.lower())
    return Result(found[1].lower(), found[2].lower(), properties)


def _without_comments(text: str) -> str:
    kept: list[str] = []
    depth = 0
    is_quoted = False
    for before, one in zip(" " + text, text, strict=False):
        if one == '"' and before != "\\" and not depth:
            is_quoted = not is_quoted
        if one == "(" and not is_quoted:
            depth += 1
        elif one == ")" and depth and not is_quoted:
            depth -= 1
        elif not depth:
            kept.append(one)
    return "".join(kept)


def _is_for(result: Result, domain: str) -> bool:
    told = result.properties
    if result.method == "dmarc":
        # Without the property it is about the one From there is.
        return "header.from" not in told or _domain(told["header.from"]) == domain
    if result.method == "dkim":
        signer = told.get("header.d") or told.get("header.i", "")
        return _is_above(_domain(signer), domain)
    if result.method == "spf":
        return _is_above(_domain(told.get("smtp.mailfrom", "")), domain)
    return False


def _domain(value: str) -> str:
    try:
        return read_domain(value.rpartition("@")[2])
    except BadRequest:
        return ""


def _is_above(signer: str, domain: str) -> bool:
    """Tell whether whoever signs rules over the domain: it is theirs, or lies below theirs.

    The other way round would let a customer's subdomain speak for its provider.
    """
    is_parent = "." in signer and domain.endswith("." + signer)
    return bool(signer) and (domain == signer or is_parent)
