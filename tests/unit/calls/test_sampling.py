"""What a call leaves open comes from the settings; what it says stays."""

import pytest

from hermes.calls.sampling import NO_SAMPLING, Sampling, sampling_of, with_sampling
from hermes.message.chat import user_text
from hermes.ports.provider import ModelRequest

REQUEST = ModelRequest(model="", messages=(user_text("hello"),))
HOUSE = Sampling(
    max_output_tokens=50, temperature=0.3, top_p=0.9, stop=("END",), seed=7, reasoning="low"
)


@pytest.mark.req("G4")
def test_what_a_call_leaves_open_is_filled_in() -> None:
    filled = with_sampling(REQUEST, HOUSE)

    assert sampling_of(filled) == {
        "max_output_tokens": 50,
        "temperature": 0.3,
        "top_p": 0.9,
        "stop": ["END"],
        "seed": 7,
        "reasoning": "low",
    }
    assert filled.is_capped
    assert with_sampling(REQUEST, NO_SAMPLING) is REQUEST
    assert sampling_of(REQUEST) == {}


@pytest.mark.req("G4")
def test_what_a_call_says_stays_also_where_it_is_zero() -> None:
    said = ModelRequest(
        model="",
        messages=(),
        max_output_tokens=9,
        temperature=0.0,
        top_p=0.0,
        stop=("X",),
        seed=0,
        reasoning="high",
    )

    assert with_sampling(said, HOUSE) == said


def test_an_answer_that_is_prefilled_gets_no_thoughts() -> None:
    begun = ModelRequest(model="", messages=(), prefill=True)

    assert sampling_of(with_sampling(begun, Sampling(reasoning="high", seed=1))) == {"seed": 1}
