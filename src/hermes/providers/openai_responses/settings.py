"""What one service that speaks the Responses wire is called with; the composition root fills it."""

from collections.abc import Mapping
from typing import Literal
from urllib.parse import urlsplit

import msgspec

from hermes.errors import ConfigurationError

OFFICIAL_URL = "https://api.openai.com/v1"
_OFFICIAL_HOST = "api.openai.com"
_FOR_CHAT = "-chat"
# OpenAI's models that refuse `parallel_tool_calls`.
_NO_PARALLEL_FIELD = ("o1", "o3", "o4")
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_LOWEST_VISIBLE = 33
_HIGHEST_VISIBLE = 126


class ResponsesSettings(msgspec.Struct, frozen=True, kw_only=True):
    """One configured service.

    Models whose name begins with one of `reasoning_models` are asked for their sealed reasoning;
    others, and those made for chat, would refuse the question. `reasoning_summary` asks for a summary that can be shown,
    which OpenAI gives to verified organisations only.
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
    reasoning_models: tuple[str, ...] = ("o1", "o3", "o4", "gpt-5", "gpt-6", "gpt-oss", "codex")
    reasoning_summary: Literal["auto", "concise", "detailed"] | None = None

    def reasons(self, model: str) -> bool:
        """Tell whether `model` is one that thinks before it answers."""
        return model.startswith(self.reasoning_models) and _FOR_CHAT not in model

    def takes_parallel(self, model: str) -> bool:
        """Tell whether the service is known to take `parallel_tool_calls` for `model`."""
        return self._is_official and not model.startswith(_NO_PARALLEL_FIELD)

    @property
    def usable(self) -> bool:
        """Whether it is enabled and has what its address needs."""
        return self.enabled and (bool(self.api_key) or not self._is_official)

    @property
    def _is_official(self) -> bool:
        return urlsplit(self.base_url).hostname == _OFFICIAL_HOST

    @property
    def is_on_this_machine(self) -> bool:
        """Whether calls never leave this machine."""
        return urlsplit(self.base_url).hostname in _LOOPBACK


def check(settings: ResponsesSettings) -> None:
    """Raise `ConfigurationError` when the key cannot be a header's value."""
    key = settings.api_key or ""
    if not all(_LOWEST_VISIBLE <= ord(letter) <= _HIGHEST_VISIBLE for letter in key):
        raise ConfigurationError(
            f"providers.{settings.name}.api_key holds a space, a line break or a letter outside"
            " ASCII; a key is one word: copy it again without anything around it"
        )
