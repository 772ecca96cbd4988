"""Converts the conversation of a Messages request to chat messages. Pure.

Tool results become separate messages, as other services need them; a picture inside a result is
moved to the user's message, since only this wire allows pictures in results.
"""

from collections.abc import Sequence
from typing import Any

from hermes.errors import BadRequest
from hermes.message.chat import ChatMessage, Role
from hermes.message.inline_file import PDF
from hermes.message.parts import (
    FilePart,
    ImagePart,
    Media,
    Part,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from hermes.server.v1.file_parts import file_at, file_part, image_media
from hermes.server.v1.messages_shape import (
    Base64Source,
    Block,
    ContentSource,
    Document,
    Image,
    Message,
    RedactedThinking,
    ResultBlock,
    SearchResult,
    Text,
    TextSource,
    Thinking,
    ToolReference,
    ToolResult,
    ToolUse,
    UrlSource,
)
from hermes.server.v1.messages_thoughts import Thoughts
from hermes.server.v1.wire_body import checked_object

_IMAGE_TYPES = ("image/jpeg", "image/png", "image/gif", "image/webp")
_QUOTED = 80


class MessagesHistory:
    """A conversation being built; it knows which tool calls were made so far."""

    def __init__(self) -> None:
        self.system: list[str] = []
        self.messages: list[ChatMessage] = []
        self.ignored: set[str] = set()
        self.marked = False
        self._calls: dict[str, str] = {}

    def add(self, message: Message, *, path: str) -> None:
        """Add one message; `path` is its place in the request."""
        content = message.content
        if message.role == "system":
            self._add_system(content, path)
        elif isinstance(content, str):
            self._append(message.role, [TextPart(content)])
        elif message.role == "assistant":
            self._add_answer(content, path)
        else:
            self._add_question(content, path)

    def _append(self, role: Role, parts: Sequence[Part]) -> None:
        self.messages.append(ChatMessage(role, tuple(parts)))

    def _add_system(self, content: str | list[Block], path: str) -> None:
        texts = [content] if isinstance(content, str) else []
        for place, block in _places(content, path):
            if not isinstance(block, Text):
                raise _misplaced(block, place, role="system")
            self._note(block)
            texts.append(block.text)
        for text in texts:
            if self.messages:
                self._append("system", [TextPart(text)])
            else:
                self.system.append(text)

    def _add_answer(self, content: list[Block], path: str) -> None:
        parts: list[Part] = []
        thoughts = Thoughts()
        for place, block in _places(content, path):
            self._note(block)
            if isinstance(block, Text):
                parts.append(TextPart(block.text))
            elif isinstance(block, ToolUse):
                self._calls[block.id] = block.name
                arguments = bytes(checked_object(block.input, f"{place}.input")).decode()
                parts.append(ToolCallPart(block.id, block.name, arguments))
            elif isinstance(block, Thinking | RedactedThinking):
                thought = thoughts.take(block, path=place)
                if thought is not None:
                    parts.append(thought)
            else:
                raise _misplaced(block, place, role="assistant")
        self._append("assistant", thoughts.put_back(parts))

    def _add_question(self, content: list[Block], path: str) -> None:
        results: list[Part] = []
        pictures: list[Part] = []
        parts: list[Part] = []
        for place, block in _places(content, path):
            if isinstance(block, ToolResult):
                self._note(block)
                result, shown = self._result(block, place, seen=len(pictures) // 2)
                results.append(result)
                pictures.extend(shown)
            elif isinstance(block, Text | Image | Document | SearchResult):
                parts.extend(self._shown(block, place))
            else:
                raise _misplaced(block, place, role="user")
        if results:
            self._append("tool", results)
        if pictures or parts or not results:
            self._append("user", pictures + parts)

    def _result(
        self, block: ToolResult, path: str, *, seen: int
    ) -> tuple[ToolResultPart, list[Part]]:
        """Return the result as text, and its pictures, each after the text that names it."""
        name = self._calls.get(block.tool_use_id)
        if name is None:
            raise BadRequest(
                f"{path}.tool_use_id: no tool_use block before it has the id"
                f" {block.tool_use_id[:_QUOTED]!r}; send the assistant's message with the call, too."
            )
        words: list[str] = []
        pictures: list[Part] = []
        for part in self._result_parts(block.content, path):
            if isinstance(part, ImagePart | FilePart):
                seen += 1
                kind = "image" if isinstance(part, ImagePart) else "document"
                words.append(f"[{kind} {seen}, shown below]")
                pictures += [TextPart(f"[{kind} {seen}, from the result of {name}]"), part]
            elif isinstance(part, TextPart):
                words.append(part.text)
        failed = bool(block.is_error)
        return ToolResultPart(block.tool_use_id, name, "\n".join(words), failed), pictures

    def _result_parts(self, content: str | Sequence[ResultBlock] | None, path: str) -> list[Part]:
        if content is None or isinstance(content, str):
            return [TextPart(content)] if content else []
        return [p for place, block in _places(content, path) for p in self._shown(block, place)]

    def _shown(self, block: ResultBlock, path: str) -> list[Part]:
        self._note(block)
        if isinstance(block, Text):
            return [TextPart(block.text)]
        if isinstance(block, Image):
            return [_image(block, path)]
        if isinstance(block, ToolReference):
            return [TextPart(f"[the tool {block.tool_name} can be used]")]
        if block.citations is not None and block.citations.enabled:
            raise BadRequest(
                f"{path}.citations: not supported here; leave it out, or set enabled to false."
            )
        if isinstance(block, SearchResult):
            head = TextPart(f"[search result: {block.title}, from {block.source}]")
            return [head, *(TextPart(piece.text) for piece in block.content)]
        return self._document(block, path)

    def _document(self, block: Document, path: str) -> list[Part]:
        said = ": ".join(filter(None, (block.title, block.context)))
        head: list[Part] = [TextPart(f"[document: {said}]")] if said else []
        source = block.source
        if isinstance(source, TextSource):
            return [*head, TextPart(source.data)]
        if isinstance(source, ContentSource):
            return head + self._result_parts(source.content, f"{path}.source")
        if isinstance(source, Base64Source) and source.media_type == PDF:
            return [*_context(block), file_part(source.data, block.title, f"{path}.source.data")]
        if isinstance(source, UrlSource):
            return [*_context(block), file_at(source.url, f"{path}.source.url", name=block.title)]
        raise BadRequest(
            f"{path}.source: expected a PDF document as base64 or by its address, or plain text (a"
            " source of the type 'text' or 'content'); send the text, or the pages as images."
        )

    def _note(self, block: Block | ResultBlock) -> None:
        """Record the cache mark and the fields without effect of a block."""
        if isinstance(block, Image) and block.transformations is not None:
            self.ignored.add("image.transformations")
        if not isinstance(block, Thinking | RedactedThinking) and block.cache_control is not None:
            self.marked = True


def _context(block: Document) -> list[Part]:
    return [TextPart(f"[about the document: {block.context}]")] if block.context else []


# Any: the list's type says what its blocks are.
def _places(content: str | Sequence[Any], path: str) -> list[tuple[str, Any]]:
    if isinstance(content, str):
        return []
    return [(f"{path}.content[{number}]", block) for number, block in enumerate(content)]


def _image(block: Image, path: str) -> ImagePart:
    source = block.source
    if isinstance(source, Base64Source):
        if source.media_type not in _IMAGE_TYPES:
            raise BadRequest(
                f"{path}.source.media_type: expected one of {', '.join(_IMAGE_TYPES)}, found"
                f" {source.media_type[:_QUOTED]!r}."
            )
        url = f"data:{source.media_type};base64,{source.data}"
        return ImagePart(Media(source.media_type, url=url))
    if isinstance(source, UrlSource):
        return ImagePart(image_media(source.url, f"{path}.source.url"))
    raise BadRequest(
        f"{path}.source: files that were uploaded to a service cannot be used here; send the image"
        " as base64 or by its https address."
    )


def _misplaced(block: Any, path: str, *, role: Role) -> BadRequest:
    return BadRequest(
        f"{path}: a block of the type {block.__struct_config__.tag!r} is not allowed in a message"
        f" of the role {role!r}."
    )
