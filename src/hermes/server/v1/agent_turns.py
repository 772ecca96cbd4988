"""`agent:NAME`: a call of `/v1` that runs a whole turn of an agent, through the journal.

The agent has its own tools, memory and budget. By default the call sends its whole history and
nothing is kept; with the header `x-hermes-conversation` the agent remembers the conversation, and
only the last message is read.
"""

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from urllib.parse import quote

import msgspec

from hermes.calls.events import CallEvent, CallStart, FullAnswer
from hermes.errors import (
    BadRequest,
    ModelsStopped,
    NoCredits,
    OverBudget,
    Overloaded,
    PromptTooLong,
    ProviderUnavailable,
    StreamTruncated,
)
from hermes.message.event import MessageEvent
from hermes.message.ids import MakeId
from hermes.message.outcome import Outcome
from hermes.message.parts import AudioPart, FilePart, TextPart
from hermes.message.source import Source
from hermes.ports.clock import Clock
from hermes.ports.gateway_api import GatewayApi
from hermes.ports.provider import CallEnd, ModelName, ModelRequest, TextDelta
from hermes.ports.turns import TurnResult
from hermes.ports.upward import Progress
from hermes.routing.plan import Candidate
from hermes.server.v1.callers import ApiCaller
from hermes.server.v1.dialect import WireCall

_AGENT = "agent"
_MAX_NAME = 200
_GAP = "\n\n"
_LATER_S = 60.0
_SAID = frozenset({Outcome.ANSWERED, Outcome.MERGED})


class AgentTurns:
    """Runs turns for the callers of `/v1`."""

    def __init__(self, gateway_api: GatewayApi, *, clock: Clock, make_id: MakeId) -> None:
        self._gateway_api = gateway_api
        self._clock = clock
        self._make_id = make_id

    async def run(
        self, call: WireCall, caller: ApiCaller, *, headers: Mapping[str, str]
    ) -> AsyncGenerator[CallEvent, None]:
        """Run one turn and report it as a model call."""
        event = self._event(call, caller, headers=headers)
        accepted = await self._gateway_api.accept(event)
        rule = f"explicit agent, turn {accepted.message_id}"
        candidate = Candidate(_AGENT, event.agent or "", rule)
        yield CallStart(candidate)
        yield ModelName(call.model)
        said = _Said()
        # The gateway API's `watch` is an async generator; its port does not declare that.
        watching = aclosing(self._gateway_api.watch(accepted.message_id))  # type: ignore[type-var]
        async with watching as updates:
            async for progress in updates:
                if progress.kind in ("done", "parked"):
                    result = _end_of(progress, name=call.model)
                    rest = said.rest(result.text)
                    if rest and call.stream:
                        yield TextDelta(rest)
                    text = said.all + rest if call.stream else result.text
                    stop = result.stop_reason or "end"
                    end = CallEnd((TextPart(text),), stop, result.usage, call.model)
                    yield FullAnswer(candidate=candidate, end=end)
                    return
                more = said.hear(progress)
                if more and call.stream:
                    yield TextDelta(more)
        raise StreamTruncated(
            f"the gateway is stopping; the turn continues: see `hermes why {accepted.message_id}`"
        )

    def _event(
        self, call: WireCall, caller: ApiCaller, *, headers: Mapping[str, str]
    ) -> MessageEvent:
        request = call.request
        if request.tools or request.schema is not None:
            raise BadRequest(
                f"{call.model} is an agent with its own tools and its own answer format: leave "
                "'tools' and the response format out, or call a model."
            )
        if not request.messages or request.messages[-1].role != "user":
            raise BadRequest("The last message must have the role 'user'.")
        conversation = headers.get("x-hermes-conversation", "")[:_MAX_NAME]
        name = headers.get("idempotency-key", "")[:_MAX_NAME] or self._make_id("x")
        # A colon in a name must not let one user pass as another.
        user = quote(caller.user, safe="")
        return MessageEvent(
            account="default",
            route="v1",
            external_id=f"{user}:{name}",
            source=Source(
                platform="v1",
                chat_id=f"{user}:c:{conversation}" if conversation else f"{user}:x:{name}",
                user_id=caller.user,
            ),
            parts=request.messages[-1].parts,
            at=self._clock.now(),
            agent=call.model.partition(":")[2],
            channel_prompt="\n\n".join(request.system) or None,
            history=() if conversation else request.messages[:-1],
            key=None if caller.key is None else caller.key.id,
        )


class _Said:
    """The text of a turn sent so far: all of it, and the part since the text last restarted."""

    def __init__(self) -> None:
        self.all = ""
        self._since = ""

    def hear(self, progress: Progress) -> str:
        """Return the text that a progress event adds."""
        if progress.kind == "restart":
            self._since = ""
        if progress.kind not in ("delta", "snapshot") or not progress.text:
            return ""
        gap = _GAP if self.all and not self._since else ""
        self._since += progress.text
        self.all += gap + progress.text
        return gap + progress.text

    def rest(self, text: str) -> str:
        """Return the part of the final text that is missing; a different text is returned whole."""
        if text.startswith(self._since):
            return text[len(self._since) :] if self._since or not self.all else _GAP + text
        return _GAP + text


def refuse_for_agents(call: WireCall) -> None:
    """Raise `BadRequest` for what an agent cannot be asked for."""
    kinds = {type(part) for message in call.request.messages for part in message.parts}
    if FilePart in kinds or AudioPart in kinds:
        raise BadRequest(
            "An agent cannot be sent documents or sounds here: name a model, or send their text."
        )
    if call.choices > 1:
        raise BadRequest(f"n is {call.choices}: an agent gives one answer; set it to 1.")


def ignored_by_agents(request: ModelRequest) -> tuple[str, ...]:
    """Return the options of a request that have no effect because an agent decides them itself."""
    asked = {
        "max_tokens": request.max_output_tokens,
        "temperature": request.temperature,
        "top_p": request.top_p,
        "stop": request.stop or None,
        "reasoning": request.reasoning,
        "seed": request.seed,
    }
    if request.extras is not None:
        asked |= msgspec.structs.asdict(request.extras)
    return tuple(name for name, value in asked.items() if value is not None)


def _end_of(progress: Progress, *, name: str) -> TurnResult:
    """Return how a turn ended; raise the error if there is no answer."""
    result = progress.result or TurnResult(text="")
    if progress.kind == "parked":
        waits = f"This needs an approval ({result.approval}). Ask again once it is given."
        return TurnResult(text=waits)
    if progress.outcome in _SAID:
        return result
    reason = f"{name} could not answer: {result.reason or result.text or 'no reason was given'}"
    if progress.outcome is Outcome.INTERRUPTED:
        raise StreamTruncated(reason)
    if result.code == OverBudget.code:
        raise OverBudget(reason, _LATER_S)
    if result.code == PromptTooLong.code:
        raise PromptTooLong(reason)
    if result.code == NoCredits.code:
        raise NoCredits(reason)
    if result.code == ModelsStopped.code:
        raise ModelsStopped(reason, _LATER_S)
    if result.code == Overloaded.code:
        raise Overloaded(reason)
    raise ProviderUnavailable(reason)
