"""Converts an answer to OpenAI's Response object and its output items. Pure.

Each thought, text and call of the model becomes one item, in order; a call has the shape that its
tool has on this wire.
"""

from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from hermes.calls.events import FullAnswer
from hermes.message.parts import (
    AudioPart,
    FilePart,
    ImagePart,
    Part,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    text_of,
)
from hermes.message.reply import Usage
from hermes.ports.options import AltToken, TokenLogprob
from hermes.ports.provider import StopReason
from hermes.server.v1.dialect import Stamp, WireCall
from hermes.server.v1.responses_in import Echo, echo_of, one_line
from hermes.server.v1.responses_shape import ShellAction
from hermes.server.v1.responses_thoughts import begins_item, own_id, sealed
from hermes.server.v1.responses_tools import FunctionShape

# Any: JSON objects on their way to the encoder.
Json = dict[str, Any]
Status = Literal["in_progress", "completed", "incomplete"]

_CUT: dict[StopReason, str] = {"length": "max_output_tokens", "refusal": "content_filter"}
_PREFIXES = {"custom": "ctc", "local_shell": "lsh", "tool_search": "tsc"}
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode


class Thought(msgspec.Struct, frozen=True):
    """Reasoning that forms one item."""

    parts: tuple[ReasoningPart, ...]

    @property
    def texts(self) -> tuple[str, ...]:
        """Its readable text, piece by piece."""
        return tuple(part.text for part in self.parts if part.text)


class OutputMessage(msgspec.Struct, frozen=True):
    """Text that forms one message."""

    text: str


Group = Thought | OutputMessage | ToolCallPart


def groups_of(parts: Sequence[Part]) -> list[Group]:
    """Return the parts of an answer, grouped into items."""
    groups: list[Group] = []
    for part in parts:
        last = groups[-1] if groups else None
        if isinstance(part, ReasoningPart):
            if isinstance(last, Thought) and not begins_item(part, last.parts[-1]):
                groups[-1] = Thought((*last.parts, part))
            else:
                groups.append(Thought((part,)))
        elif isinstance(part, ToolCallPart):
            groups.append(part)
        elif text := _text(part):
            if isinstance(last, OutputMessage):
                groups[-1] = OutputMessage(last.text + text)
            else:
                groups.append(OutputMessage(text))
    return groups


def _text(part: Part) -> str:
    """Return a part as text, the only content that this wire has."""
    if isinstance(part, TextPart):
        return part.text
    if isinstance(part, ImagePart | AudioPart | FilePart):
        media = part.media
        return f"[{media.mime}: {media.name or media.url or 'an attachment without a name'}]"
    return ""


def message_item(
    item_id: str,
    text: str,
    *,
    status: Status,
    refused: bool = False,
    tokens: Sequence[TokenLogprob] = (),
) -> Json:
    """Return a message of the model; while in progress it is empty."""
    content = []
    if status != "in_progress":
        content = [content_part(text, refused=refused, tokens=tokens)]
    return {
        "id": item_id,
        "type": "message",
        "status": status,
        "role": "assistant",
        "content": content,
    }


def content_part(text: str, *, refused: bool = False, tokens: Sequence[TokenLogprob] = ()) -> Json:
    """Return the content of a message."""
    if refused:
        return {"type": "refusal", "refusal": text}
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": wire_tokens(tokens)}


def wire_tokens(tokens: Sequence[TokenLogprob]) -> list[Json]:
    """Return tokens with their log probabilities, whose bytes this wire requires."""
    return [
        _token(one) | {"top_logprobs": [_token(other) for other in one.top_logprobs]}
        for one in tokens
    ]


def _token(one: TokenLogprob | AltToken) -> Json:
    spelt = tuple(one.token.encode(errors="replace")) if one.bytes is None else one.bytes
    return {"token": one.token, "logprob": one.logprob, "bytes": spelt}


def reasoning_item(
    item_id: str, texts: Sequence[str] = (), *, parts: Sequence[ReasoningPart] = ()
) -> Json:
    """Return a reasoning item: its readable text, and the data that the client must send back."""
    return {
        "id": item_id,
        "type": "reasoning",
        "summary": [{"type": "summary_text", "text": text} for text in texts],
        "encrypted_content": sealed(parts, item_id=item_id) if parts else None,
    }


def call_item(
    item_id: str, call: ToolCallPart, *, shape: FunctionShape | None, status: Status
) -> Json:
    """Return a tool call in the shape of its tool; arguments that do not fit make it a function
    call.
    """
    shape = shape or FunctionShape("function", call.name)
    item: Json = {"id": item_id, "call_id": call.id, "status": status}
    if shape.kind == "custom":
        item |= {"type": "custom_tool_call", "name": shape.name, "input": custom_input(call)}
    elif shape.kind == "local_shell" and (action := _action(call)) is not None:
        item |= {"type": "local_shell_call", "action": action}
    elif shape.kind == "tool_search" and _object(call) is not None:
        wanted = msgspec.Raw(one_line(call.arguments.encode() or b"{}"))
        item |= {"type": "tool_search_call", "execution": "client", "arguments": wanted}
    else:
        item |= {"type": "function_call", "name": shape.name, "arguments": call.arguments}
    return item if shape.namespace is None else item | {"namespace": shape.namespace}


