"""The rules of a channel's settings: what a value must look like, and when one is needed. Pure.

`manifest` reads them; the set-up dialogue and every start of a channel enforce them.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal
from urllib.parse import urlsplit

import msgspec

from hermes.errors import ConfigurationError
from hermes.ports.setup_rows import ANYTHING, meets

_LONGEST_SHOWN = 60
Conditions = tuple[Mapping[str, str], ...]


class SettingRules(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a value must look like; an unset value breaks no rule but that of being needed.

    `pattern` is a regular expression for the whole text, or for each entry of a list; `expects` says it
    in words. `form` is `url` for an http(s) address without a query. `least` and `most` bound a number, or
    how many entries a list has. `hint` says what to do if a rule is broken.

    `needed_if` lists settings and values with which this one is needed ("" is unset, "*" is anything
    set); of several such lists one must fit.
    """

    pattern: str = ""
    expects: str = ""
    form: Literal["", "url"] = ""
    least: float | None = None
    most: float | None = None
    hint: str = ""
    needed_if: Mapping[str, str] | Conditions = {}

    def __post_init__(self) -> None:
        try:
            re.compile(self.pattern)
        except re.error as problem:
            raise ValueError(f"pattern is no regular expression ({problem})") from None

    @property
    def conditions(self) -> Conditions:
        """The lists of `needed_if`."""
        if isinstance(self.needed_if, Mapping):
            return (self.needed_if,) if self.needed_if else ()
        return self.needed_if

    def condition_in(self, values: Mapping[str, Any]) -> Mapping[str, str] | None:
        """Return the list of `needed_if` that fits the other values; None if none does."""
        return next((one for one in self.conditions if meets(values, one)), None)


# Any: a setting's value is whatever its manifest says.
def check_rules(key: str, value: Any, rules: SettingRules, *, is_hidden: bool) -> None:
    """Raise `ConfigurationError` if a value breaks a rule; a hidden one is not in the text."""
    texts = [value] if isinstance(value, str) else []
    texts = [*value] if isinstance(value, tuple) else texts
    for text in texts:
        if rules.pattern and re.fullmatch(rules.pattern, text) is None:
            expected = rules.expects or f"a text of the form {rules.pattern}"
            raise _broken(key, expected, text, hint=rules.hint, is_hidden=is_hidden)
        if rules.form == "url" and not _is_address(text):
            expected = rules.expects or "an http(s) address such as https://chat.example.org"
            raise _broken(key, expected, text, hint=rules.hint, is_hidden=is_hidden)
    size = len(value) if isinstance(value, tuple) else value
    if (
        isinstance(size, int | float)
        and not isinstance(size, bool)
        and not _is_between(size, rules)
    ):
        entries = " entries" if isinstance(value, tuple) else ""
        expected = _bounds(rules) + entries
        raise _broken(key, expected, f"{size:g}", hint=rules.hint, is_hidden=is_hidden)


def reason_of(condition: Mapping[str, str]) -> str:
    """Return a condition in words, such as `mode is webhook and app_token is not set`."""
    return " and ".join(
        f"{name} is {'not set' if want == '' else 'set' if want == ANYTHING else want}"
        for name, want in condition.items()
    )


def unknown_names(rules: Mapping[str, SettingRules]) -> Sequence[str]:
    """Return what `needed_if` of the settings names that is no setting."""
    named = {name for one in rules.values() for condition in one.conditions for name in condition}
    return sorted(named - set(rules))


def _broken(
    key: str, expected: str, found: str, *, hint: str, is_hidden: bool
) -> ConfigurationError:
    # An address may hold a password.
    hidden = is_hidden or "@" in found
    shown = "something else" if hidden else repr(found[:_LONGEST_SHOWN])
    return ConfigurationError(f"{key}: expected {expected}, found {shown}; {hint or 'correct it'}")


def _is_between(number: float, rules: SettingRules) -> bool:
    above = rules.least is None or number >= rules.least
    return above and (rules.most is None or number <= rules.most)


def _bounds(rules: SettingRules) -> str:
    if rules.least is None:
        return f"at most {rules.most:g}"
    return (
        f"at least {rules.least:g}" if rules.most is None else f"{rules.least:g} to {rules.most:g}"
    )


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        has_place = bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
    is_plain = not parts.query and not parts.fragment and not any(map(str.isspace, url))
    return parts.scheme in {"http", "https"} and has_place and is_plain
