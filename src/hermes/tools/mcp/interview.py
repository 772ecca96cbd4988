"""A question with its answers: parses and checks what the person wrote, and asks again.

Pure. One answer may contain everything, as lines `name: value` or as JSON; otherwise the fields are
asked one after another. Credentials are never asked for: servers must not request them.
"""

import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from hermes.tools.mcp.questions import Schema, choices_of, field_text, fields_of, fits

# Any: JSON values.
Json = Any
PASSED_ON = "Thank you, I passed that on."
DECLINED = "I passed on that you decline."
_YES = frozenset({"yes", "y", "true", "1", "on", "ok", "ja", "oui", "sí", "si"})
_NO = frozenset({"no", "n", "false", "0", "off", "nein", "non"})
_DECLINES = frozenset(
    {"no thanks", "no thank you", "no, thanks", "cancel", "decline", "never mind"}
    | {"nein danke", "nein, danke", "abbrechen", "non merci", "no gracias"}
)
_SKIP = frozenset({"skip", "-", "none"})
_ENOUGH = frozenset({"done", "that is all", "fertig"})
_MOST_MISFITS = 5
_SHOWN_CHARS = 60
_LONGEST_WORDS = 100_000
_SECRET = re.compile(
    r"\b(pass ?(word|wort|code|phrase)s?|passwd|pwd|mot de passe|kennwort|contraseña"
    r"|(api|access|auth|secret|private|ssh|encryption) ?(key|token)s?|(client|shared) secret"
    r"|bearer token|credentials?|(credit|debit) ?card|card (number|no)|cvv|cvc"
    r"|(pin|tan) (code|number)|social security|ssn|recovery (code|phrase)|seed phrase|otp)\b"
)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[_\-.]+")


class InterviewStep(msgspec.Struct, frozen=True, kw_only=True):
    """The next text for the person; `is_over` without an `answer` means that they declined."""

    say: str
    is_over: bool = False
    # Any: JSON values by name.
    answer: Mapping[str, Any] | None = None


def secret_in(schema: Schema) -> str | None:
    """Return the field that asks for a credential, or None."""
    for name, field in fields_of(schema):
        about = (name, field.get("title"), field.get("description"), field.get("format"))
        if any(isinstance(words, str) and speaks_of_secrets(words) for words in about):
            return name
    return None


def speaks_of_secrets(words: str) -> bool:
    """Return whether a text is about passwords, keys and the like."""
    # So long a text has room for anything.
    return len(words) > _LONGEST_WORDS or _SECRET.search(_CAMEL.sub(" ", words).lower()) is not None


