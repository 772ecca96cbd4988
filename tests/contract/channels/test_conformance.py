"""One suite over every channel: each is a real gateway, the channel, and its strict stand-in.

What a platform cannot do its manifest says, and the tests that need it are not made for it. Whatever
the stand-in refuses because a rule of the platform was broken fails the test.
"""

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

Can = Callable[[Capabilities], bool]
CERTAIN: tuple[FaultKind, ...] = ("rate_limited", "server_error", "refuse_connection")


def _is_shown_pictures(can: Capabilities) -> bool:
    """Tell whether people bring pictures there; machines get files and post none."""
    return "image" in can.media and can.answers


def every(can: Can = lambda _: True) -> pytest.MarkDecorator:
    """Run a test over every way to connect a platform that can do what it needs."""
    fit = [case for case in CASES if can(case.capabilities())]
    return pytest.mark.parametrize("case", fit, ids=[case.name for case in fit])


def every_fetching() -> pytest.MarkDecorator:
    """Run a test over the ways in which pictures are fetched after the message has come."""
    can_show = [case for case in CASES if _is_shown_pictures(case.capabilities())]
    fit = [case for case in can_show if not case.brings_files]
    return pytest.mark.parametrize("case", fit, ids=[case.name for case in fit])


@pytest.fixture
async def house(case: Case, tmp_path: Path) -> AsyncIterator[House]:
    async with House(case, tmp_path / "home") as made:
        yield made
    assert made.platform.rejections == ()


@every()
@pytest.mark.req("A2", "W9", "W10", "W11")
async def test_a_message_is_answered_where_it_was_written_in_a_conversation_of_its_own(
    house: House,
) -> None:
    post = await house.answer("hello there")
    assert post.text == "#1 hello there"
    assert house.texts("chat-2") == []
    post = await house.answer("in the second", chat="chat-2", user="user-2")
    assert post.text == "#1 in the second"
    assert house.texts() == ["#1 hello there"]


@every()
@pytest.mark.req("J1")
@pytest.mark.quality("deduplication by id")
async def test_events_that_come_again_or_out_of_order_are_one_turn_each(house: House) -> None:
    first = await house.say("the first", times=2, id="event-1")
    await house.until(house.posts)
    await house.say("the older", late=True)
    await house.say("the newer")
    await house.until(lambda: len(house.posts()) > 2)
    await house.say("the first", id=first)
    await house.answer("a barrier")
    assert house.texts() == ["#1 the first", "#2 the newer", "#3 the older", "#4 a barrier"]


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


@every(_is_shown_pictures)
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


@every(lambda can: can.attaches_with_text)
@pytest.mark.req("W11", "W17")
@pytest.mark.quality("media both ways")
async def test_a_text_and_its_files_are_one_message(house: House) -> None:
    house.files.mkdir()
    for name in ("a.txt", "b.txt"):
        (house.files / name).write_text(name)
    await house.say(f"yes\nMEDIA: {house.files}/a.txt\nMEDIA: {house.files}/b.txt")
    await house.until(lambda: [one for one in house.posts() if one.files])
    await house.answer("a barrier")
    sent = [(one.text, one.files) for one in house.posts()]
    assert sent == [("#1 yes", ("a.txt", "b.txt")), ("#2 a barrier", ())]


@every()
@pytest.mark.req("A26", "A28", "J17")
@pytest.mark.quality("retry-after")
async def test_a_send_that_certainly_failed_is_sent_again(house: House) -> None:
    for number, kind in enumerate(CERTAIN, start=1):
        house.platform.plan(Fault(kind=kind, retry_after=0.1, times=2))
        await house.answer(kind)
        assert house.texts()[-1] == f"#{number} {kind}"
    await house.answer("a barrier")
    assert house.texts() == [
        *(f"#{at} {kind}" for at, kind in enumerate(CERTAIN, 1)),
        "#4 a barrier",
    ]


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


@every()
@pytest.mark.req("W2")
@pytest.mark.quality("reconnects")
async def test_a_connection_that_breaks_is_made_again(house: House) -> None:
    await house.answer("before")
    await house.platform.cut()
    post = await house.answer("after")
    assert post.text == "#2 after"
