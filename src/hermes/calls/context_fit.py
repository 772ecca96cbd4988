"""Fits a request into the context of a model: older parts are shortened or left out. Pure.

Estimates are high on purpose: a message too many that is left out costs less than a refused call.
Large tool results are shortened first. Then the oldest messages are left out, between exchanges and
in large steps, so that most of what is sent begins alike from call to call.
"""

from collections.abc import Iterable, Sequence

import msgspec

from hermes.calls.continuation import REPEAT
from hermes.errors import PromptTooLong
from hermes.message.chat import ChatMessage, as_read
from hermes.message.continuations import GO_ON
from hermes.message.parts import (
    AudioPart,
    FilePart,
    ImagePart,
    NotePart,
    Part,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from hermes.ports.provider import ModelRequest, ToolSpec
from hermes.routing.fitness import least_output_room, output_room

# What a service adds around a message, and what a picture of about a megapixel takes.
_MESSAGE_TOKENS = 6
_MEDIA_TOKENS = 1_600
_ASCII_CHARS = 4
# Bytes of other scripts to a token: one Chinese character, one and a half Cyrillic letters.
_OTHER_BYTES = 3
# JSON, code and ids have more tokens than prose.
_DENSE_CHARS = 3
# What stays of a large tool result, first in older exchanges, then in the current one.
OLD_RESULT_CHARS = 2_000
_RESULT_CHARS = (8_000, 2_000, 500)

_ASK_FOR_REST = frozenset({REPEAT, as_read(GO_ON).text})


class FittedContext(msgspec.Struct, frozen=True):
    """The request that fits, how many of its oldest messages were left out, and what was cut."""

    request: ModelRequest
    left_out: int = 0
    is_shortened: bool = False


def text_tokens(text: str) -> int:
    """Return a high estimate of the tokens of a text."""
    if text.isascii():
        return -(-len(text) // _ASCII_CHARS)
    return -(-len(text.encode(errors="replace")) // _OTHER_BYTES)


def message_tokens(message: ChatMessage) -> int:
    """Return a high estimate of the tokens of a message."""
    return _MESSAGE_TOKENS + sum(_part_tokens(part) for part in message.parts)


def fixed_tokens(system: Iterable[str], tools: Iterable[ToolSpec]) -> int:
    """Return a high estimate of the tokens of system blocks and tools."""
    told = sum(text_tokens(block) for block in system)
    chars = sum(len(one.name) + len(one.description) + len(bytes(one.parameters)) for one in tools)
    return told + -(-chars // _DENSE_CHARS)


def request_tokens(request: ModelRequest) -> int:
    """Return a high estimate of the tokens of a whole request."""
    schema = 0 if request.schema is None else len(bytes(request.schema.schema)) // _DENSE_CHARS
    said = sum(message_tokens(message) for message in request.messages)
    return fixed_tokens(request.system, request.tools) + schema + said


def is_surely_short(chars: int, room: int) -> bool:
    """Return whether messages of so many characters fit in any script, without a closer look."""
    return 2 * chars < room


def fit_context(request: ModelRequest, *, room: int) -> FittedContext:
    """Return the request cut to `room` estimated tokens; raises `PromptTooLong` if it cannot be.

    The last message of a person and what follows it are never left out.
    """
    if request.plain_chars is not None and is_surely_short(_all_chars(request), room):
        return FittedContext(request)
    over = request_tokens(request) - room
    if over <= 0:
        return FittedContext(request)
    asked = last_question(request.messages)
    messages = shorten_results(request.messages, OLD_RESULT_CHARS, stop=asked)
    sizes = [message_tokens(message) for message in messages]
    fixed = request_tokens(request) - sum(message_tokens(one) for one in request.messages)
    left_out = _cut(messages, sizes, room=room - fixed, asked=asked)
    kept = _shortened_until(messages[left_out:], room - fixed)
    if kept is None:
        needed = fixed + sum(sizes[asked:])
        raise PromptTooLong(
            f"the message needs about {needed} tokens, and the model takes about {room}",
            needed=needed,
            limit=room,
        )
    is_shortened = kept != request.messages[left_out:]
    fitted = msgspec.structs.replace(request, messages=kept, plain_chars=None)
    return FittedContext(fitted, left_out, is_shortened)


def with_output_room(request: ModelRequest, *, context: int) -> ModelRequest:
    """Return the request with its output limit lowered to what its prompt leaves of the context.

    Some services refuse a prompt and an output limit that do not fit the context together.
    """
    limit = request.max_output_tokens
    if limit is None or limit <= least_output_room(context):
        return request
    if request.plain_chars is not None and is_surely_short(_all_chars(request), context - limit):
        return request
    room = output_room(context, request_tokens(request))
    if limit <= room:
        return request
    return msgspec.structs.replace(request, max_output_tokens=room)


def last_question(messages: Sequence[ChatMessage]) -> int:
    """Return the index of the last message of a person; 0 if there is none."""
    for index in range(len(messages) - 1, -1, -1):
        if begins_exchange(messages[index]):
            return index
    return 0


def begins_exchange(message: ChatMessage) -> bool:
    """Return whether a message begins an exchange: not one that asks for the rest of an answer."""
    if message.role != "user":
        return False
    parts = message.parts
    # In a request the note is text already.
    return not (
        len(parts) == 1
        and isinstance(parts[0], TextPart | NotePart)
        and parts[0].text in _ASK_FOR_REST
    )


def cut_before(messages: Sequence[ChatMessage], sizes: Sequence[int], drop: int) -> int:
    """Return the first index that begins an exchange and has at least `drop` tokens before it.

    The length of `messages` if there is none: nobody may separate a tool's result from its call.
    """
    before = 0
    for index, size in enumerate(sizes):
        if before >= drop and begins_exchange(messages[index]):
            return index
        before += size
    return len(messages)


def shorten_results(
    messages: tuple[ChatMessage, ...], limit: int, *, stop: int
) -> tuple[ChatMessage, ...]:
    """Return messages whose tool results before index `stop` have at most `limit` characters."""
    if not any(one.role == "tool" and _has_long(one, limit) for one in messages[:stop]):
        return messages
    made = [_shortened(one, limit) if one.role == "tool" else one for one in messages[:stop]]
    return (*made, *messages[stop:])


def _cut(messages: tuple[ChatMessage, ...], sizes: list[int], *, room: int, asked: int) -> int:
    """Return how many of the oldest messages to leave out: whole steps of half the room."""
    over, step = sum(sizes) - room, max(1, room // 2)
    if over <= 0:
        return 0
    drop = -(-over // step) * step
    return min(asked, cut_before(messages, sizes, drop))


def _shortened_until(
    messages: tuple[ChatMessage, ...], room: int
) -> tuple[ChatMessage, ...] | None:
    """Return the messages with tool results as short as needed; None if that is not enough."""
    if sum(message_tokens(one) for one in messages) <= room:
        return messages
    for limit in _RESULT_CHARS:
        messages = shorten_results(messages, limit, stop=len(messages))
        if sum(message_tokens(one) for one in messages) <= room:
            return messages
    return None


def _has_long(message: ChatMessage, limit: int) -> bool:
    return any(
        isinstance(part, ToolResultPart) and len(part.text) > limit for part in message.parts
    )


def _shortened(message: ChatMessage, limit: int) -> ChatMessage:
    if not _has_long(message, limit):
        return message
    return ChatMessage(message.role, tuple([_short_part(part, limit) for part in message.parts]))


def _short_part(part: Part, limit: int) -> Part:
    if not isinstance(part, ToolResultPart) or len(part.text) <= limit:
        return part
    half, lost = limit // 2, len(part.text) - 2 * (limit // 2)
    note = f"\n\n[{lost} characters of this result are left out here.]\n\n"
    return msgspec.structs.replace(part, text=part.text[:half] + note + part.text[-half:])


def _all_chars(request: ModelRequest) -> int:
    chars = request.plain_chars or 0
    for block in request.system:
        chars += len(block)
    for tool in request.tools:
        chars += len(tool.description) + len(bytes(tool.parameters))
    return chars + _MESSAGE_TOKENS * len(request.messages)


def _part_tokens(part: Part) -> int:
    if isinstance(part, TextPart | NotePart):
        return text_tokens(part.text)
    if isinstance(part, ToolResultPart):
        return text_tokens(part.text) * _ASCII_CHARS // _DENSE_CHARS
    if isinstance(part, ToolCallPart):
        return -(-(len(part.name) + len(part.arguments)) // _DENSE_CHARS)
    if isinstance(part, ReasoningPart):
        seals = len(part.signature or "") + len(part.sealed or "")
        return text_tokens(part.text) + -(-seals // _DENSE_CHARS)
    if isinstance(part, AudioPart):
        return _MEDIA_TOKENS + text_tokens(part.transcript or "")
    assert isinstance(part, ImagePart | FilePart)
    return _MEDIA_TOKENS