def custom_input(call: ToolCallPart) -> str:
    """Return the free text for a custom tool; some models omit its JSON wrapper."""
    found = _object(call)
    text = None if found is None else found.get("input")
    return text if isinstance(text, str) else call.arguments


def _object(call: ToolCallPart) -> Json | None:
    try:
        found = _decode(call.arguments or "{}")
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _action(call: ToolCallPart) -> Json | None:
    try:
        found = msgspec.json.decode(call.arguments, type=ShellAction)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None
    return {"type": "exec", **msgspec.structs.asdict(found), "env": found.env or {}}


class Ids:
    """Generates the ids of one answer's items; the same place always has the same id."""

    def __init__(self, stamp: Stamp) -> None:
        self._stamp = stamp

    def message(self, place: int) -> str:
        """Return the id of a message."""
        return f"msg_{self._stamp.id}_{place}"

    def thought(self, place: int) -> str:
        """Return the id of a reasoning item."""
        return f"rs_{self._stamp.id}_{place}"

    def call(self, place: int, shape: FunctionShape | None) -> str:
        """Return the id of a call's item."""
        prefix = _PREFIXES.get(shape.kind, "fc") if shape is not None else "fc"
        return f"{prefix}_{self._stamp.id}_{place}"


def cut_reason(stop: StopReason) -> str | None:
    """Return why a response is incomplete, or None for one that is complete."""
    return _CUT.get(stop)


def is_refusal(stop: StopReason, echo: Echo) -> bool:
    """Return whether the text is a refusal: if a schema was requested, plain text cannot be the
    answer.
    """
    return stop == "refusal" and echo.has_schema


def output_items(answer: FullAnswer, echo: Echo, *, ids: Ids) -> list[Json]:
    """Return the whole answer as items."""
    stop = answer.end.stop_reason
    groups = groups_of(answer.end.parts)
    items: list[Json] = []
    for place, group in enumerate(groups):
        is_cut = cut_reason(stop) is not None and place == len(groups) - 1
        status: Status = "incomplete" if is_cut else "completed"
        if isinstance(group, Thought):
            item_id = own_id(group.parts) or ids.thought(place)
            items.append(reasoning_item(item_id, group.texts, parts=group.parts))
        elif isinstance(group, OutputMessage):
            refused = is_refusal(stop, echo)
            item_id, tokens = ids.message(place), tokens_of(answer, group)
            items.append(
                message_item(item_id, group.text, status=status, refused=refused, tokens=tokens)
            )
        else:
            shape = echo.shapes.get(group.name)
            items.append(call_item(ids.call(place, shape), group, shape=shape, status=status))
    return items


def tokens_of(answer: FullAnswer, message: OutputMessage) -> Sequence[TokenLogprob]:
    """Return the tokens of a message; those of several messages cannot be told apart."""
    is_only = message.text == text_of(answer.end.parts)
    return answer.end.logprobs if is_only else ()


def usage_of(usage: Usage) -> Json:
    """Return the tokens that the answer used."""
    return {
        "input_tokens": usage.tokens_in,
        "input_tokens_details": {
            "cached_tokens": usage.cached_in,
            "cache_write_tokens": usage.cache_written,
        },
        "output_tokens": usage.tokens_out,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning_out},
        "total_tokens": usage.tokens_in + usage.tokens_out,
    }


def response_id(stamp: Stamp) -> str:
    """Return the id of the response to a call."""
    return stamp.id if stamp.id.startswith("resp_") else f"resp_{stamp.id}"


class ResponseWriter:
    """Writes the Response object of one call, in any state, under one model's name.

    A stream begins before the answering model is known, so it uses the name that the caller asked
    for.
    """

    def __init__(self, call: WireCall, stamp: Stamp, *, model: str | None = None) -> None:
        self._model = model or call.model
        self._echoed = echo_of(call).fields
        self._id = response_id(stamp)
        self._at = int(stamp.at)

    def running(self) -> bytes:
        """Return the response without any output yet."""
        return self._write("in_progress")

    def ended(self, answer: FullAnswer, output: Sequence[Json]) -> bytes:
        """Return the response with its whole output."""
        reason = cut_reason(answer.end.stop_reason)
        return self._write(
            "completed" if reason is None else "incomplete",
            output=output,
            incomplete_details=None if reason is None else {"reason": reason},
            usage=usage_of(answer.end.usage),
        )

    def failed(self, error: Json, output: Sequence[Json]) -> bytes:
        """Return the failed response, with the output so far."""
        return self._write("failed", output=output, error=error)

    def _write(self, status: str, *, output: Sequence[Json] = (), **more: Any) -> bytes:
        told = {
            "id": self._id,
            "object": "response",
            "created_at": self._at,
            "status": status,
            "model": self._model,
            "output": output,
            "error": None,
            "incomplete_details": None,
            "usage": None,
            **more,
        }
        return _encode(told)[:-1] + b"," + self._echoed + b"}"
