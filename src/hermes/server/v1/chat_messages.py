"""Converts the messages of a chat-completions request to a conversation. Pure.

Leading system and developer messages become the stacked system blocks; later ones stay in place as
system messages, which every provider accepts. The last message always stays a message.
"""

from collections.abc import Iterator

import msgspec

from hermes.errors import BadRequest
from hermes.message.chat import ChatMessage
from hermes.message.parts import ImagePart, Part, TextPart, ToolCallPart, ToolResultPart
from hermes.server.v1.chat_shape import (
    AssistantMessage,
    Audio,
    CustomToolCall,
    DeveloperMessage,
    File,
    FunctionMessage,
    Image,
    Message,
    Refusal,
    SystemMessage,
    Text,
    ToolMessage,
    UserMessage,
)
from hermes.server.v1.chat_thoughts import read_thoughts
from hermes.server.v1.file_parts import file_part, image_detail, image_media, sound_part
from hermes.server.v1.wire_body import is_given

IMAGE_DETAIL = "messages.content.image_url.detail"


class ChatInput(msgspec.Struct, frozen=True):
    """The system blocks, the messages, whether a cache mark was found, and what has no effect.

    `has_detail` says that a picture names how closely it is to be looked at.
    """

    system: tuple[str, ...]
    messages: tuple[ChatMessage, ...]
    marked: bool
    ignored: tuple[str, ...]
    has_detail: bool = False


def read_messages(wire: list[Message]) -> ChatInput:
    """Return the conversation; raise `BadRequest` for content that no model could be shown."""
    reader = _Reader()
    leading = 0
    system: list[str] = []
    for message in wire[:-1]:
        if not isinstance(message, SystemMessage | DeveloperMessage):
            break
        system += reader.blocks(message)
        leading += 1
    messages = tuple(reader.message(one, leading + n) for n, one in enumerate(wire[leading:]))
    ignored = tuple(reader.ignored)
    return ChatInput(tuple(system), messages, reader.marked, ignored, reader.has_detail)


class _Reader:
    """Reads one conversation; remembers the tool calls, to match their results."""

    def __init__(self) -> None:
        self.marked = False
        self.has_detail = False
        # A dict for its order: each name once.
        self.ignored: dict[str, None] = {}
        self._names: dict[str, str] = {}

    def blocks(self, message: SystemMessage | DeveloperMessage) -> list[str]:
        """Return the blocks of a system message that are not empty."""
        self._note(message)
        if isinstance(message.content, str):
            return [message.content] if message.content else []
        return [part.text for part in self._marks(message.content) if part.text]

    def message(self, message: Message, place: int) -> ChatMessage:
        """Return one message; `place` names it in errors."""
        if isinstance(message, UserMessage):
            self._note(message)
            if isinstance(message.content, str):
                return ChatMessage("user", (TextPart(message.content),))
            return ChatMessage("user", tuple(self._shown(message, place)))
        if isinstance(message, AssistantMessage):
            self._note(message)
            return ChatMessage("assistant", tuple(self._said(message, place)))
        if isinstance(message, ToolMessage):
            self._note(message)
            return ChatMessage("tool", (self._result(message, place),))
        if isinstance(message, FunctionMessage):
            raise BadRequest(
                f"messages[{place}]: the role 'function' is no longer supported: send the result"
                " with the role 'tool' and its tool_call_id."
            )
        return ChatMessage("system", tuple(TextPart(block) for block in self.blocks(message)))

    def _note(
        self,
        message: SystemMessage | DeveloperMessage | UserMessage | AssistantMessage | ToolMessage,
    ) -> None:
        if is_given(message.cache_control):
            self.marked = True
        # The name of a result is that of its call.
        if message.name is not None and not isinstance(message, ToolMessage):
            self.ignored["messages.name"] = None

    def _marks(self, parts: list[Text]) -> list[Text]:
        for part in parts:
            self._mark(part)
        return parts

    def _mark(self, part: Text | Image) -> None:
        if is_given(part.cache_control) or is_given(part.prompt_cache_breakpoint):
            self.marked = True

    def _picture(self, part: Image, field: str) -> ImagePart:
        said = part.image_url.detail
        detail = image_detail(said)
        if detail is not None:
            self.has_detail = True
        elif said not in {None, "auto"}:
            self.ignored[IMAGE_DETAIL] = None
        return ImagePart(image_media(part.image_url.url, field), detail)

    def _shown(self, message: UserMessage, place: int) -> Iterator[Part]:
        for n, part in enumerate(message.content):
            if isinstance(part, Text):
                self._mark(part)
                yield TextPart(part.text)
            elif isinstance(part, Image):
                self._mark(part)
                yield self._picture(part, f"messages[{place}].content[{n}].image_url.url")
            elif isinstance(part, Audio):
                sound, field = part.input_audio, f"messages[{place}].content[{n}].input_audio"
                yield sound_part(sound.data, sound.format, field)
            elif isinstance(part, File):
                file, field = part.file, f"messages[{place}].content[{n}].file.file_data"
                yield file_part(file.file_data, file.filename, field)

    def _said(self, message: AssistantMessage, place: int) -> Iterator[Part]:
        if is_given(message.audio) or is_given(message.function_call):
            raise BadRequest(
                f"messages[{place}]: audio and function_call cannot be honoured here: send the"
                " answer's text as content, and calls as tool_calls."
            )
        thought = message.reasoning_content or message.reasoning or ""
        if thought or message.reasoning_details:
            yield from read_thoughts(thought, message.reasoning_details or [])
        yield from self._words(message)
        for call in message.tool_calls or ():
            if isinstance(call, CustomToolCall):
                raise BadRequest(
                    f"messages[{place}].tool_calls: calls of custom tools cannot be passed on to"
                    " every model; send calls of type 'function'."
                )
            self._names[call.id] = call.function.name
            yield ToolCallPart(call.id, call.function.name, call.function.arguments)

    def _words(self, message: AssistantMessage) -> Iterator[TextPart]:
        content = message.content or ()
        if isinstance(content, str):
            yield TextPart(content)
        else:
            for part in content:
                if isinstance(part, Text):
                    self._mark(part)
                yield TextPart(part.refusal if isinstance(part, Refusal) else part.text)
        if message.refusal:
            yield TextPart(message.refusal)

    def _result(self, message: ToolMessage, place: int) -> ToolResultPart:
        name = self._names.get(message.tool_call_id)
        if name is None:
            raise BadRequest(
                f"messages[{place}].tool_call_id {message.tool_call_id[:80]!r} names a call that no"
                " message before it made: send the assistant's message with its tool_calls first."
            )
        content = message.content
        if not isinstance(content, str):
            content = "\n".join(part.text for part in self._marks(content))
        return ToolResultPart(message.tool_call_id, name, content)
