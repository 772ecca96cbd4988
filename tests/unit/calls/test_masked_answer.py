"""The answer of a model without stored secrets: piece by piece, and as a whole."""

import pytest

from hermes.agents.secret_mask import SecretMask
from hermes.calls.masked_answer import MaskedAnswer
from hermes.message.parts import ReasoningPart, TextPart, ToolCallPart
from hermes.message.reply import Usage
from hermes.ports.provider import CallEnd, ModelName, ReasoningDelta, TextDelta, ToolCallDelta

VALUE = "s3cr3t~Value?>0123"
CALL = ToolCallDelta(0, "t1", "look", f'{{"key": "{VALUE}"}}')
Piece = TextDelta | ReasoningDelta | ToolCallDelta | ModelName


def shown(*pieces: Piece, secret: str = VALUE) -> list[Piece]:
    mask = SecretMask()
    mask.use([("TOKEN", secret)] if secret else [])
    answer = MaskedAnswer(mask)
    found = [one for piece in pieces for one in answer.pieces(piece, lambda one: (one,))]
    return [*found, *answer.rest(lambda one: (one,))]


@pytest.mark.req("M9")
def test_without_secrets_every_piece_is_passed_as_it_is() -> None:
    pieces = (ModelName("m"), TextDelta("s3cr3t"), CALL, TextDelta("end", starts_part=True))

    assert shown(*pieces, secret="") == list(pieces)
    assert all(one is piece for one, piece in zip(shown(*pieces, secret=""), pieces, strict=True))


@pytest.mark.req("M9")
def test_a_secret_in_two_pieces_is_named_and_other_pieces_keep_their_place() -> None:
    assert shown(
        TextDelta(f"it is {VALUE[:7]}"), TextDelta(VALUE[7:]), CALL, TextDelta("fine s3c")
    ) == [
        TextDelta("it is "),
        TextDelta("[secret TOKEN]"),
        CALL,
        TextDelta("fine "),
        TextDelta("s3c"),
    ]


@pytest.mark.req("M9")
def test_thoughts_are_masked_apart_from_the_text() -> None:
    assert shown(
        ReasoningDelta(f"use {VALUE[:5]}"),
        ReasoningDelta(VALUE[5:], signature="sig"),
        TextDelta("s3cr3t", starts_part=True),
        TextDelta("new part", starts_part=True),
    ) == [
        ReasoningDelta("use "),
        ReasoningDelta("[secret TOKEN]", signature="sig"),
        TextDelta("s3cr3t"),
        TextDelta("new part", starts_part=True),
    ]


@pytest.mark.req("M9", "G5")
def test_a_whole_answer_with_a_secret_is_no_faithful_sample_and_arguments_stay() -> None:
    mask = SecretMask()
    mask.use([("TOKEN", VALUE)])
    call = ToolCallPart("t1", "look", f'{{"key": "{VALUE}"}}')
    signed = ReasoningPart(f"with {VALUE}", "anthropic", signature="sig")
    clean = CallEnd((TextPart("fine"), call), "end", Usage(), "m")
    end = CallEnd(
        (TextPart(f"is {VALUE}"), signed, ReasoningPart(VALUE, "openai"), call), "end", Usage(), "m"
    )

    masked = MaskedAnswer(mask).whole(end)

    assert masked.parts == (
        TextPart("is [secret TOKEN]"),
        signed,
        ReasoningPart("[secret TOKEN]", "openai"),
        call,
    )
    assert not masked.is_verbatim
    assert MaskedAnswer(mask).whole(clean) is clean
