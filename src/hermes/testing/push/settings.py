"""The settings of the Pigeon channel, as its manifest declares them; a missing secret prevents the
start.
"""

from pathlib import Path

import msgspec

from hermes.ports.channel_setup import ChannelSetup


class ChannelSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of the bot."""

    base_url: str
    token: str
    signing_secret: str
    account: str = "default"
    keys: bool = False
    history: bool = False
    edit: bool = True
    tool_count_file: Path | None = None


def read_settings(setup: ChannelSetup) -> ChannelSettings:
    """Return the settings; they were already checked against the manifest."""
    given = dict(setup.settings)
    count_file = given.pop("tool_count_file")
    return ChannelSettings(
        **given,
        account=setup.account,
        tool_count_file=Path(count_file) if count_file else None,
    )
