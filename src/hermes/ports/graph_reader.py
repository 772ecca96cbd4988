"""The message graphs behind the sessions, for whoever reads them whole: drawing, export, audit.

It is read beside a running gateway and writes nothing. The pipeline does not use it: a turn
reads its history through the transcripts.
"""

from collections.abc import Sequence
from typing import Protocol

import msgspec

from hermes.graph import MessageGraph, Problem


class GraphEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One graph: a session's conversation, from one `/new` to the next.

    `is_current` is true for the conversation that the session is in now, `people` are those whose
    messages are in it, `may_train` says that all of them have agreed to training.
    """

    name: str
    session: str
    epoch: int
    is_current: bool
    messages: int
    calls: int
    branches: tuple[str, ...]
    people: tuple[str, ...]
    may_train: bool
    used_at: float


class GraphReader(Protocol):
    """Every graph of a store."""

    def graphs(self, session: str | None = None) -> Sequence[GraphEntry]:
        """Return the graphs of a session, or of all, the most recently used first."""
        ...

    def open(self, name: str, *, branch: str = "main") -> MessageGraph:
        """Return a graph; raises NotFound if there is none of this name and branch."""
        ...

    def graph_of_call(self, call_id: str) -> str | None:
        """Return the name of the graph that a call belongs to."""
        ...

    def check(self, name: str) -> Sequence[Problem]:
        """Return what is wrong with the rows of a graph, beyond what its branches show."""
        ...

    def orphans(self) -> Sequence[Problem]:
        """Return what the store holds of graphs that it does not know."""
        ...

    def salt(self) -> bytes:
        """Return the secret of this store that hides names in exports; always the same."""
        ...

    def close(self) -> None:
        """Close the files."""
        ...
