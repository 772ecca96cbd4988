"""One suite over every channel: each is a real gateway, the channel, and its strict stand-in.

What a platform cannot do its manifest says, and the tests that need it are not made for it. Whatever
the stand-in refuses because a rule of the platform was broken fails the test.
"""

import asyncio
import base64
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from hermes.ports.channel import Capabilities
from hermes.testing.stand_in import Fault, FaultKind, File
from tests.contract.channels.cases import CASES
from tests.contract.channels.house import AT_LENGTH, Case, House, picture

POSSIBLE_REPEAT = "possibly a repeat"
Can = Callable[[Capabilities], bool]


def every(can: Can = lambda _: True) -> pytest.MarkDecorator:
    """Run a test over every way to connect a platform that can do what it needs."""
    fit = [case for case in CASES if can(case.capabilities())]
    return pytest.mark.parametrize("case", fit, ids=[case.name for case in fit])


def every_socket() -> pytest.MarkDecorator:
    """Run a test over the ways in which Hermes itself holds the connection."""
    fit = [case for case in CASES if not case.is_webhook]
    return pytest.mark.parametrize("case", fit, ids=[case.name for case in fit])


def every_fetching() -> pytest.MarkDecorator:
    """Run a test over the ways in which pictures are fetched after the message has come."""
    can_show = [case for case in CASES if "image" in case.capabilities().media]
    fit = [case for case in can_show if not case.brings_files]
    return pytest.mark.parametrize("case", fit, ids=[case.name for case in fit])


@pytest.fixture
async def house(case: Case, tmp_path: Path) -> AsyncIterator[House]:
    async with House(case, tmp_path / "home") as made:
        yield made
    assert made.platform.rejections == ()


@every()
@pytest.mark.req("A2", "W9", "W10")
async def test_a_message_is_answered_where_it_was_written(house: House) -> None:
    post = await house.answer("hello there")
    assert post.text == "#1 hello there"
    assert house.texts("chat-2") == []


@every()
@pytest.mark.req("W11")
async def test_two_chats_are_two_conversations(house: House) -> None:
    await house.answer("in the first")
    post = await house.answer("in the second", chat="chat-2", user="user-2")
    assert post.text == "#1 in the second"


@every()
@pytest.mark.req("J1")
@pytest.mark.quality("deduplication by id")
async def test_an_event_that_comes_twice_is_one_turn(house: House) -> None:
    await house.say("only once", times=2, id="event-1")
    await house.until(house.posts)
    await house.answer("a barrier")
    assert house.texts() == ["#1 only once", "#2 a barrier"]


@every()
@pytest.mark.req("J1")
@pytest.mark.quality("deduplication by id")
async def test_an_old_event_that_comes_again_late_is_still_one_turn(house: House) -> None:
    first = await house.say("the first", id="event-1")
    await house.until(house.posts)
    await house.answer("the second")
    await house.say("the first", id=first)
    await house.answer("a barrier")
    assert house.texts() == ["#1 the first", "#2 the second", "#3 a barrier"]


@every(lambda can: can.threads)
@pytest.mark.req("W11")
@pytest.mark.quality("threads")
async def test_a_thread_is_answered_in_the_thread(house: House) -> None:
    said = await house.say("a root", chat_type="group", mentions=True)
    root = await house.until(lambda: next(iter(house.posts()), None))
    thread = root.thread or said
    in_it: dict[str, Any] = {"chat_type": "group", "thread": thread, "mentions": True}
    first = await house.answer("in it", **in_it)
    second = await house.answer("in it again", **in_it)
    assert first.thread is not None
    assert second.thread == first.thread
    assert second.text.startswith("#2 ") or root.thread is not None


@every()
@pytest.mark.req("W9")
@pytest.mark.quality("markup always taken")
async def test_markdown_is_shown_as_the_platform_shows_it(house: House) -> None:
    post = await house.answer("this is **bold** and `code` with <angles> & more")
    assert "<angles> & more" in post.text
    assert ("**" in post.text) is house.case.is_machine


@every()
@pytest.mark.req("W19")
@pytest.mark.quality("long replies in pieces")
async def test_a_long_answer_comes_in_pieces_and_whole(house: House) -> None:
    count = 500 if house.case.is_machine else house.can.max_chars // 3
    words = [f"w{number}" for number in range(min(count, 4000))]
    house.model.at_length = " ".join(words)
    await house.say(AT_LENGTH)
    await house.until(lambda: words[-1] in " ".join(house.texts()).split())
    assert " ".join(house.texts()).split() == words


@every(lambda can: can.edit)
@pytest.mark.req("W19", "J16")
@pytest.mark.quality("edits", "streaming by edits")
async def test_an_answer_is_shown_while_it_is_written(house: House) -> None:
    await house.say("slowly [[deltas:30]] [[gap:0.03]] " + "and on " * 30)
    post = await house.until(lambda: next((one for one in house.posts() if one.edits > 1), None))
    await house.answer("a barrier")
    final = house.posts()[0]
    assert final.id == post.id
    assert "▉" not in final.text
    assert len(house.posts()) == 2


