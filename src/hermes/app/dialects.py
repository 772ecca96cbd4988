"""From a configured provider to the dialect that speaks to it: one function per kind.

A dialect is imported when the first provider that speaks it is made.
"""

from importlib import import_module
from typing import Any

from hermes.config import ProviderSettings
from hermes.net.client import HttpClient
from hermes.ports.provider import Provider

_PROVIDERS = "hermes.providers"


def make_openai(name: str, table: ProviderSettings, client: HttpClient) -> Provider:
    """Return a provider that speaks chat completions."""
    return _make("openai", _shared(name, table), client)


def make_responses(name: str, table: ProviderSettings, client: HttpClient) -> Provider:
    """Return a provider that speaks OpenAI's Responses."""
    return _make("openai_responses", _shared(name, table), client)


def make_anthropic(name: str, table: ProviderSettings, client: HttpClient) -> Provider:
    """Return a provider that speaks Anthropic's Messages, with a key or an OAuth token."""
    token = None if table.oauth_token is None else table.oauth_token.get_secret_value()
    return _make("anthropic", {**_shared(name, table), "oauth_token": token}, client)


def make_gemini(name: str, table: ProviderSettings, client: HttpClient) -> Provider:
    """Return a provider that speaks Gemini's generateContent."""
    return _make("gemini", _shared(name, table), client)


def make_ollama(name: str, table: ProviderSettings, client: HttpClient) -> Provider:
    """Return a provider that speaks Ollama's own API."""
    return _make("ollama", _shared(name, table), client)


# Any: keyword arguments of the dialect's own settings.
def _make(dialect: str, settings: dict[str, Any], client: HttpClient) -> Provider:
    provider: Provider = import_module(f"{_PROVIDERS}.{dialect}.provider").make(settings, client)
    return provider


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
