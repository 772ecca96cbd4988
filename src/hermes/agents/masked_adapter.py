"""An adapter whose answers have no stored secrets: a program can read what it is given, and repeat it."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from typing import Any

import msgspec

from hermes.agents.secret_mask import SecretMask, StreamedMask
from hermes.errors import AdapterError
from hermes.message.parts import Part, TextPart
from hermes.ports.adapter import (
    Adapter,
    AdapterAgent,
    AdapterCall,
    AdapterEnd,
    AdapterEvent,
    AdapterStatus,
    last_event,
)
from hermes.ports.provider import TextDelta
from hermes.ports.tool import AskPerson, Question


class MaskedAdapter:
    """Passes everything on but secrets; implements the adapter port around another one."""

    def __init__(self, adapter: Adapter, mask: SecretMask) -> None:
        self._adapter = adapter
        self._mask = mask

    @property
    def needs_grant(self) -> bool:
        """Whether it works only for people whom the agent names."""
        return self._adapter.needs_grant

    @property
    def supports_tools(self) -> bool:
        """Whether it can call the tools of Hermes."""
        return self._adapter.supports_tools

    async def complete(self, call: AdapterCall) -> AdapterEnd:
        """Return the whole answer."""
        return await last_event(self.stream(call))

    async def stream(self, call: AdapterCall) -> AsyncGenerator[AdapterEvent, None]:
        """Yield the answer; what may be the beginning of a secret waits for the rest."""
        text = StreamedMask(self._mask)
        call = msgspec.structs.replace(call, ask=self._asking(call.ask))
        try:
            async with aclosing(self._adapter.stream(call)) as events:
                async for event in events:
                    if isinstance(event, TextDelta):
                        shown = text.feed(event.text)
                        if shown:
                            yield TextDelta(shown)
                        continue
                    if isinstance(event, AdapterEnd) and (rest := text.close()):
                        yield TextDelta(rest)
                    yield self._masked(event)
        except AdapterError as error:
            raise type(error)(self._mask.text(str(error))) from None

    def _asking(self, ask: AskPerson | None) -> AskPerson | None:
        """Return what puts a question to a person without secrets in its text."""
        if ask is None:
            return None

        # Any: an answer, JSON values by name.
        async def masked(question: Question) -> Mapping[str, Any] | None:
            shown = msgspec.structs.replace(question, text=self._mask.text(question.text))
            return await ask(shown)

        return masked

    def _masked(self, event: AdapterEvent) -> AdapterEvent:
        if isinstance(event, AdapterEnd):
            return msgspec.structs.replace(event, parts=tuple(map(self._part, event.parts)))
        if isinstance(event, AdapterStatus):
            return AdapterStatus(self._mask.text(event.text))
        return event

    def _part(self, part: Part) -> Part:
        return TextPart(self._mask.text(part.text)) if isinstance(part, TextPart) else part

    async def health_check(self, agent: AdapterAgent) -> str:
        """Return why an agent cannot be called now."""
        return self._mask.text(await self._adapter.health_check(agent))
