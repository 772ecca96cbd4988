"""Runs the hooks that see a message before anything else; they may skip or rewrite it.

At this point nothing is stored and the sender is not checked. If a hook fails, the message passes
unchanged.
"""

from typing import Any

import msgspec

from hermes.errors import Skipped
from hermes.message.event import MessageEvent
from hermes.message.parts import TextPart
from hermes.plugins.hook_book import HookBook
from hermes.ports.hooks import DISPATCH, Context

_EXPECTED = 'expected None, {"skip": "why"} or {"text": "what it should say"}'
_LONGEST_REASON = 200


class Verdict(msgspec.Struct, frozen=True):
    """What a hook decides: a reason to skip the message, or a new text for it."""

    skip: str | None = None
    text: str | None = None


class PreDispatch:
    """Calls the hooks in order; each sees the result of the one before."""

    def __init__(self, book: HookBook) -> None:
        self._book = book

    async def __call__(self, event: MessageEvent) -> MessageEvent:
        """Return the message after all hooks; raises `Skipped`."""
        for worker in self._book.deciding(DISPATCH):
            verdict = await worker.ask(DISPATCH, _context(event), read=read_verdict)
            if verdict is None:
                continue
            if verdict.skip is not None:
                raise Skipped(
                    f"the hook {worker.hook.name} skipped this message"
                    + (f": {verdict.skip}" if verdict.skip else "")
                )
            if verdict.text is not None:
                event = _rewritten(event, verdict.text)
        return event


# Any: an answer is whatever the hook returned.
def read_verdict(answer: Any) -> Verdict | None:
    """Parse the answer of a hook; raises `ValueError` if it says nothing."""
    if answer is None:
        return None
    if not isinstance(answer, dict) or len(answer) != 1:
        raise ValueError(f"it answered {type(answer).__name__}, {_EXPECTED}")
    name, value = next(iter(answer.items()))
    if name == "skip" and isinstance(value, str | bool):
        reason = value if isinstance(value, str) else ""
        return None if value is False else Verdict(skip=reason[:_LONGEST_REASON])
    if name == "text" and isinstance(value, str):
        return Verdict(text=value)
    raise ValueError(f"it answered {{{name!r}: {type(value).__name__}}}, {_EXPECTED}")


def _context(event: MessageEvent) -> Context:
    source = event.source
    return {
        "platform": source.platform,
        "account": event.account,
        "route": event.route,
        "external_id": event.external_id,
        "type": event.type,
        "chat_id": source.chat_id,
        "chat_type": source.chat_type,
        "thread_id": source.thread_id,
        "user_id": source.user_id,
        "user_name": source.user_name,
        "is_bot": source.is_bot,
        "agent": event.agent,
        "attachments": sum(not isinstance(part, TextPart) for part in event.parts),
        "text": event.text,
    }


def _rewritten(event: MessageEvent, text: str) -> MessageEvent:
    others = tuple(part for part in event.parts if not isinstance(part, TextPart))
    return msgspec.structs.replace(event, parts=(*((TextPart(text),) if text else ()), *others))
