"""G5: a request is cut to what a model holds, the least valuable part first."""

import msgspec
import pytest

from hermes.calls.context_fit import (
    cut_before,
    fit_context,
    message_tokens,
    request_tokens,
    text_tokens,
    with_output_room,
)
from hermes.calls.continuation import continuing
from hermes.errors import PromptTooLong
from hermes.message.chat import ChatMessage, as_read, user_text
from hermes.message.continuations import GO_ON
from hermes.message.parts import ReasoningPart, TextPart, ToolCallPart, ToolResultPart
from hermes.ports.provider import ModelRequest

ROOM = 2_000


def assistant(text: str) -> ChatMessage:
    return ChatMessage("assistant", (TextPart(text),))


def talk(exchanges: int, *, chars: int = 1_000) -> tuple[ChatMessage, ...]:
    said: list[ChatMessage] = []
    for number in range(exchanges):
        said += [user_text(f"{number} ".ljust(chars, "a")), assistant("b" * chars)]
    return tuple(said)


def tool_group(number: int, *, chars: int) -> tuple[ChatMessage, ...]:
    call = ToolCallPart(f"c{number}", "look", "{}")
    return (
        user_text(f"look {number}"),
        ChatMessage("assistant", (call,)),
        ChatMessage("tool", (ToolResultPart(call.id, "look", "r" * chars),)),
        assistant("found"),
    )


def request(*messages: ChatMessage) -> ModelRequest:
    return ModelRequest(model="m", messages=messages, system=("be kind",), cut_history=True)


@pytest.mark.req("G5")
@pytest.mark.parametrize(
    ("text", "least"),
    [("word " * 100, 125), ("слово " * 100, 300), ("天气怎么样" * 100, 500), ("🙂" * 100, 130)],
)
def test_other_scripts_count_for_more_than_english(text: str, least: int) -> None:
    assert text_tokens(text) >= least


@pytest.mark.req("G5")
def test_what_fits_is_sent_as_it_is() -> None:
    wanted = request(*talk(2), user_text("now"))

    fitted = fit_context(wanted, room=ROOM)

    assert fitted.request is wanted
    assert (fitted.left_out, fitted.is_shortened) == (0, False)


@pytest.mark.req("G5", "W21")
def test_the_oldest_exchanges_go_in_steps_so_that_calls_begin_alike() -> None:
    firsts = []
    for count in range(2, 40):
        wanted = request(*talk(count), user_text("now"))
        fitted = fit_context(wanted, room=ROOM)
        assert request_tokens(fitted.request) <= ROOM
        assert fitted.request.messages == wanted.messages[fitted.left_out :]
        assert fitted.request.messages[0].role == "user"
        firsts.append(fitted.left_out)

    assert firsts == sorted(firsts)
    # A step is half of the room: two exchanges of about 500 tokens.
    assert len(set(firsts)) <= len(firsts) // 2 + 1


@pytest.mark.req("G5")
def test_a_call_is_never_separated_from_its_result() -> None:
    groups = [message for number in range(12) for message in tool_group(number, chars=1_500)]

    fitted = fit_context(request(*groups, user_text("now")), room=ROOM)

    assert fitted.left_out % 4 == 0
    assert fitted.left_out > 0


@pytest.mark.req("G5")
def test_large_results_of_earlier_turns_are_shortened_first() -> None:
    earlier = tool_group(1, chars=9_000)

    fitted = fit_context(request(*earlier, user_text("now")), room=ROOM)

    (result,) = fitted.request.messages[2].parts
    assert isinstance(result, ToolResultPart)
    assert (fitted.left_out, fitted.is_shortened) == (0, True)
    assert "[7000 characters of this result are left out here.]" in result.text


@pytest.mark.req("G5")
def test_results_of_the_turn_itself_are_shortened_when_nothing_else_is_left() -> None:
    *own, _ = tool_group(1, chars=30_000)

    fitted = fit_context(request(*talk(3), *own), room=ROOM)

    assert fitted.left_out == 6
    assert [message.role for message in fitted.request.messages] == ["user", "assistant", "tool"]
    assert request_tokens(fitted.request) <= ROOM


@pytest.mark.req("G5", "A6")
def test_a_message_that_is_too_long_by_itself_is_refused_with_both_numbers() -> None:
    long = user_text("word " * 4_000)

    with pytest.raises(PromptTooLong) as caught:
        fit_context(request(*talk(3), long), room=ROOM)

    assert caught.value.limit == ROOM
    assert caught.value.needed >= message_tokens(long)
    assert caught.value.status is None


@pytest.mark.req("G5")
def test_a_short_plain_request_is_not_looked_at_closely() -> None:
    wanted = msgspec.structs.replace(request(user_text("hi")), plain_chars=2)

    assert fit_context(wanted, room=ROOM).request is wanted


def cut_answer(chars: int) -> tuple[ChatMessage, ...]:
    """Return a question, the first part of its answer, and the note that asks for the rest."""
    return (user_text("Tell me all."), assistant("p" * chars), as_read(GO_ON))


@pytest.mark.req("G5", "A20")
def test_a_continuation_keeps_the_question_and_the_part_that_was_written() -> None:
    own = cut_answer(7_000)

    fitted = fit_context(request(*talk(5), *own), room=ROOM)

    assert fitted.request.messages == own


@pytest.mark.req("G5", "A20")
def test_so_does_the_continuation_of_an_answer_that_broke_off() -> None:
    asked = request(*talk(5), user_text("Tell me all."))
    wanted = continuing(asked, "p" * 7_000, prefill=False)

    fitted = fit_context(wanted, room=ROOM)

    assert fitted.request.messages == wanted.messages[-3:]


@pytest.mark.req("G5", "A20")
def test_a_continuation_without_room_for_both_is_refused() -> None:
    with pytest.raises(PromptTooLong):
        fit_context(request(*talk(6), *cut_answer(9_000)), room=ROOM)


@pytest.mark.req("G5", "A20")
@pytest.mark.parametrize(
    ("limit", "chars", "sent"),
    [
        (None, 40_000, None),
        (4_000, 40_000, 4_000),
        (12_000, 400, 12_000),
        (12_000, 20_000, 10_436),
        (90_000, 20_000, 10_436),
        (90_000, 90_000, 4_000),
    ],
    ids=["none", "small", "short prompt", "long prompt", "larger than the context", "no room"],
)
def test_an_output_limit_is_lowered_to_what_the_prompt_leaves(
    limit: int | None, chars: int, sent: int | None
) -> None:
    wanted = request(user_text("a" * chars))
    wanted = msgspec.structs.replace(wanted, max_output_tokens=limit, is_capped=True)

    assert with_output_room(wanted, context=16_000).max_output_tokens == sent


@pytest.mark.req("G5")
@pytest.mark.parametrize(("drop", "first"), [(0, 0), (1, 2), (20, 2), (21, 4), (41, 6)])
def test_a_cut_drops_at_least_as_much_as_it_must(drop: int, first: int) -> None:
    messages = talk(3, chars=10)

    assert cut_before(messages, [10] * 6, drop) == first


@pytest.mark.req("G5")
def test_thoughts_count_with_what_their_service_has_sealed() -> None:
    plain = ReasoningPart("Hm. " * 100, "scripted")
    sealed = msgspec.structs.replace(plain, signature="s" * 400, sealed="t" * 400)

    tokens = [message_tokens(ChatMessage("assistant", (part,))) for part in (plain, sealed)]

    assert tokens[0] >= 100
    assert tokens[1] >= tokens[0] + 200
