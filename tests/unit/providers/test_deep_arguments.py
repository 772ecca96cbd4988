"""JSON that is nested too deeply to be read: a model's arguments stay text, a service's error stays an error."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from hermes.message.chat import ChatMessage, user_text
from hermes.message.parts import ToolCallPart, ToolResultPart
from hermes.ports.provider import ModelRequest
from hermes.provider_kit.service_failure import reported
from hermes.providers.anthropic.settings import AnthropicSettings
from hermes.providers.anthropic.wire import build_body as anthropic_body
from hermes.providers.gemini.settings import GeminiSettings
from hermes.providers.gemini.wire import build_body as gemini_body
from hermes.providers.ollama.settings import OllamaSettings
from hermes.providers.ollama.wire import build_body as ollama_body

DEEP = '{"a":' + "[" * 5_000 + "]" * 5_000 + "}"
REQUEST = ModelRequest(
    model="",
    messages=(
        user_text("hi"),
        ChatMessage("assistant", (ToolCallPart("c1", "clock", DEEP),)),
        ChatMessage("tool", (ToolResultPart("c1", "clock", "too deep", failed=True),)),
        user_text("go on"),
    ),
)


def anthropic() -> bytes:
    settings = AnthropicSettings(name="m", model="claude-haiku-4-5", api_key="sk-ant-api-1")
    return anthropic_body(REQUEST, settings, images={})


def gemini() -> bytes:
    settings = GeminiSettings(name="gemini", model="gemini-2.5-flash")
    return gemini_body(REQUEST, settings, images={})


def ollama() -> bytes:
    return ollama_body(REQUEST, OllamaSettings(name="o", model="llama3.2"), images={})


def arguments_in(body: Any) -> list[Any]:
    """Return the objects of a request that hold the arguments as text."""
    inner = body.values() if isinstance(body, dict) else body if isinstance(body, list) else ()
    found = [body] if isinstance(body, dict) and DEEP in body.values() else []
    return found + [one for value in inner for one in arguments_in(value)]


@pytest.mark.req("M5")
@pytest.mark.parametrize("build", [anthropic, gemini, ollama])
def test_arguments_that_are_nested_too_deeply_are_sent_as_text(build: Callable[[], bytes]) -> None:
    assert len(arguments_in(msgspec.json.decode(build()))) == 1


@pytest.mark.req("M5")
def test_an_error_that_is_nested_too_deeply_is_an_error_of_the_service() -> None:
    error = reported("house", b'{"error":' + b"[" * 5_000, secret=None)

    assert str(error).startswith("house: ")
