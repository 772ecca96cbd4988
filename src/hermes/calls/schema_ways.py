"""Makes a model answer in JSON that fits a schema: natively, with a tool, or by instruction. Pure.

Converts the request for the chosen way. `schema` checks whether the answer fits; who calls whom,
and whether a second round is worth it, is decided elsewhere.
"""

import json
import re
from typing import Any, Literal

import msgspec

from hermes.message.chat import ChatMessage, user_text
from hermes.message.parts import Part, ReasoningPart, TextPart, ToolCallPart
from hermes.ports.provider import (
    CallEnd,
    ModelRequest,
    OutputSchema,
    ProviderInfo,
    ToolChoice,
    ToolSpec,
)
from hermes.routing.fitness import has_ability

Way = Literal["native", "tool", "words"]

_MAX_TRIES = 32
_MAX_NAME = 64
_FENCE = "```"
_NO_NAME = re.compile(r"[^a-zA-Z0-9_-]+")
_decode_at = json.JSONDecoder().raw_decode


def way_of(info: ProviderInfo, model: str, request: ModelRequest) -> Way:
    """Return the best way for this model to fit the schema; nothing to do without a schema.

    A forced tool would keep the model from using the request's own tools, and can only return an
    object. JSON mode is never a tool: one without parameters makes models answer with nothing.
    """
    if request.schema is None:
        return "native"
    if request.schema.is_json_mode:
        return "native" if "json_mode" in info.options.of(model) else "words"
    if has_ability(info, model, "schema"):
        return "native"
    if request.tools or not has_ability(info, model, "tools"):
        return "words"
    return "tool" if forces_tools(info, model) and _is_object(request.schema) else "words"


def forces_tools(info: ProviderInfo, model: str) -> bool:
    """Return whether the model can be made to call a tool."""
    return info.forces_tools and "forced_tools" in info.options.of(model)


def in_words(request: ModelRequest) -> ModelRequest:
    """Return the request with the schema described in an additional system block."""
    schema = _schema_of(request)
    when = "If you call no tool, answer" if request.tools else "Answer"
    if schema.is_json_mode:
        block = (
            f"{when} with one JSON object only. Write no other words before or after it, no"
            " explanation and no code fence."
        )
        return msgspec.structs.replace(request, schema=None, system=(*request.system, block))
    block = (
        f"{when} with JSON only: one value that fits the JSON schema below. Write no other words"
        " before or after it, no explanation and no code fence.\n\n"
        f"JSON schema:\n{bytes(schema.schema).decode()}"
    )
    return msgspec.structs.replace(request, schema=None, system=(*request.system, block))


def as_tool(request: ModelRequest) -> ModelRequest:
    """Return the request with the schema as the parameters of a tool that must be called."""
    schema = _schema_of(request)
    name = tool_name(schema)
    spec = ToolSpec(name, "Give the answer, in the form that these parameters have.", schema.schema)
    return msgspec.structs.replace(
        request, schema=None, tools=(spec,), tool_choice=ToolChoice("required", name)
    )


def from_tool(end: CallEnd, request: ModelRequest) -> CallEnd:
    """Return the end of an `as_tool` call with the tool's arguments as the answer's text.

    `request` is the one before `as_tool`. If the model called no tool, its text is used.
    """
    name = tool_name(_schema_of(request))
    calls = [part for part in end.parts if isinstance(part, ToolCallPart) and part.name == name]
    if not calls:
        return end
    thoughts = [part for part in end.parts if isinstance(part, ReasoningPart)]
    parts: tuple[Part, ...] = (*thoughts, TextPart(calls[0].arguments))
    reason = "end" if end.stop_reason == "tool_calls" else end.stop_reason
    return msgspec.structs.replace(end, parts=parts, stop_reason=reason)


def repair(request: ModelRequest, answer: str, problem: str) -> ModelRequest:
    """Return the request for the one round in which a model may correct its `answer`."""
    said = (ChatMessage("assistant", (TextPart(answer),)),) if answer.strip() else ()
    instruction = user_text(
        f"Your answer cannot be used: {problem}. Answer again with the whole JSON that fits the"
        " schema, and nothing else."
    )
    return msgspec.structs.replace(
        request, messages=(*request.messages, *said, instruction), plain_chars=None
    )


def as_json(text: str) -> str:
    """Return the JSON inside an answer that wraps it in a fence or a sentence.

    An answer without JSON is returned unchanged.
    """
    whole = text.strip()
    if _is_json(whole):
        return whole
    for fenced in whole.split(_FENCE)[1::2]:
        inside = fenced.partition("\n")[2].strip()  # the first line names the language
        if _is_json(inside):
            return inside
    return max(_values(whole), key=len, default=text)


def tool_name(schema: OutputSchema) -> str:
    """Return the name of the tool that represents the schema."""
    return _NO_NAME.sub("_", schema.name[: 4 * _MAX_NAME]).strip("_")[:_MAX_NAME] or "answer"


def _values(text: str) -> list[str]:
    """Return the objects and arrays found in a text within a few tries."""
    found: list[str] = []
    position = 0
    for _ in range(_MAX_TRIES):
        opening = min((at for at in _openings(text, position) if at >= 0), default=-1)
        if opening < 0:
            break
        position = opening + 1
        try:
            _, end = _decode_at(text, opening)
        except (ValueError, RecursionError):
            continue
        found.append(text[opening:end])
        position = end
    return found


def _openings(text: str, position: int) -> tuple[int, int]:
    return text.find("[", position), text.find("{", position)


def _is_json(text: str) -> bool:
    try:
        msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return False
    return True


def _is_object(schema: OutputSchema) -> bool:
    # Any: a JSON schema.
    root: Any = msgspec.json.decode(schema.schema)
    return isinstance(root, dict) and root.get("type") == "object"


def _schema_of(request: ModelRequest) -> OutputSchema:
    if request.schema is None:
        raise ValueError("a request without a schema has no way to fit it")
    return request.schema
