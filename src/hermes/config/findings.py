"""Problems and warnings of the configuration, as texts that never show a secret.

Part of config; `load` collects these into warnings or into one ConfigurationError.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NoReturn

from pydantic import SecretStr

from hermes.config.keys import dotted, is_secret
from hermes.config.settings import Key
from hermes.errors import ConfigurationError

MASK = "****"
_LONGEST = 80
_PASSWORD_IN_URL = re.compile(r"(?<=://)[^/@\s]+(?=@)")


@dataclass(frozen=True, slots=True)
class Finding:
    """One problem for the operator: the key, its value (masked), what is wrong, the fix.

    `line` is its line in config.yaml, if it comes from there. `layer` is where the value was given:
    the name of a file or of the environment, empty if nowhere.
    """

    key: str
    value: str
    problem: str
    fix: str
    line: int | None = None
    layer: str = ""

    def __str__(self) -> str:
        return f"{self.problem}; {self.fix}"


def masked(key: Key, value: object) -> object:
    """A value as plain data that can be printed: secrets hidden, also a password in a URL."""
    if isinstance(value, SecretStr) or (is_secret(key) and value is not None):
        return MASK
    if isinstance(value, Mapping):
        return {str(name): masked((*key, str(name)), item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [masked(key, item) for item in value]
    if value is None or isinstance(value, bool | int | float):
        return value
    return _PASSWORD_IN_URL.sub(MASK, str(value))


def printed(key: Key, value: object) -> str:
    """A value on one line, masked and shortened."""
    text = json.dumps(masked(key, value), ensure_ascii=False)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."


def wrong_value(key: Key, value: object, *, origin: str, expected: str, fix: str) -> Finding:
    """A value that its key does not accept."""
    shown = printed(key, value)
    problem = f"{origin}: {dotted(key)} is {shown}, expected {expected}"
    return Finding(dotted(key), shown, problem, fix)


def raise_all(problems: list[Finding]) -> NoReturn:
    """Raise every problem found as one error."""
    lines = [str(problem) for problem in problems]
    if len(lines) == 1:
        raise ConfigurationError(lines[0])
    listed = "".join(f"\n- {line}" for line in lines)
    raise ConfigurationError(f"{len(lines)} problems in the configuration:{listed}")
