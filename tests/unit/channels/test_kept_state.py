"""What each channel remembers: found by the next process, and in what an earlier version left."""

import pytest

from hermes.channels.email.memory import begun
from hermes.channels.matrix.sync_state import SyncState, SyncStateKeeper
from hermes.channels.slack.file_sender import Uploads
from hermes.testing.channel_state import memory_state


@pytest.mark.req("J17")
async def test_the_file_that_a_slack_send_uploaded_is_found_by_the_next_process() -> None:
    state = memory_state("slack")
    await state.put("uploads.json", b'{"d0.0": "F0", "d1.0": "F9"}')
    await Uploads(state).note("d1.0", "F1")

    found = Uploads(state)

    keys = ("d0.0", "d1.0", "d3.0")
    assert [await found.find(key) for key in keys] == ["F0", "F1", None]


@pytest.mark.req("J17")
async def test_old_slack_uploads_that_cannot_be_read_are_none() -> None:
    state = memory_state("slack")
    await state.put("uploads.json", b"[")

    assert await Uploads(state).find("d0.0") is None


@pytest.mark.req("J1")
async def test_the_place_in_a_matrix_stream_is_found_by_the_next_process() -> None:
    state = memory_state("matrix")
    assert await SyncStateKeeper(state).load() == SyncState()
    await SyncStateKeeper(state).save(SyncState(user_id="@a:b", since="s2"))

    assert await SyncStateKeeper(state).load() == SyncState(user_id="@a:b", since="s2")


@pytest.mark.req("J1")
async def test_the_day_from_which_mail_is_answered_is_decided_once() -> None:
    state = memory_state("email")
    first = await begun(state, now=1000.0, age_s=10.0)

    assert first.floor == 990.0
    assert await begun(state, now=2000.0, age_s=10.0) == first


@pytest.mark.req("J1")
async def test_a_day_that_cannot_be_read_is_decided_again() -> None:
    state = memory_state("email")
    await state.put("mailbox.json", b"{}")

    assert (await begun(state, now=2000.0, age_s=10.0)).floor == 1990.0
