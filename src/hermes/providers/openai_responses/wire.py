"""Converts a model request to the JSON of a Responses call: pure, no sockets, no files.

Nothing is stored at the service (`store` is false): every call contains its whole conversation as
items, including the service's own encrypted reasoning.
"""

from collections.abc import Iterator

import msgspec

from hermes.errors import ProviderRejected
from hermes.media.image_files import image_url
from hermes.message.chat import ChatMessage
from hermes.message.inline_file import UNNAMED_PDF, inline_file
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
from hermes.ports.effort import sent_effort
from hermes.ports.options import Extras, Option
from hermes.ports.provider import ModelRequest, OutputSchema, ToolChoice
from hermes.provider_kit.request_json import (
    IMAGE_GONE,
    NO_VISION,
    Images,
    Json,
    is_strict,
    part_text,
    usual_sampling,
    with_known_detail,
)
from hermes.providers.openai_responses.settings import ResponsesSettings

DIALECT = "responses"
_SEALED = "reasoning.encrypted_content"
_LOGPROBS = "message.output_text.logprobs"
_LEAST_OUTPUT_TOKENS = 16


def build_body(request: ModelRequest, settings: ResponsesSettings, *, images: Images) -> bytes:
    """Return the request's JSON; `images` maps the path of each image file to its data URL."""
    model, request = request.model or settings.model, with_known_detail(request, settings)
    shown = images if settings.vision else None
    first, *others = [block for block in request.system if block] or [""]
    body: Json = {
        "model": model,
        "input": [*_blocks(others), *_items(request.messages, images=shown)],
        "stream": True,
        "store": False,
    }
    if first:
        body["instructions"] = first
    is_asked = bool(request.reasoning) and settings.has_option("reasoning", request)
    if is_asked or settings.reasons(model):
        body["include"] = [_SEALED]
    body.update(_sampling(request, settings))
    body.update(_tools(request, settings))
    if request.extras is not None:
        _add_extras(body, request.extras, has=settings.options.of(model))
    return msgspec.json.encode(body)


def _blocks(blocks: list[str]) -> Iterator[Json]:
    """Yield the blocks that are not part of the instructions, each as its own message."""
    for block in blocks:
        yield {"role": "system", "content": block}


def _sampling(request: ModelRequest, settings: ResponsesSettings) -> Json:
    if request.stop:
        raise ProviderRejected(
            f"{settings.name}: the Responses wire has no stop sequences; leave them out, or use "
            "the model over chat completions (kind: openai)",
            status=400,
        )
    body: Json = {}
    limit = settings.output_limit(request)
    if limit is not None:
        # The service refuses smaller values.
        body["max_output_tokens"] = max(_LEAST_OUTPUT_TOKENS, limit)
    body.update(usual_sampling(request, settings))
    if request.reasoning and settings.has_option("reasoning", request):
        body["reasoning"] = _reasoning(request, settings)
    elif request.reasoning == 0 and settings.has_option("reasoning_off", request):
        body["reasoning"] = {"effort": "none"}
    if request.schema is not None:
        body["text"] = {"format": _format(request.schema)}
    return body


def _format(schema: OutputSchema) -> Json:
    if schema.is_json_mode:
        return {"type": "json_object"}
    return {
        "type": "json_schema",
        "name": schema.name,
        "schema": schema.schema,
        "strict": schema.strict,
    }


def _add_extras(body: Json, extras: Extras, *, has: frozenset[Option]) -> None:
    """Add the rare options that the model has."""
    if extras.verbosity is not None and "verbosity" in has:
        body["text"] = {**body.get("text", {}), "verbosity": extras.verbosity}
    if extras.reasoning_summary is not None and "reasoning_summary" in has:
        body["reasoning"] = {**body.get("reasoning", {}), "summary": extras.reasoning_summary}
    if extras.top_logprobs is not None and "logprobs" in has:
        body["include"] = [*body.get("include", ()), _LOGPROBS]
        body["top_logprobs"] = extras.top_logprobs


