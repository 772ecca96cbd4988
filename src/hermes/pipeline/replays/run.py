"""Makes an answer again from what a message's turn had frozen, beside every lane.

A dry replay starts no tool, writes no delivery and takes no lease: all that it writes is its row, what
its model calls took, and a branch of the graph. After `kill -9` the row says that it was cut off;
nothing goes on by itself.
"""

import asyncio
from contextlib import aclosing
from typing import Any, Protocol

import msgspec
import structlog

from hermes.calls.budgets import Payer
from hermes.calls.call_charge import SpendLog
from hermes.calls.events import FullAnswer
from hermes.calls.model_caller import CallSpec
from hermes.calls.sampling import NO_SAMPLING, Sampling
from hermes.calls.shares import ShareHolder
from hermes.errors import HermesError, Overloaded, PersonErased
from hermes.graph.records import REPEATS
from hermes.memory.soul import soul_blocks
from hermes.message.chat import ChatMessage
from hermes.message.ids import MakeId
from hermes.message.parts import ImagePart, TextPart, ToolCallPart, ToolResultPart, tool_calls_of
from hermes.message.reply import Usage
from hermes.pipeline.exchange import (
    continuations,
    is_going_on,
    pending_calls,
    with_answer,
    with_result,
)
from hermes.pipeline.model_request import allowed_parts, facts_of, request_of
from hermes.pipeline.needs import HasClock, HasSettings, ModelPlanner, ModelRunner
from hermes.pipeline.replays.answers import (
    ReplayEnded,
    ReplaySpec,
    ReplayStory,
    difference,
    given_side,
    side_of,
)
from hermes.pipeline.replays.live_tools import LiveToolServices, find_tool, run_live
from hermes.pipeline.replays.recorded_tools import RecordedTools
from hermes.pipeline.replays.source import ReplaySource, SourceServices, read_source
from hermes.pipeline.turn import Turn
from hermes.ports.provider import CallEnd, ModelRequest
from hermes.ports.replays import REPLAY, NewReplay, ReplayBranch, ReplayEnd, ReplayState
from hermes.ports.spend import PLATFORM, Account
from hermes.ports.steps import Rest
from hermes.ports.transcripts import NewCall
from hermes.ports.turns import ToolUse
from hermes.routing.plan import CallNeeds, Candidate, Plan

_log = structlog.get_logger(__name__)
_encode = msgspec.json.Encoder().encode
# So many run at once; the places for model calls are shared with everybody.
MOST_AT_ONCE = 8
_WAIT_S = 5.0


class ReplayServices(SourceServices, LiveToolServices, HasSettings, HasClock, Protocol):
    """What replays use."""

    @property
    def planner(self) -> ModelPlanner: ...
    @property
    def calls(self) -> ModelRunner: ...
    @property
    def make_id(self) -> MakeId: ...


class ReplayRunner:
    """Runs replays."""

    def __init__(self, services: ReplayServices) -> None:
        self._services = services
        self._running = 0

    async def run(self, spec: ReplaySpec) -> str:
        """Run a replay to its end and return its id; raises if it cannot begin."""
        if self._running >= MOST_AT_ONCE:
            raise Overloaded(f"{MOST_AT_ONCE} replays run already; try again soon", _WAIT_S)
        self._running += 1
        try:
            services = self._services
            source = await read_source(services, spec.message)
            candidate = await self._candidate(source, spec)
            replay = NewReplay(
                id=services.make_id("rp"),
                message_id=source.message.id,
                person_id=source.message.person_id,
                graph=source.call.graph,
                agent=source.agent.key,
                model=_name(candidate),
                label=spec.label,
                has_prompt=spec.system is not None,
                is_live=spec.is_live,
                at=services.clock.now(),
            )
            await services.store.replays.begin(replay)
            await _Replay(services, source, replay, spec=spec, candidate=candidate).run()
            return replay.id
        finally:
            self._running -= 1

    async def _candidate(self, source: ReplaySource, spec: ReplaySpec) -> Candidate:
        """Return the one model that answers: nobody takes its place if it fails."""
        seen = (*source.call.lead, *source.call.said)
        needs = CallNeeds(
            prompt=source.event.text,
            model=spec.model or source.model,
            tools=bool(source.call.tools),
            images=any(isinstance(part, ImagePart) for one in seen for part in one.parts),
            agent=source.agent.key,
        )
        return (await self._services.planner.plan(needs)).candidates[0]


