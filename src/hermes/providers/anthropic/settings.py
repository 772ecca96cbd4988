"""The settings of one Anthropic service; the composition root fills them from config."""

from hermes.provider_kit.settings import WireSettings

OFFICIAL_URL = "https://api.anthropic.com"
# The newer 2026-10-21 accepts no temperature and no top_p, not even for the models that still have
# them; its answers are the same.
API_VERSION = "2023-06-01"
OAUTH_BETA = "oauth-2025-04-20"
_OAUTH_LOOK = "sk-ant-oat"


class AnthropicSettings(WireSettings, frozen=True, kw_only=True):
    """One configured service.

    An `oauth_token` is used instead of the key; a key that looks like an OAuth token is one.
    """

    WIRE = "anthropic"

    base_url: str = OFFICIAL_URL
    oauth_token: str | None = None
    api_version: str = API_VERSION
    schema: bool = True
    context_tokens: int = 200_000

    @property
    def secret(self) -> str | None:
        """The credential that is sent."""
        return self.oauth_token or self.api_key

    @property
    def is_oauth(self) -> bool:
        """Whether the credential is an OAuth token."""
        return bool(self.oauth_token) or (self.api_key or "").startswith(_OAUTH_LOOK)

    @property
    def needs_key(self) -> bool:
        """Whether the service is not on this machine."""
        return not self.is_on_this_machine

    @property
    def messages_url(self) -> str:
        """The address of a call, whether or not the base address includes the version."""
        return self.base_url.rstrip("/").removesuffix("/v1") + "/v1/messages"

    def check(self) -> None:
        """Raise `ConfigurationError` if a credential cannot be the value of a header."""
        super().check()
        self._check_credential("oauth_token", self.oauth_token)


def build_headers(settings: AnthropicSettings) -> dict[str, str]:
    """Return the headers of every call; configured ones come last, betas are combined."""
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
