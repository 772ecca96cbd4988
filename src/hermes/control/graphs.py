"""Finds the graphs behind sessions as an operator names them, for drawing, export and checks.

It reads graphs through their port and writes nothing.
"""

import re
from collections.abc import Iterable, Sequence

import msgspec

from hermes.errors import BadRequest, NotFound
from hermes.graph import MessageGraph
from hermes.message.session_key import depth_of
from hermes.ports.graph_reader import GraphEntry, GraphReader
from hermes.ports.replays import BRANCHES

_SHOWN = 10
_LAST_PART = re.compile("[:/]")
_HINT = "`hermes graph list` shows all"


class GraphList(msgspec.Struct, frozen=True, kw_only=True):
    """Every graph, the most recently used first."""

    graphs: tuple[GraphEntry, ...] = ()


def list_graphs(reader: GraphReader | None) -> GraphList:
    """Return the graphs of a home; none where nothing is stored yet."""
    return GraphList(graphs=tuple(reader.graphs()) if reader else ())


def find_all(reader: GraphReader, wanted: Iterable[str]) -> list[GraphEntry]:
    """Return the graphs that several texts name, each once, as they were named."""
    known = reader.graphs()
    found = {entry.name: entry for text in wanted for entry in find_graphs(known, text)}
    return list(found.values())


def find_graphs(known: Sequence[GraphEntry], wanted: str) -> list[GraphEntry]:
    """Return every epoch of the session that a text names, or the one that it names.

    It is the session as it is listed, its last part, or a part that no other session has; `#EPOCH`
    may follow. Chats of subagents are meant only if no other conversation is.
    """
    exact = [entry for entry in known if wanted in {entry.name, entry.session}]
    if exact:
        return exact
    part, epoch = _split(wanted)
    names = [entry.session for entry in known]
    matches = _matching(names, part)
    if not matches:
        raise NotFound(f"No conversation is known as {wanted[:200]!r}. {_known(names)}")
    if len(matches) > 1:
        raise BadRequest(
            f"{len(matches)} conversations match {wanted[:200]!r}: {_named(matches)}. Write more of "
            "the name."
        )
    epochs = [entry for entry in known if entry.session in matches]
    found = [entry for entry in epochs if epoch in {None, entry.epoch}]
    if not found:
        numbers = ", ".join(str(entry.epoch) for entry in epochs)
        raise NotFound(
            f"The conversation {epochs[0].session!r} has no epoch {epoch}. It has: {numbers}."
        )
    return found


def current(entries: Sequence[GraphEntry]) -> GraphEntry:
    """Return the graph that a session is in now, or the last one it was in."""
    return max(entries, key=lambda entry: (entry.is_current, entry.epoch))


def branches_of(
    reader: GraphReader, entry: GraphEntry, *, with_replays: bool = True
) -> list[MessageGraph]:
    """Return the branches of a graph, of which there is at least one."""
    if not entry.branches:
        raise NotFound(f"The conversation {entry.name!r} has no branch: nothing was kept of it.")
    names = [one for one in entry.branches if with_replays or not one.startswith(BRANCHES)]
    return [reader.open(entry.name, branch=branch) for branch in names]


def _matching(names: Sequence[str], part: str) -> set[str]:
    if part in names:
        return {part}
    likely = {name for name in names if part and part in name}
    chats = {name for name in likely if not depth_of(name)}
    for group in (chats, likely):
        exact = {name for name in group if _LAST_PART.split(name)[-1] == part}
        if exact or group:
            return exact or group
    return set()


def _split(wanted: str) -> tuple[str, int | None]:
    part, mark, epoch = wanted.rpartition("#")
    if mark and epoch.isascii() and epoch.isdecimal():
        return part, int(epoch)
    return wanted, None


def _known(names: Sequence[str]) -> str:
    if not names:
        return "Nothing is stored here yet: `hermes chat` begins a conversation."
    return f"The last ones used: {_named(dict.fromkeys(names))}; {_HINT}."


def _named(names: Iterable[str]) -> str:
    told = list(names)
    more = len(told) - _SHOWN
    return ", ".join([*told[:_SHOWN], f"and {more} more"] if more > 0 else told)
