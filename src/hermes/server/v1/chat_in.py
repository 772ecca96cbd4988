"""Converts a chat-completions request to a model request. Pure.

What cannot be honoured is refused by name; what has no effect is listed.
"""

from collections.abc import Iterator
from typing import Literal

from msgspec import Raw

from hermes.errors import BadRequest
from hermes.ports.options import EFFORT_OPTIONS, NO_EXTRAS, Extras, Option, exact_effort
from hermes.ports.provider import JSON_MODE, ModelRequest, OutputSchema, ToolChoice, ToolSpec
from hermes.server.v1.chat_messages import IMAGE_DETAIL, ChatInput, read_messages
from hermes.server.v1.chat_shape import (
    AllowedChoice,
    ChatBody,
    CustomChoice,
    FunctionChoice,
    Prediction,
    SchemaFormat,
    TextFormat,
    Tool,
)
from hermes.server.v1.dialect import WireCall
from hermes.server.v1.wire_body import WireBody, checked_object, is_given

_BODY = WireBody(ChatBody, "chat-completions request")
_NO_PARAMETERS = Raw(b'{"type":"object","properties":{}}')
_EFFORTS: dict[str, Literal["low", "medium", "high"] | int] = {
    # A budget of zero means on every wire that the model must not reason.
    "none": 0,
    "minimal": "low",
    "low": "low",
    "medium": "medium",
    "high": "high",
    "xhigh": "high",
    "max": "high",
}


def read_chat(body: bytes) -> WireCall:
    """Return the request in a body; raises `BadRequest`."""
    asked, unknown = _BODY.decode(body)
    _refuse_what_cannot_be(asked)
    said = read_messages(asked.messages)
    tools, choice = _tools_of(asked)
    effort = asked.reasoning_effort
    request = ModelRequest(
        model="",
        messages=said.messages,
        system=said.system,
        tools=tools,
        max_output_tokens=_output_limit(asked),
        temperature=asked.temperature,
        top_p=asked.top_p,
        stop=_stops(asked),
        tool_choice=choice,
        schema=_schema_of(asked),
        reasoning=None if effort is None else _EFFORTS[effort],
        cache_prefix=said.marked or _marks_tools(asked),
        parallel_tools=asked.parallel_tool_calls is not False or not tools,
        seed=asked.seed,
        extras=_extras(asked),
    )
    options = asked.stream_options
    return WireCall(
        model=asked.model,
        request=request,
        stream=bool(asked.stream),
        wants_usage=options is not None and bool(options.include_usage),
        ignored=(*unknown, *_ignored(asked, said)),
        hints=tuple(_hints(asked, said)),
        choices=asked.n or 1,
    )


def _refuse_what_cannot_be(asked: ChatBody) -> None:
    if not _has_refused_field(asked):
        return
    for refused, field, remedy in _refusals(asked):
        if refused:
            raise BadRequest(f"{field} cannot be honoured here: {remedy}.")


def _has_refused_field(asked: ChatBody) -> bool:
    """Return whether a field below has a value; nearly no request has one."""
    return bool(
        asked.modalities
        or asked.audio
        or asked.web_search_options
        or asked.moderation
        or asked.functions
        or asked.function_call
        or (asked.top_logprobs and not asked.logprobs)
    )


def _refusals(asked: ChatBody) -> Iterator[tuple[bool, str, str]]:
    """Yield options that would change the answer but that no model could be sent: whether set, and
    what to do.
    """
    no_audio = 'answers are text; leave it out or set it to ["text"]'
    alone = "it needs logprobs: set that to true as well"
    yield bool(asked.top_logprobs and not asked.logprobs), "top_logprobs", alone
    yield any(one != "text" for one in asked.modalities or ()), "modalities", no_audio
    yield is_given(asked.audio), "audio", "answers are text; leave it out"
    yield (
        is_given(asked.web_search_options),
        "web_search_options",
        "no search is made for the model; offer it one as a tool",
    )
    yield is_given(asked.moderation), "moderation", "nothing is moderated here; leave it out"
    yield bool(asked.functions), "functions", "send tools instead"
    yield is_given(asked.function_call), "function_call", "send tool_choice instead"


def _extras(asked: ChatBody) -> Extras | None:
    """Return the rare options; a value that changes nothing counts as not given."""
    if not _has_extra(asked):
        return None
    found = Extras(
        frequency_penalty=asked.frequency_penalty or None,
        presence_penalty=asked.presence_penalty or None,
        logit_bias=asked.logit_bias or None,
        top_logprobs=(asked.top_logprobs or 0) if asked.logprobs else None,
        # Servers of this wire write "no limit" as 0 or -1.
        top_k=asked.top_k if (asked.top_k or 0) > 0 else None,
        min_p=asked.min_p or None,
        verbosity=asked.verbosity,
        prediction=_predicted(asked.prediction),
        effort=exact_effort(asked.reasoning_effort),
    )
    return None if found == NO_EXTRAS else found