class Interview:
    """One question, and the answers so far; `opening` is the first text for the person."""

    def __init__(self, text: str, schema: Schema) -> None:
        self._schema = schema
        self._fields = dict(fields_of(schema))
        required = schema.get("required")
        needed = required if isinstance(required, list) else ()
        self._needed = [name for name in self._fields if name in needed]
        self._left = [*self._needed, *(name for name in self._fields if name not in needed)]
        self._given: dict[str, Json] = {}
        self._misfits = 0
        self.opening = "\n".join((text, *self._advice(text)))

    @property
    def is_yes_or_no(self) -> bool:
        """Whether a yes is an answer."""
        return not self._fields

    @property
    def options(self) -> tuple[tuple[str, str], ...]:
        """The answers that can be pressed now, as what is shown and what a person would write.

        Empty unless the next answer is one of a few words.
        """
        if not self._fields:
            return (("Yes", "yes"), ("No", "no thanks"))
        current = self._fields.get(self._left[0]) if self._left else None
        words = () if current is None else _shown_words(current)
        return (*words, ("No thanks", "no thanks")) if words else ()

    def hear(self, text: str) -> InterviewStep:
        """Return the next step after one message of the person."""
        if self._declines(text):
            return InterviewStep(say=DECLINED, is_over=True)
        if not self._fields:
            return self._yes_or_no(text)
        found = self._named(text)
        if found:
            # A person who answers by name gives only what they want: only required fields are asked
            # for.
            self._left = [name for name in self._left if name in self._needed or name in found]
        else:
            found = self._in_turn(text)
        wrong = [name for name, value in found.items() if not self._fits(name, value)]
        self._take({name: value for name, value in found.items() if name not in wrong})
        if wrong:
            shown = " ".join(text.split())[:_SHOWN_CHARS]
            wants = field_text(wrong[0], self._fields[wrong[0]])
            return self._again(f"“{shown}” does not fit. Please give {wants}")
        if self._left:
            return InterviewStep(say=self._ask_for(self._left[0]))
        if fits(self._given, self._schema):
            return InterviewStep(say=PASSED_ON, is_over=True, answer=self._given)
        self._given, self._left = {}, list(self._fields)
        return self._again(
            f"These answers do not go together. Again: {self._ask_for(self._left[0])}"
        )

    def _take(self, found: Mapping[str, Json]) -> None:
        for name, value in found.items():
            self._left.remove(name)
            if value is not None:
                self._given[name] = value

    def _advice(self, text: str) -> Iterable[str]:
        if speaks_of_secrets(text):
            yield "Do not give a password, key or card number here: a server must not ask for them."
        if not self._fields:
            yield "Answer yes or no."
        elif len(self._fields) == 1:
            yield "Write your answer here; “no thanks” declines."
        else:
            yield (
                f"Write lines such as `{self._left[0]}: ...`, or answer one by one, beginning with "
                f"{self._left[0]}; “no thanks” declines."
            )

    def _declines(self, text: str) -> bool:
        word = _word(text)
        if word not in _DECLINES:
            return False
        current = self._fields.get(self._left[0]) if self._left else None
        return current is None or word not in _labels(current)

    def _yes_or_no(self, text: str) -> InterviewStep:
        word = _word(text)
        if word in _YES:
            return InterviewStep(say=PASSED_ON, is_over=True, answer={})
        if word in _NO:
            return InterviewStep(say=DECLINED, is_over=True)
        return self._again("Please answer yes or no.")

    def _again(self, say: str) -> InterviewStep:
        self._misfits += 1
        if self._misfits < _MOST_MISFITS:
            return InterviewStep(say=say)
        return InterviewStep(
            say="That does not fit either, so I passed on that you decline.", is_over=True
        )

    def _named(self, text: str) -> dict[str, Json]:
        """Return the values that a message gives by name, as JSON or line by line."""
        given = _json_object(text)
        if given is None:
            lines = (line.partition(":") for line in text.splitlines())
            given = {
                name.strip(): _value(value.strip(), self._fields[name.strip()])
                for name, found, value in lines
                if found and name.strip() in self._fields
            }
        return {name: value for name, value in given.items() if name in self._left}

    def _in_turn(self, text: str) -> dict[str, Json]:
        """Return a message as the value of the current field; "done" leaves out the rest."""
        current, word = self._left[0], _word(text)
        if current not in self._needed and word in _ENOUGH:
            return dict.fromkeys(self._left)
        if current not in self._needed and word in _SKIP:
            return {current: None}
        return {current: _value(text.strip(), self._fields[current])}

    def _fits(self, name: str, value: Json) -> bool:
        if value is None:
            return name not in self._needed
        return fits({"value": value}, {"properties": {"value": self._fields[name]}})

    def _ask_for(self, name: str) -> str:
        asked = field_text(name, self._fields[name])
        return (
            asked
            if name in self._needed
            else f"{asked} (“skip” leaves it out, “done” all the rest)"
        )


def _word(text: str) -> str:
    return " ".join(text.casefold().split()).rstrip(".!")


def _value(text: str, field: Schema) -> Json:
    """Parse one value; what cannot be parsed stays text, and then does not fit."""
    kind = field.get("type")
    if kind == "boolean":
        word = _word(text)
        return True if word in _YES else False if word in _NO else text
    if kind in ("integer", "number"):
        return _number(text, whole=kind == "integer")
    labels = _labels(field)
    if kind == "array":
        items = (item.strip() for item in text.split(","))
        return [labels.get(_word(item), item) for item in items if item]
    return labels.get(_word(text), text)


def _number(text: str, *, whole: bool) -> Json:
    try:
        found = int(text) if whole else float(text)
        return found if math.isfinite(found) else text
    except (ValueError, OverflowError):
        return text


def _labels(field: Schema) -> dict[str, str]:
    """Return the choices by what a person may write for them: the value, or its title."""
    source = field.get("items") if isinstance(field.get("items"), Mapping) else field
    assert isinstance(source, Mapping)
    labels = {_word(title): value for title, value in _titles(source)}
    return labels | {_word(choice): choice for choice in choices_of(source)}


def _shown_words(field: Schema) -> tuple[tuple[str, str], ...]:
    """Return the values of a field that takes one of a few words, with their titles."""
    if field.get("type") == "boolean":
        return (("Yes", "yes"), ("No", "no"))
    choices = choices_of(field)
    if not choices or field.get("type") == "array":
        return ()
    # A press says the value in the person's name: a server must not have them use a command so.
    if any(choice.lstrip().startswith("/") for choice in choices):
        return ()
    titles = {value: word for word, value in _titles(field)}
    return tuple((titles.get(choice, choice), choice) for choice in choices)


def _titles(source: Schema) -> Iterable[tuple[str, str]]:
    """Yield the title and the value of each choice that has a title."""
    titled = source.get("oneOf") or source.get("anyOf") or ()
    for item in titled if isinstance(titled, list) else ():
        if isinstance(item, Mapping) and isinstance(item.get("const"), str):
            yield str(item.get("title", item["const"])), item["const"]
    values, names = source.get("enum"), source.get("enumNames")
    if isinstance(values, list) and isinstance(names, list):
        yield from ((str(name), str(value)) for value, name in zip(values, names, strict=False))


def _json_object(text: str) -> dict[str, Json] | None:
    try:
        found = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
