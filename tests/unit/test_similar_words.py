"""Did you mean: a typing error is recognised, and a word that is only a little like it is not."""

import pytest

from hermes.similar_words import distance, near_words, nearest

COMMANDS = ("steer", "status", "stop", "sessions", "tier", "model", "routing.models", "keys")


@pytest.mark.req("W18")
@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("stauts", "status"),
        ("sotp", "stop"),
        ("Steer", "steer"),
        ("kyes", "keys"),
        ("modle", "model"),
        ("models", "model"),
        ("whatever", None),
        ("version", None),
        ("temperature", None),
        ("x", None),
        ("", None),
    ],
)
def test_only_a_typing_error_is_recognised(word: str, meant: str | None) -> None:
    assert nearest(word, COMMANDS) == meant


@pytest.mark.req("W18")
def test_a_name_of_a_provider_that_is_one_letter_short_is_recognised() -> None:
    assert nearest("opnai", ["local", "openai", "anthropic", "openrouter"]) == "openai"


@pytest.mark.req("W18")
def test_several_words_are_told_the_nearest_first() -> None:
    assert near_words("statu", ("stats", "status", "stop"), most=2) == ("stats", "status")


@pytest.mark.req("W18")
@pytest.mark.parametrize(
    ("first", "second", "errors"),
    [("", "", 0), ("a", "", 1), ("abc", "acb", 1), ("abc", "xbc", 1), ("kitten", "sitting", 3)],
)
def test_exchanged_neighbours_are_one_error(first: str, second: str, errors: int) -> None:
    assert (distance(first, second), distance(second, first)) == (errors, errors)


@pytest.mark.req("W18")
@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("usr", ("users",)),
        ("sess", ("sessions",)),
        ("sttus", ("status",)),
        ("us", ()),
        ("ser", ()),
        ("ssn", ()),
        ("usersx", ("users",)),
    ],
)
def test_a_shortened_word_is_meant_after_a_mistyped_one(word: str, meant: tuple[str, ...]) -> None:
    assert near_words(word, ("users", "sessions", "status"), most=2) == meant


@pytest.mark.req("W18")
def test_what_is_corrected_without_being_asked_is_a_typing_error_and_not_shortened() -> None:
    assert nearest("usr", ["users"]) is None
