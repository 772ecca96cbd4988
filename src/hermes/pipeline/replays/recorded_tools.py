"""The tools of a dry replay: nothing is started, results are those on record. Pure."""

from collections.abc import Sequence

import msgspec

from hermes.message.chat import ChatMessage
from hermes.message.parts import ToolCallPart, ToolResultPart, tool_calls_of
from hermes.ports.steps import Step

_decode = msgspec.json.Decoder(ChatMessage).decode
_encode_sorted = msgspec.json.Encoder(order="sorted").encode


class RecordedResult(msgspec.Struct, frozen=True, kw_only=True):
    """What a tool gave a turn, and the messages of the person that joined the turn after it."""

    name: str
    arguments: bytes
    result: ChatMessage
    joined: tuple[ChatMessage, ...] = ()


class RecordedTools:
    """The results of a turn; each is given once, the first that fits a call first."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self._left = _results(steps)

    def take(self, call: ToolCallPart) -> RecordedResult | None:
        """Return the result of the same tool with the same arguments, if one is left."""
        arguments = same_arguments(call.arguments)
        for place, one in enumerate(self._left):
            if (one.name, one.arguments) == (call.name, arguments):
                del self._left[place]
                return msgspec.structs.replace(one, result=_answering(one.result, call))
        return None


def same_arguments(text: str) -> bytes:
    """Return arguments as they are compared: the order of names and the space between do not count."""
    try:
        return _encode_sorted(msgspec.json.decode(text.strip() or "{}"))
    except (msgspec.DecodeError, RecursionError):
        return text.encode(errors="replace")


def _results(steps: Sequence[Step]) -> list[RecordedResult]:
    found, pending = list[RecordedResult](), dict[str, ToolCallPart]()
    for step in steps:
        if step.body is None:
            continue
        if step.kind == "model":
            pending = {call.id: call for call in tool_calls_of(_decode(step.body).parts)}
        elif step.kind == "tool":
            call = _taken(pending, step)
            if call is not None:
                arguments = same_arguments(call.arguments)
                result = _decode(step.body)
                found.append(RecordedResult(name=call.name, arguments=arguments, result=result))
        elif step.kind == "steer" and found:
            last = found[-1]
            joined = (*last.joined, _decode(step.body))
            found[-1] = msgspec.structs.replace(last, joined=joined)
    return found


def _taken(pending: dict[str, ToolCallPart], step: Step) -> ToolCallPart | None:
    """Return the call that a step answers; steps of an older Hermes came one by one."""
    named = "" if step.facts is None else step.facts.call_id
    return pending.pop(named or next(iter(pending), ""), None)


def _answering(result: ChatMessage, call: ToolCallPart) -> ChatMessage:
    """Return a result under the id that the model gave its call now."""
    parts = tuple(
        msgspec.structs.replace(part, call_id=call.id) if isinstance(part, ToolResultPart) else part
        for part in result.parts
    )
    return ChatMessage(result.role, parts)