def _has_extra(asked: ChatBody) -> bool:
    return bool(
        asked.frequency_penalty
        or asked.presence_penalty
        or asked.logit_bias
        or asked.logprobs
        or asked.top_k
        or asked.min_p
        or asked.verbosity
        or asked.prediction
        or asked.reasoning_effort in EFFORT_OPTIONS
    )


def _predicted(prediction: Prediction | None) -> str | None:
    if prediction is None:
        return None
    content = prediction.content
    return content if isinstance(content, str) else "".join(part.text for part in content)


def _hints(asked: ChatBody, said: ChatInput) -> Iterator[tuple[Option, str]]:
    """Yield the options that only some models heed, with their fields."""
    if said.has_detail:
        yield "image_detail", IMAGE_DETAIL
    if any(isinstance(tool, Tool) and tool.function.strict for tool in asked.tools or ()):
        yield "strict_tools", "tools.function.strict"
    if asked.verbosity not in {None, "medium"}:
        yield "verbosity", "verbosity"
    if asked.prediction is not None:
        yield "prediction", "prediction"
    wanted = asked.reasoning_effort
    if wanted is not None:
        yield "reasoning_off" if wanted == "none" else "reasoning", "reasoning_effort"
    if (effort := exact_effort(wanted)) is not None:
        yield EFFORT_OPTIONS[effort], "reasoning_effort"


def _output_limit(asked: ChatBody) -> int | None:
    given = [n for n in (asked.max_completion_tokens, asked.max_tokens) if n is not None]
    return min(given) if given else None


def _stops(asked: ChatBody) -> tuple[str, ...]:
    stop = [asked.stop] if isinstance(asked.stop, str) else asked.stop
    return tuple(one for one in stop or () if one)


def _tools_of(asked: ChatBody) -> tuple[tuple[ToolSpec, ...], ToolChoice]:
    """Return the tools that may be called, and whether one must be called."""
    tools = tuple(_spec(tool, place) for place, tool in enumerate(asked.tools or ()))
    choice = asked.tool_choice
    if isinstance(choice, CustomChoice):
        raise _no_custom("tool_choice")
    if isinstance(choice, AllowedChoice):
        return _allowed(choice, tools)
    if isinstance(choice, FunctionChoice):
        _check_known([choice.function.name], tools)
        return tools, ToolChoice("required", choice.function.name)
    if choice == "required" and not tools:
        raise BadRequest("tool_choice is 'required' and there are no tools: send tools.")
    return tools, ToolChoice(choice or "auto")


def _spec(tool: object, place: int) -> ToolSpec:
    if not isinstance(tool, Tool):
        raise _no_custom(f"tools[{place}]")
    function = tool.function
    parameters = _NO_PARAMETERS
    if is_given(function.parameters):
        where = f"tools[{place}].function.parameters"
        parameters = checked_object(function.parameters, where)
    words, strict = function.description or "", function.strict is True
    return ToolSpec(function.name, words, parameters, strict)


def _no_custom(field: str) -> BadRequest:
    return BadRequest(
        f"{field}: custom tools, which take free text, cannot be passed on to every model; send a"
        " tool of type 'function' with one string parameter."
    )


def _allowed(
    choice: AllowedChoice, tools: tuple[ToolSpec, ...]
) -> tuple[tuple[ToolSpec, ...], ToolChoice]:
    """Return only the allowed tools: no other service can show tools and forbid them."""
    names = [tool.function.name for tool in choice.allowed_tools.tools]
    _check_known(names, tools)
    if not names:
        raise BadRequest("tool_choice allows no tools: name some, or set it to 'none'.")
    allowed = tuple(spec for spec in tools if spec.name in names)
    return allowed, ToolChoice(choice.allowed_tools.mode)


def _check_known(names: list[str], tools: tuple[ToolSpec, ...]) -> None:
    known = {spec.name for spec in tools}
    for name in names:
        if name not in known:
            raise BadRequest(
                f"tool_choice names the tool {name[:80]!r}, which is not among the tools: add it"
                " to tools, or name another."
            )


def _schema_of(asked: ChatBody) -> OutputSchema | None:
    wanted = asked.response_format
    if wanted is None or isinstance(wanted, TextFormat):
        return None
    if not isinstance(wanted, SchemaFormat):
        return JSON_MODE
    named = wanted.json_schema
    if not is_given(named.schema):
        raise BadRequest(
            "response_format.json_schema.schema is missing: send a JSON schema, or set"
            " response_format to {'type': 'json_object'}."
        )
    schema = checked_object(named.schema, "response_format.json_schema.schema")
    return OutputSchema(name=named.name, schema=schema, strict=bool(named.strict))


def _marks_tools(asked: ChatBody) -> bool:
    return any(
        isinstance(tool, Tool) and is_given(tool.cache_control) for tool in asked.tools or ()
    )


def _ignored(asked: ChatBody, said: ChatInput) -> Iterator[str]:
    """Yield the names of known fields that were sent and have no effect."""
    yield from said.ignored
    wanted = asked.response_format
    if isinstance(wanted, SchemaFormat) and wanted.json_schema.description:
        yield "response_format.json_schema.description"
