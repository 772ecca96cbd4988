"""Reasoning on the chat wire: its text in `reasoning_content`, its seals in `reasoning_details`.

The wire has no standard field for either. Most services and clients use the first; the second is
OpenRouter's list of objects that a client sends back unchanged, so that signed and sealed thoughts
reach the service that wrote them. Our own entries name the dialect they come from.
"""

from typing import Any

import msgspec

from hermes.errors import BadRequest
from hermes.message.parts import Part, ReasoningPart, continues

# Any: JSON objects on their way through.
Json = dict[str, Any]

_DIALECT = "openai"
_OURS = "hermes-"
_BREAK = "\n\n"


class _Detail(msgspec.Struct, frozen=True):
    format: str
    text: str = ""
    data: str | None = None
    signature: str | None = None
    id: str | None = None


def thought_text(parts: tuple[Part, ...]) -> str:
    """Return the reasoning that a person can read; the parts of one thought are paragraphs."""
    texts: list[str] = []
    before: Part | None = None
    for part in parts:
        if isinstance(part, ReasoningPart):
            goes_on = isinstance(before, ReasoningPart) and continues(part, before)
            texts.append(f"{_BREAK}{part.text}" if goes_on else part.text)
        before = part
    return "".join(texts)


def thought_details(parts: tuple[Part, ...]) -> list[Json]:
    """Return the objects that the client must send back unchanged; empty if nothing is signed or
    sealed.
    """
    told: list[Json] = []
    for part in parts:
        if not isinstance(part, ReasoningPart):
            continue
        if part.dialect == _DIALECT:
            told += msgspec.json.decode(part.sealed, type=list[Json]) if part.sealed else []
        elif part.sealed is not None or part.signature is not None:
            told.append(_detail(part, index=len(told)))
    return told


def read_thoughts(text: str, details: list[Json]) -> list[ReasoningPart]:
    """Return the reasoning of an earlier answer, each part for the dialect it comes from."""
    parts: list[ReasoningPart] = []
    others: list[Json] = []
    for detail in details:
        if str(detail.get("format")).startswith(_OURS):
            parts.append(_part(detail))
        else:
            others.append(detail)
    if text or others:
        sealed = msgspec.json.encode(others).decode() if others else None
        parts.append(ReasoningPart(text, _DIALECT, sealed=sealed))
    return parts


def _detail(part: ReasoningPart, *, index: int) -> Json:
    kind = "reasoning.text" if part.sealed is None else "reasoning.encrypted"
    told: Json = {"type": kind, "format": _OURS + part.dialect, "index": index}
    fields = {
        "id": part.id,
        "text": part.text or None,
        "data": part.sealed,
        "signature": part.signature,
    }
    return told | {name: value for name, value in fields.items() if value is not None}


def _part(detail: Json) -> ReasoningPart:
    try:
        found = msgspec.convert(detail, _Detail)
    except msgspec.ValidationError:
        raise BadRequest(
            "messages: an entry of reasoning_details was changed: send it back as Hermes sent it,"
            " or leave reasoning_details out."
        ) from None
    return ReasoningPart(
        found.text,
        found.format.removeprefix(_OURS),
        signature=found.signature,
        sealed=found.data,
        id=found.id,
    )
