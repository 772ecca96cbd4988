"""The settings of one service that speaks the Responses wire; the composition root fills them."""

from typing import Literal

from hermes.provider_kit.settings import WireSettings

OFFICIAL_URL = "https://api.openai.com/v1"
_OFFICIAL_HOST = "api.openai.com"
_FOR_CHAT = "-chat"


class ResponsesSettings(WireSettings, frozen=True, kw_only=True):
    """One configured service.

    Models whose name begins with one of `reasoning_models` are asked for their encrypted reasoning;
    others, and those made for chat, would refuse the request. `reasoning_summary` requests a
    summary that can be shown, which OpenAI gives to verified organisations only.
    """

    WIRE = "responses"

    base_url: str = OFFICIAL_URL
    context_tokens: int = 128_000
    reasoning_models: tuple[str, ...] = ("o1", "o3", "o4", "gpt-5", "gpt-6", "gpt-oss", "codex")
    reasoning_summary: Literal["auto", "concise", "detailed"] | None = None

    def reasons(self, model: str) -> bool:
        """Return whether `model` is one that thinks before it answers."""
        return model.startswith(self.reasoning_models) and _FOR_CHAT not in model

    @property
    def known_service(self) -> str:
        """The name of the service in the table of options; empty unless it is OpenAI."""
        return "openai" if self.needs_key else ""

    @property
    def needs_key(self) -> bool:
        """Whether the address is OpenAI's own, which refuses calls without a key."""
        return self.host == _OFFICIAL_HOST
