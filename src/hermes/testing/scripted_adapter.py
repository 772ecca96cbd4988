"""`ScriptedAdapter`: the in-process twin of the adapter port; it does what the message says.

It fits `hermes.ports.adapter.Adapter`: its own sessions, resumed calls, questions, failures. `calls`
are what it was asked; `worked` what it has really done, once for each piece of work.
"""

import asyncio
from collections.abc import AsyncGenerator

from hermes.errors import AdapterError, AdapterLost
from hermes.message.parts import TextPart
from hermes.message.reply import Usage
from hermes.ports.adapter import (
    AdapterAgent,
    AdapterCall,
    AdapterEnd,
    AdapterEvent,
    AdapterSession,
    last_event,
)
from hermes.ports.provider import TextDelta
from hermes.ports.tool import Question

_SESSIONS = 1_000


class ScriptedAdapter:
    """Answers `text` with `name: text`. A message that begins with `crash` fails, one with `hang` waits
    for `go_on`, one with `ask` asks the person whether it may, and one with `wander` never stays in a session.

    `problem` is what its health check finds, `wants` what it asks. With `forgets` it has no sessions.
    """

    def __init__(
        self,
        name: str = "scripted",
        *,
        needs_grant: bool = False,
        forgets: bool = False,
        problem: str = "",
        wants: str = "May I?",
    ) -> None:
        self.name = name
        self.needs_grant = needs_grant
        self.supports_tools = False
        self.problem = problem
        self.calls: list[AdapterCall] = []
        self.worked: list[str] = []
        self.closed = 0
        self.go_on = asyncio.Event()
        self._forgets = forgets
        self._wants = wants

    async def complete(self, call: AdapterCall) -> AdapterEnd:
        """Return the whole answer."""
        return await last_event(self.stream(call))

    async def stream(self, call: AdapterCall) -> AsyncGenerator[AdapterEvent, None]:
        """Yield the answer in two pieces."""
        self.calls.append(call)
        text = call.messages[-1].text
        try:
            if call.was_cut_off and (self._forgets or not call.session):
                raise AdapterLost(f"{self.name} has forgotten its session")
            if not call.was_cut_off:
                self.worked.append(text)
            if not self._forgets:
                yield AdapterSession(call.session or f"{self.name}-{call.conversation}")
            for number in range(_SESSIONS if text.startswith("wander") else 0):
                yield AdapterSession(f"{self.name}-{number}")
            yield TextDelta(f"{self.name}: ")
            text = await self._done(call, text)
            yield TextDelta(text)
            usage = Usage(tokens_in=10, tokens_out=2, cost_usd=0.01)
            yield AdapterEnd((TextPart(f"{self.name}: {text}"),), usage, model="script-1")
        finally:
            self.closed += 1

    async def _done(self, call: AdapterCall, text: str) -> str:
        if text.startswith("crash"):
            raise AdapterError(f"{self.name} failed as it was told to")
        if text.startswith("hang"):
            await self.go_on.wait()
        if text.startswith("ask"):
            question = Question(text=self._wants, schema={"type": "object"}, within_s=60)
            answer = None if call.ask is None else await call.ask(question)
            return "allowed" if answer is not None else "refused"
        return f"{text} (again)" if call.was_cut_off else text

    async def health_check(self, agent: AdapterAgent) -> str:
        """Return the problem that it was given."""
        return self.problem
