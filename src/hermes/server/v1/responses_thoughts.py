"""Carries any service's reasoning in reasoning items, so that a client returns it unchanged. Pure.

OpenAI's own sealed reasoning stays as it is if its item keeps its id: the service refuses it under
another id. Everything else travels whole in `encrypted_content`, which clients never read.
"""

import re
from collections.abc import Sequence

import msgspec

from hermes.errors import BadRequest
from hermes.message.parts import ReasoningPart
from hermes.server.v1.responses_shape import Reasoning

# The dialect of the provider that uses this wire with OpenAI.
DIALECT = "responses"
_PREFIX = "hermes:"
# A seal goes back into a service's JSON: it must not be able to break out of its string.
_OPAQUE = re.compile(r"[A-Za-z0-9+/=_.-]{0,4194304}")

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(list[ReasoningPart]).decode


def begins_item(part: ReasoningPart, before: ReasoningPart) -> bool:
    """Return whether `part` starts another thought instead of continuing `before`."""
    if part.dialect != before.dialect or ends_item(before):
        return True
    return part.dialect == DIALECT and (part.sealed is not None or part.id != before.id)


def ends_item(part: ReasoningPart) -> bool:
    """Return whether the next thought is separate: this one has words and a signature."""
    return bool(part.text and part.signature)


def own_id(parts: Sequence[ReasoningPart]) -> str | None:
    """Return the id under which OpenAI knows the thought."""
    return parts[0].id if parts[0].dialect == DIALECT and parts[0].sealed else None


def sealed(parts: Sequence[ReasoningPart], *, item_id: str) -> str:
    """Return the `encrypted_content` of the item `item_id` that holds `parts`."""
    first = parts[0]
    if first.sealed and own_id(parts) == item_id:
        return first.sealed
    return _PREFIX + _encode(parts).decode()


def unsealed(item: Reasoning, where: str) -> tuple[ReasoningPart, ...]:
    """Return the thought in an item; without its seal no service would accept it."""
    seal = item.encrypted_content
    if not seal:
        return ()
    if not seal.startswith(_PREFIX):
        first, *others = [piece.text for piece in item.summary or ()] or [""]
        more = (ReasoningPart(text, DIALECT, id=item.id) for text in others)
        return (ReasoningPart(first, DIALECT, sealed=seal, id=item.id), *more)
    try:
        parts = tuple(_decode(seal[len(_PREFIX) :]))
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        parts = ()
    if not parts or not all(_is_safe(part.sealed) for part in parts):
        raise BadRequest(
            f"{where}.encrypted_content: not written by Hermes, or changed; send reasoning items"
            " back unchanged, or leave them out."
        )
    return parts


def _is_safe(seal: str | None) -> bool:
    if seal is None or _OPAQUE.fullmatch(seal):
        return True
    try:
        msgspec.json.decode(seal)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return False
    return True
