"""J24: after an erasure no row shows under which telephone number the person was known."""

from pathlib import Path

import msgspec
import pytest

from hermes.control.sends import SendOrder
from hermes.errors import FailureClass, NotDelivered
from hermes.ports.channel import Buttons, Delivery, Receipt
from hermes.ports.tool import ToolTraits
from hermes.testing.memory_channel import MemoryChannel
from tests.contract.journal.rig import PUSH, Rig, RunTool, open_rig
from tests.contract.journal.test_buttons import last_question
from tests.contract.journal.test_delegate import delegating
from tests.contract.journal.test_operator_sends import PLATFORM
from tests.contract.journal.test_operator_sends import desk_of as sends_of
from tests.contract.journal.test_pruning import damage, names
from tests.stores.opening import tables

NUMBER, OTHER = "4917055512345", "4917055599999"
ABLE = msgspec.structs.replace(PUSH, buttons=Buttons(most=5, label_chars=20, value_bytes=64))
SETTINGS = {**PLATFORM, "TOOLS__TERMINAL__ENABLED": "false"}


class Phone(MemoryChannel):
    """A platform whose messages are named by the number of their chat, as WhatsApp's are."""

    async def send(self, delivery: Delivery) -> Receipt:
        post = (await super().send(delivery)).platform_message_id
        name = f"{delivery.target.chat_id}.{post}"
        self.posts[name] = msgspec.structs.replace(self.posts.pop(post), id=name)
        return Receipt(name)


def phone() -> Phone:
    return Phone(ABLE, name="push")


def shown(home: Path, text: str) -> list[str]:
    """Return the columns of all tables that show a text."""
    found: set[str] = set()
    with tables(home) as db:
        for (table,) in db.rows("SELECT name FROM sqlite_schema WHERE type = 'table'"):
            columns = [row[1] for row in db.rows(f"PRAGMA table_info({table})")]
            for row in db.rows(f"SELECT * FROM {table}"):
                found |= {
                    f"{table}.{column}"
                    for column, value in zip(columns, row, strict=True)
                    if text.encode() in (value if isinstance(value, bytes) else str(value).encode())
                }
    return sorted(found)


async def converse(rig: Rig, home: Path, number: str) -> None:
    """Have somebody do what leaves their number behind, in their own chat and in a group."""

    async def say(text: str, name: str) -> None:
        said = await rig.say(text, chat=number, platform="push", name=f"wamid.{number}.{name}")
        assert await rig.outcome(said) == "answered"

    await say("hello", "1")
    await say("/status", "2")
    await say(delegating("small question"), "3")
    await say("/new", "4")
    await say("/model", "5")
    models = await last_question(rig, number)
    asked = await rig.say("[[tool:pay]] please", platform="push", chat=number)
    assert await rig.outcome(asked) == "parked"
    question = await last_question(rig, number, after=models)
    others = await rig.press(question.choices[0].value, user="bob", chat=number)
    await rig.outcome(others)
    await rig.outcome(await rig.press(question.choices[0].value, user=number))
    await rig.outcome(asked)
    reply = [name for name, one in rig.push.posts.items() if one.text.startswith("#1 hello")]
    await rig.outcome(await rig.react("👍", reply[-1], user=number))
    in_group = await rig.say(
        "[[tool:pay]] please", platform="push", chat="g1", user=number, chat_type="group"
    )
    await rig.outcome(
        await rig.say("no", platform="push", chat="g1", user=number, chat_type="group")
    )
    assert await rig.outcome(in_group) == "interrupted"
    await sends_of(rig.store, home, rig.clock, rig).send(
        SendOrder(to=f"push:{number}", text="dinner is ready", by="ops")
    )
    await rig.until(lambda: "dinner is ready" in rig.push.texts(number))
    await rig.until(lambda: rig.store.inbox.waiting() == 0)


async def person_of(rig: Rig, number: str) -> str:
    person = await rig.store.people.find("push", number)
    assert person is not None
    return person.id


@pytest.mark.req("J24")
async def test_j24_no_row_shows_the_number_of_an_erased_person(tmp_path: Path) -> None:
    tool = RunTool("pay", traits=ToolTraits(needs_approval=True))
    async with open_rig(
        tmp_path, push=phone(), tools=(tool,), own_tools=True, settings=SETTINGS
    ) as rig:
        # given two people who have done the same
        for number in (NUMBER, OTHER):
            await converse(rig, tmp_path, number)
        before, others = names(rig), shown(tmp_path, OTHER)
        assert {
            *("inbox.lane", "inbox.external_id", "lanes.chat_id", "graphs.name", "links.data"),
            *("outbox.chat_id", "outbox.target", "outbox.platform_message_id"),
            *("approvals.requester", "offers.who", "user_channels.user_id"),
        } <= {*others}

        # when one of them is erased
        await rig.store.people.erase(await person_of(rig, NUMBER), at=rig.clock.now())

        # then nothing shows their number, and all else is as it was
        assert shown(tmp_path, NUMBER) == []
        assert shown(tmp_path, OTHER) == others
        assert len(names(rig)) == len(before)
        assert {name for name in before if NUMBER not in name} <= names(rig)
        assert damage(rig) == []


