"""Pieces of a request's JSON that several model wires share: pure."""

from collections.abc import Mapping
from typing import Any

import msgspec

from hermes.message.chat import ChatMessage
from hermes.message.parts import AudioPart, FilePart, ImageDetail, ImagePart, Part, TextPart
from hermes.ports.effort import Effort
from hermes.ports.provider import ModelRequest, ToolSpec
from hermes.provider_kit.settings import WireSettings

# Any: JSON objects on their way to the encoder.
Json = dict[str, Any]
# The path of each image file, with its bytes in base64 or its data URL, as the wire needs it.
Images = Mapping[str, str]

_NO_DETAIL: Mapping[ImageDetail, ImageDetail] = {}
_NEAREST_DETAIL: Mapping[ImageDetail, ImageDetail] = {
    "low": "low",
    "high": "high",
    "original": "high",
}

NO_VISION = "[an image was attached; this model cannot see images]"
IMAGE_GONE = "[an image was attached; it is no longer available or too large]"


def part_text(part: Part) -> str:
    """Return the text of a part; for a sound or a file, its replacement text."""
    if isinstance(part, TextPart):
        return part.text
    if isinstance(part, AudioPart):
        return part.transcript or "[a sound was attached; it has no transcript]"
    if isinstance(part, FilePart):
        return f"[a file was attached: {part.media.name or part.media.mime}]"
    return ""


def function_tool(spec: ToolSpec, *, strict: bool = False) -> Json:
    """Return a tool as OpenAI's chat completions describe one; `strict` as far as it asks for it."""
    function: Json = {
        "name": spec.name,
        "description": spec.description,
        "parameters": spec.parameters,
    }
    if strict and spec.strict:
        function["strict"] = True
    return {"type": "function", "function": function}


def is_strict(request: ModelRequest, settings: WireSettings) -> bool:
    """Return whether some tool asks to be strict, and the model can be made to be."""
    return any(spec.strict for spec in request.tools) and settings.has_option(
        "strict_tools", request
    )


def usual_sampling(request: ModelRequest, settings: WireSettings) -> Json:
    """Return temperature and top_p as far as the model takes them, also beside its reasoning."""
    if request.temperature is None and request.top_p is None:
        return {}
    if _reasons(request, settings) and not settings.has_option(
        "sampling_beside_reasoning", request
    ):
        return {}
    body: Json = {}
    if request.temperature is not None and settings.has_option("temperature", request):
        is_any = settings.has_option("high_temperature", request)
        body["temperature"] = request.temperature if is_any else min(request.temperature, 1.0)
    if request.top_p is not None and settings.has_option("top_p", request):
        body["top_p"] = request.top_p
    return body


def _reasons(request: ModelRequest, settings: WireSettings) -> bool:
    """Return whether the model reasons: because the request asks for it, or by itself."""
    if not settings.has_option("reasoning", request):
        return False
    if is_forced(request) and not settings.has_option("reasoning_beside_forced_tools", request):
        return False
    if request.reasoning is None:
        return not settings.has_option("reasons_only_if_asked", request)
    return bool(request.reasoning)


def sent_reasoning(request: ModelRequest, settings: WireSettings) -> Effort | int | None:
    """Return how much to tell the model to reason beside its tools: 0 tells it not to, None leaves
    it to the model.

    Some models refuse tools while they reason, others only a tool that they must call.
    """
    wanted = request.reasoning
    if request.tools and not settings.has_option("reasoning_beside_tools", request):
        return 0 if settings.has_option("reasoning_off_beside_tools", request) else None
    if is_forced(request) and not settings.has_option("reasoning_beside_forced_tools", request):
        return 0
    return wanted


def is_forced(request: ModelRequest) -> bool:
    """Return whether the model must call a tool."""
    choice = request.tool_choice
    return bool(request.tools) and (choice.name is not None or choice.mode == "required")


def with_known_detail(request: ModelRequest, settings: WireSettings) -> ModelRequest:
    """Return the request; its pictures name how closely to look only for a model that knows that."""
    if request.plain_chars is not None or not any(map(_has_detail, request.messages)):
        return request
    if not settings.has_option("image_detail", request):
        looks = _NO_DETAIL
    elif not settings.has_option("original_detail", request):
        looks = _NEAREST_DETAIL
    else:
        return request
    messages = tuple(
        msgspec.structs.replace(one, parts=tuple(_looked_at(part, looks) for part in one.parts))
        for one in request.messages
    )
    return msgspec.structs.replace(request, messages=messages)


def _has_detail(message: ChatMessage) -> bool:
    return any(isinstance(part, ImagePart) and part.detail is not None for part in message.parts)


def _looked_at(part: Part, looks: Mapping[ImageDetail, ImageDetail]) -> Part:
    if not isinstance(part, ImagePart) or part.detail is None:
        return part
    return msgspec.structs.replace(part, detail=looks.get(part.detail))
