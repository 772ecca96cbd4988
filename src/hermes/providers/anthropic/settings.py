"""What one Anthropic service is called with; the composition root fills it from config."""

from collections.abc import Mapping
from urllib.parse import urlsplit

import msgspec

from hermes.errors import ConfigurationError

OFFICIAL_URL = "https://api.anthropic.com"
# The newer 2026-10-21 takes no temperature and no top_p from anybody, also not for the models that
# still have them; its answers are the same.
API_VERSION = "2023-06-01"
OAUTH_BETA = "oauth-2025-04-20"
_OAUTH_LOOK = "sk-ant-oat"
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_LOWEST_VISIBLE = 33
_HIGHEST_VISIBLE = 126


class AnthropicSettings(msgspec.Struct, frozen=True, kw_only=True):
    """One configured service.

    An `oauth_token` is used instead of the key; a key that looks like an OAuth token is one.
    """

    name: str
    model: str
    base_url: str = OFFICIAL_URL
    api_key: str | None = None
    oauth_token: str | None = None
    api_version: str = API_VERSION
    enabled: bool = True
    headers: Mapping[str, str] = {}
    tools: bool = True
    vision: bool = True
    schema: bool = True
    context_tokens: int = 200_000
    max_output_tokens: int | None = None

    @property
    def secret(self) -> str | None:
        """The credential that is shown."""
        return self.oauth_token or self.api_key

    @property
    def is_oauth(self) -> bool:
        """Whether the credential is an OAuth token."""
        return bool(self.oauth_token) or (self.api_key or "").startswith(_OAUTH_LOOK)

    @property
    def usable(self) -> bool:
        """Whether it is enabled and has what its address needs."""
        return self.enabled and (bool(self.secret) or self.is_on_this_machine)

    @property
    def is_on_this_machine(self) -> bool:
        """Whether calls never leave this machine."""
        return urlsplit(self.base_url).hostname in _LOOPBACK

    @property
    def messages_url(self) -> str:
        """Where a call goes, whether or not the base address names the version."""
        return self.base_url.rstrip("/").removesuffix("/v1") + "/v1/messages"


def check(settings: AnthropicSettings) -> None:
    """Raise `ConfigurationError` when a credential cannot be a header's value."""
    for field, value in (("api_key", settings.api_key), ("oauth_token", settings.oauth_token)):
        if not all(_LOWEST_VISIBLE <= ord(letter) <= _HIGHEST_VISIBLE for letter in value or ""):
            raise ConfigurationError(
                f"providers.{settings.name}.{field} holds a space, a line break or a letter outside"
                " ASCII; a key is one word: copy it again without anything around it"
            )


def build_headers(settings: AnthropicSettings) -> dict[str, str]:
    """Return the headers of every call; configured ones come last, betas are added up."""
    headers = {
        "content-type": "application/json",
        "accept": "text/event-stream",
        "anthropic-version": settings.api_version,
        **{name.lower(): value for name, value in settings.headers.items()},
    }
    if not settings.secret:
        return headers
    if not settings.is_oauth:
        return headers | {"x-api-key": settings.secret}
    betas = [OAUTH_BETA, *_split(headers.get("anthropic-beta", ""))]
    return headers | {
        "authorization": f"Bearer {settings.secret}",
        "anthropic-beta": ",".join(dict.fromkeys(betas)),
    }


def _split(betas: str) -> list[str]:
    return [beta.strip() for beta in betas.split(",") if beta.strip()]
