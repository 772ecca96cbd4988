"""Pieces of a request's JSON that several model wires share: pure."""

from collections.abc import Mapping
from typing import Any

from hermes.message.parts import AudioPart, FilePart, Part, TextPart
from hermes.ports.provider import ToolSpec

# Any: JSON objects on their way to the encoder.
Json = dict[str, Any]
# The path of each image file, with its bytes in base64 or its data URL, as the wire needs it.
Images = Mapping[str, str]

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


def function_tool(spec: ToolSpec) -> Json:
    """Return a tool as OpenAI's chat completions describe one."""
    return {
        "type": "function",
        "function": {
            "name": spec.name,
            "description": spec.description,
            "parameters": spec.parameters,
        },
    }
