"""Converts a Responses request to a model request. Pure.

A call whose key stores no responses cannot continue one; options without effect are listed. The
answer repeats parts of the request: `Echo` holds them, encoded once.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

import msgspec

from hermes.errors import BadRequest
from hermes.ports.options import EFFORT_OPTIONS, NO_EXTRAS, Extras, Option, Summary, exact_effort
from hermes.ports.provider import JSON_MODE, ModelRequest, OutputSchema, ToolSpec
from hermes.server.v1.dialect import WireCall
from hermes.server.v1.responses_items import IMAGE_DETAIL, ItemReader
from hermes.server.v1.responses_shape import (
    ObjectFormat,
    ReasoningConfig,
    ResponsesBody,
    SchemaFormat,
    TextConfig,
    TextFormat,
)
from hermes.server.v1.responses_tools import FunctionShape, Toolbox, choose
from hermes.server.v1.wire_body import WireBody, checked_object, is_given

ECHO = "responses"
_BODY = WireBody(ResponsesBody, "Responses request")
_SEALED = "reasoning.encrypted_content"
_LOGPROBS = "message.output_text.logprobs"
_NAME = re.compile(r"[a-z0-9_.]{1,80}")
_MAX_NAMED = 32
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
_NOT_STORED = (
    "`previous_response_id` cannot be honoured here: this key stores no responses; send the whole"
    " conversation as `input`, or use a key made with `hermes keys create --store-responses`."
)
_REFUSED = {
    "conversation": "conversations have no names here; send the whole conversation as `input`, or"
    " continue a stored response with `previous_response_id`",
    "prompt": "stored prompts are OpenAI's; send their text as `instructions` and `input`",
    "background": "there are no background responses; leave it out and use `stream`",
    "moderation": "answers are not moderated here; leave it out",
}
# Names of the chat-completions wire: ignoring them would change the answer silently.
_CHAT_NAMES = {
    "messages": "send them as `input`",
    "max_tokens": "it is `max_output_tokens` here",
    "max_completion_tokens": "it is `max_output_tokens` here",
    "response_format": "it is `text.format` here",
    "reasoning_effort": "it is `reasoning.effort` here",
    "stop": "this wire has no stop sequences; use /v1/chat/completions for them",
    "n": "send the call several times",
    "logprobs": "it is `top_logprobs` here, and message.output_text.logprobs in `include`",
    "functions": "send them as `tools`",
}


class Echo(msgspec.Struct, frozen=True):
    """What the answer repeats, as the inside of a JSON object, and how its tools are written.

    If the response will be stored, `input` is what it answers, and `previous` what it continues.
    """

    fields: bytes
    shapes: dict[str, FunctionShape]
    has_schema: bool = False
    input: tuple[msgspec.Raw, ...] = ()
    previous: str | None = None


class DecodedRequest(msgspec.Struct, frozen=True):
    """The body of a request, and the names of its fields that have no meaning here."""

    body: ResponsesBody
    unknown: tuple[str, ...]


def read_request(body: bytes, headers: Mapping[str, str]) -> WireCall:
    """Return the request in `body`, whose response is not stored; raises `BadRequest`."""
    return request_of(decode_request(body), headers)


def decode_request(body: bytes) -> DecodedRequest:
    """Decode a body; raises `BadRequest`, also for what cannot be honoured."""
    asked, unknown = _BODY.decode(body)
    _refuse(asked, unknown)
    if asked.input is None or asked.input == []:
        raise BadRequest("`input` is missing: send the conversation, as a text or as items.")
    return DecodedRequest(asked, unknown)


def request_of(
    decoded: DecodedRequest,
    headers: Mapping[str, str],
    *,
    context: Sequence[msgspec.Raw] | None = None,
) -> WireCall:
    """Return the request; `context` are the items that it continues, None without storage."""
    asked = decoded.body
    if context is None and asked.previous_response_id is not None:
        raise BadRequest(_NOT_STORED)
    assert asked.input is not None
    tools = Toolbox(by_codex=_is_codex(headers))
    for place, raw in enumerate(asked.tools or ()):
        tools.add(raw, f"tools[{place}]")
    talk = ItemReader(tools)
    talk.read(asked.input, context=context or ())
    choice, offered = choose(asked.tool_choice, tools)
    request = ModelRequest(
        model="",
        messages=tuple(talk.messages),
        system=(asked.instructions, *talk.system) if asked.instructions else tuple(talk.system),
        tools=offered,
        tool_choice=choice,
        max_output_tokens=asked.max_output_tokens,
        temperature=asked.temperature,
        top_p=asked.top_p,
        schema=_schema(asked.text),
        reasoning=_EFFORTS.get(_effort(asked.reasoning) or ""),
        cache_prefix=bool(asked.prompt_cache_key),
        parallel_tools=asked.parallel_tool_calls is not False or not offered,
        extras=_extras(asked),
    )
    # OpenAI stores what does not say otherwise.
    stored = context is not None and asked.store is not False
    without_effect = _without_effect(asked, stored=stored)
    ignored = (*decoded.unknown, *without_effect, *tools.ignored, *talk.ignored)
    return WireCall(
        model=asked.model,
        request=request,
        stream=asked.stream is True,
        ignored=tuple(dict.fromkeys(ignored)),
        hints=tuple(_hints(asked, offered, has_detail=talk.has_detail)),
        echo={ECHO: _echo(asked, request, shapes=tools.shapes, stored=stored)},
        stored=stored,
    )


def echo_of(call: WireCall) -> Echo:
    """Return what the answer to `call` repeats."""
    found = call.echo.get(ECHO)
    return found if isinstance(found, Echo) else Echo(b"", {})


def one_line(json: bytes) -> bytes:
    """Return JSON without line breaks, which would end an event; JSON strings contain none."""
    return json.replace(b"\n", b" ").replace(b"\r", b" ")


def _is_codex(headers: Mapping[str, str]) -> bool:
    said = (headers.get("originator", ""), headers.get("user-agent", ""))
    return any(name.lower().startswith("codex") for name in said)


def _refuse(asked: ResponsesBody, unknown: tuple[str, ...]) -> None:
    for name, what in _REFUSED.items():
        value = getattr(asked, name)
        if is_given(value) if isinstance(value, msgspec.Raw) else value:
            raise BadRequest(f"`{name}` cannot be honoured here: {what}.")
    for name in unknown:
        if name in _CHAT_NAMES:
            raise BadRequest(
                f"`{name}` is not a field of a Responses request: {_CHAT_NAMES[name]}."
            )


def _extras(asked: ResponsesBody) -> Extras | None:
    """Return the rare options of a request."""
    wants_logprobs = bool(asked.top_logprobs) or _LOGPROBS in (asked.include or ())
    found = Extras(
        top_logprobs=(asked.top_logprobs or 0) if wants_logprobs else None,
        verbosity=None if asked.text is None else asked.text.verbosity,
        reasoning_summary=_summary(asked.reasoning),
        effort=exact_effort(_effort(asked.reasoning)),
    )
    return None if found == NO_EXTRAS else found


def _summary(config: ReasoningConfig | None) -> Summary | None:
    asked = None if config is None else config.summary or config.generate_summary
    return None if asked is None or asked == "none" else asked


def _hints(
    asked: ResponsesBody, tools: tuple[ToolSpec, ...], *, has_detail: bool
) -> Iterator[tuple[Option, str]]:
    """Yield the options that only some models heed, with their fields."""
    if has_detail:
        yield "image_detail", IMAGE_DETAIL
    if any(spec.strict for spec in tools):
        yield "strict_tools", "tools.strict"
    if asked.text is not None and asked.text.verbosity not in {None, "medium"}:
        yield "verbosity", "text.verbosity"
    if _summary(asked.reasoning) is not None:
        yield "reasoning_summary", "reasoning.summary"
    wanted = _effort(asked.reasoning)
    if wanted is not None:
        yield "reasoning_off" if wanted == "none" else "reasoning", "reasoning.effort"
    if (effort := exact_effort(wanted)) is not None:
        yield EFFORT_OPTIONS[effort], "reasoning.effort"


def _effort(config: ReasoningConfig | None) -> str | None:
    return None if config is None else config.effort


def _schema(config: TextConfig | None) -> OutputSchema | None:
    wanted = None if config is None else config.format
    if isinstance(wanted, ObjectFormat):
        return JSON_MODE
    if isinstance(wanted, SchemaFormat):
        schema = checked_object(wanted.schema, "text.format.schema")
        return OutputSchema(name=wanted.name, schema=schema, strict=wanted.strict is True)
    return None


def _without_effect(asked: ResponsesBody, *, stored: bool) -> list[str]:
    reasoning, text = asked.reasoning or ReasoningConfig(), asked.text or TextConfig()
    described = isinstance(text.format, SchemaFormat) and text.format.description is not None
    found = {
        "store": asked.store is True and not stored,
        "metadata": bool(asked.metadata) and not stored,
        "safety_identifier": asked.safety_identifier is not None,
        "user": asked.user is not None,
        "truncation": asked.truncation == "auto",
        "reasoning.context": reasoning.context not in {None, "auto"},
        "reasoning.mode": reasoning.mode not in {None, "standard"},
        "text.format.description": described,
    }
    included = [name for name in asked.include or () if name not in {_SEALED, _LOGPROBS}]
    # Sent in a header, so only values that look like names.
    named = [f"include.{name}" if _NAME.fullmatch(name) else "include" for name in included]
    return [name for name, is_given in found.items() if is_given] + named[:_MAX_NAMED]


def _echo(
    asked: ResponsesBody,
    request: ModelRequest,
    *,
    shapes: dict[str, FunctionShape],
    stored: bool,
) -> Echo:
    config, text = asked.reasoning or ReasoningConfig(), asked.text or TextConfig()
    parallel = asked.parallel_tool_calls
    fields = {
        "background": False,
        "conversation": None,
        "frequency_penalty": 0.0,
        "instructions": asked.instructions,
        "max_output_tokens": asked.max_output_tokens,
        "max_tool_calls": None,
        "metadata": asked.metadata or {},
        "moderation": None,
        "parallel_tool_calls": True if parallel is None else parallel,
        "presence_penalty": 0.0,
        "previous_response_id": asked.previous_response_id,
        "prompt": None,
        "prompt_cache_key": asked.prompt_cache_key,
        "prompt_cache_retention": None,
        "reasoning": {"effort": config.effort, "summary": config.summary},
        "safety_identifier": asked.safety_identifier,
        "service_tier": "default",
        "store": stored,
        "temperature": 1.0 if asked.temperature is None else asked.temperature,
        "text": TextConfig(text.format or TextFormat(), text.verbosity),
        "tool_choice": "auto" if asked.tool_choice is None else asked.tool_choice,
        "tools": asked.tools or [],
        "top_logprobs": asked.top_logprobs or 0,
        "top_p": 1.0 if asked.top_p is None else asked.top_p,
        "truncation": "disabled",
        "user": asked.user,
    }
    return Echo(
        one_line(msgspec.json.encode(fields)[1:-1]),
        shapes,
        has_schema=request.schema is not None,
        input=_input(asked) if stored else (),
        previous=asked.previous_response_id,
    )


def _input(asked: ResponsesBody) -> tuple[msgspec.Raw, ...]:
    """Return the input as items."""
    if isinstance(asked.input, str):
        item = {"type": "message", "role": "user", "content": asked.input}
        return (msgspec.Raw(msgspec.json.encode(item)),)
    return tuple(asked.input or ())
