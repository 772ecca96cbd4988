"""Converts a model request to the JSON of Ollama's /api/chat: pure, no sockets, no files.

What the server does not support is refused by name here, never dropped silently.
"""

from collections.abc import Iterator

import msgspec

from hermes.errors import ProviderRejected
from hermes.media.image_files import inline_image, is_too_large
from hermes.message.chat import ChatMessage
from hermes.message.parts import (
    ImagePart,
    Part,
    ReasoningPart,
    ToolCallPart,
    ToolResultPart,
    text_of,
)
from hermes.ports.provider import ModelRequest
from hermes.provider_kit.request_json import (
    IMAGE_GONE,
    NO_VISION,
    Images,
    Json,
    function_tool,
    part_text,
)
from hermes.providers.ollama.settings import OllamaSettings

DIALECT = "ollama"


def build_body(request: ModelRequest, settings: OllamaSettings, *, images: Images) -> bytes:
    """Return the request's JSON; `images` maps the path of each image file to its base64.

    The server fetches nothing: an image that is only at an address was fetched before.
    """
    model = request.model or settings.model
    body: Json = {
        "model": model,
        "messages": _messages(request, images=images if settings.vision else None),
        "stream": True,
        "options": _options(request, settings),
    }
    tools = _tools(request, settings)
    if tools:
        body["tools"] = tools
    if request.schema is not None:
        body["format"] = "json" if request.schema.is_json_mode else request.schema.schema
    if request.reasoning is not None:
        body["think"] = _thinking(request, settings, model=model)
    extras = request.extras
    if extras is not None and extras.top_logprobs is not None:
        body.update(logprobs=True, top_logprobs=extras.top_logprobs)
    return msgspec.json.encode(body)


def build_embedding(texts: tuple[str, ...], model: str, *, dimensions: int | None = None) -> bytes:
    """Return the JSON that asks /api/embed for the vectors of `texts`."""
    body: Json = {"model": model, "input": texts}
    return msgspec.json.encode(body if dimensions is None else body | {"dimensions": dimensions})


def _options(request: ModelRequest, settings: OllamaSettings) -> Json:
    options: Json = {"num_ctx": settings.context_tokens}
    limit = settings.output_limit(request)
    if limit is not None:
        options["num_predict"] = limit
    if request.temperature is not None:
        options["temperature"] = request.temperature
    if request.top_p is not None:
        options["top_p"] = request.top_p
    if request.stop:
        options["stop"] = request.stop
    if request.seed is not None:
        options["seed"] = request.seed
    if request.extras is not None:
        rare = {"top_k": request.extras.top_k, "min_p": request.extras.min_p}
        options.update({name: value for name, value in rare.items() if value is not None})
    return options


def _tools(request: ModelRequest, settings: OllamaSettings) -> list[Json]:
    choice = request.tool_choice
    if not request.tools or (choice.mode == "none" and choice.name is None):
        return []  # the wire has no "none"; a model that gets no tools uses none
    if choice.name is not None or choice.mode == "required":
        raise ProviderRejected(
            f"{settings.name}: Ollama cannot be made to use a tool; leave the choice to the model,"
            " or ask for a JSON schema"
        )
    return [function_tool(spec) for spec in request.tools]


def _thinking(request: ModelRequest, settings: OllamaSettings, *, model: str) -> bool | str:
    wanted = request.reasoning
    if isinstance(wanted, str) and model.startswith(settings.effort_models):
        return wanted
    return wanted != 0


def _messages(request: ModelRequest, *, images: Images | None) -> list[Json]:
    built: list[Json] = [{"role": "system", "content": block} for block in request.system if block]
    for message in request.messages:
        built.extend(_wire_messages(message, images=images))
    return built


def _wire_messages(message: ChatMessage, *, images: Images | None) -> Iterator[Json]:
    if message.role == "tool":
        for part in message.parts:
            if isinstance(part, ToolResultPart):
                yield {
                    "role": "tool",
                    "content": part.text,
                    "tool_name": part.name,
                    "tool_call_id": part.call_id,
                }
    elif message.role == "assistant":
        yield _assistant(message)
    else:
        yield _shown(message, images=images)


def _assistant(message: ChatMessage) -> Json:
    told: Json = {"role": "assistant", "content": text_of(message.parts)}
    calls = [
        {"id": part.id, "function": {"name": part.name, "arguments": _arguments(part.arguments)}}
        for part in message.parts
        if isinstance(part, ToolCallPart)
    ]
    if not calls:
        return told
    told["tool_calls"] = calls
    thought = "".join(
        part.text
        for part in message.parts
        if isinstance(part, ReasoningPart) and part.dialect == DIALECT
    )
    return {**told, "thinking": thought} if thought else told


def _arguments(text: str) -> msgspec.Raw | Json:
    """Return the arguments as the object that the wire requires; other text is wrapped in one."""
    try:
        found = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        found = None
    return msgspec.Raw(text.encode()) if isinstance(found, dict) else {"arguments": text}


def _shown(message: ChatMessage, *, images: Images | None) -> Json:
    words: list[str] = []
    pictures: list[str] = []
    for part in message.parts:
        picture = _picture(part, images=images)
        if picture is not None:
            pictures.append(picture)
        else:
            words.append(_words(part, sees=images is not None))
    told: Json = {"role": message.role, "content": "\n".join(words)}
    return {**told, "images": pictures} if pictures else told


def _picture(part: Part, *, images: Images | None) -> str | None:
    if images is None or not isinstance(part, ImagePart):
        return None
    found = images.get(part.media.path) if part.media.path else None
    if found is not None:
        return found
    inline = inline_image(part.media.url)
    return None if inline is None or is_too_large(inline) else inline.data


def _words(part: Part, *, sees: bool) -> str:
    if isinstance(part, ImagePart):
        return IMAGE_GONE if sees else NO_VISION
    return part_text(part)
