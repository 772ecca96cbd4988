"""What one Gemini service is called with; the composition root fills it from config."""

import re
from collections.abc import Mapping
from typing import Literal
from urllib.parse import urlsplit

import msgspec

from hermes.errors import ConfigurationError, ProviderRejected

OFFICIAL_URL = "https://generativelanguage.googleapis.com"
_KEYED_HOST = "generativelanguage.googleapis.com"
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_VERSION_END = re.compile(r"/v1(?:alpha|beta)?$")
# A resource name such as `gemini-3.8-flash` or `tunedModels/mine`; no `..`, since it is in a path.
_MODEL = re.compile(r"[A-Za-z0-9][\w.-]*(?:/[A-Za-z0-9][\w.-]*)*", re.ASCII)
# Thinking is a budget in tokens up to 2.5 and a level since 3; names without a number are newest.
_BUDGETED = re.compile(r"gemini-(?:1|2)(?:\.\d+)?-")
# The service fetches pictures from any web address since 2.5; for older models, never.
_FETCHES_NOTHING = re.compile(r"gemini-(?:1|2\.0)\b|gemma-")
_LOWEST_VISIBLE = 33
_HIGHEST_VISIBLE = 126

Thinking = Literal["level", "budget"]


class GeminiSettings(msgspec.Struct, frozen=True, kw_only=True):
    """One configured service.

    `thinking` says how its models are told how hard to think; None reads it from a model's name.
    `end_wait_s` is how long the connection may stay open behind the finish reason.
    """

    name: str
    model: str
    base_url: str = OFFICIAL_URL
    api_version: Literal["v1beta", "v1"] = "v1beta"
    api_key: str | None = None
    enabled: bool = True
    headers: Mapping[str, str] = {}
    tools: bool = True
    vision: bool = True
    schema: bool = True
    embedding_model: str | None = "gemini-embedding-001"
    thinking: Thinking | None = None
    context_tokens: int = 1_048_576
    max_output_tokens: int | None = None
    embed_timeout_s: float = 60.0
    end_wait_s: float = 2.0

    @property
    def usable(self) -> bool:
        """Whether it is enabled and has what its address needs."""
        return self.enabled and (bool(self.api_key) or not self.needs_key)

    @property
    def needs_key(self) -> bool:
        """Whether the address is Google's own, which refuses calls without a key."""
        return urlsplit(self.base_url).hostname == _KEYED_HOST

    @property
    def is_on_this_machine(self) -> bool:
        """Whether calls never leave this machine."""
        return urlsplit(self.base_url).hostname in _LOOPBACK

    def thinking_of(self, model: str) -> Thinking:
        """Return how `model` is told how hard to think."""
        if self.thinking is not None:
            return self.thinking
        return "budget" if _BUDGETED.match(model.removeprefix("models/")) else "level"

    def fetches_for(self, model: str) -> bool:
        """Tell whether the service itself fetches the pictures at web addresses for `model`."""
        return not _FETCHES_NOTHING.match(model.removeprefix("models/"))

    def resource_of(self, model: str) -> str:
        """Return the resource name of `model`, safe to stand in a path."""
        if not _MODEL.fullmatch(model):
            raise ProviderRejected(
                f"{self.name}: {model[:80]!r} is no Gemini model name; expected one such as"
                " gemini-3.8-flash or tunedModels/mine. Check the model of this call"
            )
        return model if "/" in model else f"models/{model}"

    def url_of(self, resource: str, method: str) -> str:
        """Return the address of `method` on a model; the key never stands in it."""
        return f"{self.base_url.rstrip('/')}/{self.api_version}/{resource}:{method}"


def check(settings: GeminiSettings) -> None:
    """Raise `ConfigurationError` when the key or the address cannot work."""
    key = settings.api_key or ""
    if not all(_LOWEST_VISIBLE <= ord(letter) <= _HIGHEST_VISIBLE for letter in key):
        raise ConfigurationError(
            f"providers.{settings.name}.api_key holds a space, a line break or a letter outside"
            " ASCII; a key is one word: copy it again without anything around it"
        )
    version = _VERSION_END.search(settings.base_url.rstrip("/"))
    if version:
        raise ConfigurationError(
            f"providers.{settings.name}.base_url ends in {version[0]}; expected the address before"
            " it: remove that part and set api_version instead"
        )
