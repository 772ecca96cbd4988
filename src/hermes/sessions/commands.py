"""The control commands: the few words that pass beside a running turn."""

from typing import Literal

import msgspec

ControlName = Literal["stop", "new", "status", "approve", "deny"]

_ALIASES: dict[str, ControlName] = {
    "stop": "stop",
    "new": "new",
    "reset": "new",
    "status": "status",
    "approve": "approve",
    "deny": "deny",
}


class Command(msgspec.Struct, frozen=True):
    """A control command and its argument."""

    name: ControlName
    argument: str = ""


def parse_control(text: str) -> Command | None:
    """Return the control command that `text` is, or None for everything else."""
    if not text.startswith("/"):
        return None
    word, _, argument = text[1:].strip().partition(" ")
    name = _ALIASES.get(word.partition("@")[0].lower())
    return None if name is None else Command(name, argument.strip())
