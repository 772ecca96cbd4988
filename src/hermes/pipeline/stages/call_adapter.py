"""Stage: one call of the adapter of an agent that no model of Hermes answers.

The call is a step that is written before it, like any effect. It is never made twice: if a crash cut
it off, it is made again with `was_cut_off`, and its adapter goes on in its own session, or says that
it cannot. The session's id is on the disk before the adapter goes on.
"""

from collections.abc import Mapping
from contextlib import aclosing
from typing import Any, Protocol

import msgspec
import structlog

from hermes import failpoints
from hermes.agents.roster import adapter_agent
from hermes.calls.costs import Cost
from hermes.config import Settings
from hermes.errors import AdapterError, AdapterLost, NoCredits, TurnInterrupted
from hermes.message.chat import ChatMessage, as_read
from hermes.message.reply import Reply, Usage
from hermes.message.session_key import graph_name
from hermes.pipeline.accounts import account_of
from hermes.pipeline.candidates import freeze
from hermes.pipeline.exchange import has_words, rounds_used, with_answer
from hermes.pipeline.graph_notes import note_call
from hermes.pipeline.needs import (
    HasDigest,
    ModelJournal,
    ModelRunner,
    ModelStore,
    StoppableContext,
    ToolJournal,
)
from hermes.pipeline.no_credits import no_credits_reply
from hermes.pipeline.replies import cut_off, empty_answer, failed, stopped_reply
from hermes.pipeline.streamed_text import ShownModelServices, StreamedText
from hermes.pipeline.tool_questions import QuestionRecords, QuestionServices, ask_person
from hermes.pipeline.turn import Turn
from hermes.ports.adapter import (
    MAX_SESSION,
    Adapter,
    AdapterCall,
    AdapterEnd,
    AdapterEvent,
    AdapterSession,
    AdapterStatus,
)
from hermes.ports.people import User
from hermes.ports.provider import TextDelta, ToolSpec
from hermes.ports.spend import SpendEntry
from hermes.ports.steps import KeptSession, Step, StepFacts
from hermes.ports.tool import Deciders, Question
from hermes.ports.upward import Progress
from hermes.routing.plan import Plan
from hermes.texts.say import say, words

_log = structlog.get_logger(__name__)
_encode = msgspec.json.Encoder().encode
# Each is a write to the disk.
_MOST_SESSIONS = 100
_OWNER = "owner"
_FREE = "free"
_NOT_FOR_YOU = words("This agent works only for people whom its operator has named.")
_GONE = words(
    "What runs this agent is not set up here. The operator of this bot has to see to that."
)
_WORDS = words("What runs this agent failed: {problem}")
_LOST = words(
    "I was cut off while I worked on that and cannot go on, so a part of it may be done "
    "already: please look before you ask again. ({problem})"
)


class AdapterJournal(ModelJournal, ToolJournal, Protocol):
    """Writes the calls of adapters down, and what they ask."""

    async def keep_session(self, turn: Turn, session: KeptSession) -> None: ...


class KeptSessions(Protocol):
    """Knows the sessions of adapters."""

    async def kept_session(self, lane: str, /) -> KeptSession | None: ...


class FindsUsers(Protocol):
    """Knows who the owner is."""

    async def get(self, person_id: str, /) -> User | None: ...


class AdapterStore(ModelStore, HasDigest, Protocol):
    """What the call of an adapter needs of the store."""

    @property
    def turns(self) -> KeptSessions: ...
    @property
    def users(self) -> FindsUsers: ...
    @property
    def approvals(self) -> QuestionRecords: ...


class AdapterRunner(ModelRunner, Protocol):
    """Knows prices and days."""

    def cost_of(self, name: str, usage: Usage) -> Cost: ...
    def day(self, at: float) -> str: ...


class AdapterServices(ShownModelServices, QuestionServices, Protocol):
    """What `call_adapter` uses: the adapters, their sessions, and questions to people."""

    @property
    def store(self) -> AdapterStore: ...
    @property
    def settings(self) -> Settings: ...
    @property
    def calls(self) -> AdapterRunner: ...
    @property
    def adapters(self) -> Mapping[str, Adapter]: ...


_Context = StoppableContext[AdapterServices, AdapterJournal]