@pytest.mark.req("J24")
async def test_j24_who_has_the_number_next_begins_anew_and_old_messages_are_known(
    tmp_path: Path,
) -> None:
    async with open_rig(tmp_path, push=phone(), settings=SETTINGS) as rig:
        first = await rig.say("hello", chat=NUMBER, platform="push", name="wamid.1")
        await rig.outcome(first)
        old = await person_of(rig, NUMBER)
        await rig.store.people.erase(old, at=rig.clock.now())

        # when the platform tells the old message again, and somebody else writes
        again = await rig.say("hello", chat=NUMBER, platform="push", name="wamid.1")
        said = await rig.answer("who am I", chat=NUMBER, platform="push")

        # then it is no second message, and the conversation is a new one
        assert again == first
        assert said == "#1 who am I"
        assert await person_of(rig, NUMBER) != old
        assert damage(rig) == []
        assert len(names(rig)) == 2


@pytest.mark.req("J24")
async def test_j24_a_session_that_is_at_work_is_hidden_once_it_has_ended(tmp_path: Path) -> None:
    tool = RunTool("pay", traits=ToolTraits(needs_approval=True))
    async with open_rig(tmp_path, push=phone(), tools=(tool,), settings=SETTINGS) as rig:
        asked = await rig.say("[[tool:pay]] please", chat=NUMBER, platform="push")
        assert await rig.outcome(asked) == "parked"
        await last_question(rig, NUMBER)
        person = await person_of(rig, NUMBER)

        await rig.store.people.erase(person, at=rig.clock.now())
        assert not await rig.store.people.hide_erased(at=rig.clock.now())
        rig.clock.advance(100 * 86_400.0)
        await rig.core.maintenance.upkeep.round()
        assert await rig.outcome(asked) == "refused"
        await rig.core.maintenance.upkeep.round()

        assert shown(tmp_path, NUMBER) == []
        assert damage(rig) == []


@pytest.mark.req("J24")
async def test_j24_what_others_say_in_the_same_session_goes_on(tmp_path: Path) -> None:
    async with open_rig(tmp_path, settings=SETTINGS) as rig:
        await rig.answer("hello", chat="team-room", user=NUMBER)
        await rig.answer("hello too", chat="team-room", user="bob")
        person = await rig.store.people.find("rest", NUMBER)
        assert person is not None

        await rig.store.people.erase(person.id, at=rig.clock.now())

        assert await rig.answer("still here", chat="team-room", user="bob") == "#2 still here"
        assert shown(tmp_path, NUMBER) == []
        assert damage(rig) == []


@pytest.mark.req("J24")
async def test_j24_what_could_not_be_sent_is_no_way_back_to_the_number(tmp_path: Path) -> None:
    channel = phone()
    channel.fail("send", *[NotDelivered("down", FailureClass.SERVICE_UNAVAILABLE)] * 100)
    async with open_rig(tmp_path, push=channel, settings=SETTINGS) as rig:
        said = await rig.say("hello", chat=NUMBER, platform="push")
        await rig.outcome(said)

        async def is_waiting() -> bool:
            return [one.state for one in await rig.deliveries(said)] == ["retry"]

        await rig.until(is_waiting)
        await rig.store.people.erase(await person_of(rig, NUMBER), at=rig.clock.now())

        (row,) = await rig.deliveries(said)
        assert (row.state, row.failure, row.parts) == ("dead", "rejected", None)
        assert shown(tmp_path, NUMBER) == []
        assert channel.posts == {}


@pytest.mark.req("J24")
async def test_j24_a_stranger_who_has_only_asked_to_be_let_in_is_hidden_too(tmp_path: Path) -> None:
    able = msgspec.structs.replace(ABLE, unknown="pair")
    async with open_rig(tmp_path, push=Phone(able, name="push"), settings=SETTINGS) as rig:
        said = await rig.say("hello", chat=NUMBER, platform="push", name=f"wamid.{NUMBER}")
        await rig.outcome(said)
        await rig.until(lambda: len(rig.push.posts) == 1)
        await rig.until(lambda: rig.store.inbox.waiting() == 0)

        await rig.store.people.erase(await person_of(rig, NUMBER), at=rig.clock.now())

        assert shown(tmp_path, NUMBER) == []


@pytest.mark.req("J24")
async def test_j24_who_has_used_a_command_in_somebody_elses_chat_takes_nothing_of_it(
    tmp_path: Path,
) -> None:
    # given Ann, in whose chat somebody else was the first to use a command
    async with open_rig(tmp_path, push=phone(), settings=SETTINGS) as rig:
        await rig.outcome(await rig.say("/status", chat=OTHER, user=NUMBER, platform="push"))
        await rig.answer("hello", chat=OTHER, platform="push")
        ann = await person_of(rig, OTHER)

        await rig.store.people.erase(await person_of(rig, NUMBER), at=rig.clock.now())
        await rig.store.people.hide_erased(at=rig.clock.now())

        # then hers goes on, and nothing shows the other
        assert shown(tmp_path, NUMBER) == []
        assert await rig.answer("again", chat=OTHER, platform="push") == "#2 again"
        assert await person_of(rig, OTHER) == ann
        assert damage(rig) == []


@pytest.mark.req("J24")
async def test_j24_a_person_with_very_many_sessions_is_hidden_in_bounded_steps(
    tmp_path: Path,
) -> None:
    settings = {**SETTINGS, "INBOX__MAX_WAITING_EACH": "1000"}
    async with open_rig(tmp_path, settings=settings) as rig:
        said = [await rig.say("hello", chat=f"{NUMBER}.{one}", user=NUMBER) for one in range(205)]
        for one in said:
            await rig.outcome(one)
        person = await rig.store.people.find("rest", NUMBER)
        assert person is not None

        await rig.store.people.erase(person.id, at=rig.clock.now())
        left = shown(tmp_path, NUMBER)
        assert await rig.store.people.hide_erased(at=rig.clock.now())

        assert "inbox.lane" in left
        assert shown(tmp_path, NUMBER) == []
        assert damage(rig) == []
