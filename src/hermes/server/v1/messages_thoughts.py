"""Carries any service's reasoning in thinking blocks, so that a client returns it unchanged. Pure.

Anthropic's own blocks stay as they are. Reasoning, signatures and seals of other services travel in
the block's signature, which clients store and never read.
"""

import base64
import binascii
import re
from collections.abc import Sequence
from typing import Annotated

import msgspec

from hermes.errors import BadRequest
from hermes.message.parts import Part, ReasoningPart
from hermes.server.v1.messages_shape import RedactedThinking, Thinking

DIALECT = "anthropic"
_PREFIX = "hermes."
# A seal goes back into a service's JSON: it must not be able to break out of its string.
_OPAQUE = re.compile(r"[A-Za-z0-9+/=_.-]{0,4194304}")


class ForeignThought(msgspec.Struct, frozen=True, array_like=True):
    """A thought of another service, and how many blocks other than thoughts precede it.

    A `text` of None means the block's own text, or else that of the message's unsigned thinking.
    """

    place: Annotated[int, msgspec.Meta(ge=0, le=1_000_000)]
    text: str | None
    dialect: str
    signature: str | None = None
    sealed: str | None = None
    id: str | None = None


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(list[ForeignThought]).decode


def luggage_of(part: ReasoningPart, place: int, *, text: str | None = None) -> ForeignThought:
    """Return the data that brings `part` back to its place."""
    return ForeignThought(place, text, part.dialect, part.signature, part.sealed, part.id)


def packed(luggage: Sequence[ForeignThought]) -> str:
    """Return a signature that holds the data."""
    return _PREFIX + base64.urlsafe_b64encode(_encode(luggage)).decode()


class Thoughts:
    """Collects the reasoning of one message until all of its blocks are read."""

    def __init__(self) -> None:
        self._unsigned: list[str] = []
        self._foreign: list[tuple[int, ForeignThought, str]] = []

    def take(self, block: Thinking | RedactedThinking, *, path: str) -> ReasoningPart | None:
        """Return Anthropic's own block as a part; keep others for `put_back`."""
        if isinstance(block, RedactedThinking):
            return ReasoningPart("", DIALECT, sealed=block.data)
        if block.signature.startswith(_PREFIX):
            for luggage in _unpacked(block.signature, path):
                self._foreign.append((luggage.place, luggage, block.thinking))
            return None
        if not block.signature:
            self._unsigned.append(block.thinking)
        return ReasoningPart(block.thinking, DIALECT, block.signature or None)

    def put_back(self, parts: list[Part]) -> tuple[Part, ...]:
        """Return the message's parts with the reasoning of other services in its place."""
        if not self._foreign:
            return tuple(parts)
        spoken = "".join(self._unsigned)
        waiting = [(place, _part(bag, shown or spoken)) for place, bag, shown in self._foreign]
        # Unsigned thinking is the text of the packed data, not a separate thought.
        kept = [p for p in parts if not isinstance(p, ReasoningPart) or p.signature or p.sealed]
        placed: list[Part] = []
        passed = 0
        for part in kept:
            if not isinstance(part, ReasoningPart):
                placed.extend(thought for place, thought in waiting if place == passed)
                passed += 1
            placed.append(part)
        placed.extend(thought for place, thought in waiting if place >= passed)
        return tuple(placed)


def _part(bag: ForeignThought, shown: str) -> ReasoningPart:
    text = shown if bag.text is None else bag.text
    return ReasoningPart(text, bag.dialect, bag.signature, bag.sealed, bag.id)


def _unpacked(signature: str, path: str) -> list[ForeignThought]:
    try:
        found = _decode(base64.urlsafe_b64decode(signature[len(_PREFIX) :].encode()))
    except (msgspec.DecodeError, UnicodeError, binascii.Error):
        found = []
    if not found or any(bag.place < 0 or not _is_safe(bag.sealed) for bag in found):
        raise BadRequest(
            f"{path}.signature: not a signature from Hermes; send thinking blocks back"
            " unchanged, or leave them out."
        )
    return found


def _is_safe(sealed: str | None) -> bool:
    if sealed is None or _OPAQUE.fullmatch(sealed):
        return True
    try:
        msgspec.json.decode(sealed)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return False
    return True
