"""What a request cannot do without, and what its files may take."""

import msgspec
import pytest

from hermes.calls.demands import conflict_hints, demands_of, sampling_hints
from hermes.calls.memory import can_be_kept
from hermes.calls.token_estimate import input_tokens
from hermes.message.chat import ChatMessage, user_text
from hermes.message.parts import AudioPart, FilePart, ImagePart, Media, Part
from hermes.ports.options import Extras
from hermes.ports.provider import ModelRequest, ToolChoice, ToolSpec

PAPER = FilePart(Media("application/pdf", url="data:application/pdf;base64,JVBERi0="))
LINKED = FilePart(Media("application/pdf", url="https://a.test/a.pdf"))
RECEIVED = FilePart(Media("application/pdf", path="/cache/a.pdf"))
SOUND = AudioPart(Media("audio/wav", url="data:audio/wav;base64," + "A" * 4000))


def asking(*parts: Part, **fields: object) -> ModelRequest:
    # Any field of the request.
    message = ChatMessage("user", parts) if parts else user_text("hi")
    return ModelRequest(model="m", messages=(message,), **fields)  # type: ignore[arg-type]


@pytest.mark.req("M1")
@pytest.mark.parametrize(
    ("request_", "demands"),
    [
        (asking(), ()),
        (asking(seed=0), ("seed",)),
        (asking(stop=("END",)), ("stop",)),
        (asking(stop=("END", "\n\n")), ("stop", "blank_stop")),
        (asking(stop=("END",), seed=0), ("stop", "seed")),
        (asking(extras=Extras(verbosity="low", prediction="x", reasoning_summary="auto")), ()),
        (
            asking(extras=Extras(top_logprobs=0, top_k=1, min_p=0.1)),
            ("logprobs", "top_k", "min_p"),
        ),
        (
            asking(extras=Extras(frequency_penalty=1, presence_penalty=1, logit_bias={"1": 1})),
            ("frequency_penalty", "presence_penalty", "logit_bias"),
        ),
        (asking(PAPER, LINKED, PAPER, SOUND, RECEIVED), ("pdf", "pdf_address", "audio")),
        (asking(RECEIVED), ()),
    ],
)
def test_only_what_changes_the_answer_is_a_demand(
    request_: ModelRequest, demands: tuple[str, ...]
) -> None:
    assert demands_of(request_, has_files=True) == demands


@pytest.mark.req("M1")
def test_files_that_are_sent_count_as_input() -> None:
    assert input_tokens(asking(PAPER)) == 2_500
    assert input_tokens(asking(LINKED)) == 25_000
    assert input_tokens(asking(SOUND)) == 7
    assert input_tokens(asking(RECEIVED)) == 1


@pytest.mark.req("M1")
def test_an_answer_with_log_probabilities_is_not_cached() -> None:
    assert can_be_kept(asking(extras=Extras(top_k=3)))
    assert not can_be_kept(asking(extras=Extras(top_logprobs=0)))


@pytest.mark.req("M1")
@pytest.mark.parametrize(
    ("fields", "hints"),
    [
        ({"temperature": 1.0, "reasoning": 0}, [("temperature", "temperature")]),
        (
            {"temperature": 1.1, "top_p": 0.9},
            [
                ("temperature", "temperature"),
                ("high_temperature", "temperature"),
                ("reasons_only_if_asked", "temperature"),
                ("top_p", "top_p"),
                ("reasons_only_if_asked", "top_p"),
                ("top_p_beside_temperature", "top_p"),
            ],
        ),
        (
            {"temperature": 0.5, "top_p": 0.5, "reasoning": 0, "extras": Extras(top_k=4)},
            [
                ("temperature", "temperature"),
                ("top_p", "top_p"),
                ("top_p_beside_temperature", "top_p"),
            ],
        ),
        (
            {"top_p": 0.5, "extras": Extras(top_k=4), "reasoning": "low"},
            [
                ("top_p", "top_p"),
                ("sampling_beside_reasoning", "top_p"),
                ("sampling_beside_reasoning", "top_k"),
            ],
        ),
        ({"reasoning": "low", "extras": Extras()}, []),
        ({"reasoning": "low", "top_p": 0.5, "tool_choice": ToolChoice("required")}, [("top_p", "top_p")]),
    ],
)  # fmt: skip
def test_what_sampling_needs_is_named_by_its_field(
    fields: dict[str, object], hints: list[tuple[str, str]]
) -> None:
    assert list(sampling_hints(asking(**fields))) == hints


LOOKED_AT = ImagePart(Media("image/png", url="data:image/png;base64,iVBORw0KGgo="), "original")
LOOK = {"tools": (ToolSpec("look", "Looks.", msgspec.Raw(b"{}")),)}


@pytest.mark.req("M1", "M8")
@pytest.mark.parametrize(
    ("fields", "hints"),
    [
        ({}, []),
        ({"reasoning": 0, **LOOK}, []),
        ({"reasoning": "high"}, []),
        ({"reasoning": "low"}, [("low_effort", "reasoning")]),
        ({"reasoning": "low", "extras": Extras(effort="minimal")}, []),
        ({"reasoning": 2_000, **LOOK}, [("reasoning_beside_tools", "reasoning")]),
        (
            {"reasoning": "high", "tool_choice": ToolChoice("required", "look"), **LOOK},
            [
                ("reasoning_beside_tools", "reasoning"),
                ("reasoning_beside_forced_tools", "reasoning"),
            ],
        ),
        ({"messages": (ChatMessage("user", (LOOKED_AT,)),)}, [("original_detail", "image_detail")]),
        ({"extras": Extras(prediction="a")}, []),
        (
            {"extras": Extras(prediction="a", top_logprobs=0)},
            [("prediction_beside_options", "prediction")],
        ),
        ({"extras": Extras(prediction="a"), **LOOK}, [("prediction_beside_options", "prediction")]),
    ],
)
def test_what_a_hint_needs_beside_the_rest_is_named(
    fields: dict[str, object], hints: list[tuple[str, str]]
) -> None:
    asked = msgspec.structs.replace(asking(), **fields)

    assert list(conflict_hints(asked)) == hints
