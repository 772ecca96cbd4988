"""What a call costs by its price and its tokens."""

import pytest

from hermes.message.reply import Usage
from hermes.routing.prices import Price, usage_cost

LISTED = Price(0.80, 4.00, "list", 0.08)
WRITING = Price(0.80, 4.00, "list", 0.08, 1.00)
CONFIGURED = Price(2.0, 10.0, "configured")
LOCAL = Price(0.0, 0.0, "this machine")


@pytest.mark.req("A20")
@pytest.mark.parametrize(
    ("price", "cost"),
    [
        pytest.param(LISTED, 0.00524, id="the cached rate is known"),
        pytest.param(CONFIGURED, 0.014, id="cached tokens cost as much as others"),
        pytest.param(LOCAL, 0.0, id="free on this machine"),
    ],
)
def test_a_known_price_gives_a_cost_and_leaves_the_tokens_as_they_were(price, cost):
    used = Usage(tokens_in=2000, tokens_out=1000, cached_in=500, reasoning_out=300)

    costing = usage_cost(price, used)

    assert costing == Usage(
        tokens_in=2000, tokens_out=1000, cached_in=500, reasoning_out=300, cost_usd=cost
    )


@pytest.mark.req("A20")
@pytest.mark.parametrize(
    ("price", "cost"),
    [
        pytest.param(WRITING, 0.0014, id="its own rate"),
        pytest.param(LISTED, 0.00124, id="as much as others"),
    ],
)
def test_what_is_written_to_the_cache_is_part_of_what_was_read(price, cost):
    used = Usage(tokens_in=2000, cached_in=500, cache_written=800)

    assert usage_cost(price, used) == Usage(
        tokens_in=2000, cached_in=500, cost_usd=cost, cache_written=800
    )


@pytest.mark.req("A20")
def test_a_service_that_counts_more_cache_tokens_than_it_read_is_not_paid_for_them():
    odd = Usage(tokens_in=1000, cached_in=600, cache_written=9000)

    assert usage_cost(WRITING, odd).cost_usd == pytest.approx((600 * 0.08 + 400 * 1.00) / 1e6)


@pytest.mark.req("A20")
def test_usages_add_up_in_every_part():
    one = Usage(1, 2, 3, 4, 0.5, 6, 7)

    assert one.plus(one) == Usage(2, 4, 6, 8, 1.0, 12, 14)


@pytest.mark.req("A20", "P6")
def test_an_unknown_price_counts_every_token_as_unpriced_and_none_as_free():
    used = Usage(tokens_in=2000, tokens_out=1000, cached_in=500, cost_usd=1.0)

    unknown = usage_cost(None, used)

    assert unknown == Usage(tokens_in=2000, tokens_out=1000, cached_in=500, unpriced=3000)


@pytest.mark.req("A20")
def test_pricing_again_takes_the_place_of_what_was_said_before():
    used = Usage(tokens_in=1_000_000, cost_usd=7.0, unpriced=5)

    assert usage_cost(CONFIGURED, used) == Usage(tokens_in=1_000_000, cost_usd=2.0)
    assert usage_cost(LOCAL, usage_cost(None, used)) == Usage(tokens_in=1_000_000)


@pytest.mark.req("A20")
def test_a_service_that_counts_more_cached_tokens_than_it_read_does_not_lower_the_cost():
    odd = Usage(tokens_in=1000, cached_in=9000)

    assert usage_cost(LISTED, odd).cost_usd == pytest.approx(1000 * 0.08 / 1_000_000)
