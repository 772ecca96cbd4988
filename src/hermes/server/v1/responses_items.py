"""Converts the input items of a Responses request to a conversation. Pure.

Items are smaller than messages: consecutive reasoning, text and calls of the model form one
message, and so do the results that follow. Leading system and developer messages become the stacked
system blocks; later ones stay in place. The last item always stays a message.
"""

from collections.abc import Callable, Iterator, Sequence

import msgspec

from hermes.errors import BadRequest
from hermes.message.chat import ChatMessage, user_text
from hermes.message.parts import (
    AudioPart,
    FilePart,
    ImagePart,
    Part,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from hermes.server.v1.file_parts import file_at, file_part, image_detail, image_media, sound_part
from hermes.server.v1.responses_shape import (
    MAX_QUOTE,
    CallOutput,
    Content,
    CustomCall,
    FunctionCall,
    Head,
    InputAudio,
    InputFile,
    InputImage,
    Message,
    MoreTools,
    Reasoning,
    Refusal,
    SearchCall,
    SearchOutput,
    ShellCall,
    decode_at,
)
from hermes.server.v1.responses_thoughts import unsealed
from hermes.server.v1.responses_tools import SEARCH, SHELL, Toolbox, flat_name
from hermes.server.v1.wire_body import checked_object

_HEAD = msgspec.json.Decoder(Head).decode
_MESSAGE = msgspec.json.Decoder(Message).decode
_REASONING = msgspec.json.Decoder(Reasoning).decode
_FUNCTION_CALL = msgspec.json.Decoder(FunctionCall).decode
_CUSTOM_CALL = msgspec.json.Decoder(CustomCall).decode
_SHELL_CALL = msgspec.json.Decoder(ShellCall).decode
_SEARCH_CALL = msgspec.json.Decoder(SearchCall).decode
_OUTPUT = msgspec.json.Decoder(CallOutput).decode
_SEARCH_OUTPUT = msgspec.json.Decoder(SearchOutput).decode
_MORE_TOOLS = msgspec.json.Decoder(MoreTools).decode
_encode = msgspec.json.Encoder().encode

_ELSEWHERE = {
    "item_reference": "items are not stored one by one; send the item itself, or continue its"
    " response with `previous_response_id`",
    "compaction": "only its service can read it; send the conversation itself",
    "compaction_summary": "only its service can read it; send the conversation itself",
}
IMAGE_DETAIL = "input.content.detail"
_Shown = TextPart | ImagePart | FilePart | AudioPart
_OTHER = "calls of tools that run at OpenAI cannot be passed on; leave it out, or send its text"


class ItemReader:
    """Reads the items of one request in order."""

    def __init__(self, tools: Toolbox) -> None:
        self.system: list[str] = []
        self.messages: list[ChatMessage] = []
        self.has_detail = False
        # A dict for its order: each name once.
        self.ignored: dict[str, None] = {}
        self._tools = tools
        self._said: list[Part] = []
        self._results: list[Part] = []
        self._pictures: list[Part] = []
        self._calls: dict[str, str] = {}
        self._aliases: dict[str, str] = {}
        self._takes: dict[str, Callable[[msgspec.Raw, str], None]] = {
            "reasoning": self._take_reasoning,
            "function_call": self._take_call,
            "custom_tool_call": self._take_custom_call,
            "local_shell_call": self._take_shell_call,
            "tool_search_call": self._take_search_call,
            "function_call_output": self._take_output,
            "custom_tool_call_output": self._take_output,
            "local_shell_call_output": self._take_output,
            "tool_search_output": self._take_search_output,
            "additional_tools": self._take_tools,
            "web_search_call": self._skip_search,
        }

    def read(
        self, given: str | Sequence[msgspec.Raw], *, context: Sequence[msgspec.Raw] = ()
    ) -> None:
        """Read the whole input, after the stored items that it continues."""
        self._read_items(context, "previous_response_id", is_end=False)
        if isinstance(given, str):
            self._end_said()
            self._end_results()
            self.messages.append(user_text(given))
            return
        self._read_items(given, "input", is_end=True)
        self._end_said()
        self._end_results()

    def _read_items(self, items: Sequence[msgspec.Raw], name: str, *, is_end: bool) -> None:
        for place, raw in enumerate(items):
            where = f"{name}[{place}]"
            head = decode_at(_HEAD, raw, where=where)
            kind = head.type or ("message" if head.role is not None else "item_reference")
            if kind == "message":
                self._take_message(raw, where, is_last=is_end and place == len(items) - 1)
                continue
            take = self._takes.get(kind)
            if take is None:
                raise BadRequest(
                    f"{where}: items of the type {kind[:MAX_QUOTE]!r} cannot be honoured here:"
                    f" {_ELSEWHERE.get(kind, _OTHER)}."
                )
            take(raw, where)

    def _take_message(self, raw: msgspec.Raw, where: str, *, is_last: bool) -> None:
        message = decode_at(_MESSAGE, raw, where=where)
        if message.phase is not None:
            self.ignored["input.phase"] = None
        if message.role == "assistant":
            self._take_said(message, where)
            return
        self._end_said()
        self._end_results()
        parts = tuple(self._parts(message.content, where))
        if message.role == "user":
            self.messages.append(ChatMessage("user", parts or (TextPart(""),)))
            return
        _only_text(parts, where, role=message.role)
        if self.messages or is_last:
            self.messages.append(ChatMessage("system", parts))
        else:
            self.system += [part.text for part in parts if isinstance(part, TextPart)]

    def _take_said(self, message: Message, where: str) -> None:
        self._end_results()
        has_text = any(isinstance(part, TextPart) for part in self._said)
        if has_text and not any(isinstance(part, ToolCallPart) for part in self._said):
            # Two consecutive messages stay separate: joined, their words would run together.
            self._end_said()
        parts = tuple(self._parts(message.content, where))
        _only_text(parts, where, role="assistant")
        self._said += parts

    def _take_reasoning(self, raw: msgspec.Raw, where: str) -> None:
        item = decode_at(_REASONING, raw, where=where)
        parts = unsealed(item, where)
        if not parts and item.summary:
            self.ignored["input.reasoning"] = None
        if parts:
            self._end_results()
            self._said += parts

    def _take_call(self, raw: msgspec.Raw, where: str) -> None:
        item = decode_at(_FUNCTION_CALL, raw, where=where)
        self._call(item.call_id, flat_name(item.name, item.namespace), arguments=item.arguments)

    def _take_custom_call(self, raw: msgspec.Raw, where: str) -> None:
        item = decode_at(_CUSTOM_CALL, raw, where=where)
        arguments = _encode({"input": item.input}).decode()
        self._call(item.call_id, flat_name(item.name, item.namespace), arguments=arguments)

    def _take_shell_call(self, raw: msgspec.Raw, where: str) -> None:
        item = decode_at(_SHELL_CALL, raw, where=where)
        arguments = _encode(item.action).decode()
        self._call(_id_of(item, where), SHELL, arguments=arguments, alias=item.id)

    def _take_search_call(self, raw: msgspec.Raw, where: str) -> None:
        item = decode_at(_SEARCH_CALL, raw, where=where)
        arguments = bytes(checked_object(item.arguments, f"{where}.arguments")).decode()
        self._call(_id_of(item, where), SEARCH, arguments=arguments, alias=item.id)

    def _call(self, call_id: str, name: str, *, arguments: str, alias: str | None = None) -> None:
        self._end_results()
        self._calls[call_id] = name
        if alias is not None:
            self._aliases[alias] = call_id
        self._said.append(ToolCallPart(call_id, name, arguments))

    def _take_output(self, raw: msgspec.Raw, where: str) -> None:
        item = decode_at(_OUTPUT, raw, where=where)
        call_id, name = self._known_call(item, where)
        if isinstance(item.output, str):
            self._result(call_id, name, text=item.output)
            return
        words: list[str] = []
        for part in self._parts(item.output, f"{where}.output"):
            if isinstance(part, TextPart):
                words.append(part.text)
                continue
            # A result is text on most wires: its pictures follow in a separate message.
            seen = 1 + len(self._pictures) // 2
            kind = "image" if isinstance(part, ImagePart) else "file"
            words.append(f"[{kind} {seen}, shown below]")
            self._pictures += [TextPart(f"[{kind} {seen}, from the result of {name}]"), part]
        self._result(call_id, name, text="\n".join(words))

    def _take_search_output(self, raw: msgspec.Raw, where: str) -> None:
        item = decode_at(_SEARCH_OUTPUT, raw, where=where)
        call_id, name = self._known_call(item, where)
        before = set(self._tools.specs)
        self._add_tools(item.tools, where)
        found = ", ".join(tool for tool in self._tools.specs if tool not in before)
        self._result(call_id, name, text=f"Tools that can be called now: {found or 'no new ones'}.")

    def _take_tools(self, raw: msgspec.Raw, where: str) -> None:
        self._add_tools(decode_at(_MORE_TOOLS, raw, where=where).tools, where)

    def _add_tools(self, tools: list[msgspec.Raw], where: str) -> None:
        for place, raw in enumerate(tools):
            self._tools.add(raw, f"{where}.tools[{place}]", again=True)

    def _skip_search(self, _raw: msgspec.Raw, _where: str) -> None:
        # Codex keeps this item when a session changes its provider; it holds a query and no result.
        self.ignored["input.web_search_call"] = None

    def _known_call(self, item: CallOutput | SearchOutput, where: str) -> tuple[str, str]:
        told = item.call_id or item.id or ""
        call_id = self._aliases.get(told, told)
        name = self._calls.get(call_id)
        if name is None:
            raise BadRequest(
                f"{where}.call_id {told[:MAX_QUOTE]!r} names a call that no item before it made:"
                " send the item with the call first."
            )
        return call_id, name

    def _result(self, call_id: str, name: str, *, text: str) -> None:
        self._end_said()
        self._results.append(ToolResultPart(call_id, name, text))

    def _end_said(self) -> None:
        if self._said:
            self.messages.append(ChatMessage("assistant", tuple(self._said)))
            self._said = []

    def _end_results(self) -> None:
        if self._results:
            self.messages.append(ChatMessage("tool", tuple(self._results)))
            self._results = []
        if self._pictures:
            self.messages.append(ChatMessage("user", tuple(self._pictures)))
            self._pictures = []

    def _parts(self, content: str | list[Content], where: str) -> Iterator[_Shown]:
        if isinstance(content, str):
            if content:
                yield TextPart(content)
            return
        for place, block in enumerate(content):
            if isinstance(block, InputImage):
                yield self._picture(block, f"{where}.content[{place}]")
            elif isinstance(block, InputFile):
                yield _file(block, f"{where}.content[{place}]")
            elif isinstance(block, InputAudio):
                sound, field = block.input_audio, f"{where}.content[{place}].input_audio"
                yield sound_part(sound.data, sound.format, field)
            else:
                yield TextPart(block.refusal if isinstance(block, Refusal) else block.text)

    def _picture(self, block: InputImage, where: str) -> ImagePart:
        if block.image_url is None:
            raise BadRequest(
                f"{where}: files that were uploaded to a service cannot be used here; send the"
                " picture as image_url, an https address or data:image/...;base64,...."
            )
        detail = image_detail(block.detail)
        if detail is not None:
            self.has_detail = True
        elif block.detail not in {None, "auto"}:
            self.ignored[IMAGE_DETAIL] = None
        return ImagePart(image_media(block.image_url, f"{where}.image_url"), detail)


def _file(block: InputFile, where: str) -> FilePart:
    if block.file_url is not None and block.file_data is None:
        return file_at(block.file_url, f"{where}.file_url", name=block.filename)
    return file_part(block.file_data, block.filename, f"{where}.file_data")


def _id_of(item: ShellCall | SearchCall, where: str) -> str:
    call_id = item.call_id or item.id
    if not call_id:
        raise BadRequest(f"{where}: the call has neither a call_id nor an id; send its call_id.")
    return call_id


def _only_text(parts: tuple[_Shown, ...], where: str, *, role: str) -> None:
    if not all(isinstance(part, TextPart) for part in parts):
        raise BadRequest(
            f"{where}: a message with the role {role!r} cannot hold a picture or a file; send it in"
            " a message with the role 'user'."
        )
