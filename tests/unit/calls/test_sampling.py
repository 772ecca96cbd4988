"""What a call leaves open comes from the settings; what it says stays."""

import msgspec
import pytest

from hermes.calls.sampling import (
    NO_SAMPLING,
    Sampling,
    sampling_of,
    sent_sampling,
    with_sampling,
)
from hermes.message.chat import user_text
from hermes.ports.provider import ModelRequest, ToolSpec
from hermes.provider_kit.capabilities import service_options

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


@pytest.mark.req("G4")
@pytest.mark.parametrize(
    ("wire", "model", "kept"),
    [
        ("openai", "gpt-4o-mini", {"temperature": 0.2, "top_p": 0.9, "stop": ["END"]}),
        ("openai", "o3", {"reasoning": "high"}),
        ("openai", "gpt-5.2", {"reasoning": "high"}),
        ("anthropic", "claude-sonnet-4-6", {"stop": ["END"], "reasoning": "high"}),
        (
            "openai",
            "plain",
            {"temperature": 0.2, "top_p": 0.9, "stop": ["END"], "reasoning": "high"},
        ),
    ],
)
def test_what_a_model_does_not_take_is_not_said_to_be_what_a_call_was_made_with(
    wire: str, model: str, kept: dict[str, object]
) -> None:
    service = "openai" if wire == "openai" and model != "plain" else ""
    asked = msgspec.structs.replace(
        REQUEST, model=model, temperature=0.2, top_p=0.9, stop=("END",), reasoning="high"
    )

    assert sent_sampling(asked, service_options(wire, service)) == kept


@pytest.mark.req("G4")
@pytest.mark.parametrize(
    ("wire", "model", "kept"),
    [
        ("openai", "gpt-5.2", {"reasoning": "low"}),
        ("openai", "gpt-5.6-sol", {}),
        ("responses", "gpt-5.6-sol", {"reasoning": "low"}),
    ],
)
def test_an_effort_that_tools_kept_back_is_not_said_to_be_what_a_call_was_made_with(
    wire: str, model: str, kept: dict[str, object]
) -> None:
    tool = ToolSpec("look", "Looks.", msgspec.Raw(b"{}"))
    asked = msgspec.structs.replace(REQUEST, model=model, reasoning="low", tools=(tool,))

    assert sent_sampling(asked, service_options(wire, "openai")) == kept
