import pytest

from hermes.control.key_terms import (
    lifetime,
    model_patterns,
    one_period,
    token_budget,
    usd_budget,
)
from hermes.errors import BadRequest


@pytest.mark.req("A22")
@pytest.mark.parametrize(
    ("text", "budget"),
    [
        ("5", (5.0, "total")),
        ("5/day", (5.0, "day")),
        (" $0.50/month ", (0.5, "month")),
        ("0", (0.0, "total")),
    ],
)
def test_a_budget_is_dollars_in_all_a_day_or_a_month(text, budget):
    assert usd_budget(text) == budget


@pytest.mark.req("A22")
@pytest.mark.parametrize("text", ["", "five", "-1", "5/week", "5/", "nan", "1e9", "5 /day", "٥"])
def test_a_malformed_budget_is_refused_with_what_was_expected(text):
    with pytest.raises(BadRequest) as refused:
        usd_budget(text)

    assert repr(text) in str(refused.value)
    assert "5/day" in str(refused.value)


@pytest.mark.req("A22")
def test_tokens_take_the_period_of_the_budget_unless_they_name_one():
    assert token_budget("50,000") == (50_000, None)
    assert token_budget("1_000/day") == (1_000, "day")
    assert one_period("5/month", "1000") == "month"
    assert one_period("5/month", "1000/month") == "month"
    assert one_period(None, "1000/day") == "day"
    assert one_period(None, None) == "total"


@pytest.mark.req("A22")
def test_two_periods_of_one_key_are_refused():
    with pytest.raises(BadRequest, match="different times"):
        one_period("5/month", "1000/day")
    with pytest.raises(BadRequest, match="different times"):
        one_period("5", "1000/day")


@pytest.mark.req("A22")
@pytest.mark.parametrize("text", ["", "many", "1.5", "-1", "5/week"])
def test_a_number_of_tokens_is_whole(text):
    with pytest.raises(BadRequest, match="is no number of tokens"):
        token_budget(text)


@pytest.mark.req("A22")
def test_a_lifetime_is_a_number_with_a_unit():
    assert [lifetime(text) for text in ("90m", "12h", "30d", "2w")] == [
        5_400,
        43_200,
        2_592_000,
        1_209_600,
    ]
    for text in ("", "30", "0d", "1y", "-1d", "1.5h"):
        with pytest.raises(BadRequest, match="is no time"):
            lifetime(text)


@pytest.mark.req("A22")
def test_model_patterns_are_any_words_with_commas_between_them():
    assert model_patterns("auto, openai:*,agent:main,,auto") == ("auto", "openai:*", "agent:main")
    with pytest.raises(BadRequest, match="names no model"):
        model_patterns(" , ")
