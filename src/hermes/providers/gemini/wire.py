"""Converts a model request to generateContent JSON: pure, no sockets, no files.

Every message is its own content, with the roles that Gemini knows (`user` and `model`); system
blocks are in `systemInstruction`, and the results of parallel calls share the one content that
Gemini requires. A `ReasoningPart` of this dialect is a thought or, with an `id`, the signature of
another part: of the call with that id, of the text after it (`NEXT`), or of nothing visible
(`ALONE`).
"""

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from hermes.media.image_files import inline_image, is_too_large
from hermes.message.chat import ChatMessage
from hermes.message.inline_file import inline_file
from hermes.message.parts import (
    AudioPart,
    FilePart,
    ImagePart,
    Media,
    Part,
    ReasoningPart,
    ToolCallPart,
    ToolResultPart,
)
from hermes.ports.effort import sent_effort
from hermes.ports.options import Extras, Option
from hermes.ports.provider import ModelRequest, ToolChoice, ToolSpec
from hermes.provider_kit.request_json import IMAGE_GONE, NO_VISION, Images, Json, part_text
from hermes.providers.gemini.settings import GeminiSettings, Thinking

DIALECT = "gemini"
NEXT = "next"
ALONE = "alone"
# Gemini 3 refuses a call without signature; this is Google's placeholder for calls it did not make.
FOREIGN_SIGNATURE = "skip_thought_signature_validator"
_SEEDS = 2**31
# Google's own mapping of efforts for the models that count tokens.
_BUDGETS = {"low": 1024, "medium": 8192, "high": 24_576}
# The budgets that a model takes, by a part of its name.
_BUDGET_RANGES = (("flash-lite", (512, 24_576)), ("pro", (128, 32_768)), ("", (1, 24_576)))
# Models with levels refuse a budget of 0, and do not think at the lowest level.
_THINKING_OFF: dict[Thinking, Json] = {
    "budget": {"thinkingBudget": 0},
    "level": {"thinkingLevel": "MINIMAL"},
}


class _Object(msgspec.Struct):
    """Any JSON object, to check that a text is one without building it."""


def build_body(request: ModelRequest, settings: GeminiSettings, *, images: Images) -> bytes:
    """Return the request's JSON; `images` maps the path of each image file to its base64 text."""
    model = request.model or settings.model
    thinking = settings.thinking_of(model)
    look = _Look(images=images, vision=settings.vision, signs_calls=thinking == "level")
    body: Json = {"contents": _contents(request.messages, look=look)}
    system = [_text(block) for block in _system_blocks(request) if block]
    if system:
        body["systemInstruction"] = {"role": "user", "parts": system}
    if request.tools:
        body["tools"] = [{"functionDeclarations": [_declaration(spec) for spec in request.tools]}]
        calling = _calling(request.tool_choice)
        if calling is not None:
            body["toolConfig"] = {"functionCallingConfig": calling}
    generation = _generation(request, settings, thinking=thinking)
    if generation:
        body["generationConfig"] = generation
    return msgspec.json.encode(body)


def build_embedding_body(
    texts: Iterable[str], resource: str, *, dimensions: int | None = None
) -> bytes:
    """Return the JSON of a batch of texts to embed."""
    size: Json = {} if dimensions is None else {"outputDimensionality": dimensions}
    requests = [
        {"model": resource, "content": {"role": "user", "parts": [_text(text)]}, **size}
        for text in texts
    ]
    return msgspec.json.encode({"requests": requests})


class _Look(msgspec.Struct, frozen=True, kw_only=True):
    """How messages are presented to one model."""

    images: Images
    vision: bool
    signs_calls: bool


def _contents(messages: Iterable[ChatMessage], *, look: _Look) -> list[Json]:
    """Return the conversation; messages with nothing to send are left out."""
    built: list[Json] = []
    results: list[Json] | None = None
    for message in messages:
        if message.role == "system":
            continue
        parts = list(_parts(message, look=look))
        if message.role != "tool":
            results = None
        elif results is not None:
            results += parts
            continue
        else:
            results = parts or None
        if parts:
            built.append(
                {"role": "model" if message.role == "assistant" else "user", "parts": parts}
            )
    return built


