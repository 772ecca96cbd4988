"""The settings of one OpenAI-compatible service; the composition root fills them from config."""

import msgspec

from hermes.provider_kit.settings import WireSettings
from hermes.providers.openai.presets import PLAIN, Quirks, preset_for

OFFICIAL_URL = "https://api.openai.com/v1"


class OpenAISettings(WireSettings, frozen=True, kw_only=True):
    """One configured service.

    Omitted settings come from the preset of its address; so do `quirks`, unless they are given.
    """

    WIRE = "openai"

    base_url: str = OFFICIAL_URL
    context_tokens: int = 128_000
    embedding_model: str | None = None
    embed_timeout_s: float = 60.0
    probe_timeout_s: float = 1.0
    quirks: Quirks | None = None

    @property
    def rules(self) -> Quirks:
        """How the service differs from others."""
        if self.quirks is not None:
            return self.quirks
        preset = preset_for(self.base_url, self.name)
        return PLAIN if preset is None else preset.quirks

    @property
    def needs_key(self) -> bool:
        """Whether the address belongs to a cloud that refuses calls without a key."""
        preset = preset_for(self.base_url, self.name)
        return preset is not None and preset.needs_key

    @property
    def known_service(self) -> str:
        """The name of the service in the table of options; empty if no preset knows it."""
        return self.rules.service

    @property
    def embeds(self) -> bool:
        """Whether the service is known to embed."""
        return self.embedding_model is not None or self.rules.any_embedding_model

    @property
    def dimensions_field(self) -> str:
        """The service's name for how many numbers an embedding has."""
        return self.options.fields.get("dimensions", "dimensions")


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
        # It is unknown whether a model other than the preset's can see: let the service decide.
        vision=settings.vision and (preset.vision or model != preset.model),
        tools=settings.tools and settings.rules.tools,
        embedding_model=settings.embedding_model or preset.embedding_model,
        quirks=settings.rules,
    )
