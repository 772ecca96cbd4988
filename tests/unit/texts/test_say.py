"""What is said in a language that there is a catalogue of, and what in one without."""

import pytest

from hermes.texts import say as module
from hermes.texts.say import say, say_count, speaking, spoken

GERMAN = {
    "Your code is {code}.": "Dein Code ist {code}.",
    "{count} messages wait.": {
        "one": "Eine Nachricht wartet.",
        "other": "{count} Nachrichten warten.",
    },
}


@pytest.fixture(autouse=True)
def _catalogue_of_two_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ship a catalogue of two texts."""
    monkeypatch.setattr(module, "shipped", lambda: frozenset({"en", "de"}))
    monkeypatch.setattr(module, "catalogue", lambda code: GERMAN if code == "de" else {})


@pytest.mark.req("A34")
def test_a_text_is_said_in_the_language_of_the_moment() -> None:
    with speaking("de"):
        told = say("Your code is {code}.", code="K7QM"), spoken()
    after = say("Your code is {code}.", code="K7QM"), spoken()

    assert (told, after) == (("Dein Code ist K7QM.", "de"), ("Your code is K7QM.", "en"))


@pytest.mark.parametrize(
    ("count", "german"), [(1, "Eine Nachricht wartet."), (3, "3 Nachrichten warten.")]
)
def test_a_number_chooses_the_form(count: int, german: str) -> None:
    with speaking("de"):
        assert say_count("{count} message waits.", "{count} messages wait.", count) == german
    english = say_count("{count} message waits.", "{count} messages wait.", count)
    assert english == ("1 message waits." if count == 1 else "3 messages wait.")


def test_a_text_without_a_translation_and_an_unknown_language_are_english() -> None:
    with speaking("de"):
        missing = say("Nothing is {what}.", what="running")
    with speaking("xx"):
        unknown = say("Your code is {code}.", code="K7QM")

    assert (missing, unknown) == ("Nothing is running.", "Your code is K7QM.")


def test_braces_of_strangers_are_text() -> None:
    assert say("Your code is {code}.", code="{code!r} {0}") == "Your code is {code!r} {0}."
