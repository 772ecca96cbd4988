"""The in-memory twin of the gateway behind `ports.gateway_api.GatewayApi`, for tests of HTTP
channels.

It keeps the promises of that port (one message per id, turns of a conversation in order, `/stop`
beside them, a watch that starts with a snapshot) and stores nothing on disk.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing
from typing import Any, Literal, Protocol

import msgspec

from hermes.errors import BadRequest, Conflict, HermesError, NotFound, Overloaded
from hermes.message.event import MessageEvent
from hermes.message.ids import MakeId
from hermes.message.outcome import BusyPolicy, MessageState, Outcome
from hermes.message.reply import Usage
from hermes.message.source import Source
from hermes.ports.approvals import OpenApproval
from hermes.ports.channel import Acceptance, DeniedApproval
from hermes.ports.clock import Clock
from hermes.ports.gateway_api import Caller, MessageStatus
from hermes.ports.inbox import RefusedMessage
from hermes.ports.session_history import Contribution, ConversationMessage, ConversationPage
from hermes.ports.turns import MessageRecord, ToolUse, TurnResult
from hermes.ports.upward import Progress
from hermes.ports.work_files import SessionOwner
from hermes.server.auth import operating

NEW = "/new"
_FRIENDLY = "Something went wrong while answering. Please send that again."


class Hold:
    """A point in a reply at which the model waits until the test releases it."""

    def __init__(self) -> None:
        self._reached = asyncio.Event()
        self._released = asyncio.Event()

    async def reached(self) -> None:
        """Return once the reply has reached this point."""
        await self._reached.wait()

    def release(self) -> None:
        """Let the reply continue, now and whenever it is played again."""
        self._released.set()

    async def stand(self) -> None:
        """Wait here."""
        self._reached.set()
        await self._released.wait()


class Note(msgspec.Struct, frozen=True):
    """An event beside the text."""

    kind: Literal["status", "tool", "restart", "thought"]
    text: str = ""


class Ask(msgspec.Struct, frozen=True):
    """A question to the person; the reply continues after `/approve`."""

    question: str
    tool: str = ""
    arguments: str = ""


Move = str | Hold | Note | Ask | HermesError
Said = str | Note | Ask


class Script:
    """Replies by the exact text of the message; anything else is echoed."""

    def __init__(self) -> None:
        self._replies: dict[str, tuple[Move, ...]] = {}

    def on(self, text: str, *moves: Move) -> None:
        """Answer `text` with these steps: pieces of text, holds, notes, or a failure."""
        self._replies[text] = moves

    async def play(self, text: str) -> AsyncIterator[Said]:
        """Yield the pieces of the answer to `text`."""
        for move in self._replies.get(text, (f"You said: {text}",)):
            if isinstance(move, HermesError):
                raise move
            if isinstance(move, Hold):
                await move.stand()
            else:
                yield move


def _lane(platform: str, chat_id: str) -> str:
    return f"{platform}:{chat_id}"


class Authenticate(Protocol):
    """The part of access control that the gateway API delegates to."""

    async def authenticate(self, headers: Mapping[str, str]) -> Caller:
        """Check a credential; raise `Unauthenticated`."""
        ...


class _Turn:
    def __init__(self, record: MessageRecord, event: MessageEvent, *, epoch: int) -> None:
        self.record = record
        self.event = event
        self.epoch = epoch
        self.text = ""
        self.status: Progress | None = None
        self.tools: list[ToolUse] = []
        self.thoughts = ""
        self.result: TurnResult | None = None
        self.end: Progress | None = None
        self.approved = asyncio.Event()
        self.asked = Ask("")
        self.task: asyncio.Task[None] | None = None
        self.watchers: set[asyncio.Queue[Progress]] = set()

    def tell(self, progress: Progress) -> None:
        self.status = progress if progress.kind in {"status", "parked"} else None
        for queue in self.watchers:
            queue.put_nowait(progress)

    def finish(self, outcome: Outcome, result: TurnResult, *, at: float) -> None:
        self.result = result
        self.record = msgspec.structs.replace(
            self.record, state=MessageState.DONE, outcome=outcome, done_at=at
        )
        self.end = Progress(kind="done", outcome=outcome, result=result)
        self.tell(self.end)


class MemoryGatewayApi:
    """A whole gateway in memory; `full` makes it refuse, `refusals` lists what it refused.

    `contributions` are what every conversation is said to have begun with.
    """

    def __init__(
        self,
        script: Script,
        *,
        access: Authenticate,
        clock: Clock,
        make_id: MakeId,
        agents: tuple[str, ...] = ("main",),
        model: str = "scripted",
    ) -> None:
        self.full = False
        self.refusals: list[RefusedMessage] = []
        self.contributions: tuple[Contribution, ...] = ()
        self._script = script
        self._access = access
        self._clock = clock
        self._make_id = make_id
        self._agents = agents
        self._model = model
        self._turns: dict[str, _Turn] = {}
        self._by_external: dict[tuple[str, str, str, str], _Turn] = {}
        self._lanes: dict[tuple[str, str], asyncio.Lock] = {}
        self._epochs: dict[str, int] = {}

    async def accept(self, event: MessageEvent) -> Acceptance:
        """Store a message and start its turn."""
        key = (event.account, event.source.platform, event.route, event.external_id)
        known = self._by_external.get(key)
        if known is not None:
            if known.event.parts != event.parts or known.event.source != event.source:
                raise Conflict(
                    f"The id {event.external_id!r} belongs to another message: use a new id."
                )
            return Acceptance(message_id=known.record.id, duplicate=True)
        if self.full:
            raise Overloaded("Too many messages are waiting: send this one again.", retry_after=7.2)
        if event.agent is not None and event.agent not in self._agents:
            raise NotFound(f"There is no agent {event.agent!r}; known: {', '.join(self._agents)}.")
        turn = self._keep(event)
        self._by_external[key] = turn
        denied = self._deny(turn) if event.denies_approval else None
        turn.task = asyncio.create_task(self._run(turn))
        return Acceptance(message_id=turn.record.id, denied=denied)

    async def refuse(
        self, platform: str, error: HermesError, *, external_id: str | None = None
    ) -> str:
        """Record a refusal."""
        refusal = RefusedMessage(
            id=self._make_id("r"),
            at=self._clock.now(),
            platform=platform,
            code=error.code,
            text=str(error),
            external_id=external_id,
        )
        self.refusals.append(refusal)
        return refusal.id

    async def authenticate(self, headers: Mapping[str, str]) -> Caller:
        """Check the bearer token or the session cookie."""
        return await self._access.authenticate(headers)

    async def recognise(self, headers: Mapping[str, str]) -> Caller:
        """Check the bearer token or the session cookie of an operator."""
        return operating(await self._access.authenticate(headers))

    async def signed_in(self, headers: Mapping[str, str]) -> Caller:
        """Check the bearer token or the session cookie of anybody."""
        return await self._access.authenticate(headers)

    async def message(self, message_id: str) -> MessageStatus | None:
        """Return one message and its result."""
        turn = self._turns.get(message_id)
        return None if turn is None else MessageStatus(turn.record, turn.result)

    async def watch(self, message_id: str) -> AsyncIterator[Progress]:
        """Yield a snapshot of a message, then every update until it is done."""
        turn = self._turns[message_id]
        queue: asyncio.Queue[Progress] = asyncio.Queue()
        for standing in filter(None, (turn.status, turn.end)):
            queue.put_nowait(standing)
        turn.watchers.add(queue)
        try:
            yield Progress(kind="snapshot", text=turn.text)
            while True:
                progress = await queue.get()
                yield progress
                if progress.kind in {"done", "parked"}:
                    return
        finally:
            turn.watchers.discard(queue)

    async def end(self, message_id: str, *, is_new: bool = False) -> Progress:
        """Wait until a message is done or its turn asks a question."""
        async with aclosing(self.watch(message_id)) as updates:  # type: ignore[type-var]
            async for progress in updates:
                if progress.kind in {"done", "parked", "question"}:
                    return progress
        raise AssertionError(f"the watch of {message_id} ended before its message")

    async def question(self, message_id: str) -> Progress | None:
        """Return what a turn asks and waits for."""
        status = self._turns[message_id].status
        return status if status is not None and status.kind == "parked" else None

    async def stop(self, message_id: str, *, by: str) -> bool:
        """End a message that has not ended; False if it had ended."""
        turn = self._turns[message_id]
        if turn.end is not None:
            return False
        if turn.task is not None:
            turn.task.cancel()
        reason = f"stopped by {by}"
        turn.finish(Outcome.INTERRUPTED, TurnResult(text="", reason=reason), at=self._clock.now())
        return True

    async def call_source(
        self, agent: str, *, platform: str, caller: str, context_id: str | None = None
    ) -> Source:
        """Return the source of a call; every agent is known, and none is shared."""
        del agent
        return Source(platform=platform, chat_id=context_id or caller, user_id=caller)

    async def conversation(
        self,
        platform: str,
        chat_id: str,
        *,
        limit: int,
        user_id: str = "",
        before: str | None = None,
        agent: str | None = None,
    ) -> ConversationPage:
        """Return the newest messages of a conversation, oldest first; `before` is a message's
        number.
        """
        del agent
        lane = _lane(platform, chat_id)
        if before is not None and not before.isdecimal():
            raise BadRequest(f"before={before!r} is not a place in a conversation.")
        newest = int(before) if before is not None else len(self._turns) + 1
        found = [
            ConversationMessage(turn.record, turn.result, epoch=turn.epoch)
            for turn in self._turns.values()
            if turn.record.lane == lane and turn.record.seq < newest and not turn.record.control
        ]
        shown = found[-limit:]
        earlier = str(shown[0].record.seq) if len(shown) < len(found) else None
        epoch = self._epochs.get(lane, 0)
        return ConversationPage(
            messages=tuple(shown),
            epoch=epoch,
            earlier=earlier,
            is_temporary=self._is_temporary(lane),
            contributions=self.contributions if found else (),
        )

    def _is_temporary(self, lane: str) -> bool:
        begun = [turn for turn in self._turns.values() if turn.record.lane == lane]
        return any(turn.event.is_temporary for turn in begun[:1])

    def _is_waiting(self, lane: str) -> bool:
        turns = [turn.record for turn in self._turns.values() if turn.record.lane == lane]
        return any(record.state is MessageState.PARKED for record in turns)

    async def session_owner(self, source: Source, *, agent: str | None = None) -> SessionOwner:
        """Return whose session a message from a source would join: everybody is known."""
        person_id = f"p_{source.user_id}"
        return SessionOwner(person_id=person_id, lane=_lane(source.platform, source.chat_id))

    # Any: the rows are printed, each with the keys that its store knows.
    async def conversations(
        self, platform: str, *, limit: int, user_id: str | None = None
    ) -> tuple[dict[str, Any], ...]:
        """Return the platform's conversations, most recently used first."""
        rows: dict[str, dict[str, Any]] = {}
        for turn in self._turns.values():
            source = turn.event.source
            if user_id not in (None, source.user_id):
                continue
            if source.platform == platform and turn.event.type == "text":
                row = rows.pop(source.chat_id, None) or {
                    "chat_id": source.chat_id,
                    "title": turn.event.text[:80],
                }
                row["is_temporary"] = self._is_temporary(turn.record.lane)
                row["is_waiting"] = self._is_waiting(turn.record.lane)
                rows[source.chat_id] = {**row, "used_at": turn.record.received_at}
        return tuple(reversed(rows.values()))[:limit]

    def watchers(self) -> int:
        """Return how many watches are open."""
        return sum(len(turn.watchers) for turn in self._turns.values())

    def messages(self) -> tuple[MessageEvent, ...]:
        """Return every accepted event, oldest first."""
        return tuple(turn.event for turn in self._turns.values())

    async def close(self) -> None:
        """End every running turn."""
        tasks = [turn.task for turn in self._turns.values() if turn.task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _keep(self, event: MessageEvent) -> _Turn:
        record = MessageRecord(
            id=self._make_id("m"),
            seq=len(self._turns) + 1,
            lane=_lane(event.source.platform, event.source.chat_id),
            person_id=event.source.user_id,
            event=event,
            state=MessageState.NEW,
            busy=BusyPolicy.QUEUE,
            control=event.text.partition(" ")[0] in {"/stop", "/approve", NEW},
            received_at=self._clock.now(),
            attempts=0,
            external_id=event.external_id,
            platform=event.source.platform,
        )
        turn = _Turn(record, event, epoch=self._epochs.get(record.lane, 0))
        self._turns[record.id] = turn
        return turn

    async def _run(self, turn: _Turn) -> None:
        if turn.record.control:
            self._obey(turn)
            return
        lane = (turn.event.source.platform, turn.event.source.chat_id)
        try:
            async with self._lanes.setdefault(lane, asyncio.Lock()):
                turn.record = msgspec.structs.replace(turn.record, state=MessageState.RUNNING)
                await self._answer(turn)
        except asyncio.CancelledError:
            text = f"I did not run {turn.asked.tool}." if turn.asked.tool else turn.text
            self._finish(turn, Outcome.INTERRUPTED, text=text, reason="stopped")
        except HermesError as error:
            text = turn.text or _FRIENDLY
            self._finish(turn, Outcome.FAILED, text=text, reason=str(error))

    async def _answer(self, turn: _Turn) -> None:
        async for said in self._script.play(turn.event.text):
            if isinstance(said, Ask):
                await self._park(turn, said)
            elif isinstance(said, Note):
                self._note(turn, said)
            else:
                turn.text += said
                turn.tell(Progress(kind="delta", text=said))
        self._finish(turn, Outcome.ANSWERED, text=turn.text)

    async def _park(self, turn: _Turn, ask: Ask) -> None:
        turn.record = msgspec.structs.replace(turn.record, state=MessageState.PARKED)
        until = self._clock.now() + 3600.0
        waits = OpenApproval(tool=ask.tool, arguments=ask.arguments, expires_at=until)
        asked = TurnResult(
            text=ask.question,
            approval=f"a_{turn.record.seq}",
            waits=waits if ask.tool else None,
        )
        turn.asked = ask
        turn.tell(Progress(kind="parked", text=ask.question, result=asked))
        await turn.approved.wait()
        turn.record = msgspec.structs.replace(turn.record, state=MessageState.RUNNING)
        turn.status = None

    def _deny(self, turn: _Turn) -> DeniedApproval | None:
        """Deny what the conversation waits for, as a new message does."""
        for other in self._turns.values():
            is_here = other.record.lane == turn.record.lane and not turn.record.control
            if is_here and other.record.state is MessageState.PARKED and other.task is not None:
                other.task.cancel()
                return DeniedApproval(f"a_{other.record.seq}", other.asked.tool)
        return None

    def _note(self, turn: _Turn, note: Note) -> None:
        if note.kind == "thought":
            turn.thoughts += note.text
            return
        if note.kind == "tool":
            turn.tools.append(ToolUse(note.text, "{}"))
        elif note.kind == "restart":
            turn.text = ""
        turn.tell(Progress(kind=note.kind, text=note.text))

    def _finish(
        self, turn: _Turn, outcome: Outcome, *, text: str, reason: str | None = None
    ) -> None:
        words_in, words_out = len(turn.event.text.split()), len(text.split())
        result = TurnResult(
            text=text,
            usage=Usage(words_in, words_out, cost_usd=0.000002 * (words_in + words_out)),
            tool_calls=tuple(turn.tools),
            model=self._model,
            reason=reason,
            is_partial=outcome is Outcome.FAILED and bool(turn.text),
            thoughts=turn.thoughts,
        )
        turn.finish(outcome, result, at=self._clock.now())

    def _obey(self, command: _Turn) -> None:
        if command.event.text == NEW:
            lane = command.record.lane
            self._epochs[lane] = self._epochs.get(lane, 0) + 1
            command.finish(Outcome.ANSWERED, TurnResult(text="Done."), at=self._clock.now())
            return
        for other in self._turns.values():
            if other.record.lane != command.record.lane or other.task is None:
                continue
            if command.event.text.startswith("/approve"):
                other.approved.set()
            elif other.record.state is MessageState.RUNNING:
                other.task.cancel()
        command.finish(Outcome.ANSWERED, TurnResult(text="Done."), at=self._clock.now())