async def call_adapter(turn: Turn, ctx: _Context) -> Turn | Reply:
    """Return the turn with the adapter's answer, or the reply that ends it."""
    # What the adapter has begun to do is not asked again: what follows has a turn of its own.
    ctx.interrupt.close_until = None
    runtime = turn.agent.settings.runtime
    adapter = ctx.services.adapters.get(runtime)
    if adapter is None:
        return failed(say(_GONE), f"the adapter {runtime!r} is not configured")
    if adapter.needs_grant and not await _is_granted(turn, ctx):
        return failed(
            say(_NOT_FOR_YOU),
            f"agents.{turn.agent.key}.adapter names neither the person nor a role",
        )
    if turn.plan is None:
        turn = msgspec.structs.replace(turn, plan=Plan(()))
    call = _Call(turn, ctx, adapter)
    try:
        return await call.run()
    except TurnInterrupted:
        call.give_up()
        return stopped_reply(turn, call.shown.text, by=ctx.interrupt.by or "")
    except NoCredits as error:
        return await no_credits_reply(turn, ctx, error)
    except AdapterError as error:
        return call.failed(error)
    finally:
        await call.shown.close()


async def _is_granted(turn: Turn, ctx: _Context) -> bool:
    """Return whether the agent names the person of a turn, or a role of theirs."""
    granted, source = turn.agent.settings.adapter, turn.event.source
    if {turn.person_id, source.sender_name} & set(granted.people):
        return True
    if _tier(turn) in granted.roles:
        return True
    if _OWNER not in granted.roles:
        return False
    user = await ctx.services.store.users.get(turn.person_id)
    return user is not None and user.state == _OWNER


def _tier(turn: Turn) -> str:
    return _FREE if turn.person is None else turn.person.tier


