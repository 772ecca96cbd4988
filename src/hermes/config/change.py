"""Changes of `config.yaml` by a command: one value set or removed, or the whole text replaced.

Part of config. A change is checked with every other layer before it is written: one that adds a
problem is refused. The file is replaced as a whole, and two commands never write at the same time.
"""

import fcntl
import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml
from pydantic import TypeAdapter, ValidationError

from hermes.config.file_secrets import secret_keys
from hermes.config.files import YAML
from hermes.config.findings import Finding
from hermes.config.first_files import file_text
from hermes.config.keys import Node, dotted, nearest_key, node_at, own_setting, root
from hermes.config.layers import DOTENV, layer_of_tree
from hermes.config.load import ConfigExamination, examine
from hermes.config.settings import Key
from hermes.config.variables import (
    ACCOUNTS,
    PLATFORM_NAMES,
    PREFIX,
    platform_key,
    variable_for,
    variable_of,
)
from hermes.config.yaml_edit import remove_value, set_value, value_at
from hermes.durable_file import write_durably
from hermes.errors import BadRequest, ConfigurationError, Conflict

_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?")
_WORDS = {"true": True, "false": False, "null": None}


@dataclass(frozen=True, slots=True)
class ConfigDraft:
    """A text for `config.yaml`, the one that is there now, and what checking it found."""

    path: Path
    before: str
    after: str
    found: ConfigExamination
    new_problems: tuple[Finding, ...]

    @property
    def is_changed(self) -> bool:
        """Whether the text differs from the file."""
        return self.before != self.after


