"""Every language has every text, nothing else, and the same names in braces."""

import pytest

from hermes.texts.languages import LANGUAGES
from hermes.texts.say import catalogue, shipped
from tools.texts import SaidText, faults, said_texts

# Texts that read the same in another language: names, codes and the like.
ALIKE = frozenset[str]()
SAID = said_texts()
SHIPPED = sorted(shipped() - {"en"})


@pytest.mark.req("A34")
@pytest.mark.parametrize("language", SHIPPED)
def test_a_catalogue_is_whole_and_has_nothing_that_nobody_says(language: str) -> None:
    assert list(faults(language, SAID)) == []


@pytest.mark.parametrize("language", SHIPPED)
def test_a_translation_differs_from_the_english_text(language: str) -> None:
    alike = {text for text, translated in catalogue(language).items() if translated == text}

    assert alike <= ALIKE


def test_only_languages_that_are_known_are_shipped() -> None:
    assert shipped() <= LANGUAGES.keys()


@pytest.mark.parametrize(
    ("translated", "fault"),
    [
        ({}, "de: 'A {thing}.' is missing"),
        (
            {"A {thing}.": "Ein Ding."},
            "de: 'A {thing}.' has other names in braces than 'Ein Ding.'",
        ),
        (
            {"A {thing}.": "Ein {thing!r}."},
            "de: 'A {thing}.' has other names in braces than 'Ein {thing!r}.'",
        ),
        ({"A {thing}.": "Ein {thing}.", "B": "C"}, "de: nothing says 'B'"),
    ],
)
def test_a_fault_is_found(
    translated: dict[str, str], fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tools.texts.catalogue", lambda _code: translated)

    assert fault in list(faults("de", {"A {thing}.": SaidText("A {thing}.", "here")}))
