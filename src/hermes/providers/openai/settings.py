"""What one OpenAI-compatible service is called with; the composition root fills it from config."""

from collections.abc import Mapping
from urllib.parse import urlsplit

import msgspec

from hermes.errors import ConfigurationError
from hermes.providers.openai.presets import PLAIN, Quirks, preset_for

OFFICIAL_URL = "https://api.openai.com/v1"
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_LOWEST_VISIBLE = 33
_HIGHEST_VISIBLE = 126


class OpenAISettings(msgspec.Struct, frozen=True, kw_only=True):
    """One configured service.

    What is left out comes from the preset of its address; so do `quirks`, unless they are given.
    """

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
    embedding_model: str | None = None
    embed_timeout_s: float = 60.0
    probe_timeout_s: float = 1.0
    quirks: Quirks | None = None

    @property
    def rules(self) -> Quirks:
        """How the service departs from others."""
        if self.quirks is not None:
            return self.quirks
        preset = preset_for(self.base_url, self.name)
        return PLAIN if preset is None else preset.quirks

    @property
    def usable(self) -> bool:
        """Whether it is enabled and has what its address needs."""
        return self.enabled and (bool(self.api_key) or not self.needs_key)

    @property
    def needs_key(self) -> bool:
        """Whether the address belongs to a cloud that refuses calls without a key."""
        preset = preset_for(self.base_url, self.name)
        return preset is not None and preset.needs_key

    @property
    def is_on_this_machine(self) -> bool:
        """Whether calls never leave this machine."""
        return urlsplit(self.base_url).hostname in _LOOPBACK

    @property
    def embeds(self) -> bool:
        """Whether the service is known to embed."""
        return self.embedding_model is not None or self.rules.any_embedding_model


def complete(settings: OpenAISettings) -> OpenAISettings:
    """Return the settings with what the preset of their address adds."""
    preset = preset_for(settings.base_url, settings.name)
    if preset is None:
        return msgspec.structs.replace(settings, quirks=settings.rules)
    model = settings.model or preset.model
    return msgspec.structs.replace(
        settings,
        model=model,
        headers={**preset.headers, **settings.headers},
        # Whether another model than the preset's own can see is not known: let the service say.
        vision=settings.vision and (preset.vision or model != preset.model),
        tools=settings.tools and settings.rules.tools,
        embedding_model=settings.embedding_model or preset.embedding_model,
        quirks=settings.rules,
    )


def check(settings: OpenAISettings) -> None:
    """Raise `ConfigurationError` when the key cannot be a header's value."""
    key = settings.api_key or ""
    if not all(_LOWEST_VISIBLE <= ord(letter) <= _HIGHEST_VISIBLE for letter in key):
        raise ConfigurationError(
            f"providers.{settings.name}.api_key holds a space, a line break or a letter outside"
            " ASCII; a key is one word: copy it again without anything around it"
        )
