"""Which way an unknown delivery is settled, as a table."""

import pytest

from hermes.message.parts import TextPart
from hermes.outbox.intervals import OutboxTiming
from hermes.outbox.unknown_policy import Settlement, settle
from hermes.ports.channel import Capabilities


def choice(row, *, now=1100.0, tries=0, **capabilities) -> Settlement:
    wanted = Capabilities(delivery="push", **capabilities)
    return settle(row, wanted, now=now, tries=tries, timing=OutboxTiming())


@pytest.mark.req("J17")
def test_with_a_key_it_is_sent_again_inside_the_window(record) -> None:
    assert choice(record(), key_window_s=300.0) is Settlement.SAME_KEY


@pytest.mark.req("J17")
def test_outside_the_window_the_key_is_worth_nothing(record) -> None:
    assert choice(record(), now=1301.0, key_window_s=300.0) is Settlement.MARKED


@pytest.mark.req("J17")
def test_when_resends_are_used_up_the_next_way_is_taken(record) -> None:
    assert choice(record(), tries=7, key_window_s=300.0, history=True) is Settlement.LOOK


@pytest.mark.req("J17")
def test_without_a_key_the_history_is_read(record) -> None:
    assert choice(record(), history=True) is Settlement.LOOK


@pytest.mark.req("J17")
@pytest.mark.parametrize("purpose", ["reply", "notice"])
def test_otherwise_chat_replies_are_sent_once_more_marked(record, purpose) -> None:
    assert choice(record(purpose=purpose)) is Settlement.MARKED


@pytest.mark.req("J17")
def test_otherwise_tool_sends_are_held(record) -> None:
    assert choice(record(purpose="tool")) is Settlement.HOLD


@pytest.mark.req("J17")
def test_what_was_already_repeated_is_held(record) -> None:
    row = record(failure="possible_repeat")

    assert choice(row, key_window_s=300.0, history=True) is Settlement.HOLD


@pytest.mark.req("J18")
def test_what_is_too_old_is_never_sent_again(record) -> None:
    assert choice(record(), now=5000.0) is Settlement.HOLD
    assert choice(record(), now=5000.0, key_window_s=99999.0) is Settlement.HOLD


@pytest.mark.req("J16")
def test_an_edit_that_was_cut_off_is_made_again(record) -> None:
    row = record(platform_message_id="x1")

    assert choice(row, edit=True) is Settlement.EDIT_AGAIN


def test_that_a_reply_was_stopped_is_not_told_again_behind_the_next(record) -> None:
    assert choice(record(parts=(TextPart("(stopped)"),))) is Settlement.HOLD
    assert choice(record(parts=(TextPart("half of it\n\n(stopped)"),))) is Settlement.MARKED
