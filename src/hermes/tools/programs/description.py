"""How a program is started and spoken with: a description, read from TOML. Pure but for the reading.

A word of a command may hold `{session}`, `{model}`, `{system}`, `{folder}`, `{models}` (the address of
`/v1`) and `{key}`; each is filled in as it is, and no shell reads it.
"""

import tomllib
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any, Final, Literal

import msgspec

from hermes.errors import ConfigurationError

BUILT_IN: Final = ("claude_local", "codex_local")
_LARGEST: Final = 100_000
Words = tuple[str, ...]
Speech = Literal["text", "lines", "claude", "codex"]


class Description(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One program: its command line, and what is added to it.

    `new` and `again` begin and resume a session whose id we choose; without them the program says its
    own, or has none. `model` and `system` are added if there is a model or a system prompt, `gateway`
    and `gateway_variables` if its models are those of this gateway. `check` tells whether it runs.
    """

    command: Words
    speaks: Speech = "text"
    new: Words = ()
    again: Words = ()
    model: Words = ()
    system: Words = ()
    gateway: Words = ()
    check: Words = ()
    variables: Mapping[str, str] = {}
    gateway_variables: Mapping[str, str] = {}

    @property
    def has_own_sessions(self) -> bool:
        """Whether the program says by which id its session is found."""
        return not self.new

    def line(self, given: Mapping[str, str], *, is_new: bool) -> Words:
        """Return the command line for one message; what is not in `given` is left out with its words."""
        session = self.new if is_new else self.again
        parts = (
            self.command,
            self.gateway if given.get("models") else (),
            session if given.get("session") else (),
            self.model if given.get("model") else (),
            self.system if given.get("system") else (),
        )
        return tuple(filled(word, given) for part in parts for word in part)

    def environment(self, given: Mapping[str, str]) -> dict[str, str]:
        """Return the variables of the program."""
        gateway = self.gateway_variables if given.get("models") else {}
        return {name: filled(text, given) for name, text in {**self.variables, **gateway}.items()}


def filled(word: str, given: Mapping[str, str]) -> str:
    """Return a word with the places filled in; a value is never searched for places again."""
    pieces = [word]
    for name, value in given.items():
        mark = f"{{{name}}}"
        split: list[str] = []
        for index, piece in enumerate(pieces):
            if index % 2:
                split.append(piece)
                continue
            first, *rest = piece.split(mark)
            split.append(first)
            for after in rest:
                split += [value, after]
        pieces = split
    return "".join(pieces)


def read_description(name: str, path: Path | None) -> Description:
    """Return the description of an adapter; raises `ConfigurationError` that names what is wrong."""
    where = f"adapters.{name}.description"
    if path is None and name not in BUILT_IN:
        raise ConfigurationError(
            f"{where}: expected the path of a TOML file; only {' and '.join(BUILT_IN)} need none"
        )
    try:
        content = (
            files(__package__).joinpath(f"{name}.toml").read_bytes()
            if path is None
            else _read(path)
        )
        return described(tomllib.loads(content.decode()))
    except OSError as error:
        raise ConfigurationError(f"{where}: {path} cannot be read: {error.strerror}") from None
    except (ValueError, msgspec.ValidationError) as error:
        raise ConfigurationError(f"{where}: {path} is not valid: {error}") from None


# Any: TOML.
def described(table: Mapping[str, Any]) -> Description:
    """Return the description of a table; raises `ValueError`."""
    made = msgspec.convert(table, Description)
    if not made.command:
        raise ValueError("`command` is empty: expected the program and its arguments")
    if bool(made.new) != bool(made.again):
        raise ValueError("`new` and `again` belong together: how a session begins and is resumed")
    return made


def _read(path: Path) -> bytes:
    with path.open("rb") as file:
        content = file.read(_LARGEST + 1)
    if len(content) > _LARGEST:
        raise ValueError(f"it has more than {_LARGEST:,} bytes")
    return content