class _Call:
    """One call: its step, what is shown of it, and what becomes of it."""

    def __init__(self, turn: Turn, ctx: _Context, adapter: Adapter) -> None:
        self.shown = StreamedText(turn, ctx)
        self._turn = turn
        self._ctx = ctx
        self._adapter = adapter
        self._ordinal: int | None = None
        self._session = ""
        self._sessions = 0
        self._runtime = turn.agent.settings.runtime

    async def run(self) -> Turn | Reply:
        """Return the turn with the answer, or the reply to an empty one."""
        turn, ctx = self._turn, self._ctx
        ctx.interrupt.check()
        self._ordinal = await ctx.journal.start(
            turn, "adapter", name=self._runtime, prepared=freeze(turn, ctx)
        )
        stoppable = ctx.interrupt.scope()
        call = await self._call(self._ordinal)
        async with (
            failpoints.outside("adapter.call"),
            aclosing(self._adapter.stream(call)) as events,
        ):
            while True:
                with stoppable:
                    event = await anext(events)
                    if isinstance(event, TextDelta) and event.text:
                        await self.shown.add(event.text)
                if isinstance(event, AdapterEnd):
                    return await self._answered(event)
                await self._hear(event)

    async def _call(self, ordinal: int) -> AdapterCall:
        turn, ctx = self._turn, self._ctx
        kept = await ctx.services.store.turns.kept_session(turn.lane)
        self._session = kept.id if kept is not None and self._is_ours(kept) else ""
        agent = turn.agent
        return AdapterCall(
            id=f"{turn.id}.{ordinal}",
            agent=adapter_agent(agent.key, agent.settings),
            person_id=turn.person_id,
            tier=_tier(turn),
            lane=turn.lane,
            conversation=graph_name(turn.lane, turn.epoch),
            platform=turn.event.source.platform,
            messages=tuple(map(as_read, turn.context())),
            system=turn.system,
            tools=self._tools(),
            session=self._session,
            was_cut_off=was_cut_off(ctx.journal.steps),
            budget_day_usd=agent.settings.budget_day_usd,
            depth=turn.depth,
            ask=lambda question: self._ask(question, ordinal),
        )

    # Any: an answer, JSON values by name.
    async def _ask(self, question: Question, ordinal: int) -> Mapping[str, Any] | None:
        """Put a question to whoever may answer it: what is to be allowed is for admins, too."""
        turn, ctx = self._turn, self._ctx
        by_admins = turn.agent.settings.approvals.by == "admins"
        if question.is_yes_or_no:
            alone = by_admins or not ctx.services.settings.approvals.allow_self
            deciders: Deciders = "admins" if alone else "approvers"
            question = msgspec.structs.replace(question, deciders=deciders)
        elif by_admins:
            return None
        return await ask_person(turn, ctx, question, tool=self._runtime, ordinal=ordinal)

    def _tools(self) -> tuple[ToolSpec, ...]:
        settings, own = self._ctx.services.settings.turns, self._turn.agent.settings.tool_rounds
        most = settings.tool_rounds if own is None else own
        has_more = self._adapter.supports_tools and rounds_used(self._turn) < most
        return self._turn.tools if has_more else ()

    def _kept(self, session_id: str) -> KeptSession:
        agent = self._turn.agent
        return KeptSession(
            agent=agent.key,
            person_id=self._turn.person_id,
            runtime=self._runtime,
            folder=agent.settings.adapter.folder,
            id=session_id,
        )

    def _is_ours(self, kept: KeptSession) -> bool:
        return kept == self._kept(kept.id)

    async def _hear(self, event: AdapterEvent) -> None:
        turn, ctx = self._turn, self._ctx
        if isinstance(event, AdapterSession):
            if event.id == self._session:
                return
            if len(event.id) > MAX_SESSION:
                raise AdapterError(
                    f"{self._runtime}: its session id has {len(event.id)} characters"
                )
            self._sessions += 1
            if self._sessions > _MOST_SESSIONS:
                raise AdapterError(
                    f"{self._runtime}: its session has changed more than {_MOST_SESSIONS} times"
                )
            await ctx.journal.keep_session(turn, self._kept(event.id))
            self._session = event.id
        elif isinstance(event, AdapterStatus):
            ctx.services.watch.publish(turn.id, Progress(kind="status", text=event.text))

    async def _answered(self, end: AdapterEnd) -> Turn | Reply:
        turn, ctx = self._turn, self._ctx
        usage = self._book(end)
        message = ChatMessage("assistant", end.parts)
        assert self._ordinal is not None
        if not has_words(message):
            self._end_failed(usage)
            return msgspec.structs.replace(empty_answer(turn, end.stop_reason), usage=usage)
        await self.shown.finish(message.text)
        facts = StepFacts(model=self._name(end), stop_reason=end.stop_reason, is_verbatim=False)
        step = Step(ordinal=self._ordinal, kind="adapter", state="done", usage=usage, facts=facts)
        ended = ctx.journal.end(self._ordinal, _encode(message), step=step)
        return msgspec.structs.replace(
            with_answer(note_call(turn, ended), message, ordinal=self._ordinal),
            usage=turn.usage.plus(usage),
            model=facts.model,
            merged=turn.claimed,
        )

    def _name(self, end: AdapterEnd) -> str:
        return f"{self._runtime}:{end.model}" if end.model else self._runtime

    def _book(self, end: AdapterEnd) -> Usage:
        """Book what a call took to the person, unless the models of Hermes were called for it."""
        usage = end.usage
        if end.booked_by != "nobody" or usage == Usage():
            return usage
        calls, turn = self._ctx.services.calls, self._turn
        name = self._name(end)
        cost = Cost(usage) if usage.cost_usd else calls.cost_of(name, usage)
        day = calls.day(self._ctx.services.clock.now())
        self._ctx.journal.spend(
            (
                SpendEntry(
                    day=day,
                    account=account_of(turn),
                    model=name,
                    usage=cost.usage,
                    assumed_usd=cost.assumed_usd,
                ),
            )
        )
        return cost.usage

    def give_up(self) -> None:
        """End the step of a call that was stopped."""
        self._end_failed(Usage())

    def _end_failed(self, usage: Usage) -> None:
        ordinal, self._ordinal = self._ordinal, None
        if ordinal is not None:
            step = Step(ordinal=ordinal, kind="adapter", state="failed", usage=usage)
            self._ctx.journal.end(ordinal, None, step=step)

    def failed(self, error: AdapterError) -> Reply:
        """Return the end of a call that brought no answer."""
        _log.warning(
            "adapter_failed", message_id=self._turn.id, adapter=self._runtime, problem=str(error)
        )
        self._ctx.journal.note("adapter_failed", adapter=self._runtime, problem=error.code)
        self._end_failed(Usage())
        told = _LOST if isinstance(error, AdapterLost) else _WORDS
        text, problem = self.shown.text, str(error)
        reply = cut_off(text, problem) if text else failed(say(told, problem=problem), problem)
        return msgspec.structs.replace(reply, code=error.code)


def was_cut_off(steps: tuple[Step, ...]) -> bool:
    """Return whether the last call of an adapter that a turn has made was cut off by a crash."""
    last = next((step for step in reversed(steps) if step.kind == "adapter"), None)
    return last is not None and last.state in ("started", "lost")