class _Replay:
    """One replay from its row to its end."""

    def __init__(
        self,
        services: ReplayServices,
        source: ReplaySource,
        replay: NewReplay,
        *,
        spec: ReplaySpec,
        candidate: Candidate,
    ) -> None:
        self._services = services
        self._source = source
        self._replay = replay
        self._spec = spec
        self._candidate = candidate
        self._recorded = RecordedTools(source.steps)
        self._receipt = SpendLog()
        self._account = Account(person_id=PLATFORM, agent=replay.agent, channel=REPLAY)
        self._usage = Usage()
        self._ms = 0.0
        self._tools_run = 0
        # What the person said while the recorded tools ran; it comes after all results of a round.
        self._joining: list[ChatMessage] = []
        self._lead, self._new_blocks = _lead(source, spec.system)
        self._turn = _turn(source, replay, self._lead)

    async def run(self) -> None:
        """Run to the end and write it, however it comes."""
        try:
            await self._answer()
        except ReplayEnded as end:
            await self._end("ended", reason=end.reason, text=end.text)
        except asyncio.CancelledError:
            # The caller left, or the gateway stops: what was done is kept.
            await self._end("stopped", reason="stopped", text="It was stopped.")
            raise
        except HermesError as error:
            await self._end("failed", reason=error.code, text=str(error))
        # Boundary of one replay: whatever broke, its row says so.
        except Exception:
            await self._end("failed", reason="internal", text="It broke; the log says why.")
            raise
        else:
            await self._end("answered")

    async def _answer(self) -> None:
        while True:
            await self._call()
            pending = pending_calls(self._turn)
            if not pending and not is_going_on(self._turn):
                return
            for call in pending:
                await self._tool(call)
            for said in self._joining:
                self._turn = self._turn.plus(said, ordinal=None)
            self._joining.clear()
            most = self._spec.max_usd
            if most is not None and self._usage.cost_usd >= most:
                raise ReplayEnded("over_cost", f"It has cost ${self._usage.cost_usd:.4f} by now.")

    async def _call(self) -> None:
        turn, services = self._turn, self._services
        request = self._request()
        call = CallSpec(
            call_id=self._replay.id,
            request=request,
            payer=Payer(account=self._account),
            whole=True,
            wait_s=services.settings.turns.wait_s,
            asker=ShareHolder(REPLAY, PLATFORM),
        )
        began = services.clock.monotonic()
        try:
            run = services.calls.run(call, Plan((self._candidate,)), receipt=self._receipt)
            async with aclosing(run) as events:
                async for event in events:
                    if isinstance(event, FullAnswer):
                        self._turn = self._with_answer(turn, event, request)
        finally:
            self._ms += (services.clock.monotonic() - began) * 1000
            await self._book()

    def _request(self) -> ModelRequest:
        """Return the next call: what was frozen, with the sampling that the first call had."""
        request = request_of(self._turn, tool_rounds=self._services.settings.turns.tool_rounds)
        frozen = _sampling(self._source.call.sampling)
        return msgspec.structs.replace(
            request,
            max_output_tokens=frozen.max_output_tokens,
            is_capped=frozen.max_output_tokens is not None,
            temperature=frozen.temperature,
            top_p=frozen.top_p,
            stop=frozen.stop,
            seed=frozen.seed,
            reasoning=frozen.reasoning,
            # A model that cannot hold what the other one saw fails: it would not be the same prompt.
            cut_history=False,
        )

    def _with_answer(self, turn: Turn, event: FullAnswer, request: ModelRequest) -> Turn:
        end = event.end
        message = ChatMessage("assistant", allowed_parts(end.parts, request))
        rest = self._rest(turn, end)
        facts = facts_of(event, request, message, rest=rest, deployment="")
        known = (self._new_blocks, len(self._lead))
        made = NewCall(
            id=f"{self._replay.id}.{len(turn.calls) + 1}",
            model=facts.model,
            seen=len(turn.exchanged),
            lead=self._lead,
            known=known,
            start=self._source.call.start,
            at=self._services.clock.now(),
            tools=turn.tools if facts.had_tools else (),
            sampling=event.sampling,
            metadata={"stop_reason": end.stop_reason, REPEATS: self._source.call.id},
            usage=end.usage,
            sampled=facts.is_verbatim,
        )
        turn = msgspec.structs.replace(
            turn, calls=(*turn.calls, made), rest=rest, model=facts.model
        )
        return with_answer(turn, message, ordinal=len(turn.exchanged))

    def _rest(self, turn: Turn, end: CallEnd) -> Rest:
        """Return whether the rest of an answer that reached its length limit is asked for."""
        if end.stop_reason != "length" or tool_calls_of(end.parts):
            return ""
        if self._services.planner.is_demonstration(Plan((self._candidate,))):
            return ""
        most = self._services.settings.turns.continuations
        return "asked" if continuations(turn) < most else "left"

    async def _tool(self, call: ToolCallPart) -> None:
        if self._spec.is_live:
            self._keep(call, await self._run_live(call))
            return
        found = self._recorded.take(call)
        if found is None:
            raise ReplayEnded(
                "not_on_record",
                f"The model called {call.name} with arguments that are not on record, and a dry "
                "replay starts no tool. --live-tools runs it.",
            )
        self._keep(call, found.result)
        self._joining += found.joined

    async def _run_live(self, call: ToolCallPart) -> ChatMessage:
        services = self._services
        tool = await find_tool(self._turn, call, services)
        self._tools_run += 1
        # On record before it starts: after a crash the row says that it may have taken effect.
        await services.store.replays.step(self._replay.id, tools=1)
        began = services.clock.monotonic()
        try:
            return await run_live(self._turn, call, tool, number=self._tools_run, services=services)
        finally:
            self._ms += (services.clock.monotonic() - began) * 1000

    def _keep(self, call: ToolCallPart, result: ChatMessage) -> None:
        failed = any(isinstance(part, ToolResultPart) and part.failed for part in result.parts)
        use = ToolUse(call.name, call.arguments, failed, self._spec.is_live)
        self._turn = with_result(self._turn, result, call=call, use=use, ordinal=-1)

    async def _book(self) -> None:
        """Write what the calls so far took: to the gateway's own account, and to no agent's budget."""
        account = msgspec.structs.replace(self._account, agent="")
        spent = tuple(msgspec.structs.replace(one, account=account) for one in self._receipt.take())
        for one in spent:
            self._usage = self._usage.plus(one.usage)
        if spent:
            await self._services.store.replays.step(self._replay.id, spent=spent)

    async def _end(self, state: ReplayState, *, reason: str = "", text: str = "") -> None:
        turn, before = self._turn, given_side(self._source.steps)
        messages = tuple(entry.message for entry in turn.exchanged)
        after = side_of(
            messages,
            model=self._replay.model,
            calls=len(turn.calls),
            ms=self._ms,
            usage=self._usage,
        )
        change = None
        if state == "answered":
            change = await asyncio.to_thread(difference, before, after)
        end = ReplayEnd(
            state=state,
            reason=reason,
            change=change,
            at=self._services.clock.now(),
            story=_encode(ReplayStory(before=before, after=after, text=text)),
            branch=ReplayBranch(frozen=self._source.call, messages=messages, calls=turn.calls),
        )
        store = self._services.store.replays
        try:
            await store.end(self._replay, end)
        except PersonErased:
            # Nothing of theirs is kept, not even what a model said to them.
            gone = msgspec.structs.replace(
                end, state="ended", reason="erased", change=None, story=None, branch=None
            )
            await store.end(self._replay, gone)
        _log.info("replay", replay_id=self._replay.id, state=state, reason=reason)


