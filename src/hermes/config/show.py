"""The settings as rows to print: `hermes config show`.

Part of config; secrets are masked here, so no caller can print one.
"""

from typing import NamedTuple

from hermes.config.findings import masked
from hermes.config.keys import dotted
from hermes.config.load import Loaded
from hermes.config.settings import leaves


class SettingRow(NamedTuple):
    """One setting to print; the value is plain data, ready for JSON."""

    key: str
    value: object
    origin: str | None


def show(loaded: Loaded, origin: bool) -> list[SettingRow]:
    """Every setting with its value (secrets masked) and, if asked, where it came from."""
    return [
        SettingRow(dotted(key), masked(key, value), loaded.origins[dotted(key)] if origin else None)
        for key, value in leaves(loaded.settings)
    ]
