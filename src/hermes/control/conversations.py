"""Conversations as operators look at them: the transcript, the graph, and what one call was sent.

Graphs are read in a thread of their own, so that a long conversation delays nobody; how much of one is
shown at once is bounded.
"""

from typing import Any

import msgspec

from hermes.agents.secrets import mask_of
from hermes.control.sessions import SessionOperations, session_id
from hermes.errors import BadRequest, Conflict, NotFound
from hermes.graph import Call, Message, MessageGraph
from hermes.graph.sketch import Drawing, draw
from hermes.message.outcome import MessageState, Outcome
from hermes.message.session_key import graph_name
from hermes.ports.clock import Clock
from hermes.ports.person_rows import HomeReader
from hermes.ports.request_numbers import WholeNumber
from hermes.ports.session_history import ConversationMessage, TakenOut
from hermes.ports.sessions import SessionUndo
from hermes.ports.store import Store

MOST_SHOWN = 200
_MOST_BRANCHES = 50
_MOST_UNDONE = 100
_WIDTH = 100
# One message is always shown, however long it is.
_MOST_BYTES = 2_000_000


class TranscriptAsk(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A session, by its id or its whole key; `before` is the `earlier` of another page."""

    session: str
    before: str | None = None
    limit: WholeNumber = 50


class SessionGraphAsk(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A session and one of its conversations (the one it is in now by default).

    `limit` is how many messages at the end of each branch are shown.
    """

    session: str
    epoch: WholeNumber | None = None
    limit: WholeNumber = 50


class CallAsk(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A model call, such as `m_....1`; `limit` is how many of its last messages are shown."""

    call: str
    limit: WholeNumber = 50


class UndoOrder(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The wish to take the last exchanges out of what models see of a session."""

    session: str
    count: WholeNumber = 1
    by: str = ""


class UndoReport(msgspec.Struct, frozen=True, kw_only=True):
    """What was taken out; the person is not told."""

    session: str
    person_id: str
    exchanges: int
    messages: int


class SaidMessage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A message and its reply; `taken_out` is what models no longer see of it."""

    id: str
    at: float
    person_id: str
    epoch: int
    state: MessageState
    outcome: Outcome | None = None
    text: str | None = None
    reply: str | None = None
    model: str | None = None
    cost_usd: float | None = None
    taken_out: TakenOut = ""


class Transcript(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A part of a session, oldest first; `earlier` begins the part before it."""

    session: str
    key: str
    person_id: str
    platform: str
    epoch: int
    messages: tuple[SaidMessage, ...] = ()
    earlier: str | None = None


class SessionGraph(msgspec.Struct, frozen=True, kw_only=True):
    """A conversation as a graph: each branch from where it differs from the one before."""

    session: str
    key: str
    person_id: str
    epoch: int
    drawing: Drawing


class CallPrompt(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a model call was sent, and its answer; the first `left_out` messages are not shown.

    The first `lead` of all messages are not in the conversation, such as system prompts.
    """

    call: str
    person_id: str
    graph: str
    branch: str
    version: int
    model: str
    at: float | None = None
    lead: int = 0
    left_out: int = 0
    messages: tuple[Message, ...] = ()
    answer: Message | None = None
    # Any: JSON as the model was sent it.
    tools: tuple[Any, ...] = ()
    sampling: dict[str, Any] = {}
    usage: dict[str, Any] = {}


class ConversationOperations:
    """Where operators ask for what was said in sessions."""

    def __init__(self, store: Store, sessions: SessionOperations, *, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._sessions = sessions

    async def transcript(self, ask: TranscriptAsk) -> Transcript:
        """Return the newest messages of a session over all its conversations."""
        _check(ask.limit)
        key, person_id, platform = await self._find(ask.session)
        page = await self._store.transcripts.conversation(key, limit=ask.limit, before=ask.before)
        return Transcript(
            session=session_id(self._store, key),
            key=key,
            person_id=person_id,
            platform=platform,
            epoch=page.epoch,
            messages=tuple(map(_said, page.messages)),
            earlier=page.earlier,
        )

    async def graph(self, ask: SessionGraphAsk) -> SessionGraph:
        """Return a conversation as a graph."""
        _check(ask.limit)
        key, person_id, _ = await self._find(ask.session)
        epoch = ask.epoch
        if epoch is None:
            epoch = (await self._store.turns.view(key)).epoch
        name = graph_name(key, epoch)
        drawing = await self._store.read_graphs(lambda reader: _drawn(reader, name, ask.limit))
        return SessionGraph(
            session=session_id(self._store, key),
            key=key,
            person_id=person_id,
            epoch=epoch,
            drawing=drawing,
        )

    async def undo(self, order: UndoOrder) -> UndoReport:
        """Take the last exchanges out of a session; they stay in its graph."""
        if not 1 <= order.count <= _MOST_UNDONE:
            raise BadRequest(f"{order.count} exchanges: expected 1 to {_MOST_UNDONE}.")
        found = await self._sessions.find(order.session)
        view = await self._store.turns.view(found.key)
        taken = await self._store.transcripts.exchanges(
            found.key, epoch=view.epoch, limit=order.count
        )
        if not taken:
            raise BadRequest("There is nothing to take back: nothing was said in this session.")
        undo = SessionUndo(
            lane=found.key,
            epoch=view.epoch,
            head=view.head,
            cut=sum(one.length for one in taken),
            actor=f"operator:{order.by}",
            at=self._clock.now(),
        )
        if not await self._store.sessions.undo(undo):
            raise Conflict(
                "Nothing was taken back: something is under way in the session, or it has moved on "
                "meanwhile. Try again in a moment."
            )
        return UndoReport(
            session=session_id(self._store, found.key),
            person_id=found.person_id,
            exchanges=len(taken),
            messages=undo.cut,
        )

    async def prompt(self, ask: CallAsk) -> CallPrompt:
        """Return what a model call was sent, word for word."""
        _check(ask.limit)
        message_id = ask.call.partition(".")[0]
        record = await self._store.inbox.get(message_id)
        name = await self._store.messages.graph_of(message_id)
        person_id = "" if record is None else record.person_id
        return await self._store.read_graphs(
            lambda reader: _prompt(reader, ask, name=name, person_id=person_id)
        )

    async def _find(self, name: str) -> tuple[str, str, str]:
        """Return the key of a session, whose it is, and its platform; it may have ended."""
        record = await self._store.turns.first(name)
        if record is not None:
            return name, record.person_id, record.platform
        found = await self._sessions.find(name)
        return found.key, found.person_id, found.platform


def _check(limit: int) -> None:
    if not 1 <= limit <= MOST_SHOWN:
        raise BadRequest(f"{limit} messages: expected a number from 1 to {MOST_SHOWN}.")


def _said(one: ConversationMessage) -> SaidMessage:
    record, result = one.record, one.result
    usage = None if result is None else result.usage
    return SaidMessage(
        id=record.id,
        at=record.received_at,
        person_id=record.person_id,
        epoch=one.epoch,
        state=record.state,
        outcome=record.outcome,
        text=None if record.event is None else record.event.text,
        reply=None if result is None else result.text,
        model=None if result is None else result.model,
        cost_usd=None if usage is None or usage.unpriced else usage.cost_usd,
        taken_out=one.taken_out,
    )


def _drawn(reader: HomeReader, name: str, last: int) -> Drawing:
    main = reader.open(name)
    others = [one for one in main.branches() if one != main.branch_name][: _MOST_BRANCHES - 1]
    branches = [main, *(reader.open(name, branch=one) for one in others)]
    mask = mask_of(reader.secret_values())
    return draw(branches, width=_WIDTH, last=last, mask=mask.text)


def _prompt(reader: HomeReader, ask: CallAsk, *, name: str | None, person_id: str) -> CallPrompt:
    call, graph = _call_of(reader, ask.call, name)
    seen = graph.at(call)
    shown = _within(seen[max(0, len(seen) - ask.limit) :])
    left_out = len(seen) - len(shown)
    return CallPrompt(
        call=call.id,
        person_id=person_id,
        graph=call.graph,
        branch=call.branch,
        version=call.version,
        model=call.model,
        at=call.at,
        lead=call.lead,
        left_out=left_out,
        messages=shown,
        answer=graph.answer_of(call),
        tools=tuple(graph.tools_of(call) or ()),
        sampling=call.sampling,
        usage=call.usage,
    )


def _within(messages: list[Message]) -> tuple[Message, ...]:
    """Return the last messages that are small enough together; the last one is always there."""
    size, shown = 0, list[Message]()
    for message in reversed(messages):
        size += len(msgspec.json.encode(message))
        if shown and size > _MOST_BYTES:
            break
        shown.append(message)
    return tuple(reversed(shown))


def _call_of(reader: HomeReader, call_id: str, name: str | None) -> tuple[Call, MessageGraph]:
    """Return a call and its graph; the turn of a forgotten message is looked for in all of them."""
    name = name or reader.graph_of_call(call_id)
    graph = None if name is None else reader.open(name)
    found = next((one for one in graph.calls() if one.id == call_id), None) if graph else None
    if graph is None or found is None:
        raise NotFound(
            f"No call is known as {call_id[:80]!r}. `hermes why MESSAGE --json` has the calls of a "
            "message that has ended, such as m_....1; calls that failed are not kept."
        )
    return found, graph
