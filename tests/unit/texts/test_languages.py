"""Which language is asked for, and which plural form a number takes."""

import pytest

from hermes.texts.languages import LANGUAGES, accepted_language, language_of


@pytest.mark.parametrize(
    ("code", "counts"),
    [
        ("en", {0: "other", 1: "one", 2: "other", 21: "other"}),
        ("fr", {0: "one", 1: "one", 2: "other", 1_000_000: "many"}),
        ("es", {0: "other", 1: "one", 2: "other", 2_000_000: "many"}),
        ("pt", {0: "one", 1: "one", 2: "other", 1_000_000: "many"}),
        ("ru", {0: "many", 1: "one", 2: "few", 5: "many", 11: "many", 21: "one", 112: "many"}),
        ("uk", {4: "few", 14: "many", 101: "one"}),
        ("ar", {0: "zero", 1: "one", 2: "two", 3: "few", 11: "many", 100: "other", 103: "few"}),
        ("hi", {0: "one", 1: "one", 2: "other"}),
        ("ja", {0: "other", 1: "other"}),
    ],
)
@pytest.mark.req("A34")
def test_a_number_takes_the_form_that_cldr_says(code: str, counts: dict[int, str]) -> None:
    assert {count: LANGUAGES[code].form(count) for count in counts} == counts


def test_every_form_that_a_number_can_take_is_declared() -> None:
    taken = {
        code: {one.form(count) for count in (*range(250), 1_000_000)}
        for code, one in LANGUAGES.items()
    }

    assert taken == {code: set(one.forms) for code, one in LANGUAGES.items()}


@pytest.mark.parametrize(
    ("tag", "language"),
    [("de", "de"), ("pt-BR", "pt"), ("zh_Hans", "zh"), ("IN", "id"), ("xx", None), ("", None)],
)
def test_a_tag_names_a_language(tag: str, language: str | None) -> None:
    assert language_of(tag) == language


@pytest.mark.parametrize(
    ("header", "language"),
    [
        ("de-AT,de;q=0.9,en;q=0.8", "de"),
        ("en;q=0.3, fr;q=0.7", "fr"),
        ("xx, nl;q=0.1", "nl"),
        ("*", None),
        ("de;q=lots", None),
        ("de;q=0", None),
        ("," * 5_000 + "de", None),
    ],
)
def test_a_browser_says_what_it_likes_best(header: str, language: str | None) -> None:
    assert accepted_language(header) == language
