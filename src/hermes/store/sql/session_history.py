"""The past of a session: where exchanges begin, which states were saved, and going back.

Read from the end of its graph's log; what a commit takes back stays there as a version.
"""

from collections.abc import Callable, Iterator

from hermes.errors import GuardFailed
from hermes.graph.blob import Blob
from hermes.graph.growth import CallView, Growth, Tip
from hermes.graph.records import Call, Move
from hermes.graph.rewind import ChangeAuthor, go_to, keep_state, marks_from, replace_end, spans
from hermes.graph.sequence import Sequence
from hermes.graph.storage import Batch
from hermes.message.chat import ChatMessage
from hermes.ports.session_history import PastExchange
from hermes.ports.turns import Commit
from hermes.store.sql.graph_storage import SqlGraphStorage

MAIN = "main"
Open = Callable[[list[bytes]], list[ChatMessage | None]]


class SessionHistory:
    """One conversation at its current state; `opened` reads messages."""

    def __init__(self, storage: SqlGraphStorage, tip: Tip, *, opened: Open) -> None:
        self._storage = storage
        self._tip = tip
        self._opened = opened

    @property
    def length(self) -> int:
        """How many messages it has."""
        return len(self._tip)

    def exchanges(self, *, since: int) -> Iterator[PastExchange]:
        """Iterate over the exchanges from the last to the first."""
        end = len(self._tip)
        for span in spans(self._log, self._tip.version, length=end):
            if span.start < since:
                return
            (first,) = self._tip.sequence.names(span.start, span.start + 1)
            (said,) = self._opened([first.id])
            # What was delivered into the chat belongs to the previous exchange.
            if said is None or said.role == "user":
                yield PastExchange(
                    start=span.start,
                    length=end - span.start,
                    said=said,
                    person_id=span.move.edit.actor,
                    message_id=span.move.edit.reason,
                )
                end = span.start

    def states(self) -> dict[str, int]:
        """Return the saved states with their lengths."""
        branches = self._storage.branches(self._tip.graph)
        return {name: ref.length for name, ref in branches.items() if is_state(name)}

    def is_kept(self) -> bool:
        """Return whether the current state is saved under a name, or is empty."""
        root = self._tip.sequence.root
        branches = self._storage.branches(self._tip.graph)
        kept = (ref.root == root for name, ref in branches.items() if is_state(name))
        return not len(self._tip) or any(kept)

    def kept(self, commit: Commit, name: str) -> Batch:
        """Return what to write to save the current state under a name."""
        return keep_state(self._tip, name, _who(commit))

    def gone_to(self, commit: Commit, name: str) -> Growth:
        """Return the conversation at a saved state."""
        ref, tip = self._storage.ref(name), self._tip
        if ref is None:
            raise GuardFailed(f"graph {tip.graph!r} has no branch {name!r}")
        state = Sequence.read(ref.root, tip.sequence.reader)
        start, content, now = tip.sequence.common_prefix(state), None, bytes(len(state))
        origin = next(self._storage.log(name, 0)).origin
        if origin is not None and origin.branch == MAIN and not ref.version:
            content = origin.version
            then = Tip(tip.graph, MAIN, state, content)
            now = marks_from(0, then, log=self._log, calls=self._calls(content))
        return go_to(
            tip, state, _who(commit), content=content, was=self._marks(start), now=now[start:]
        )

    def replaced(self, commit: Commit, blobs: list[Blob], views: tuple[CallView, ...]) -> Growth:
        """Return the conversation with its last messages replaced or removed."""
        assert commit.rewind is not None
        keep = len(self._tip) - commit.rewind.cut
        if keep < 0:
            raise GuardFailed(
                f"message {commit.message_id} takes {commit.rewind.cut} messages out of "
                f"{len(self._tip)}"
            )
        return replace_end(
            self._tip,
            keep,
            blobs,
            who=_who(commit),
            was=self._marks(keep),
            views=views,
            kind="replace" if commit.rewind.is_edit else "retry",
        )

    def _log(self, version: int) -> Iterator[Move]:
        return self._storage.log(MAIN, version)

    def _calls(self, version: int) -> Iterator[Call]:
        return (call for call in self._storage.calls_back(MAIN) if call.version <= version)

    def _marks(self, start: int) -> bytes:
        return marks_from(start, self._tip, log=self._log, calls=self._calls(self._tip.version))


def is_state(branch: str) -> bool:
    """Return whether a branch is a state that a person saved: those of Hermes have a colon."""
    return branch != MAIN and ":" not in branch


def _who(commit: Commit) -> ChangeAuthor:
    return ChangeAuthor(commit.person_id, commit.message_id, commit.at)
