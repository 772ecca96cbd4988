"""Tool calls as text, for a model without native tools. Pure.

A system block describes the tools and one form for calling them, the history uses the same form,
and an answer in that form becomes tool calls. Any other answer stays text: nothing runs that was
not asked for exactly.

The form is one JSON object alone, `{"tool_calls":[{"name":"...","arguments":{...}}]}`; results come
back as `{"tool_results":[{"name":"...","result":"..."}]}`.
"""

from itertools import groupby

import msgspec

from hermes.message.chat import ChatMessage
from hermes.message.parts import Part, TextPart, ToolCallPart, ToolResultPart, text_of
from hermes.ports.provider import CallEnd, ModelRequest, ToolChoice, ToolSpec

MAX_CALLS = 32
_FENCE = "```"
_OPENINGS = ("{", _FENCE)


class _Call(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    arguments: msgspec.Raw = msgspec.Raw(b"{}")


class _Calls(msgspec.Struct, forbid_unknown_fields=True):
    tool_calls: list[_Call]


class _Result(msgspec.Struct, omit_defaults=True):
    name: str
    result: str
    failed: bool = False


class _Results(msgspec.Struct):
    tool_results: list[_Result]


class _Told(msgspec.Struct):
    name: str
    description: str
    parameters: msgspec.Raw


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(_Calls).decode


def in_words(request: ModelRequest) -> ModelRequest:
    """Return the request with its tools described in a system block and in the history's text."""
    offered = _offered(request)
    blocks = (_block(offered, request.tool_choice),) if offered else ()
    return msgspec.structs.replace(
        request,
        tools=(),
        tool_choice=ToolChoice(),
        system=(*request.system, *blocks),
        messages=_in_text(request.messages),
        plain_chars=None,
    )


def heard(end: CallEnd, request: ModelRequest) -> CallEnd:
    """Return the end with tool calls if its text asks for tools; `request` is the original one.

    New ids continue those of the conversation's earlier calls, so that all are different.
    """
    text = text_of(end.parts).strip()
    asked = _asked(text, {tool.name for tool in _offered(request)})
    if not asked:
        return end
    before = sum(
        isinstance(part, ToolCallPart) for message in request.messages for part in message.parts
    )
    calls = tuple(
        ToolCallPart(f"call_{number}", call.name, bytes(call.arguments).decode())
        for number, call in enumerate(asked, before + 1)
    )
    others = tuple(part for part in end.parts if not isinstance(part, TextPart))
    return msgspec.structs.replace(end, parts=(*others, *calls), stop_reason="tool_calls")


def may_be_calls(beginning: str) -> bool:
    """Return whether an answer that begins like this may become tool calls; hold it back then."""
    begun = beginning.lstrip()
    return any(begun.startswith(one) or one.startswith(begun) for one in _OPENINGS)


def _offered(request: ModelRequest) -> tuple[ToolSpec, ...]:
    choice = request.tool_choice
    if choice.mode == "none":
        return ()
    if choice.name is None:
        return request.tools
    return tuple(tool for tool in request.tools if tool.name == choice.name)


def _block(offered: tuple[ToolSpec, ...], choice: ToolChoice) -> str:
    told = "\n".join(
        _encode(_Told(tool.name, tool.description, tool.parameters)).decode() for tool in offered
    )
    return (
        "You can use tools. Each line below is one tool; its parameters are a JSON schema.\n\n"
        f"{told}\n\n"
        f"{_rule(choice)} To call tools, answer with one JSON object alone, without any other word"
        " and without a code fence, in exactly this form:\n"
        '{"tool_calls":[{"name":"NAME","arguments":{}}]}\n'
        "List several calls when you need several results. The results come in the next message as"
        ' {"tool_results":[{"name":"NAME","result":"TEXT"}]}. Never write results yourself.'
    )


def _rule(choice: ToolChoice) -> str:
    if choice.name is not None:
        return f"You must call the tool {choice.name} now."
    if choice.mode == "required":
        return "You must call at least one tool now."
    return "Call tools only when you need them; otherwise answer in plain text."


def _asked(text: str, names: set[str]) -> list[_Call]:
    """Return the calls that a text asks for; none unless all of them are valid."""
    if text.startswith(_FENCE) and text.endswith(_FENCE):
        text = text.partition("\n")[2].removesuffix(_FENCE)
    try:
        calls = _decode(text).tool_calls
    except (msgspec.DecodeError, RecursionError):
        return []
    fits = all(call.name in names and bytes(call.arguments)[:1] == b"{" for call in calls)
    return calls if fits and len(calls) <= MAX_CALLS else []


def _in_text(messages: tuple[ChatMessage, ...]) -> tuple[ChatMessage, ...]:
    told: list[ChatMessage] = []
    for role, group in groupby(messages, key=lambda message: message.role):
        if role == "tool":
            parts = tuple(part for message in group for part in message.parts)
            told.append(ChatMessage("user", _results_told(parts)))
        else:
            told.extend(_calls_told(message) for message in group)
    return tuple(told)


def _results_told(parts: tuple[Part, ...]) -> tuple[Part, ...]:
    results = [
        _Result(part.name, part.text, part.failed)
        for part in parts
        if isinstance(part, ToolResultPart)
    ]
    others = tuple(part for part in parts if not isinstance(part, ToolResultPart))
    return (TextPart(_encode(_Results(results)).decode()), *others)


def _calls_told(message: ChatMessage) -> ChatMessage:
    calls = [
        _Call(part.name, msgspec.Raw(_object(part.arguments)))
        for part in message.parts
        if isinstance(part, ToolCallPart)
    ]
    if not calls:
        return message
    said = [part.text for part in message.parts if isinstance(part, TextPart) and part.text]
    text = "\n".join([*said, _encode(_Calls(calls)).decode()])
    others = tuple(part for part in message.parts if not isinstance(part, ToolCallPart | TextPart))
    return msgspec.structs.replace(message, parts=(*others, TextPart(text)))


def _object(arguments: str) -> bytes:
    """Return arguments as JSON; invalid ones go into a text field, as the model wrote them."""
    try:
        msgspec.json.decode(arguments)
    except (msgspec.DecodeError, RecursionError):
        return _encode(arguments)
    return arguments.encode()
