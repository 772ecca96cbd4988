"""A6: what a person is told of a failed call is true, and says nothing of the service's own words."""

import pytest

from hermes.errors import (
    AnswerInvalid,
    ProviderError,
    ProviderRejected,
    ProviderTimeout,
    ProviderUnavailable,
    StreamTruncated,
)
from hermes.message.outcome import Outcome
from hermes.pipeline.replies import empty_answer, model_failed, no_model
from tests.unit.pipeline.stage_parts import make_turn

SECRET = "house: the service answered: bad key sk-not-real"


@pytest.mark.req("A6")
@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ProviderUnavailable(SECRET), "could not reach my model"),
        (ProviderUnavailable(SECRET, status=500), "service failed"),
        (ProviderUnavailable(SECRET, status=429), "too much to do"),
        (ProviderUnavailable(SECRET, status=529), "too much to do"),
        (ProviderRejected(SECRET, status=401), "does not accept my key"),
        (ProviderRejected(SECRET, status=403), "does not accept my key"),
        (ProviderRejected(SECRET, status=402), "be paid first"),
        (ProviderRejected(SECRET, status=404), "does not know the model"),
        (ProviderRejected(SECRET, status=413), "too long for my model"),
        (ProviderRejected(SECRET, status=400), "refused this request"),
        (ProviderTimeout(SECRET), "took too long"),
        (StreamTruncated(SECRET), "broke off"),
        (AnswerInvalid(SECRET, answer="{"), "could not use"),
    ],
)
def test_a6_each_failure_has_its_own_honest_words(error: ProviderError, words: str) -> None:
    reply = model_failed(make_turn(), error)

    assert words in reply.text
    assert "sk-not-real" not in reply.text
    assert (reply.outcome, reply.earned, reply.reason) == (Outcome.FAILED, False, SECRET)


@pytest.mark.req("A6")
def test_a6_a_gateway_without_a_fitting_model_says_that_it_has_none() -> None:
    reply = no_model(make_turn(), "no model can answer (house: offline mode)")

    assert reply.text.startswith("None of my models can answer now.")
    assert reply.outcome is Outcome.FAILED


@pytest.mark.req("A6", "W20")
def test_an_empty_answer_says_why_it_is_empty() -> None:
    words = [empty_answer(make_turn(), stop).text for stop in ("end", "refusal", "length")]

    assert words == [
        "My model gave an empty answer. Please ask again.",
        "My model refused to answer that. Please ask in other words.",
        "My model reached its length limit before it wrote an answer. Please ask for less at once.",
    ]
