"""Tracks what a stream has sent so far, item by item, and matches it with the whole answer. Pure.

Pieces and parts need not be divided the same way: a service may think in several items that were
streamed as one text, seal what was never sent, or drop an incomplete call.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from hermes.message.parts import ToolCallPart
from hermes.ports.options import TokenLogprob
from hermes.server.v1.responses_out import Group, OutputMessage, Thought
from hermes.server.v1.responses_tools import FunctionShape

SlotKind = Literal["thought", "said", "call"]


@dataclass(slots=True)
class StreamItem:
    """An item of the stream; `head` is the start of its deltas, if it may have any.

    An item that is not `announced` can only be sent whole. A `reserved` item keeps the first place
    for a thought that may still come.
    """

    kind: SlotKind
    place: int
    id: str
    head: bytes = b""
    pieces: list[str] = field(default_factory=list)
    tokens: list[TokenLogprob] = field(default_factory=list)
    call: ToolCallPart | None = None
    shape: FunctionShape | None = None
    announced: bool = True
    reserved: bool = False

    @property
    def text(self) -> str:
        """The text that was sent for it, or collected for it."""
        return "".join(self.pieces)


Pair = tuple[Group | None, StreamItem | None]


def kind_of(group: Group) -> SlotKind:
    """Return the type of item that a group becomes."""
    if isinstance(group, Thought):
        return "thought"
    return "said" if isinstance(group, OutputMessage) else "call"


def pair_up(groups: Sequence[Group], slots: Sequence[StreamItem]) -> list[Pair]:
    """Return the answer's items in order, each with what was sent of it."""
    waiting: dict[SlotKind, list[StreamItem]] = {"thought": [], "said": [], "call": []}
    for slot in slots:
        waiting[slot.kind].append(slot)
    pairs: list[Pair] = []
    unused = _in_vain(groups, waiting)
    for group in _as_shown(groups, waiting["said"]):
        left = waiting[kind_of(group)]
        pairs.append((group, left.pop(0) if left else None))
    unused += (slot for left in waiting.values() for slot in left)
    for slot in sorted(unused, key=lambda slot: slot.place):
        _insert(pairs, slot)
    return pairs


def _in_vain(
    groups: Sequence[Group], waiting: dict[SlotKind, list[StreamItem]]
) -> list[StreamItem]:
    """Remove the place reserved for a thought, if all thoughts were sent elsewhere."""
    shown = [slot for slot in waiting["thought"] if not slot.reserved]
    if len(shown) < sum(isinstance(group, Thought) for group in groups):
        return []
    unused = [slot for slot in waiting["thought"] if slot.reserved]
    waiting["thought"] = shown
    return unused


def _as_shown(groups: Sequence[Group], slots: Sequence[StreamItem]) -> Sequence[Group]:
    """Return the groups with their text divided as it was sent, if all of it was sent."""
    told = [group for group in groups if isinstance(group, OutputMessage)]
    if "".join(said.text for said in told) != "".join(slot.text for slot in slots):
        return groups
    if len(told) != len(slots):
        return [group for group in groups if not isinstance(group, OutputMessage)]
    shown = iter(slots)
    return [
        OutputMessage(next(shown).text) if isinstance(group, OutputMessage) else group
        for group in groups
    ]


def _insert(pairs: list[Pair], slot: StreamItem) -> None:
    """Insert an item that the whole answer does not contain where the stream had it."""
    for position, (_, other) in enumerate(pairs):
        if other is not None and other.place > slot.place:
            pairs.insert(position, (None, slot))
            return
    pairs.append((None, slot))
