"""How a caller meets a provider in the fault table: streaming, or waiting for the whole answer.

Both run under `StreamTimeout`, as every model call of the pipeline does.
"""

from collections.abc import Callable
from contextlib import aclosing
from typing import Literal

import msgspec

from hermes.calls.stream_timeout import StreamTimeout
from hermes.errors import ProviderError, ProviderTimeout
from hermes.message.chat import user_text
from hermes.message.parts import text_of
from hermes.net.client import HttpClient
from hermes.ports.provider import CallEnd, Embedder, ModelRequest, Provider, TextDelta
from hermes.providers.anthropic.provider import AnthropicProvider
from hermes.providers.anthropic.settings import AnthropicSettings
from hermes.providers.gemini.provider import GeminiProvider
from hermes.providers.gemini.settings import GeminiSettings
from hermes.providers.ollama.provider import OllamaProvider
from hermes.providers.ollama.settings import OllamaSettings
from hermes.providers.openai.provider import OpenAIProvider
from hermes.providers.openai.settings import OpenAISettings
from hermes.providers.openai_responses.provider import ResponsesProvider
from hermes.providers.openai_responses.settings import ResponsesSettings
from hermes.testing.faulty_upstream import FaultyUpstream
from hermes.testing.faulty_upstream_answers import MODEL, VECTORS, Dialect

View = Literal["streaming", "whole"]

NAME = "house-of-models"
KEY = "kx-7-very-secret-indeed"
DIALECTS: tuple[Dialect, ...] = ("openai", "openai_responses", "anthropic", "gemini", "ollama")
# These have calls that answer in one piece; the others always stream, and are collected.
EMBEDDING: tuple[Dialect, ...] = ("openai", "gemini", "ollama")
REQUEST = ModelRequest(model=MODEL, messages=(user_text("Good morning?"),), system=("Be kind.",))
TEXTS = ("one", "two")


class Limits(msgspec.Struct, frozen=True):
    """How long a call may be silent, and last in all; seconds."""

    silence_s: float
    limit_s: float


class Seen(msgspec.Struct, frozen=True):
    """What a caller saw: the text before the end, and the answer or the error at the end."""

    shown: str
    answer: str | None
    error: ProviderError | None


def provider_at(
    upstream: FaultyUpstream, dialect: Dialect, *, client: HttpClient, limits: Limits
) -> Provider:
    """Return the provider of `dialect` that asks `upstream`."""
    base = {"name": NAME, "model": MODEL, "base_url": upstream.base_url(dialect), "api_key": KEY}
    embeds = {"embedding_model": MODEL, "embed_timeout_s": limits.limit_s}
    makers: dict[Dialect, Callable[[], Provider]] = {
        "openai": lambda: OpenAIProvider(msgspec.convert(base | embeds, OpenAISettings), client),
        "openai_responses": lambda: ResponsesProvider(
            msgspec.convert(base, ResponsesSettings), client
        ),
        "anthropic": lambda: AnthropicProvider(msgspec.convert(base, AnthropicSettings), client),
        "gemini": lambda: GeminiProvider(msgspec.convert(base | embeds, GeminiSettings), client),
        "ollama": lambda: OllamaProvider(msgspec.convert(base | embeds, OllamaSettings), client),
    }
    return makers[dialect]()


async def ask(provider: Provider, view: View, *, limits: Limits) -> Seen:
    """Call once, and return what the caller saw."""
    shown: list[str] = []
    try:
        with StreamTimeout(limits.silence_s, limit_s=limits.limit_s) as patience:
            if view == "whole" and isinstance(provider, Embedder):
                patience.start_wait()
                return await _embed(provider)
            async with aclosing(provider.stream(REQUEST)) as events:
                while True:
                    patience.start_wait()
                    event = await anext(events)
                    patience.end_wait()
                    if isinstance(event, CallEnd):
                        return Seen("".join(shown), text_of(event.parts), None)
                    if isinstance(event, TextDelta) and view == "streaming":
                        shown.append(event.text)
    except TimeoutError:
        return Seen("".join(shown), None, ProviderTimeout(f"{NAME} gave no output in time"))
    except ProviderError as error:
        return Seen("".join(shown), None, error)


async def _embed(provider: Embedder) -> Seen:
    found = await provider.embed(TEXTS, model=MODEL)
    assert found.vectors == VECTORS
    return Seen("", f"{len(found.vectors)} vectors", None)
