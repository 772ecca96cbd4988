"""What follows a failure, one step of a plan at a time."""

import pytest

from hermes.calls.failover import Failover
from hermes.errors import ProviderError, ProviderUnavailable, StreamTruncated
from hermes.message.chat import user_text
from hermes.ports.provider import ModelRequest
from hermes.routing.plan import Candidate, Plan

REQUEST = ModelRequest(model="m", messages=(user_text("hi"),))


def walk(*names: str) -> Failover:
    plan = Plan(tuple(Candidate(name, "m", "test") for name in names))
    return Failover(plan, REQUEST, max_wait_s=0.0, continues=True, retry_wait=lambda: 0.5)


@pytest.mark.req("A23")
@pytest.mark.parametrize(
    "error", [ProviderUnavailable("down", status=503), StreamTruncated("cut off")]
)
def test_the_only_candidate_is_tried_once_more(error: ProviderError) -> None:
    one = walk("one")

    assert (one.after(error), one.candidate.provider) == (0.5, "one")
    with pytest.raises(ProviderError):
        one.after(error)


@pytest.mark.req("A23")
def test_an_account_that_is_out_of_money_is_not_asked_again_and_another_one_is() -> None:
    broke = ProviderUnavailable("out of credits", status=402)
    two = walk("one", "two")

    assert (two.after(broke), two.candidate.provider) == (0.0, "two")
    with pytest.raises(ProviderUnavailable, match="out of credits"):
        two.after(broke)
