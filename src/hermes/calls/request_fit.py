"""Adapts a request to what a model supports, and converts its answer back.

A model without native schemas or tools is asked in another way. In every way, an answer that does
not fit the schema is never returned as valid. Pure.
"""

import msgspec

from hermes.calls import schema, schema_ways, text_tools
from hermes.calls.schema_ways import Way
from hermes.errors import AnswerInvalid
from hermes.message.parts import TextPart, text_of, tool_calls_of
from hermes.ports.provider import CallEnd, ModelRequest, ProviderInfo
from hermes.routing.fitness import has_ability


class FittedRequest(msgspec.Struct, frozen=True, kw_only=True):
    """The request to send, and how to read its answer.

    With `hides`, no piece may be shown before the whole answer was read.
    """

    request: ModelRequest
    way: Way | None = None
    speaks_tools: bool = False
    hides: bool = False


def fit(
    wanted: ModelRequest, info: ProviderInfo, *, whole: bool, in_words: bool = False
) -> FittedRequest:
    """Return the request for a model; `whole` says that nobody waits for pieces of the answer.

    `in_words` asks for JSON in words even if the model has a native way.
    """
    request, way = wanted, None
    if wanted.schema is not None:
        way = "words" if in_words else schema_ways.way_of(info, wanted.model, wanted)
    if way == "tool":
        request = schema_ways.as_tool(request)
    elif way == "words":
        request = schema_ways.in_words(request)
    speaks = bool(wanted.tools) and not _has_tools(wanted, info)
    if speaks:
        request = text_tools.in_words(request)
    hides = whole or speaks or way not in (None, "native")
    return FittedRequest(request=request, way=way, speaks_tools=speaks, hides=hides)


def _has_tools(wanted: ModelRequest, info: ProviderInfo) -> bool:
    """Return whether the model has native tools, and can be forced to use one if asked."""
    if wanted.tool_choice.mode == "required" and not schema_ways.forces_tools(info, wanted.model):
        return False
    return has_ability(info, wanted.model, "tools")


def read(fitted: FittedRequest, end: CallEnd, *, wanted: ModelRequest) -> CallEnd:
    """Return the answer in the requested form; raises `AnswerInvalid` if it does not fit."""
    if fitted.speaks_tools:
        end = text_tools.heard(end, wanted)
    if wanted.schema is None or fitted.way is None:
        return end
    if fitted.way == "tool":
        end = schema_ways.from_tool(end, wanted)
    if end.stop_reason != "end" or tool_calls_of(end.parts):
        return end  # cut off, refused or a tool call: it does not claim to be the answer
    if fitted.way == "words":
        end = _bare(end)
    text = text_of(end.parts)
    problem = schema.problem_of(wanted.schema, text)
    if problem is not None:
        raise AnswerInvalid(f"the answer does not fit the schema: {problem}", answer=text)
    return end


def _bare(end: CallEnd) -> CallEnd:
    """Return the answer without a code fence or a sentence around its JSON."""
    thoughts = tuple(part for part in end.parts if not isinstance(part, TextPart))
    text = text_of(end.parts)
    bare = TextPart(schema_ways.as_json(text))
    tokens = end.logprobs if bare.text == text else ()
    return msgspec.structs.replace(end, parts=(*thoughts, bare), logprobs=tokens)