def _lead(source: ReplaySource, system: str | None) -> tuple[tuple[ChatMessage, ...], int]:
    """Return what comes before the conversation, and how many blocks of it are new.

    A new prompt takes the place of the agent's own blocks; what Hermes knows of the person, the chat
    and the skills stays as it was.
    """
    lead = source.call.lead
    if system is None:
        return lead, 0
    own, kept = soul_blocks(source.agent.settings), 0
    while kept < min(len(own), len(lead)) and lead[kept].text == own[kept]:
        kept += 1
    if not kept and lead and lead[0].role == "system":
        # The agent has another prompt by now: its own was the first block.
        kept = 1
    new = (ChatMessage("system", (TextPart(system),)),) if system.strip() else ()
    return (*new, *lead[kept:]), len(new)


def _turn(source: ReplaySource, replay: NewReplay, lead: tuple[ChatMessage, ...]) -> Turn:
    """Return the turn before its first call, as its model sees it."""
    blocks = 0
    while blocks < len(lead) and lead[blocks].role == "system":
        blocks += 1
    return Turn(
        id=replay.id,
        lane=source.message.lane,
        event=source.event,
        person_id=source.message.person_id,
        received_at=replay.at,
        epoch=0,
        head=0,
        agent=source.agent,
        system=tuple(one.text for one in lead[:blocks]),
        history=(*lead[blocks:], *source.call.said),
        tools=source.call.tools,
    )


# Any: JSON, as the request had it
def _sampling(found: dict[str, Any]) -> Sampling:
    """Return the values that a call was made with; none if another version of Hermes wrote them."""
    try:
        return msgspec.convert(found, Sampling)
    except msgspec.ValidationError:
        return NO_SAMPLING


def _name(candidate: Candidate) -> str:
    return f"{candidate.provider}:{candidate.model}"
