"""P6: a long request of a program goes to a model that holds it, or is refused by its length."""

import pytest

from hermes.errors import PromptTooLong
from hermes.message.chat import user_text
from hermes.ports.provider import ModelRequest
from hermes.server.v1.blame import blame_of
from hermes.server.v1.dialect import WireCall
from hermes.server.v1.serve import ask_of


def call_of(text: str) -> WireCall:
    request = ModelRequest(model="auto", messages=(user_text(text),))
    return WireCall(request=request, model="auto", stream=False)


@pytest.mark.req("P6", "G5")
def test_routing_is_told_the_length_of_a_long_request_alone() -> None:
    assert ask_of(call_of("hi")).tokens == 0
    assert 8_000 < ask_of(call_of("word " * 10_000)).tokens < 12_500


@pytest.mark.req("P6")
def test_a_request_that_no_model_holds_is_the_callers_to_shorten() -> None:
    assert blame_of(PromptTooLong("too long", needed=9, limit=5)) == "length"
