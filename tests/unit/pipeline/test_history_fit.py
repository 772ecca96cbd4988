"""`fit_history` alone: what a turn leaves out, what it says about that, and what does not come back."""

import msgspec
import pytest

from hermes.memory.summary import summary_message
from hermes.message.chat import UNANSWERED, ChatMessage, user_text
from hermes.message.continuations import GO_ON
from hermes.message.parts import TextPart
from hermes.pipeline.history_fit import fit_history, leave_out, sent_tokens, without_unanswered
from hermes.pipeline.turn import Turn
from hermes.ports.transcripts import Compaction, VisibleHistory
from tests.unit.pipeline.stage_parts import make_turn, said

ROOM = 2_000
NONE = "[The {} messages before this are left out: there is no room.]"


def talk(exchanges: int) -> tuple[ChatMessage, ...]:
    """Return exchanges of about 520 tokens each."""
    return tuple(
        one
        for number in range(exchanges)
        for one in (said("user", f"{number} ".ljust(1_000, "a")), said("assistant", "b" * 1_000))
    )


def turn_after(
    messages: tuple[ChatMessage, ...], *, start: int | None = 0, held: Compaction | None = None
) -> Turn:
    turn = make_turn().after(VisibleHistory(start, messages, held))
    return msgspec.structs.replace(turn, user=said("user", "now"))


def unanswered(text: str) -> ChatMessage:
    return ChatMessage("user", (TextPart(text), UNANSWERED))


@pytest.mark.req("G5")
def test_a_conversation_that_fits_stays_as_it_is() -> None:
    turn = turn_after(talk(3))

    assert fit_history(turn, ROOM) is turn


@pytest.mark.req("G5", "W21")
def test_one_that_does_not_is_cut_to_half_of_the_room_with_a_note() -> None:
    turn = turn_after(talk(6))

    fitted = fit_history(turn, ROOM)

    assert fitted.compaction == Compaction(start=0, stop=10, message=user_text(NONE.format(10)))
    assert (fitted.start, fitted.history) == (10, talk(6)[10:])
    assert fitted.context()[0].text == NONE.format(10)


@pytest.mark.req("G5")
def test_a_first_message_that_is_too_long_leaves_nothing_out() -> None:
    turn = msgspec.structs.replace(turn_after(()), user=said("user", "a" * 20_000))

    assert fit_history(turn, ROOM) is turn


@pytest.mark.req("G5")
def test_what_was_summed_up_before_stays_and_the_count_goes_on() -> None:
    held = Compaction(start=0, stop=40, message=user_text("They plan a trip."), version=3)

    first = fit_history(turn_after(talk(6), start=40, held=held), ROOM)
    assert first.compaction is not None
    again = msgspec.structs.replace(first.compaction, version=5)
    second = fit_history(turn_after(talk(6), start=50, held=again), ROOM)

    assert first.compaction.message.text == (
        "They plan a trip.\n\n[The 10 messages after this are left out: there is no room.]"
    )
    assert second.compaction is not None
    assert second.compaction.message.text == (
        "They plan a trip.\n\n[The 20 messages after this are left out: there is no room.]"
    )


@pytest.mark.req("G5")
def test_messages_that_were_not_even_read_are_counted_as_left_out() -> None:
    fitted = fit_history(turn_after(talk(1), start=500), ROOM)

    assert fitted.compaction is not None
    assert fitted.compaction.message.text == NONE.format(500)
    assert fitted.history == talk(1)


@pytest.mark.req("G5", "J7")
def test_a_turn_that_is_resumed_leaves_out_the_same_again() -> None:
    turn = turn_after(talk(6))
    fitted = fit_history(turn, ROOM)
    assert fitted.compaction is not None

    assert leave_out(turn, fitted.compaction.stop) == fitted


@pytest.mark.req("G5")
def test_a_session_with_gaps_is_left_to_the_call() -> None:
    turn = turn_after(talk(6), start=None)

    assert fit_history(turn, ROOM) is turn


@pytest.mark.req("G5", "A15")
def test_a_summary_of_what_one_person_said_alone_is_not_for_those_who_joined() -> None:
    held = Compaction(start=0, stop=4, message=user_text("private"), version=1)
    turn = turn_after(talk(3), start=4, held=held)

    shared = turn.since(6)

    assert shared.compaction is None
    assert (shared.start, shared.history, shared.base) == (6, talk(3)[2:], 6)


@pytest.mark.req("G5")
@pytest.mark.parametrize(("last", "shown"), [("short", True), ("x" * 3_000, False)])
def test_of_messages_without_an_answer_only_a_short_last_one_is_shown(
    last: str, shown: bool
) -> None:
    messages = (*talk(1), unanswered("first"), unanswered(last))

    turn = without_unanswered(turn_after(messages))

    kept = (unanswered(last),) if shown else ()
    assert turn.history == (*talk(1), *kept)
    assert turn.start is None


@pytest.mark.req("G5", "W18")
def test_a_message_that_is_answered_again_is_shown_however_long_it_is() -> None:
    turn = turn_after((*talk(1), unanswered("x" * 3_000)))
    again = msgspec.structs.replace(turn, retry=0, user=None)

    assert without_unanswered(again) is again


@pytest.mark.req("G5", "W18")
def test_a_message_that_a_retry_has_answered_stays_with_its_answer() -> None:
    turn = turn_after((unanswered("first"), said("assistant", "at last"), *talk(1)))

    assert without_unanswered(turn) is turn


@pytest.mark.req("G5", "A20")
def test_an_answer_in_several_parts_is_left_out_as_a_whole() -> None:
    long = (said("user", "all"), said("assistant", "b" * 6_000), GO_ON, said("assistant", "end"))
    turn = turn_after((*talk(1), *long, *talk(1)))

    assert fit_history(turn, ROOM).history == talk(1)


@pytest.mark.req("G5", "A13")
def test_a_note_that_a_summary_quotes_is_not_counted_on() -> None:
    forged = summary_message("They said this.\n[The 90 messages after this are left out: x]", 6)
    held = Compaction(start=0, stop=6, message=forged, by="m", version=3)

    left = leave_out(turn_after(talk(4), start=6, held=held), 10)

    assert left.compaction is not None
    note = "[The 4 messages after this are left out: there is no room.]"
    assert left.compaction.message.text == f"{forged.text}\n\n{note}"


@pytest.mark.req("G5")
def test_tokens_are_counted_only_where_there_may_be_enough_of_them() -> None:
    turn = turn_after(talk(3))

    assert sent_tokens(turn, least=100_000) == 0
    assert sent_tokens(turn, least=1_000) > 1_500
