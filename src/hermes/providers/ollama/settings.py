"""What one Ollama server is called with; the composition root fills it from config."""

from collections.abc import Mapping
from urllib.parse import urlsplit

import msgspec

from hermes.errors import ConfigurationError

DEFAULT_URL = "http://127.0.0.1:11434"
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_LOWEST_VISIBLE = 33
_HIGHEST_VISIBLE = 126


class OllamaSettings(msgspec.Struct, frozen=True, kw_only=True):
    """One configured server.

    `context_tokens` is asked for with every call: left to itself, the server cuts long
    conversations at its own small default and says nothing. Models that begin with one of
    `effort_models` take an effort for their thinking; all others only whether to think.
    """

    name: str
    model: str
    base_url: str = DEFAULT_URL
    api_key: str | None = None
    enabled: bool = True
    headers: Mapping[str, str] = {}
    tools: bool = True
    vision: bool = True
    context_tokens: int = 8192
    max_output_tokens: int | None = None
    effort_models: tuple[str, ...] = ("gpt-oss",)
    embedding_model: str = "nomic-embed-text"
    embed_timeout_s: float = 60.0
    probe_timeout_s: float = 1.0

    @property
    def is_on_this_machine(self) -> bool:
        """Whether calls never leave this machine."""
        return urlsplit(self.base_url).hostname in _LOOPBACK


def check(settings: OllamaSettings) -> None:
    """Raise `ConfigurationError` when the key cannot be sent or the address is another wire's."""
    key = settings.api_key or ""
    if not all(_LOWEST_VISIBLE <= ord(letter) <= _HIGHEST_VISIBLE for letter in key):
        raise ConfigurationError(
            f"providers.{settings.name}.api_key holds a space, a line break or a letter outside"
            " ASCII; a key is one word: copy it again without anything around it"
        )
    path = urlsplit(settings.base_url).path.rstrip("/")
    if path.endswith(("/v1", "/api")):
        raise ConfigurationError(
            f"providers.{settings.name}.base_url ends in {path}, expected the server's own address"
            f" such as {DEFAULT_URL}: remove {path}, or set kind: openai for the /v1 wire"
        )
