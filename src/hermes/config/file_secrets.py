"""Finds configuration files that contain a secret, so that a backup leaves them out.

Part of config, after `files`. A secret is found by the name of its key, or by its form; one whose key
and form say nothing cannot be told from other text.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

from hermes.config.files import legacy_layer, yaml_layer
from hermes.config.keys import dotted, is_secret
from hermes.config.layers import Layer, LayerValue
from hermes.config.named_variables import is_name, may_name, without_names
from hermes.config.section import names_a_secret
from hermes.config.settings import Key

# Tells whether a line contains something that looks like a secret.
LooksSecret = Callable[[str], bool]
# A shorter value in a comment is a word.
_SHORTEST = 6
# `--password=x`, `X-Api-Key: x` and the like, in one argument of a program.
_ASSIGNED = re.compile(r"-{0,2}([\w.-]+)\s*[:=]\s*(?=\S)")
_OPTION = re.compile(r"--?([\w.-]+)")


def secrets_in_files(home: Path, *, looks_secret: LooksSecret) -> dict[str, str]:
    """Return the configuration files that contain a secret, each with where one is.

    A file that cannot be parsed may contain one. The name of a variable is not a secret.
    """
    found: dict[str, str] = {}
    for layer in (legacy_layer(home), yaml_layer(home)):
        secret = next(secret_keys(layer), None)
        if secret is not None:
            found[layer.name] = dotted(secret)
        elif layer.problems:
            found[layer.name] = "it cannot be read"
        elif (line := _secret_line(home / layer.name, looks_secret)) is not None:
            found[layer.name] = f"line {line} looks like one"
    return found


def secret_keys(layer: Layer) -> Iterator[Key]:
    """Yield the keys of a layer whose values are secret; the name of a variable is not."""
    return (key for key, leaf in layer.leaves.items() if _has_secret(key, leaf))


def _has_secret(key: Key, leaf: LayerValue) -> bool:
    value = leaf.value
    if is_secret(key) and bool(value) and not (may_name(key) and is_name(value)):
        return True
    if isinstance(value, list | tuple):
        return _has_secret_argument([str(item) for item in value])
    return _has_password(value)


def _has_password(value: object) -> bool:
    """Return whether a value is an address with a password in it."""
    if not isinstance(value, str) or "://" not in value:
        return False
    try:
        return bool(urlsplit(value).password)
    except ValueError:
        return True


def _has_secret_argument(words: list[str]) -> bool:
    """Return whether one of a program's arguments is a secret, by the name before it."""
    options = (_OPTION.fullmatch(word) for word in ("", *words))
    names = [option[1] if option else "" for option in options]
    return any(
        _has_password(word) or _assigns(word) or _follows(name, word)
        for name, word in zip(names, words, strict=False)
    )


def _assigns(word: str) -> bool:
    assigned = _ASSIGNED.match(without_names(word))
    return assigned is not None and _names_one(assigned[1])


def _follows(name: str, word: str) -> bool:
    return _names_one(name) and not word.startswith("-") and not is_name(word)


def _secret_line(path: Path, looks_secret: LooksSecret) -> int | None:
    """Return the number of the first line that looks as if it had a secret; comments count."""
    lines = _lines(path)
    return next(
        (n for n, line in enumerate(lines, 1) if looks_secret(line) or _commented(line)), None
    )


def _lines(path: Path) -> Iterable[str]:
    return without_names(path.read_text("utf-8-sig")).splitlines() if path.exists() else ()


def _commented(line: str) -> bool:
    """Return whether a line has a setting that was switched off; several words are a sentence."""
    comment = line.partition("#")[2].strip().removeprefix("- ")
    found = _ASSIGNED.match(comment.replace('"', "").replace("'", ""))
    if found is None or not _names_one(found[1]):
        return False
    value = found.string[found.end() :]
    return len(value) >= _SHORTEST and len(value.split()) == 1


def _names_one(name: str) -> bool:
    # A number of tokens is no secret.
    return names_a_secret(name) and not name.lower().endswith("tokens")
