"""What Ollama's chat and embed accept, checked at least as strictly as its published API.

Pure: bytes in, a typed request or the text of a refusal out. A field that the API does not know is
refused, so that no field is sent without effect.
"""

import base64
import binascii
from typing import Any, Literal, TypeVar

import msgspec

Request = TypeVar("Request")


class ShapeError(Exception):
    """The request would be refused, or would not do what its sender meant."""


class Function(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    # Any: the object that a model filled in.
    arguments: dict[str, Any]


class ToolCall(msgspec.Struct, forbid_unknown_fields=True):
    function: Function
    id: str | None = None


class Message(msgspec.Struct, forbid_unknown_fields=True):
    role: Literal["system", "user", "assistant", "tool"]
    content: str
    images: list[str] | None = None
    tool_calls: list[ToolCall] | None = None
    thinking: str | None = None
    tool_name: str | None = None
    tool_call_id: str | None = None


class FunctionSpec(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    # Any: a JSON schema.
    parameters: dict[str, Any]
    description: str | None = None


class ToolSpec(msgspec.Struct, forbid_unknown_fields=True):
    type: Literal["function"]
    function: FunctionSpec


class Options(msgspec.Struct, forbid_unknown_fields=True):
    seed: int | None = None
    temperature: float | None = None
    top_k: int | None = None
    top_p: float | None = None
    min_p: float | None = None
    stop: str | list[str] | None = None
    num_ctx: int | None = None
    num_predict: int | None = None


class ChatRequest(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The body of /api/chat."""

    model: str
    messages: list[Message]
    stream: bool = True
    tools: list[ToolSpec] | None = None
    # Any: a JSON schema.
    format: Literal["json"] | dict[str, Any] | None = None
    options: Options | None = None
    think: bool | Literal["low", "medium", "high"] | None = None
    keep_alive: str | float | None = None
    logprobs: bool | None = None
    top_logprobs: int | None = None


class EmbedRequest(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The body of /api/embed."""

    model: str
    input: str | list[str]
    truncate: bool = True
    dimensions: int | None = None
    keep_alive: str | None = None
    options: Options | None = None

    @property
    def texts(self) -> list[str]:
        """The texts to embed."""
        return [self.input] if isinstance(self.input, str) else self.input


def read_chat(body: bytes) -> ChatRequest:
    """Return the chat in `body`; raise `ShapeError` if it does not follow the API."""
    request = _read(body, ChatRequest)
    if not request.model:
        raise ShapeError("model is required")
    if isinstance(request.think, str) and not request.model.startswith("gpt-oss"):
        raise ShapeError(f'think value "{request.think}" is not supported for this model')
    for message in request.messages:
        _check(message)
    return request


def read_embed(body: bytes) -> EmbedRequest:
    """Return the texts in `body`; raise `ShapeError` if it does not follow the API."""
    request = _read(body, EmbedRequest)
    if not request.model:
        raise ShapeError("model is required")
    return request


def _read(body: bytes, kind: type[Request]) -> Request:
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ShapeError(str(error)) from error


def _check(message: Message) -> None:
    if message.images is not None and message.role != "user":
        raise ShapeError(f"a message of role {message.role} shows no images")
    if message.tool_calls is not None and message.role != "assistant":
        raise ShapeError(f"a message of role {message.role} calls no tools")
    if message.role == "tool" and not message.tool_name:
        raise ShapeError("a tool's message does not say which tool it is of")
    for image in message.images or ():
        try:
            base64.b64decode(image, validate=True)
        except binascii.Error as error:
            raise ShapeError("illegal base64 data in an image") from error
