"""What a message has delegated, at any depth, and what each branch cost; asked by operators.

The turns are read from the journal, so they are there as long as messages are kept.
"""

from collections.abc import Iterable, Mapping

import msgspec

from hermes.control.why_call import cost_text
from hermes.errors import NotFound
from hermes.message.outcome import MessageState, Outcome
from hermes.message.reply import Usage
from hermes.message.session_key import depth_of
from hermes.ports.ids import whole_id
from hermes.ports.store import Store
from hermes.ports.turns import BranchTurn, MessageRecord

_MOST = 1_000


class BranchAsk(msgspec.Struct, frozen=True, kw_only=True):
    """A message, by its id or four letters of its beginning or end."""

    id: str


class BranchLine(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One turn of a branch: who started it, who answers, and what it took.

    `usage` is what its own model calls took of its person, `whole` also those of everything below it;
    `platform_usage` is what the platform paid beside its own.
    """

    id: str
    agent: str
    state: MessageState
    depth: int = 0
    parent: str | None = None
    outcome: Outcome | None = None
    usage: Usage = Usage()
    whole: Usage = Usage()
    platform_usage: Usage = Usage()


class BranchReport(msgspec.Struct, frozen=True, kw_only=True):
    """A message and everything that it has delegated, each turn before what it started."""

    person_id: str
    lines: tuple[BranchLine, ...]


async def branch_costs(store: Store, ask: BranchAsk) -> BranchReport:
    """Return what a message cost, by branch; raises `NotFound`."""
    record = await store.inbox.get(ask.id)
    if record is None:
        found = await whole_id(store.ids, ask.id, "message", is_listed=False)
        record = None if found is None else await store.inbox.get(found)
    if record is None:
        raise NotFound(f"No message is known as {ask.id[:80]!r}: `hermes why` takes the same ids.")
    return BranchReport(person_id=record.person_id, lines=await branch_of(store, record))


async def branch_of(store: Store, message: MessageRecord) -> tuple[BranchLine, ...]:
    """Return a message and what it has delegated, each turn before what it started."""
    below = await store.turns.branch(message.lane, message.id, limit=_MOST)
    turns = (await store.turns.used(message), *below)
    names = await _names_of(store, turns)
    lines = [_line(one, names, top=message) for one in turns]
    return tuple(_with_sums(_in_order(lines)))


def below_text(line: BranchLine) -> str:
    """Return one delegated turn in words."""
    how = line.outcome or line.state
    whole = "" if line.whole == line.usage else f", with all below {cost_text(line.whole)}"
    return f"{line.agent}, {how}: {cost_text(line.usage)}{whole}"


async def _names_of(store: Store, turns: Iterable[BranchTurn]) -> Mapping[str, str]:
    """Return what people call the agents of turns, by their keys."""
    keys = {one.message.event.agent or "" for one in turns if one.message.event is not None}
    names = {}
    for key in keys:
        stored = await store.agents.find(key) if key else None
        names[key] = key if stored is None else stored.name
    return names


def _line(turn: BranchTurn, names: Mapping[str, str], *, top: MessageRecord) -> BranchLine:
    record = turn.message
    key = "" if record.event is None else record.event.agent or ""
    is_top = record.id == top.id
    return BranchLine(
        id=record.id,
        agent=names.get(key, key) or "the default agent",
        state=record.state,
        depth=depth_of(record.lane) - depth_of(top.lane),
        parent=None if is_top else record.lane.rpartition("/")[2].partition(".")[0],
        outcome=record.outcome,
        usage=turn.usage,
        whole=turn.usage,
        platform_usage=turn.platform_usage,
    )


def _in_order(lines: list[BranchLine]) -> list[BranchLine]:
    """Return the lines so that each comes before what it started."""
    below: dict[str | None, list[BranchLine]] = {}
    for line in lines:
        below.setdefault(line.parent, []).append(line)
    ordered: list[BranchLine] = []
    waiting = list(reversed(below.get(None, [])))
    while waiting:
        line = waiting.pop()
        ordered.append(line)
        waiting.extend(reversed(below.get(line.id, [])))
    return ordered


def _with_sums(lines: list[BranchLine]) -> list[BranchLine]:
    """Return the lines with what each took together with everything below it."""
    sums = {line.id: line.usage for line in lines}
    for line in reversed(lines):
        if line.parent is not None:
            sums[line.parent] = sums[line.parent].plus(sums[line.id])
    return [msgspec.structs.replace(line, whole=sums[line.id]) for line in lines]