@contextmanager
def locked_files(home: Path) -> Iterator[None]:
    """Keep other commands from changing the configuration meanwhile; raises `Conflict` if one does."""
    descriptor = os.open(home, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        raise Conflict(
            f"Another command changes the configuration of {home} right now. Try again in a moment."
        ) from None
    finally:
        os.close(descriptor)


def draft_of(environ: Mapping[str, str], home: Path, after: str) -> ConfigDraft:
    """Check a text that may become `config.yaml`, against what is wrong already."""
    before = examine(environ, home)
    found = examine(environ, home, draft=after)
    known = {str(problem) for problem in before.problems}
    new = tuple(problem for problem in found.problems if str(problem) not in known)
    return ConfigDraft(home / YAML, file_text(home / YAML), after, found, new)


def write_draft(draft: ConfigDraft) -> None:
    """Replace `config.yaml`; raises `Conflict` if it has changed since the draft was made."""
    if file_text(draft.path) != draft.before:
        raise Conflict(f"{draft.path} was changed meanwhile, so it was not replaced.")
    try:
        # A link to a file that is kept elsewhere stays a link.
        write_durably(draft.path.resolve(), draft.after.encode())
    except OSError as error:
        raise ConfigurationError(
            f"{draft.path} cannot be written ({error.strerror}); check who owns {draft.path.parent} "
            "and whether its disk has room"
        ) from None


def draft_with(environ: Mapping[str, str], home: Path, key: Key, *, value: Any) -> ConfigDraft:
    """Return a draft in which a key has a value; raises what is wrong with either."""
    _refuse_secret(key, value, home=home)
    text = _readable_text(environ, home)
    draft = draft_of(environ, home, set_value(text, _path_in(text, key), value))
    if draft.new_problems:
        return draft
    return replace(draft, new_problems=_hidden_problems(draft, key, home=home))


def _hidden_problems(draft: ConfigDraft, key: Key, *, home: Path) -> tuple[Finding, ...]:
    """Return what is wrong with a value that a variable hides: it counts once that is gone."""
    alone = examine({}, home, draft=draft.after)
    name = dotted(key)
    return tuple(one for one in alone.problems if f"{one.key}.".startswith(f"{name}."))


def draft_without(environ: Mapping[str, str], home: Path, key: Key) -> ConfigDraft:
    """Return a draft in which a key is not set."""
    text = _readable_text(environ, home)
    return draft_of(environ, home, remove_value(text, _path_in(text, key)))


def value_in_file(home: Path, key: Key) -> Any:
    """Return the value that `config.yaml` gives a key; None if it gives none."""
    text = file_text(home / YAML)
    return value_at(text, _path_in(text, key))


def key_of_name(name: str) -> Key:
    """Return the key that a dotted name means; raises `BadRequest` with the nearest one."""
    parts = tuple(name.split("."))
    if parts[0] in PLATFORM_NAMES and len(parts) > 1:
        return platform_key(parts[0], parts[1:])
    found = _spelled(root(), parts)
    if found is None or not all(parts):
        meant = nearest_key(parts)
        hint = f" Did you mean {dotted(meant)}?" if meant else ""
        raise BadRequest(
            f"{name[:80]!r} is not a setting.{hint} docs/settings.md lists all, `hermes config show` "
            "those in force."
        )
    return found


def _spelled(node: Node, parts: tuple[str, ...]) -> Key | None:
    """Return the parts as a known key; a name of an entry, such as that of a model, may have dots."""
    if not parts:
        return ()
    if node.is_free:
        return parts
    longest = len(parts) if node.entry is not None and parts[0] not in node.children else 1
    for end in range(1, longest + 1):
        name = ".".join(parts[:end])
        below = node.child(name)
        rest = None if below is None else _spelled(below, parts[end:])
        # Where names have no dots, one that ends the key is a mistyped key below an entry.
        if rest is not None and (end == 1 or rest or node.has_dotted_names):
            return (name, *rest)
    return None


def read_value(key: Key, text: str) -> Any:
    """Return the value that a person typed for a key, in the type that the key takes."""
    node = node_at(key)
    assert node is not None
    if text.lstrip().startswith(("{", "[")):
        return _json(key, text)
    if not node.is_leaf and not node.is_free:
        raise BadRequest(
            f"{dotted(key)} has settings below it: name one of them, or give all of them as JSON, "
            'such as {"name": "value"}.'
        )
    if node.is_secret:
        return text
    if node.is_free:
        return _WORDS.get(text, _number(text))
    if node.may_be_none and text in ("", "null"):
        return None
    return _typed(node, [one.strip() for one in text.split(",")] if node.is_list else text)


def _json(key: Key, text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise BadRequest(
            f"The value of {dotted(key)} looks like JSON but cannot be read ({error}). Quote it for "
            """the shell, such as '["a", "b"]'."""
        ) from None


def _number(text: str) -> Any:
    """Return a number that is written as people write one, and any other text as it is."""
    match = _NUMBER.fullmatch(text)
    if match is None:
        return text
    return float(text) if match[2] else int(text)


def _typed(node: Node, given: str | list[str]) -> Any:
    """Return the value as its type writes it; one that does not fit is left to the check."""
    try:
        adapter = TypeAdapter(node.value_type)
        value = adapter.dump_python(adapter.validate_python(given), mode="json")
    except ValidationError:
        return given
    return [_whole(one) for one in value] if isinstance(value, list) else _whole(value)


def _whole(value: Any) -> Any:
    """Return a number without needless decimals."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _refuse_secret(key: Key, value: Any, *, home: Path) -> None:
    tree: Any = value
    for name in reversed(key):
        tree = {name: tree}
    secret = next(secret_keys(layer_of_tree(YAML, tree)), None)
    if secret is None:
        return
    said = (
        f"{dotted(secret)} is a secret and was not written: config.yaml is read, copied and shared "
        "too easily."
    )
    if secret[:1] == ("mcp",):
        name = variable_of(secret[-1:]).removeprefix(PREFIX)
        raise BadRequest(
            f"{said} Add the line {name}=... to {home / DOTENV}, and set this to '${{{name}}}'."
        )
    raise BadRequest(
        f"{said} Add the line {variable_for(secret) or variable_of(secret)}=... to {home / DOTENV}, or "
        "set the variable in the environment."
    )


def _readable_text(environ: Mapping[str, str], home: Path) -> str:
    """Return the text of the file; raises if it is not YAML that could be changed."""
    unreadable = [one for one in examine(environ, home).problems if one.key == YAML]
    if unreadable:
        raise ConfigurationError(f"{unreadable[0]}. `hermes config edit` opens the file.")
    return file_text(home / YAML)


def _path_in(text: str, key: Key) -> Key:
    """Return where a key is in the file: below `telegram`, if the file has that short form."""
    tree = yaml.safe_load(text) or {}
    is_own = key[:1] == ("platforms",) and key[2:3] in (("extra",), ("enabled",), (ACCOUNTS,))
    if not is_own or not isinstance(tree.get(key[1]), dict):
        return key
    own = own_setting(key)
    if own is None:
        return key[1:]
    return (*key[1 : len(key) - len(own) - 1], *own)
