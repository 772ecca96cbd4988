"""The message graph: a list of message dicts that keeps every version.

Reading and editing work as with a list; every change is a version. Calls, branches, undo,
compaction and saving have methods here; the work is done in the modules below.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self, SupportsIndex

from hermes.errors import BadRequest, Conflict, NotFound
from hermes.graph import persistence
from hermes.graph.arguments import check_text
from hermes.graph.blob import Message, freeze
from hermes.graph.context import Context, place_of
from hermes.graph.family import GraphFamily, Now
from hermes.graph.hasher import PLAIN, Hasher
from hermes.graph.history import History
from hermes.graph.lock import one_at_a_time
from hermes.graph.marks import SEEN, WRITTEN
from hermes.graph.message_list import MessageList, freeze_all
from hermes.graph.open_call import OpenCall
from hermes.graph.ratings import rate, writer_of
from hermes.graph.reader import ObjectReader
from hermes.graph.recorder import CallFacts, check_sent, make_link, read_kept, record_call
from hermes.graph.records import Call, Edge, Feedback, Link, Rating, Summary
from hermes.graph.storage import GraphStorage, MemoryStorage
from hermes.graph.tool_groups import check_answer, cuts_of
from hermes.graph.version import Version
from hermes.lazy import lazy

# What is not needed to begin with, so that the library is imported in no time.
if TYPE_CHECKING:
    from hermes.graph.compaction import expand_summary, originals, squish, summaries
    from hermes.graph.diff import Change, diff
    from hermes.graph.files import FileStorage
    from hermes.graph.notebook import DrawnGraph, draw_graph, preview_html, preview_text
    from hermes.graph.transfer import copied, graph_in, packed, save_into, unpacked
    from hermes.graph.verify import VerifyReport, verify
else:
    diff = lazy("hermes.graph.diff:diff")
    expand_summary = lazy("hermes.graph.compaction:expand_summary")
    originals = lazy("hermes.graph.compaction:originals")
    squish = lazy("hermes.graph.compaction:squish")
    summaries = lazy("hermes.graph.compaction:summaries")
    FileStorage = lazy("hermes.graph.files:FileStorage")
    draw_graph = lazy("hermes.graph.notebook:draw_graph")
    preview_html = lazy("hermes.graph.notebook:preview_html")
    preview_text = lazy("hermes.graph.notebook:preview_text")
    copied = lazy("hermes.graph.transfer:copied")
    graph_in = lazy("hermes.graph.transfer:graph_in")
    packed = lazy("hermes.graph.transfer:packed")
    save_into = lazy("hermes.graph.transfer:save_into")
    unpacked = lazy("hermes.graph.transfer:unpacked")
    verify = lazy("hermes.graph.verify:verify")

State = int | Version | Context | Call


class MessageGraph(MessageList):
    """A conversation: a list of message dicts whose every version, branch and call is kept."""

    __slots__ = ()

    def __init__(
        self,
        messages: Iterable[Mapping[str, Any]] = (),
        *,
        name: str = "graph",
        branch: str = "main",
        storage: GraphStorage | None = None,
        hasher: Hasher = PLAIN,
        actor: str = "",
        now: Now | None = None,
    ) -> None:
        _check_names(name, branch, actor)
        kept_in = MemoryStorage() if storage is None else storage
        reader = ObjectReader(kept_in, hasher)
        family = GraphFamily(name, kept_in, reader, now, is_stored=storage is not None)
        super().__init__(persistence.start_history(family, branch, freeze_all(messages, hasher)))
        self._history.actor = actor

    @classmethod
    def open(
        cls,
        name: str | os.PathLike[str],
        storage: GraphStorage | None = None,
        *,
        graph: str | None = None,
        branch: str = "main",
        hasher: Hasher = PLAIN,
        actor: str = "",
        now: Now | None = None,
    ) -> "MessageGraph":
        """Return a graph that was saved; its messages are read when they are needed.

        `name` is its name in `storage` or, without one, the path of a file; `graph` chooses among
        several in the file.
        """
        if storage is None:
            storage = FileStorage(name, hasher=hasher)
            name = graph_in(storage, graph)
        name = os.fspath(name)
        _check_names(name, branch, actor)
        family = GraphFamily(name, storage, ObjectReader(storage, hasher), now)
        made = cls._of(persistence.open_history(family, branch))
        made._history.actor = actor
        return made

    @classmethod
    def _of(cls, history: History) -> Self:
        made = cls.__new__(cls)
        MessageList.__init__(made, history)
        return made

    @property
    def name(self) -> str:
        """The name of the graph, which its branches share."""
        return self._history.family.name

    @property
    def branch_name(self) -> str:
        """The name of this branch."""
        return self._history.branch

    @property
    def root(self) -> bytes:
        """The name of the context that the messages are now."""
        return self.sequence.root

    @property
    def version(self) -> int:
        """The number of the current version."""
        return self._history.number

    def __repr__(self) -> str:
        return preview_text(self)

    def _repr_html_(self) -> str:
        return preview_html(self)

    def draw(self, *, last: int | None = None, width: int = 72) -> "DrawnGraph":
        """Return all branches drawn: versions, calls, branches; `str()` of it is the text.

        With `last`, only that many messages at the end of each branch are drawn.
        """
        return draw_graph([self.checkout(name) for name in self.branches()], last=last, width=width)

    def __copy__(self) -> Self:
        return self.__deepcopy__({})

    @one_at_a_time
    def __deepcopy__(self, memo: dict[int, object]) -> Self:
        return self._of(copied(self._history, memo))

    @one_at_a_time
    def __reduce_ex__(self, protocol: SupportsIndex) -> tuple[Any, ...]:  # Any: as in object
        return _unpickled, packed(self._history)

    @contextmanager
    def editing(self, actor: str, reason: str = "") -> Iterator["MessageGraph"]:
        """Set who makes the edits inside the `with` block, and why.

        It applies to the branch; threads that need different authors must hold the `lock`
        meanwhile.
        """
        check_text(actor, "Who edits", may_be_empty=True)
        check_text(reason, "The reason of an edit", may_be_empty=True)
        history = self._history
        before = history.actor, history.reason
        history.actor, history.reason = actor, reason
        try:
            yield self
        finally:
            history.actor, history.reason = before

    def versions(self) -> list[Version]:
        """Return every version, oldest first."""
        return list(self._history.versions)

    @one_at_a_time
    def edges(self) -> list[Edge]:
        """Return the parallel edges: changes of messages that a recorded call saw or wrote."""
        return list(self._history.edges())

    def at(self, version: State) -> Context:
        """Return the messages as they were at a version, or as a call saw them."""
        if isinstance(version, Context):
            return version
        history = self._history
        if isinstance(version, Call):
            sequence = history.find(version.context)
            return Context(
                sequence,
                version=version.version,
                shared=version.shared,
                lead=version.lead,
                start=version.start,
            )
        number = version.number if isinstance(version, Version) else version
        if type(number) is not int:
            raise BadRequest(
                "A version is named by its number, or by a result of versions(), calls() or "
                f"context(); this is of type {type(version).__name__}."
            )
        if not 0 <= number <= self.version:
            raise NotFound(
                f"Branch {self.branch_name!r} of graph {self.name!r} has the versions 0 to "
                f"{self.version}, and {number} is not one of them. versions() lists them."
            )
        return Context(history.versions[number].sequence(history.family.reader), version=number)

    def diff(self, before: State, after: State | None = None) -> "list[Change]":
        """Return the changes between two versions or calls; up to now if only one is named."""
        end = self.sequence if after is None else self.at(after).sequence
        return diff(self.at(before).sequence, end)

    @one_at_a_time
    def undo(self) -> Version:
        """Undo the last change that is not undone yet; this makes a version too."""
        return self._history.undo()

    @one_at_a_time
    def redo(self) -> Version:
        """Make the last undone change again; this makes a version too."""
        return self._history.redo()

    @one_at_a_time
    def branch(self, name: str) -> "MessageGraph":
        """Return a new branch that begins here; this one is unchanged."""
        check_text(name, "The name of a branch")
        return self._of(persistence.branch_off(self._history, name))

    @one_at_a_time
    def checkout(self, branch: str) -> "MessageGraph":
        """Return another branch of this graph; this one is unchanged."""
        check_text(branch, "The name of a branch")
        return self._of(persistence.checkout(self._history.family, branch))

    @one_at_a_time
    def branches(self) -> list[str]:
        """Return the names of all branches, saved or in memory."""
        family = self._history.family
        return sorted({*family.branches, *family.storage.branches(family.name)})

    @one_at_a_time
    def save(self, path: str | os.PathLike[str] | None = None, *, overwrite: bool = False) -> None:
        """Write what is new to the storage; raises Conflict if another writer was first.

        With `path`, write all branches into that file; later saves go there, too. `overwrite`
        replaces another graph of this name in the file.
        """
        if path is None:
            persistence.save(self._history)
        else:
            save_into(self._history, path, overwrite=overwrite)

    @one_at_a_time
    def verify(self) -> "VerifyReport":
        """Check every version, blob and call; nothing is changed."""
        return verify(self._history)

    @one_at_a_time
    def context(
        self,
        extra: Iterable[Mapping[str, Any]] = (),
        *,
        lead: Iterable[Mapping[str, Any]] = (),
        start: int = 0,
    ) -> Context:
        """Return what a model is about to see: the messages, and `extra`, which is not kept.

        `lead` comes before the messages and is not kept either; `start` skips the oldest messages.
        Raises Conflict if a message was changed without its methods.
        """
        self._check_views()
        end = len(self)
        first, last = freeze_all(lead, self._history.family.reader.hasher), range(end)[start:].start
        added = self._frozen(extra, end)
        sequence = self.sequence.splice(end, end, added) if added else self.sequence
        sequence = sequence.splice(0, last, first) if first or last else sequence
        return Context(sequence, version=self.version, shared=end, lead=len(first), start=last)

    @one_at_a_time
    def record_call(
        self,
        response: Mapping[str, Any] | None,
        *,
        model: str,
        context: Context | None = None,
        sent: Iterable[Mapping[str, Any]] | None = None,
        tools: Iterable[Mapping[str, Any]] | None = None,
        sampling: Mapping[str, Any] | None = None,
        usage: Mapping[str, Any] | None = None,
        token_ids: Iterable[int] | None = None,
        logprobs: Iterable[float] | None = None,
        metadata: Mapping[str, Any] | None = None,
        sampled: bool = True,
        append: bool = True,
        call_id: str | None = None,
    ) -> Call:
        """Record a model call: what it saw, and `response`, which is appended if `append` is true.

        `context` is what `context()` returned before the call, or the current messages. `sent` is
        what was really sent: if it differs from the context, Conflict is raised. `response` is None
        for a call without an answer, `sampled` is false for an answer that was not sampled from a
        model.
        """
        seen = self.context() if context is None else self._own(context)
        if sent is not None:
            check_sent(seen, sent)
        hasher = self._history.family.reader.hasher
        blob = None if response is None else freeze(response, hasher)
        if response is not None:
            check_answer(response)
        facts = CallFacts(
            model=model, tools=tools, sampling=sampling, usage=usage, metadata=metadata,
            token_ids=token_ids, logprobs=logprobs, sampled=sampled, call_id=call_id,
        )  # fmt: skip
        call = record_call(self._history, seen, facts, response=blob)
        if blob is not None and append:
            mark = bytes((WRITTEN if sampled else SEEN,))
            self._history.change(len(self), len(self), (blob,), kind="answer", marked=mark)
        return call

    def call(
        self,
        *,
        model: str,
        tools: Iterable[Mapping[str, Any]] | None = None,
        sampling: Mapping[str, Any] | None = None,
        metadata: Mapping[str, Any] | None = None,
        extra: Iterable[Mapping[str, Any]] = (),
        lead: Iterable[Mapping[str, Any]] = (),
        start: int = 0,
        append: bool = True,
    ) -> OpenCall:
        """Return a model call to be made in a `with` block, which records it at its end.

        Send its `messages`, and pass what the model wrote to its `answer()`. If the block raises, the
        call is recorded without an answer. The other arguments are those of `context()` and
        `record_call()`.
        """
        check_text(model, "The model of a call")
        facts = {"tools": tools, "sampling": sampling, "metadata": metadata, "append": append}
        seen = self.context(extra, lead=lead, start=start)
        return OpenCall(seen, self.record_call, model=model, facts=facts)

    @one_at_a_time
    def rate(
        self, answer: int | Call, rating: Rating, *, actor: str = "", reason: str = ""
    ) -> Feedback:
        """Give the answer of a call a thumb, "up" or "down"; "none" takes it back.

        `answer` is the number of a message, or its call. The latest thumb of each actor counts.
        """
        call = answer if isinstance(answer, Call) else self._writer_of(answer)
        actor = actor or self._history.actor
        return rate(self._history, call, rating, actor=actor, reason=reason)

    def feedback(self) -> list[Feedback]:
        """Return the thumbs of all branches, oldest first."""
        return list(self._history.family.feedback)

    def calls(self) -> list[Call]:
        """Return the calls of all branches, oldest first."""
        return list(self._history.family.calls)

    def answer_of(self, call: Call) -> Message | None:
        """Return what a call wrote, as plain data; None if it gave no answer."""
        answer: Message | None = read_kept(self._history, call.response)
        return answer

    def tools_of(self, call: Call) -> list[Any] | None:
        """Return the tools that a call was given, as plain data; None if there were none."""
        tools: list[Any] | None = read_kept(self._history, call.tools)
        return tools

    @one_at_a_time
    def is_sampled(self, index: int) -> bool:
        """Return whether a recorded call wrote this message and nobody has changed it since."""
        return self._history.known_marks()[place_of(index, len(self))] == WRITTEN

    @one_at_a_time
    def link(
        self,
        tool_call_id: str,
        *,
        call: Call,
        child: "MessageGraph | str | None" = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Link:
        """Record which graph answered a tool call of `call`, with facts about its result."""
        name = child.name if isinstance(child, MessageGraph) else child
        if name is not None:
            check_text(name, "The graph that answered a tool call, or its name,")
        if not isinstance(call, Call):
            raise BadRequest(
                "A link needs a call returned by record_call() or calls(); this is of type "
                f"{type(call).__name__}."
            )
        return make_link(self._history, tool_call_id, call=call, child=name, metadata=metadata)

    def links(self) -> list[Link]:
        """Return the links of this graph to those that answered its tool calls."""
        return list(self._history.family.links)

    def cuts(self) -> list[int]:
        """Return every index before which the conversation may be cut for a summary."""
        return cuts_of(self.to_list())

    @one_at_a_time
    def squish(
        self, start: int, stop: int, summary: Mapping[str, Any], *, call: Call | None = None
    ) -> Version:
        """Replace the messages from `start` to `stop` by a summary; nothing is lost.

        `call` is the one that wrote the summary, recorded with `append=False`.
        """
        (blob,) = self._frozen((summary,), start)
        first, last, _ = slice(start, stop).indices(len(self))
        return squish(self._history, first, last, summary=blob, call=call)

    @one_at_a_time
    def expand(self, index: int) -> Version:
        """Restore the messages that the summary at `index` replaces."""
        return expand_summary(self._history, place_of(index, len(self)))

    def originals(self, index: int) -> list[Message]:
        """Return the messages that the summary at `index` replaces."""
        return originals(self._history, place_of(index, len(self)))

    def summaries(self) -> dict[int, Summary]:
        """Return the summaries among the messages, by index."""
        return summaries(self._history)

    def _writer_of(self, index: int) -> Call:
        return writer_of(self._history, place_of(index, len(self)))

    def _own(self, context: Context) -> Context:
        if not isinstance(context, Context):
            raise BadRequest(
                "The context of a call is what context() returned before it; this is of type "
                f"{type(context).__name__}. Pass a list of messages as sent=..., to have it "
                "checked."
            )
        if context.version <= self.version:
            known = self._history.versions[context.version].sequence(self._history.family.reader)
            alike = known.common_prefix(context.sequence, context.start, other_start=context.lead)
            if alike >= context.shared - context.start:
                return context
        raise BadRequest(
            f"The context of a call on branch {self.branch_name!r} of graph {self.name!r} comes "
            "from its context() or at(); this one is of another branch or graph."
        )

    def _check_views(self) -> None:
        for view in self._views.changed_behind():
            index = self._views.locate(view)
            self._views.let_go(view)
            if index is not None:
                raise Conflict(
                    f"Message {index} was changed without its methods, as with "
                    f"dict.__setitem__(message, ...): the returned dict differs from the graph "
                    f"(blob {view.blob.id.hex()}). The graph is unchanged; to change it, write "
                    f"graph[{index}][...] = ... and use a fresh message from it."
                )


def _unpickled(*parts: Any) -> MessageGraph:  # Any: what `packed` returned
    return MessageGraph._of(unpacked(parts))


def _check_names(name: object, branch: object, actor: object) -> None:
    check_text(name, "The name of a graph")
    check_text(branch, "The name of a branch")
    check_text(actor, "Who edits", may_be_empty=True)