def _reasoning(request: ModelRequest, settings: ResponsesSettings) -> Json:
    has = settings.options.of(request.model or settings.model)
    found: Json = {"effort": sent_effort(request.reasoning or "low", request.extras, has=has)}
    if settings.reasoning_summary is not None:
        found["summary"] = settings.reasoning_summary
    return found


def _tools(request: ModelRequest, settings: ResponsesSettings) -> Json:
    if not request.tools:
        return {}
    strict = is_strict(request, settings)
    body: Json = {
        "tools": [
            {
                "type": "function",
                "name": spec.name,
                "description": spec.description,
                "parameters": spec.parameters,
                # Strict is the default here, and few schemas fit it.
                "strict": strict and spec.strict,
            }
            for spec in request.tools
        ]
    }
    choice = request.tool_choice
    if choice.name is not None:
        body["tool_choice"] = {"type": "function", "name": choice.name}
    elif choice != ToolChoice():
        body["tool_choice"] = choice.mode
    if not request.parallel_tools and settings.has_option("parallel_tools", request):
        body["parallel_tool_calls"] = False
    return body


def _items(messages: tuple[ChatMessage, ...], *, images: Images | None) -> Iterator[Json]:
    for message in messages:
        if message.role == "assistant":
            yield from _said(message.parts)
        elif message.role == "tool":
            yield from _results(message.parts)
        else:
            yield {"role": message.role, "content": _content(message.parts, images=images)}


def _said(parts: tuple[Part, ...]) -> Iterator[Json]:
    """Yield the model's text, thoughts and calls, in order."""
    thought: Json | None = None
    for part in parts:
        if isinstance(part, ReasoningPart):
            if part.dialect != DIALECT:
                continue
            if part.sealed is not None:
                thought = _thought(part)
                yield thought
            elif part.text and thought is not None and thought.get("id") == part.id:
                thought["summary"].append(_summary(part.text))
        elif isinstance(part, TextPart):
            yield {"role": "assistant", "content": part.text}
        elif isinstance(part, ToolCallPart):
            yield {
                "type": "function_call",
                "call_id": part.id,
                "name": part.name,
                "arguments": part.arguments,
            }


def _thought(part: ReasoningPart) -> Json:
    thought: Json = {
        "type": "reasoning",
        "summary": [_summary(part.text)] if part.text else [],
        "encrypted_content": part.sealed,
    }
    # The encrypted reasoning belongs to its own id or to none: some clients keep only the former.
    return thought if part.id is None else thought | {"id": part.id}


def _summary(text: str) -> Json:
    return {"type": "summary_text", "text": text}


def _results(parts: tuple[Part, ...]) -> Iterator[Json]:
    for part in parts:
        if isinstance(part, ToolResultPart):
            yield {"type": "function_call_output", "call_id": part.call_id, "output": part.text}


def _content(parts: tuple[Part, ...], *, images: Images | None) -> str | list[Json]:
    if len(parts) == 1 and isinstance(parts[0], TextPart):
        return parts[0].text
    return [_block(part, images=images) for part in parts]


def _block(part: Part, *, images: Images | None) -> Json:
    if isinstance(part, FilePart) and part.media.url is not None:
        return _file(part.media, part.media.url)
    if not isinstance(part, ImagePart):
        return _text(part_text(part))
    if images is None:
        return _text(NO_VISION)
    source = image_url(part.media, images)
    if source is None:
        return _text(IMAGE_GONE)
    return {"type": "input_image", "image_url": source, "detail": part.detail or "auto"}


def _file(media: Media, url: str) -> Json:
    """Return a document that the request holds by value or by its address."""
    found = inline_file(media)
    if found is None:
        return {"type": "input_file", "file_url": url}
    name = media.name or UNNAMED_PDF
    return {"type": "input_file", "filename": name, "file_data": found.url}


def _text(text: str) -> Json:
    return {"type": "input_text", "text": text}
