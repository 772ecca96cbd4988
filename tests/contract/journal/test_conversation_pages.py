"""A conversation is shown whole: over every epoch, in pages, with the words of its own people only."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from hermes.errors import BadRequest
from hermes.ports.session_history import ConversationPage
from tests.contract.journal.rig import Rig, open_rig

DAY = 86_400.0
NEVER = {"SESSIONS__RESET__MODE": "none"}
IDLE = {"SESSIONS__RESET__MODE": "idle", "TIME_ZONE": "UTC"}


def shown(page: ConversationPage) -> list[tuple[int, str, str]]:
    """Return the epoch of each message, what was said, and the reply."""
    return [
        (one.epoch, one.record.event.text, one.result.text)
        for one in page.messages
        if one.record.event is not None and one.result is not None
    ]


async def page_of(rig: Rig, *, limit: int = 50, before: str | None = None) -> ConversationPage:
    return await rig.core.gateway_api.conversation(
        "rest", "ann", limit=limit, user_id="ann", before=before
    )


async def pages_of(rig: Rig, limit: int) -> AsyncIterator[ConversationPage]:
    page = await page_of(rig, limit=limit)
    yield page
    while page.earlier is not None:
        page = await page_of(rig, limit=limit, before=page.earlier)
        yield page


async def title(rig: Rig) -> object:
    (row,) = await rig.core.gateway_api.conversations("rest", limit=9)
    return row["title"]


async def forget_rows(rig: Rig) -> None:
    """Let the inbox forget every message that has ended."""
    rig.clock.advance(9 * DAY)
    assert await rig.store.purge(rig.clock.now(), limit=1_000)


async def talk(rig: Rig, *, epochs: int, each: int) -> list[tuple[int, str]]:
    """Say so many messages in each of so many conversations; returns them, oldest first."""
    said = []
    for epoch in range(epochs):
        if epoch:
            await rig.answer("/new")
        for number in range(each):
            await rig.answer(f"{epoch}.{number}")
            said.append((epoch, f"{epoch}.{number}"))
    return said


@pytest.mark.req("W9")
async def test_after_new_everything_is_still_shown_under_its_first_title(tmp_path: Path) -> None:
    async with open_rig(tmp_path, settings=NEVER) as rig:
        await rig.answer("my cat is Tom")
        await rig.answer("/new")

        page = await page_of(rig)
        assert (shown(page), page.epoch) == ([(0, "my cat is Tom", "#1 my cat is Tom")], 1)
        assert await title(rig) == "my cat is Tom"

        await rig.answer("hello")

        page = await page_of(rig)
        assert [(epoch, text) for epoch, text, _ in shown(page)] == [
            (0, "my cat is Tom"),
            (1, "hello"),
        ]
        assert (page.epoch, page.earlier, await title(rig)) == (1, None, "my cat is Tom")


@pytest.mark.req("W9", "W23")
async def test_after_a_reset_by_the_clock_everything_is_still_shown(tmp_path: Path) -> None:
    async with open_rig(tmp_path, settings=IDLE) as rig:
        await rig.answer("one")
        rig.clock.advance(2 * DAY)
        await rig.answer("two")

        assert [(epoch, text) for epoch, text, _ in shown(await page_of(rig))] == [
            (0, "one"),
            (1, "two"),
        ]
        assert await title(rig) == "one"


@pytest.mark.req("W9", "J1")
async def test_epochs_whose_rows_were_forgotten_come_from_the_graph(tmp_path: Path) -> None:
    async with open_rig(tmp_path, settings=NEVER) as rig:
        said = await talk(rig, epochs=3, each=2)
        before = shown(await page_of(rig))
        await forget_rows(rig)

        assert shown(await page_of(rig)) == before
        assert [(epoch, text) for epoch, text, _ in before] == said
        assert await title(rig) == "0.0"

        await rig.answer("/new")
        await rig.answer("now")

        page = await page_of(rig)
        assert ([text for _, text, _ in shown(page)][-2:], page.epoch) == (["2.1", "now"], 3)


@pytest.mark.req("W9")
@pytest.mark.parametrize("limit", [1, 3, 7])
async def test_pages_lead_back_to_the_first_word_and_tell_each_once(
    tmp_path: Path, limit: int
) -> None:
    async with open_rig(tmp_path, settings=NEVER) as rig:
        said = await talk(rig, epochs=3, each=2)
        await forget_rows(rig)
        await rig.answer("2.2")
        await rig.answer("/new")
        await rig.answer("3.0")

        pages = [page async for page in pages_of(rig, limit)]

        told = [one for page in reversed(pages) for one in shown(page)]
        assert [(epoch, text) for epoch, text, _ in told] == [*said, (2, "2.2"), (3, "3.0")]
        assert max(len(page.messages) for page in pages) == limit


@pytest.mark.req("W9")
async def test_a_page_that_ends_with_the_first_word_names_no_earlier_one(tmp_path: Path) -> None:
    async with open_rig(tmp_path, settings=NEVER) as rig:
        await talk(rig, epochs=2, each=2)

        assert (await page_of(rig, limit=4)).earlier is None
        await forget_rows(rig)
        assert (await page_of(rig, limit=4)).earlier is None


@pytest.mark.req("W9", "G7")
async def test_what_was_undone_stays_undone_on_every_page(tmp_path: Path) -> None:
    async with open_rig(tmp_path, settings=NEVER) as rig:
        for text in ("one", "two", "/undo", "three", "four"):
            await rig.answer(text)
        await rig.answer("/new")
        await forget_rows(rig)

        told = [text async for page in pages_of(rig, 1) for _, text, _ in shown(page)]

        assert told == ["four", "three", "one"]


@pytest.mark.req("W9")
@pytest.mark.parametrize(
    "before", ["", "m", "m.", "m.0", "m.-1", "m.1.2", "g.1.2", "g.1.2.x", "g.1.2." + "9" * 40, "²"]
)
async def test_a_place_that_no_page_named_is_refused(tmp_path: Path, before: str) -> None:
    async with open_rig(tmp_path) as rig:
        await rig.answer("one")

        with pytest.raises(BadRequest, match="earlier"):
            await page_of(rig, before=before)


@pytest.mark.req("W9", "W34")
async def test_a_place_in_another_conversation_shows_nothing_of_it(tmp_path: Path) -> None:
    async with open_rig(tmp_path, settings=NEVER) as rig:
        await rig.answer("mine")
        for text in ("secret one", "secret two"):
            await rig.answer(text, chat="bob")
        await forget_rows(rig)
        place = (
            await rig.core.gateway_api.conversation("rest", "bob", limit=1, user_id="bob")
        ).earlier
        assert place is not None

        assert [text for _, text, _ in shown(await page_of(rig, before=place))] == ["mine"]


@pytest.mark.req("W9", "J24")
@pytest.mark.parametrize("forgotten", [False, True])
async def test_the_words_of_somebody_who_was_erased_are_not_shown(
    tmp_path: Path, forgotten: bool
) -> None:
    async with open_rig(tmp_path, settings=NEVER) as rig:
        await talk(rig, epochs=2, each=1)
        person = await rig.store.people.find("rest", "ann")
        assert person is not None
        if forgotten:
            await forget_rows(rig)
        await rig.store.people.erase(person.id, at=rig.clock.now())

        assert shown(await page_of(rig)) == []
        assert await title(rig) == ""


@pytest.mark.req("W9", "W34")
@pytest.mark.parametrize("forgotten", [False, True])
async def test_a_channel_that_was_handed_over_shows_nothing_of_its_first_person(
    tmp_path: Path, forgotten: bool
) -> None:
    async with open_rig(tmp_path, settings=NEVER) as rig:
        await talk(rig, epochs=2, each=1)
        bob = await rig.store.users.add("push", "bob", name=None, at=rig.clock.now())
        if forgotten:
            await forget_rows(rig)
        await rig.store.users.link("rest", "ann", person_id=bob, at=rig.clock.now())

        assert shown(await page_of(rig)) == []
        assert await title(rig) == ""

        await rig.answer("hello")

        assert [text for _, text, _ in shown(await page_of(rig))] == ["hello"]
        assert await title(rig) == "hello"
