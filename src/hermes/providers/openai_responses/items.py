"""The output items of a response as parts of a message: pure, no sockets."""

from collections.abc import Iterator

import msgspec

from hermes.message.ids import MakeId
from hermes.message.parts import Part, ReasoningPart, TextPart, ToolCallPart
from hermes.providers.openai_responses.events import Item
from hermes.providers.openai_responses.wire import DIALECT


def parts_of(items: list[Item], *, cut: bool, make_id: MakeId) -> tuple[Part, ...]:
    """Return the items as parts; of a response that was `cut`, only tool calls that are whole."""
    return tuple(part for item in items for part in _parts(item, cut=cut, make_id=make_id))


def said_in(item: Item) -> str:
    """Return the text of a message, or its refusal."""
    return "".join(piece.text or piece.refusal or "" for piece in item.content or ())


def refuses(items: list[Item]) -> bool:
    """Tell whether the model refused to answer."""
    return any(piece.refusal for item in items for piece in item.content or ())


def _parts(item: Item, *, cut: bool, make_id: MakeId) -> Iterator[Part]:
    if item.type == "message":
        if text := said_in(item):
            yield TextPart(text)
    elif item.type == "function_call":
        arguments = item.arguments or "{}"
        if not cut or _is_json(arguments):
            yield ToolCallPart(
                item.call_id or item.id or make_id("call"), item.name or "", arguments
            )
    elif item.type == "reasoning":
        yield from thoughts_of(item)


def thoughts_of(item: Item) -> Iterator[ReasoningPart]:
    """Yield one part for each piece of the summary; the first one holds what is sealed.

    Reasoning that is not sealed yields nothing: the service would not take it back.
    """
    if not item.encrypted_content:
        return
    first, *others = [piece.text or "" for piece in item.summary or ()] or [""]
    yield ReasoningPart(first, DIALECT, sealed=item.encrypted_content, id=item.id)
    for text in others:
        yield ReasoningPart(text, DIALECT, id=item.id)


def _is_json(text: str) -> bool:
    try:
        msgspec.json.decode(text)
    except msgspec.DecodeError:
        return False
    return True
