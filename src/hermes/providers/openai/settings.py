"""What one OpenAI-compatible service is called with; the composition root fills it from config."""

from collections.abc import Mapping
from urllib.parse import urlsplit

import msgspec

from hermes.errors import ConfigurationError

OFFICIAL_URL = "https://api.openai.com/v1"
# Clouds that answer nobody without a key. Any other address may be a keyless server of one's own.
_KEYED_HOSTS = frozenset({"api.openai.com", "openrouter.ai", "inference-api.nousresearch.com"})
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_LOWEST_VISIBLE = 33
_HIGHEST_VISIBLE = 126


class OpenAISettings(msgspec.Struct, frozen=True, kw_only=True):
    """One configured service; prices are dollars per million tokens."""

    name: str
    model: str
    base_url: str = OFFICIAL_URL
    api_key: str | None = None
    enabled: bool = True
    headers: Mapping[str, str] = {}
    tools: bool = True
    vision: bool = True
    context_tokens: int = 128_000
    max_output_tokens: int | None = None
    price_in_per_million: float = 0.0
    price_out_per_million: float = 0.0
    price_cached_per_million: float | None = None

    @property
    def usable(self) -> bool:
        """Whether it is enabled and has what its address needs."""
        return self.enabled and (bool(self.api_key) or not self.needs_key)

    @property
    def needs_key(self) -> bool:
        """Whether the address belongs to a cloud that refuses calls without a key."""
        return urlsplit(self.base_url).hostname in _KEYED_HOSTS

    @property
    def is_on_this_machine(self) -> bool:
        """Whether calls never leave this machine."""
        return urlsplit(self.base_url).hostname in _LOOPBACK

    @property
    def names_completion_tokens(self) -> bool:
        """Whether the output limit goes by its newer name, which only OpenAI itself demands."""
        return urlsplit(self.base_url).hostname == "api.openai.com"


def check(settings: OpenAISettings) -> None:
    """Raise `ConfigurationError` when the key cannot be a header's value."""
    key = settings.api_key or ""
    if not all(_LOWEST_VISIBLE <= ord(letter) <= _HIGHEST_VISIBLE for letter in key):
        raise ConfigurationError(
            f"providers.{settings.name}.api_key holds a space, a line break or a letter outside"
            " ASCII; a key is one word: copy it again without anything around it"
        )
