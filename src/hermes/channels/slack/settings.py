"""The Slack settings as a typed value."""

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

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
    """Return the settings, as the manifest's rules have checked them."""
    given = {name: value for name, value in settings.items() if value is not None}
    mode = given.get("mode") or ("socket" if given.get("app_token") else "http")
    return msgspec.convert({**given, "mode": mode}, SlackSettings)
