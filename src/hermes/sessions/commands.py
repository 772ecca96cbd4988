"""The chat commands: the few words that pass beside a running turn, and those that wait in line."""

from collections.abc import Mapping
from typing import Literal

import msgspec

ControlName = Literal["stop", "new", "status", "approve", "deny", "memory"]

_ALIASES: dict[str, ControlName] = {
    "stop": "stop",
    "new": "new",
    "reset": "new",
    "status": "status",
    "approve": "approve",
    "deny": "deny",
    "memory": "memory",
}


# What everybody can read about the commands; those that are no control commands stand in the lane.
ABOUT: Mapping[str, str] = {
    "help": "what you can say here",
    "whoami": "who you are to me",
    "new": "start afresh",
    "stop": "stop what I am doing",
    "status": "what I am doing",
    "approve": "let a tool run that waits for it",
    "deny": "do not let it run",
    "memory": "what I know of you",
    "credits": "what you have left",
    "link": "use me from another account as the same person",
}


class Command(msgspec.Struct, frozen=True):
    """A control command and its argument."""

    name: ControlName
    argument: str = ""


def parse_control(text: str) -> Command | None:
    """Return the control command that `text` is, or None for everything else."""
    if not text.startswith("/"):
        return None
    word, argument = _split(text)
    name = _ALIASES.get(word)
    return None if name is None else Command(name, argument)


def parse_in_lane(text: str) -> tuple[str, str] | None:
    """Return the name and argument of a command that stands in the lane, or None for the rest."""
    if not text.startswith("/"):
        return None
    word, argument = _split(text)
    return (word, argument) if word in ABOUT and word not in _ALIASES else None


def _split(text: str) -> tuple[str, str]:
    word, _, argument = text[1:].strip().partition(" ")
    return word.partition("@")[0].lower(), argument.strip()
