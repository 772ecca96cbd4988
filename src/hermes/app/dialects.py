"""From a configured provider to the dialect that speaks to it: one function per kind."""

from typing import Any

from hermes.config import ProviderSettings
from hermes.net.client import HttpClient
from hermes.ports.provider import Provider
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


def make_openai(name: str, table: ProviderSettings, client: HttpClient) -> Provider:
    """Return a provider that speaks chat completions."""
    return OpenAIProvider(OpenAISettings(**_shared(name, table)), client)


def make_responses(name: str, table: ProviderSettings, client: HttpClient) -> Provider:
    """Return a provider that speaks OpenAI's Responses."""
    return ResponsesProvider(ResponsesSettings(**_shared(name, table)), client)


def make_anthropic(name: str, table: ProviderSettings, client: HttpClient) -> Provider:
    """Return a provider that speaks Anthropic's Messages, with a key or an OAuth token."""
    token = None if table.oauth_token is None else table.oauth_token.get_secret_value()
    return AnthropicProvider(AnthropicSettings(**_shared(name, table), oauth_token=token), client)


def make_gemini(name: str, table: ProviderSettings, client: HttpClient) -> Provider:
    """Return a provider that speaks Gemini's generateContent."""
    return GeminiProvider(GeminiSettings(**_shared(name, table)), client)


def make_ollama(name: str, table: ProviderSettings, client: HttpClient) -> Provider:
    """Return a provider that speaks Ollama's own API."""
    return OllamaProvider(OllamaSettings(**_shared(name, table)), client)


# Any: keyword arguments of settings that all dialects have in common.
def _shared(name: str, table: ProviderSettings) -> dict[str, Any]:
    shared: dict[str, Any] = {
        "name": name,
        "model": table.model or "",
        "api_key": None if table.api_key is None else table.api_key.get_secret_value(),
        "headers": {key: value.get_secret_value() for key, value in table.headers.items()},
        "context_tokens": table.context_tokens,
        "max_output_tokens": table.max_output_tokens,
    }
    if table.base_url is not None:
        shared["base_url"] = str(table.base_url)
    return shared
