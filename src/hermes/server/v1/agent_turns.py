"""`agent:NAME`: a call of `/v1` that runs a whole turn of an agent, through the journal.

The agent has its own tools, memory and budget. Without a conversation of its own the call brings
its history along and leaves none behind; with the header `x-hermes-conversation` the agent
remembers, and only the last message counts.
"""

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing

from hermes.calls.events import Answered, CallEvent, Trying
from hermes.errors import BadRequest, ProviderUnavailable, StreamTruncated
from hermes.message.event import MessageEvent
from hermes.message.ids import MakeId
from hermes.message.outcome import Outcome
from hermes.message.parts import TextPart
from hermes.message.reply import Usage
from hermes.message.source import Source
from hermes.ports.clock import Clock
from hermes.ports.door import Door
from hermes.ports.provider import CallEnd, TextDelta
from hermes.ports.upward import Progress
from hermes.routing.plan import Candidate
from hermes.server.v1.callers import Caller
from hermes.server.v1.dialect import WireCall

_AGENT = "agent"
_MAX_NAME = 200
_SAID = frozenset({Outcome.ANSWERED, Outcome.MERGED, Outcome.INTERRUPTED})


class AgentTurns:
    """Runs turns for the callers of `/v1`."""

    def __init__(self, door: Door, *, clock: Clock, make_id: MakeId) -> None:
        self._door = door
        self._clock = clock
        self._make_id = make_id

    async def run(
        self, call: WireCall, caller: Caller, *, headers: Mapping[str, str]
    ) -> AsyncGenerator[CallEvent, None]:
        """Run one turn and tell it as a model call."""
        event = self._event(call, caller, headers=headers)
        accepted = await self._door.accept(event)
        rule = f"explicit agent, turn {accepted.message_id}"
        candidate = Candidate(_AGENT, event.agent or "", rule)
        yield Trying(candidate)
        shown = ""
        async with aclosing(self._door.watch(accepted.message_id)) as updates:  # type: ignore[type-var]
            async for progress in updates:
                if progress.kind == "restart" and shown:
                    yield TextDelta("\n\n")
                elif progress.kind in ("delta", "snapshot") and progress.text:
                    shown += progress.text
                    yield TextDelta(progress.text)
                elif progress.kind in ("done", "parked"):
                    yield Answered(candidate=candidate, end=_end(progress, model=call.model))
                    return
        raise StreamTruncated(
            f"the gateway stops; the turn goes on, and `hermes why {accepted.message_id}` tells it"
        )

    def _event(self, call: WireCall, caller: Caller, *, headers: Mapping[str, str]) -> MessageEvent:
        request = call.request
        if request.tools or request.schema is not None:
            raise BadRequest(
                f"{call.model} is an agent with its own tools and its own form of answer: leave "
                "'tools' and the response format out, or call a model."
            )
        if not request.messages or request.messages[-1].role != "user":
            raise BadRequest("The last message must be one of the role 'user': it is answered.")
        conversation = headers.get("x-hermes-conversation", "")[:_MAX_NAME]
        name = headers.get("idempotency-key", "")[:_MAX_NAME] or self._make_id("x")
        return MessageEvent(
            account="default",
            route="v1",
            external_id=name,
            source=Source(
                platform="v1",
                chat_id=f"{caller.user}:{conversation or name}",
                user_id=caller.user,
            ),
            parts=request.messages[-1].parts,
            at=self._clock.now(),
            agent=call.model.partition(":")[2],
            channel_prompt="\n\n".join(request.system) or None,
            history=() if conversation else request.messages[:-1],
        )


def _end(progress: Progress, *, model: str) -> CallEnd:
    result = progress.result
    if progress.kind == "parked":
        waits = "" if result is None else result.approval or ""
        text = f"This waits for an approval ({waits}). Ask again once it was given."
        return CallEnd((TextPart(text),), "end", Usage(), model)
    if result is None or progress.outcome not in _SAID:
        reason = None if result is None else result.reason or result.text
        raise ProviderUnavailable(f"{model} could not answer: {reason or 'no reason was given'}")
    return CallEnd((TextPart(result.text),), "end", result.usage, model)