def _system_blocks(request: ModelRequest) -> Iterator[str]:
    yield from request.system
    for message in request.messages:
        if message.role == "system":
            # Gemini has no such role inside a conversation.
            yield message.text


def _parts(message: ChatMessage, *, look: _Look) -> Iterator[Json]:
    if message.role == "assistant":
        return _model_parts(message.parts, look=look)
    if message.role == "tool":
        return (_result(part) for part in message.parts if isinstance(part, ToolResultPart))
    return (built for part in message.parts if (built := _user_part(part, look=look)))


def _user_part(part: Part, *, look: _Look) -> Json | None:
    if isinstance(part, ImagePart):
        return _image(part.media, images=look.images) if look.vision else _text(NO_VISION)
    if isinstance(part, FilePart | AudioPart):
        found = inline_file(part.media)
        if found is not None:
            return {"inlineData": {"mimeType": found.mime, "data": found.data}}
    text = part_text(part)
    return _text(text) if text else None


def _model_parts(parts: tuple[Part, ...], *, look: _Look) -> Iterator[Json]:
    signatures = {p.id: p.signature for p in parts if isinstance(p, ReasoningPart) and _signs(p)}
    # Gemini signs, and checks, only the first of parallel calls.
    missing = FOREIGN_SIGNATURE if look.signs_calls else None
    pending: str | None = None
    for part in parts:
        if isinstance(part, ReasoningPart):
            if part.dialect == DIALECT and part.id == NEXT:
                pending = part.signature
            else:
                yield from _reasoning(part)
        elif isinstance(part, ToolCallPart):
            yield _signed(_call(part), signatures.get(part.id, missing))
            missing = None
        elif built := _user_part(part, look=look):
            yield _signed(built, pending)
            pending = None


def _signs(part: ReasoningPart) -> bool:
    return part.dialect == DIALECT and part.id is not None


def _reasoning(part: ReasoningPart) -> Iterator[Json]:
    """Yield the part if it is of this dialect; reasoning of other services is not sent."""
    if part.dialect != DIALECT:
        return
    if part.id is None:
        yield _signed({"text": part.text, "thought": True}, part.signature)
    elif part.id == ALONE:
        yield _signed({"text": ""}, part.signature)


def _signed(part: Json, signature: str | None) -> Json:
    if signature is not None:
        part["thoughtSignature"] = signature
    return part


def _call(part: ToolCallPart) -> Json:
    return {"functionCall": {"id": part.id, "name": part.name, "args": _args(part.arguments)}}


def _args(arguments: str) -> msgspec.Raw | Json:
    try:
        msgspec.json.decode(arguments, type=_Object)
    except (msgspec.DecodeError, RecursionError):
        # Gemini accepts only an object; what a model wrote instead must not be lost.
        return {"arguments": arguments} if arguments.strip() else {}
    return msgspec.Raw(arguments.encode())


def _result(part: ToolResultPart) -> Json:
    key = "error" if part.failed else "output"
    return {
        "functionResponse": {
            "id": part.call_id,
            "name": part.name,
            "response": {key: part.text},
        }
    }


def _image(media: Media, *, images: Images) -> Json:
    # The file comes first: a platform's address may be private or short-lived.
    data = images.get(media.path) if media.path else None
    if data is not None:
        return {"inlineData": {"mimeType": media.mime, "data": data}}
    inline = inline_image(media.url)
    if media.url is None or (inline is not None and is_too_large(inline)):
        return _text(IMAGE_GONE)
    if inline is not None:
        return {"inlineData": {"mimeType": inline.mime, "data": inline.data}}
    return {"fileData": {"mimeType": media.mime, "fileUri": media.url}}


def _text(text: str) -> Json:
    return {"text": text}


def _declaration(spec: ToolSpec) -> Json:
    return {
        "name": spec.name,
        "description": spec.description,
        "parametersJsonSchema": fitted(spec.parameters),
    }


