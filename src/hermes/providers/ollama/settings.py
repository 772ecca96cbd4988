"""The settings of one Ollama server; the composition root fills them from config."""

from typing import ClassVar
from urllib.parse import urlsplit

from hermes.errors import ConfigurationError
from hermes.provider_kit.settings import WireSettings

DEFAULT_URL = "http://127.0.0.1:11434"


class OllamaSettings(WireSettings, frozen=True, kw_only=True):
    """One configured server.

    `context_tokens` is sent with every call: otherwise the server silently cuts long conversations
    at its own small default. Models that begin with one of `effort_models` accept an effort for
    their thinking; all others only whether to think.
    """

    SERVICE: ClassVar[str] = "server"
    WIRE = "ollama"

    base_url: str = DEFAULT_URL
    context_tokens: int = 8192
    effort_models: tuple[str, ...] = ("gpt-oss",)
    embedding_model: str = "nomic-embed-text"
    embed_timeout_s: float = 60.0
    probe_timeout_s: float = 1.0

    def check(self) -> None:
        """Raise `ConfigurationError` if the key cannot be sent or the address belongs to another
        wire."""
        super().check()
        path = urlsplit(self.base_url).path.rstrip("/")
        if path.endswith(("/v1", "/api")):
            raise ConfigurationError(
                f"providers.{self.name}.base_url ends in {path}, expected the server's own address"
                f" such as {DEFAULT_URL}: remove {path}, or set kind: openai for the /v1 wire"
            )
