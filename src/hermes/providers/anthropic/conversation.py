"""A conversation as Anthropic's alternating turns of blocks: pure, no sockets, no files.

The service wants a user's turn first, no empty text, and the result of every tool call at the
beginning of the very next turn. Missing pieces are replaced by a short text; nothing is flattened.
"""

import re
from collections.abc import Sequence

import msgspec

from hermes.media.image_files import inline_image
from hermes.message.chat import ChatMessage
from hermes.message.inline_file import inline_file
from hermes.message.parts import (
    FilePart,
    ImagePart,
    Media,
    Part,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from hermes.provider_kit.request_json import IMAGE_GONE, NO_VISION, Images, Json, part_text

DIALECT = "anthropic"
_MEDIA_TYPES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
_MAX_IMAGE_CHARS = 5_242_880
# How the bytes of each type begin in base64.
_STARTS = (
    ("iVBORw", "image/png"),
    ("/9j/", "image/jpeg"),
    ("R0lGOD", "image/gif"),
    ("UklGR", "image/webp"),
)
THINKING_KINDS = frozenset({"thinking", "redacted_thinking"})
RAW_ARGUMENTS = "raw_arguments"
_BAD_IN_ID = re.compile(r"[^a-zA-Z0-9_-]")
_LONGEST_ID = 200
_BEGINNING = "[the conversation begins with the assistant]"
_EMPTY = "[an empty message]"
_NO_KIND = "[an image was attached; this model cannot see its format]"
_UNANSWERED = "The call was not finished; it has no result."
_FAILED = "The tool failed without a word."


def build_turns(messages: Sequence[ChatMessage], *, images: Images, vision: bool) -> list[Json]:
    """Return the conversation; consecutive messages of one role become one turn.

    `images` maps the path of each image file to its bytes in base64. The caller handles system
    messages: this wire has them outside the conversation.
    """
    turns: list[Json] = []
    for message in messages:
        if message.role == "system":
            continue
        if message.role == "assistant":
            role, blocks = "assistant", _said(message.parts)
        else:
            role, blocks = "user", _asked(message.parts, images=images, vision=vision)
        if turns and turns[-1]["role"] == role:
            turns[-1]["content"].extend(blocks)
        elif blocks:
            turns.append({"role": role, "content": blocks})
    if not turns or turns[0]["role"] == "assistant":
        turns.insert(0, _user([text_block(_BEGINNING if turns else _EMPTY)]))
    paired = _pair_up(turns)
    _trim_prefill(paired[-1])
    return paired


def text_block(text: str) -> Json:
    """Return a block of plain text."""
    return {"type": "text", "text": text}


def _user(blocks: list[Json]) -> Json:
    return {"role": "user", "content": blocks}


def _said(parts: tuple[Part, ...]) -> list[Json]:
    """Return an assistant's blocks; parts that only another dialect can read are left out."""
    blocks: list[Json] = []
    for part in parts:
        if isinstance(part, TextPart) and part.text.strip():
            blocks.append(text_block(part.text))
        elif isinstance(part, ToolCallPart):
            use = {"id": part.id, "name": part.name, "input": _input(part.arguments)}
            blocks.append({"type": "tool_use", **use})
        elif isinstance(part, ReasoningPart) and part.dialect == DIALECT:
            if part.sealed is not None:
                blocks.append({"type": "redacted_thinking", "data": part.sealed})
            elif part.signature:
                signed = {"thinking": part.text, "signature": part.signature}
                blocks.append({"type": "thinking", **signed})
    return blocks


def _input(arguments: str) -> msgspec.Raw | Json:
    """Return the arguments as the model wrote them, which must be an object on this wire."""
    try:
        msgspec.json.decode(arguments, type=dict)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return {RAW_ARGUMENTS: arguments} if arguments.strip() else {}
    return msgspec.Raw(arguments.encode())


def _asked(parts: tuple[Part, ...], *, images: Images, vision: bool) -> list[Json]:
    blocks = [_block(part, images=images, vision=vision) for part in parts]
    kept = [block for block in blocks if block["type"] != "text" or block["text"].strip()]
    return kept or [text_block(_EMPTY)]


def _block(part: Part, *, images: Images, vision: bool) -> Json:
    if isinstance(part, ToolResultPart):
        return _result(part)
    if isinstance(part, ImagePart):
        return _image(part, images=images) if vision else text_block(NO_VISION)
    if isinstance(part, FilePart) and part.media.url is not None:
        return _document(part.media, part.media.url)
    return text_block(part_text(part))


def _document(media: Media, url: str) -> Json:
    """Return a document that the request holds by value or by its address."""
    found = inline_file(media)
    source: Json = {"type": "url", "url": url}
    if found is not None:
        source = {"type": "base64", "media_type": found.mime, "data": found.data}
    block: Json = {"type": "document", "source": source}
    return block if media.name is None else block | {"title": media.name}


def _result(part: ToolResultPart) -> Json:
    block: Json = {"type": "tool_result", "tool_use_id": part.call_id}
    text = part.text if part.text.strip() else ""
    if part.failed:
        return block | {"content": text or _FAILED, "is_error": True}
    return block | {"content": text} if text else block


def _image(part: ImagePart, *, images: Images) -> Json:
    # The file comes first: a platform's address may be private or short-lived.
    data = images.get(part.media.path) if part.media.path else None
    mime, url = part.media.mime, part.media.url
    if data is None and url is not None:
        inline = inline_image(url)
        if inline is None:
            return {"type": "image", "source": {"type": "url", "url": url}}
        mime, data = inline.mime, inline.data
    if data is None or len(data) > _MAX_IMAGE_CHARS:
        return text_block(IMAGE_GONE)
    mime = _true_mime(data) or mime
    if mime not in _MEDIA_TYPES:
        return text_block(_NO_KIND)
    return {"type": "image", "source": {"type": "base64", "media_type": mime, "data": data}}


def _true_mime(data: str) -> str | None:
    """Return the type by the first bytes: platforms guess it, and the service refuses a wrong one."""
    return next((mime for start, mime in _STARTS if data.startswith(start)), None)


def _pair_up(turns: list[Json]) -> list[Json]:
    """Return the turns with the results of each turn's calls first in the next one.

    Ids are made unique in the conversation and converted to the service's alphabet, because ids of
    other dialects may not fit.
    """
    paired: list[Json] = []
    known: set[str] = set()
    waiting: list[tuple[str, str]] = []
    for turn in turns:
        if turn["role"] == "assistant":
            waiting = _name_calls(turn["content"], known)
            paired.append(turn)
        else:
            paired.append(_user(_results_first(turn["content"], waiting)))
            waiting = []
    if waiting:
        paired.append(_user(_results_first([], waiting)))
    return paired


def _name_calls(blocks: list[Json], known: set[str]) -> list[tuple[str, str]]:
    """Assign every call its id on the wire; return the old and the new id of each."""
    named: list[tuple[str, str]] = []
    for block in blocks:
        if block["type"] != "tool_use":
            continue
        told = block["id"]
        plain = new = _BAD_IN_ID.sub("_", told[:_LONGEST_ID]) or "call"
        count = 1
        while new in known:
            count += 1
            new = f"{plain}_{count}"
        known.add(new)
        block["id"] = new
        named.append((told, new))
    return named


def _results_first(blocks: list[Json], waiting: list[tuple[str, str]]) -> list[Json]:
    open_calls = list(waiting)
    found: dict[str, Json] = {}
    rest: list[Json] = []
    for block in blocks:
        if block["type"] != "tool_result":
            rest.append(block)
            continue
        match = next((pair for pair in open_calls if pair[0] == block["tool_use_id"]), None)
        if match is None:
            words = block.get("content", "nothing")
            rest.append(text_block(f"[the result of a tool call that is not shown: {words}]"))
        else:
            open_calls.remove(match)
            found[match[1]] = block | {"tool_use_id": match[1]}
    return [found.get(new) or _unanswered(new) for _, new in waiting] + rest


def _unanswered(id_: str) -> Json:
    result = {"tool_use_id": id_, "content": _UNANSWERED, "is_error": True}
    return {"type": "tool_result", **result}


def _trim_prefill(turn: Json) -> None:
    """Strip trailing whitespace from a final assistant turn that the model should continue."""
    last = turn["content"][-1]
    if turn["role"] == "assistant" and last["type"] == "text":
        last["text"] = last["text"].rstrip()
