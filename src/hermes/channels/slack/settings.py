"""The Slack settings as a typed value: the mode, and what each mode needs."""

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from hermes.errors import ConfigurationError

Mode = Literal["socket", "http"]


class SlackSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of one Slack app; `mode` says which of the two secrets is used."""

    bot_token: str
    mode: Mode
    app_token: str = ""
    signing_secret: str = ""
    reply_in_thread: bool = True
    unfurl: bool = False
    look_up_names: bool = True
    command: str = "/hermes"
    base_url: str = "https://slack.com/api"
    ping_s: float = 15.0

    def __repr__(self) -> str:
        return f"SlackSettings(mode={self.mode!r}, base_url={self.base_url!r})"


def read(settings: Mapping[str, Any]) -> SlackSettings:
    """Return the settings; raise `ConfigurationError` if the mode's secret is missing."""
    given = {name: value for name, value in settings.items() if value is not None}
    mode = given.get("mode") or ("socket" if given.get("app_token") else "http")
    try:
        found = msgspec.convert({**given, "mode": mode}, SlackSettings)
    except msgspec.ValidationError as problem:
        raise ConfigurationError(f"platforms.slack does not fit: {problem}") from None
    if wrong := _problem(found):
        raise ConfigurationError(f"platforms.slack{wrong}")
    return found


def _problem(settings: SlackSettings) -> str:
    """Return the setting that is wrong, and what to set; nothing if all are right."""
    is_socket, address = settings.mode == "socket", settings.base_url
    if is_socket and not settings.app_token:
        return (
            ".app_token: mode 'socket' needs the app-level token (xapp-...); set it (or "
            "SLACK_APP_TOKEN), or set mode to 'http' and signing_secret"
        )
    if not is_socket and not settings.signing_secret:
        return (
            ": set app_token (Socket Mode) or signing_secret (Events API over HTTP); without one of "
            "them no message can be received or its sender verified"
        )
    if settings.bot_token.startswith("xapp-"):
        return (
            ".bot_token: expected the bot's token (xoxb-...), found an app-level token (xapp-...)"
        )
    if is_socket and settings.app_token.startswith("xoxb-"):
        return ".app_token: expected the app-level token (xapp-...), found a bot's token (xoxb-...)"
    if not address.startswith(("https://", "http://")):
        return f".base_url: expected an http or https address, found {address[:60]!r}"
    return "" if settings.ping_s > 0 else ".ping_s: expected more than 0 seconds"
