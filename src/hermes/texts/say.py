"""Says a text in the language of the person whom it is for.

The English words stand where they are said, and are what catalogues find a translation by:

    say("Your code is {code}.", code=code)
    say_count("{count} message is waiting.", "{count} messages are waiting.", count)

`speaking` sets the language for everything that is said inside it, also by the tasks that begin there.
"""

import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from importlib import resources
from typing import Any

from hermes.texts.languages import ENGLISH, LANGUAGES

_spoken: ContextVar[str] = ContextVar("hermes_language", default=ENGLISH)


Catalogue = dict[str, str | dict[str, str]]


def words(text: str) -> str:
    """Mark a text that `say` is given later, so that the catalogues have to have it."""
    return text


def say(text: str, /, **values: object) -> str:
    """Return a text in the language of the moment, with the values in their places."""
    said = catalogue(_spoken.get()).get(text, text)
    assert isinstance(said, str)
    return said.format_map(values) if values else said


def say_count(one: str, other: str, count: int, /, **values: object) -> str:
    """Return the form of a text that fits a number, which it names `{count}`."""
    code = _spoken.get()
    forms = catalogue(code).get(other)
    if isinstance(forms, dict):
        said = forms.get(LANGUAGES[code].form(count)) or forms["other"]
    else:
        said = one if count == 1 else other
    return said.format_map({"count": number(count), **values})


def number(count: int) -> str:
    """Return a number with its thousands apart, as the language of the moment does it."""
    return f"{count:,}".replace(",", LANGUAGES[_spoken.get()].thousands)


@contextmanager
def speaking(language: str | None) -> Iterator[None]:
    """Say everything inside in this language; None, or one that there is not, is English."""
    token = _spoken.set(language if language in shipped() else ENGLISH)
    try:
        yield
    finally:
        _spoken.reset(token)


def speak(language: str | None) -> None:
    """Say everything in this language from here to the end of the task."""
    _spoken.set(language if language in shipped() else ENGLISH)


def spoken() -> str:
    """Return the language of the moment."""
    return _spoken.get()


@cache
def shipped() -> frozenset[str]:
    """Return the languages that there is a catalogue of, and English, which needs none."""
    folder = resources.files(__package__) / "catalogues"
    names = (file.name for file in folder.iterdir())
    return frozenset({ENGLISH, *(name[:-5] for name in names if name.endswith(".toml"))})


@cache
def catalogue(language: str) -> Catalogue:
    """Return the texts of a language by the English ones."""
    if language == ENGLISH or language not in shipped():
        return {}
    file = resources.files(__package__) / "catalogues" / f"{language}.toml"
    read: dict[str, Any] = tomllib.loads(file.read_text(encoding="utf-8"))
    return {**read.get("texts", {}), **read.get("counts", {})}