def _calling(choice: ToolChoice) -> Json | None:
    if choice.mode == "none":
        return {"mode": "NONE"}
    if choice.name is not None:
        return {"mode": "ANY", "allowedFunctionNames": [choice.name]}
    return {"mode": "ANY"} if choice.mode == "required" else None


def _generation(request: ModelRequest, settings: GeminiSettings, *, thinking: Thinking) -> Json:
    made: Json = {
        "maxOutputTokens": settings.output_limit(request),
        "temperature": request.temperature,
        "topP": request.top_p,
        "stopSequences": list(request.stop) or None,
        "seed": _seed(request.seed),
    }
    if request.reasoning is not None:
        made["thinkingConfig"] = _thinking_of(request, settings, kind=thinking)
    if request.schema is not None:
        made["responseMimeType"] = "application/json"
        if not request.schema.is_json_mode:
            made["responseJsonSchema"] = fitted(request.schema.schema)
    if request.extras is not None:
        has = settings.options.of(request.model or settings.model)
        made.update(_extras(request.extras, has=has))
    return {name: value for name, value in made.items() if value is not None}


def _seed(seed: int | None) -> int | None:
    """Return the seed, or its remainder if it exceeds the 32 bits that the service takes."""
    return seed if seed is None or -_SEEDS <= seed < _SEEDS else seed % _SEEDS


def _extras(extras: Extras, *, has: frozenset[Option]) -> Json:
    """Return the rare options; every model has those that are not penalties."""
    made: Json = {"topK": extras.top_k}
    if "frequency_penalty" in has:
        made["frequencyPenalty"] = extras.frequency_penalty
    if "presence_penalty" in has:
        made["presencePenalty"] = extras.presence_penalty
    if extras.top_logprobs is not None:
        made.update(responseLogprobs=True, logprobs=extras.top_logprobs or None)
    return made


def _thinking_of(request: ModelRequest, settings: GeminiSettings, *, kind: Thinking) -> Json | None:
    """Return how to think; None for a model that cannot be told."""
    model, effort = request.model or settings.model, request.reasoning
    if not effort:
        can_stop = effort == 0 and settings.has_option("reasoning_off", request)
        return _THINKING_OFF[kind] if can_stop else None
    if not settings.has_option("reasoning", request):
        return None
    if kind == "level":
        level = sent_effort(effort, request.extras, has=settings.options.of(model))
        return {"includeThoughts": True, "thinkingLevel": level.upper()}
    budget = effort if isinstance(effort, int) else _BUDGETS[effort]
    least, most = next(range_ for part, range_ in _BUDGET_RANGES if part in model)
    return {"includeThoughts": True, "thinkingBudget": min(max(budget, least), most)}


_REF = b'"$ref"'
# Keywords whose value is a map from names to schemas, where `$ref` would be a name.
_NAMED = frozenset({"properties", "$defs", "definitions", "patternProperties"})
# Keywords whose value is data, not a schema.
_DATA = frozenset({"const", "default", "enum", "example", "examples"})


def fitted(schema: msgspec.Raw) -> msgspec.Raw:
    """Return `schema`, unchanged if possible, with every `$ref` without siblings."""
    if _REF not in bytes(schema):
        return schema
    found = msgspec.json.decode(schema)
    made = _alone(found)
    return schema if made == found else msgspec.Raw(msgspec.json.encode(made))


# Any: a JSON schema.
def _alone(node: Any) -> Any:
    if isinstance(node, list):
        return [_alone(one) for one in node]
    if not isinstance(node, dict):
        return node
    made = {word: _value(word, value) for word, value in node.items()}
    if "$ref" not in made or "anyOf" in made or all(word.startswith("$") for word in made):
        return made
    reference = {"$ref": made.pop("$ref")}
    return {"anyOf": [reference], **made}


def _value(word: str, value: Any) -> Any:
    if word in _DATA:
        return value
    if word in _NAMED and isinstance(value, dict):
        return {name: _alone(schema) for name, schema in value.items()}
    return _alone(value)