@every(lambda can: "image" in can.media)
@pytest.mark.req("W9", "W17")
@pytest.mark.quality("media both ways")
async def test_a_picture_reaches_the_model(house: House) -> None:
    cat, dog = (File(data=picture(shade), mime="image/png", name="a.png") for shade in (1, 2))
    await house.answer("look at these", files=(cat, dog))
    sent = msgspec.json.encode(house.model.requests[-1]).decode()
    assert [base64.b64encode(one.data).decode() in sent for one in (cat, dog)] == [True, True]
    assert len(house.posts()) == 1


@every_fetching()
@pytest.mark.req("W17")
async def test_a_picture_that_cannot_be_fetched_is_told(house: House) -> None:
    house.platform.plan(Fault(op="fetch", kind="server_error", times=99))
    file = File(data=picture(1), mime="image/png", name="a.png")
    post = await house.answer("look", files=(file,))
    assert "I could not open" in post.text


@every(lambda can: "file" in can.media)
@pytest.mark.req("W9", "W20")
@pytest.mark.quality("media both ways")
async def test_a_file_is_sent(house: House) -> None:
    house.files.mkdir()
    (house.files / "notes.txt").write_text("the notes")
    await house.say(f"yes\nMEDIA: {house.files}/notes.txt\nMEDIA: {house.home}/hermes.db")
    posts = await house.until(lambda: [one for one in house.posts() if one.files])
    assert [one.files for one in posts] == [("notes.txt",)]
    await house.answer("a barrier")
    assert [one.files for one in house.posts() if one.files] == [("notes.txt",)]
    said = " ".join(house.texts())
    assert "#1 yes" in said
    assert "hermes.db was not sent" in said


@every()
@pytest.mark.parametrize("kind", ["rate_limited", "server_error", "refuse_connection"])
@pytest.mark.req("A26", "A28", "J17")
@pytest.mark.quality("retry-after")
async def test_a_send_that_certainly_failed_is_sent_again(house: House, kind: FaultKind) -> None:
    house.platform.plan(Fault(kind=kind, retry_after=0.1, times=2))
    await house.answer("through the storm")
    await house.answer("a barrier")
    assert house.texts() == ["#1 through the storm", "#2 a barrier"]


@every()
@pytest.mark.req("J17")
@pytest.mark.quality("lost answers are marked", "lost answers are looked up", "transaction ids")
async def test_a_send_whose_answer_was_lost_is_never_silently_repeated(house: House) -> None:
    house.platform.plan(Fault(kind="reset_after"))
    await house.say("did it arrive")
    await house.until(house.posts)
    await house.answer("a barrier")
    standing = [text for text in house.texts() if "did it arrive" in text]
    if house.can.key_window_s > 0 or house.can.history:
        assert standing == ["#1 did it arrive"]
    else:
        assert standing[0] == "#1 did it arrive"
        assert all(POSSIBLE_REPEAT in text for text in standing[1:])


@every()
@pytest.mark.req("A28")
@pytest.mark.quality("refusals are final")
async def test_what_the_platform_refuses_for_good_is_a_dead_letter(house: House) -> None:
    house.platform.plan(Fault(kind="rejected"))
    await house.say("into the void")
    letters: list[dict[str, object]] = []
    while not letters:
        letters = await house.dead_letters()
    assert letters[0]["failure"] in {"invalid_recipient", "rejected"}
    house_text = await house.answer("a barrier")
    assert "a barrier" in house_text.text
    assert not any("into the void" in text for text in house.texts())


@every(lambda can: can.keeps)
@pytest.mark.req("W2")
@pytest.mark.quality("resume after restart")
async def test_what_is_written_while_the_gateway_is_away_is_answered_once(house: House) -> None:
    await house.answer("before")
    await house.stop()

    saying = asyncio.create_task(house.say("meanwhile"))
    await house.start()
    await saying
    await house.until(lambda: len(house.posts()) > 1)
    await house.answer("a barrier")
    assert house.texts() == ["#1 before", "#2 meanwhile", "#3 a barrier"]


@every()
@pytest.mark.req("W2")
@pytest.mark.quality("reconnects")
async def test_a_connection_that_breaks_is_made_again(house: House) -> None:
    await house.answer("before")
    await house.platform.cut()
    post = await house.answer("after")
    assert post.text == "#2 after"


@every_socket()
@pytest.mark.req("W2")
@pytest.mark.quality("revoked token")
async def test_a_credential_that_is_revoked_is_told(house: House) -> None:
    await house.answer("before")
    house.platform.revoke()
    note = await house.stands("fatal")
    assert house.case.platform in note


@every()
@pytest.mark.req("A28")
async def test_a_reply_under_a_revoked_credential_is_kept(house: House) -> None:
    await house.say("slowly [[slow:0.3]]")
    house.platform.revoke()
    letters: list[dict[str, object]] = []
    while not letters and (await house.state())[0] != "fatal":
        letters = await house.dead_letters()
    assert [letter["failure"] for letter in letters] in ([], ["unauthorized"])
    assert house.posts() == []
