"""The settings of one Gemini service; the composition root fills them from config."""

import re
from typing import Literal

from hermes.errors import ConfigurationError, ProviderRejected
from hermes.provider_kit.settings import WireSettings

OFFICIAL_URL = "https://generativelanguage.googleapis.com"
_KEYED_HOST = "generativelanguage.googleapis.com"
_VERSION_END = re.compile(r"/v1(?:alpha|beta)?$")
# A resource name such as `gemini-3.8-flash` or `tunedModels/mine`; no `..`, because it is part of a
# path.
_MODEL = re.compile(r"[A-Za-z0-9][\w.-]*(?:/[A-Za-z0-9][\w.-]*)*", re.ASCII)
# Thinking is a budget in tokens up to 2.5 and a level since 3; names without a number are newest.
_BUDGETED = re.compile(r"gemini-(?:1|2)(?:\.\d+)?-")

Thinking = Literal["level", "budget"]


class GeminiSettings(WireSettings, frozen=True, kw_only=True):
    """One configured service.

    `thinking` is how its models are told the thinking effort; None derives it from a model's name.
    `end_wait_s` is how long the connection may stay open after the finish reason.
    """

    WIRE = "gemini"

    base_url: str = OFFICIAL_URL
    api_version: Literal["v1beta", "v1"] = "v1beta"
    schema: bool = True
    embedding_model: str | None = "gemini-embedding-001"
    thinking: Thinking | None = None
    context_tokens: int = 1_048_576
    embed_timeout_s: float = 60.0
    end_wait_s: float = 2.0

    @property
    def needs_key(self) -> bool:
        """Whether the address is Google's own, which refuses calls without a key."""
        return self.host == _KEYED_HOST

    def thinking_of(self, model: str) -> Thinking:
        """Return how `model` is told the thinking effort."""
        if self.thinking is not None:
            return self.thinking
        return "budget" if _BUDGETED.match(model.removeprefix("models/")) else "level"

    def resource_of(self, model: str) -> str:
        """Return the resource name of `model`, safe to use in a path."""
        if not _MODEL.fullmatch(model):
            raise ProviderRejected(
                f"{self.name}: {model[:80]!r} is not a Gemini model name; expected one such as"
                " gemini-3.8-flash or tunedModels/mine. Check the model of this call"
            )
        return model if "/" in model else f"models/{model}"

    def url_of(self, resource: str, method: str) -> str:
        """Return the address of `method` on a model; it never contains the key."""
        return self.url(f"/{self.api_version}/{resource}:{method}")

    def check(self) -> None:
        """Raise `ConfigurationError` if the key or the address cannot work."""
        super().check()
        version = _VERSION_END.search(self.base_url.rstrip("/"))
        if version:
            raise ConfigurationError(
                f"providers.{self.name}.base_url ends in {version[0]}; expected the address before"
                " it: remove that part and set api_version instead"
            )
