"""The tool `send_message` on a real store: once, to whom it may, and told to the chat; W27, J5, J8, J9."""

import json
from pathlib import Path

import pytest

from hermes.control.why import explain
from hermes.message.parts import TextPart
from hermes.ports.outbox import DeliveryRecord
from tests.contract.journal.rig import Rig, open_rig

ADMINS = {"APPROVALS__ADMINS": '["rest:root"]'}
HOME = {"PLATFORMS__PUSH__ENABLED": "true", "PLATFORMS__PUSH__HOME_CHANNEL": "lobby:7"}


def sending(target: str, text: str = "dinner is ready") -> str:
    """Return a message that makes the scripted model send one."""
    arguments = json.dumps({"target": target, "text": text})
    return f"please send it [[tool:send_message {arguments}]]"


async def sent(rig: Rig, message_id: str) -> list[DeliveryRecord]:
    """Return what a message had sent beside its reply."""
    return [one for one in (await rig.timeline(message_id)).deliveries if one.purpose == "tool"]


async def said(rig: Rig, lane: str) -> list[tuple[str, str]]:
    """Return who said what in a session."""
    messages = (await rig.store.transcripts.history(lane, epoch=0, head=99)).messages
    return [(message.role, message.text) for message in messages]


async def settled(rig: Rig) -> None:
    """Let every message that stands on a lane come to its end."""
    await rig.until(lambda: rig.store.inbox.waiting() == 0)


@pytest.mark.req("W27", "J5")
async def test_w27_a_message_to_the_persons_own_chat_is_sent_and_told_to_that_chat(
    tmp_path: Path,
) -> None:
    async with open_rig(tmp_path, own_tools=True) as rig:
        await rig.answer("hello", chat="ann", platform="push")
        ann = await rig.store.people.find("push", "ann")
        assert ann is not None
        await rig.say("hi", chat="ann")
        await rig.store.users.link("rest", "ann", person_id=ann.id, at=1.0)

        message_id = await rig.say(sending("push:ann"))

        assert await rig.outcome(message_id) == "answered"
        await rig.until(lambda: rig.push.texts("ann")[-1:] == ["dinner is ready"])
        await settled(rig)
        (delivery,) = await sent(rig, message_id)
        assert (delivery.target.chat_id, delivery.parts) == ("ann", (TextPart("dinner is ready"),))
        assert await said(rig, rig.lane("ann", "push")) == [
            ("user", "hello"),
            ("assistant", "#1 hello"),
            ("assistant", "dinner is ready"),
        ]
        assert await rig.answer("thanks a lot", chat="ann", platform="push") == "#2 thanks a lot"
        assert rig.model.calls[-1].request.messages[2].text == "dinner is ready"


@pytest.mark.req("W27")
async def test_w27_a_platform_alone_is_the_persons_own_chat_where_no_home_is_named(
    tmp_path: Path,
) -> None:
    async with open_rig(tmp_path, own_tools=True) as rig:
        await rig.answer("hello", chat="ann", platform="push")

        message_id = await rig.say(sending("push"), chat="ann", platform="push")

        assert await rig.outcome(message_id) == "answered"
        assert [one.target.chat_id for one in await sent(rig, message_id)] == ["ann"]


@pytest.mark.req("W27", "J9")
async def test_w27_the_home_channel_of_a_platform_is_asked_for_first(tmp_path: Path) -> None:
    async with open_rig(tmp_path, own_tools=True, settings=HOME) as rig:
        message_id = await rig.say(sending("push"))

        assert await rig.outcome(message_id) == "parked"
        assert await sent(rig, message_id) == []
        await rig.answer("/approve")
        assert await rig.outcome(message_id) == "answered"
        (delivery,) = await sent(rig, message_id)
        assert (delivery.target.chat_id, delivery.target.thread_id) == ("lobby", "7")


@pytest.mark.req("W27", "J9")
async def test_w27_what_is_denied_is_not_sent_and_the_model_hears_it(tmp_path: Path) -> None:
    async with open_rig(tmp_path, own_tools=True, settings=HOME) as rig:
        message_id = await rig.say(sending("push"))
        assert await rig.outcome(message_id) == "parked"
        await rig.answer("/deny")

        assert await rig.outcome(message_id) == "answered"
        assert await sent(rig, message_id) == []
        result = await rig.store.inbox.result(message_id)
        assert result is not None
        assert "was not run" in result.text


@pytest.mark.req("W27", "J9")
async def test_w27_only_an_admin_lets_a_message_into_a_chat_of_somebody_else(
    tmp_path: Path,
) -> None:
    async with open_rig(tmp_path, own_tools=True, settings=ADMINS) as rig:
        await rig.answer("hello", chat="bob", platform="push")
        message_id = await rig.say(sending("push:bob", "boo"))
        assert await rig.outcome(message_id) == "parked"
        approval = await rig.store.approvals.waiting(rig.lane())
        assert approval is not None

        assert "only admins" in await rig.answer("/approve")
        assert await sent(rig, message_id) == []
        assert await rig.answer(f"/approve {approval.id}", chat="root") == "Approved."

        assert await rig.outcome(message_id) == "answered"
        await settled(rig)
        assert (await said(rig, rig.lane("bob", "push")))[-1] == ("assistant", "boo")


@pytest.mark.req("W27", "A13")
@pytest.mark.parametrize(
    ("target", "told"),
    [
        ("push:bob", "approvals.admins"),
        ("telegram:5", "there is no platform 'telegram'"),
        ("push", "no home channel"),
        ("rest:nobody", "nobody has written"),
        ("to my friend", "is not a delivery target"),
    ],
)
async def test_w27_what_cannot_be_reached_is_told_with_what_can(
    tmp_path: Path, target: str, told: str
) -> None:
    async with open_rig(tmp_path, own_tools=True) as rig:
        await rig.answer("hello", chat="bob", platform="push")

        message_id = await rig.say(sending(target))

        assert await rig.outcome(message_id) == "answered"
        assert await sent(rig, message_id) == []
        result = await rig.store.inbox.result(message_id)
        assert result is not None
        assert told in result.text
        assert result.text.count("bob") == result.text.count(target) * target.count("bob")


@pytest.mark.req("W27")
async def test_w27_an_error_names_the_persons_own_chats_and_no_others(tmp_path: Path) -> None:
    async with open_rig(tmp_path, own_tools=True) as rig:
        await rig.answer("hello", chat="bob", platform="push")
        reply = await rig.answer(sending("telegram"))

        assert "origin (this chat), rest:ann (the person's own), local (a file)" in reply


@pytest.mark.req("W27")
async def test_w27_a_chat_on_a_platform_that_is_no_longer_there_is_not_offered(
    tmp_path: Path,
) -> None:
    async with open_rig(tmp_path, own_tools=True) as rig:
        await rig.outcome(await rig.say("hello", platform="gone"))
        ann = await rig.store.people.find("gone", "ann")
        assert ann is not None
        await rig.say("hi")
        await rig.store.users.link("rest", "ann", person_id=ann.id, at=1.0)

        reply = await rig.answer(sending("telegram"))

        assert "origin (this chat), rest:ann (the person's own), local (a file)" in reply


@pytest.mark.req("W27")
async def test_w27_local_is_a_file_in_the_home_written_once_it_is_allowed(tmp_path: Path) -> None:
    async with open_rig(tmp_path, own_tools=True) as rig:
        message_id = await rig.say(sending("local", "# Notes"))
        assert await rig.outcome(message_id) == "parked"
        assert not (tmp_path / "delivered").exists()
        await rig.answer("/approve")

        assert await rig.outcome(message_id) == "answered"
        (file,) = (tmp_path / "delivered").iterdir()
        assert (file.read_text(), file.stat().st_mode & 0o777) == ("# Notes", 0o600)


@pytest.mark.req("W27", "J15")
async def test_w27_where_nothing_is_pushed_the_message_stands_in_the_conversation(
    tmp_path: Path,
) -> None:
    async with open_rig(tmp_path, own_tools=True) as rig:
        message_id = await rig.say(sending("origin", "psst"))
        assert await rig.outcome(message_id) == "answered"
        await settled(rig)

        assert (await said(rig, rig.lane()))[-1] == ("assistant", "psst")
        shown = await rig.store.transcripts.conversation(rig.lane(), limit=9)
        assert [one.result.text for one in shown.messages if one.result is not None][-1] == "psst"
        assert [one.state.value for one in await sent(rig, message_id)] == ["sent"]


@pytest.mark.req("J5", "W27")
async def test_j5_a_mirror_waits_for_the_turn_that_runs_in_its_chat(tmp_path: Path) -> None:
    async with open_rig(tmp_path, own_tools=True, settings=ADMINS) as rig:
        await rig.answer("hello", chat="root", platform="rest")
        running = await rig.say("[[hang]]", chat="root")
        await rig.until(lambda: len(rig.model.calls) == 2)
        message_id = await rig.say(sending("rest:root"), chat="ann")
        assert await rig.outcome(message_id) == "parked"
        approval = await rig.store.approvals.waiting(rig.lane())
        assert approval is not None
        await rig.answer(f"/approve {approval.id}", chat="root")
        assert await rig.outcome(message_id) == "answered"
        assert rig.store.inbox.waiting() == 2

        await rig.answer("/stop", chat="root")

        assert await rig.outcome(running) == "interrupted"
        await settled(rig)
        assert (await said(rig, rig.lane("root")))[-1] == ("assistant", "dinner is ready")


@pytest.mark.req("W21", "A10")
async def test_a_session_that_begins_with_a_mirror_knows_its_person(tmp_path: Path) -> None:
    async with open_rig(tmp_path, own_tools=True) as rig:
        await rig.answer("hello")
        ann = await rig.store.people.find("rest", "ann")
        assert ann is not None
        await rig.core.memory.facts.set(ann.id, "diet", value="vegan", source="test")
        await rig.answer("/new")
        await rig.answer("hello", chat="two", user="ann")
        await rig.answer(sending("rest:ann"), chat="two", user="ann")
        await settled(rig)

        await rig.answer("what do I eat?")

        request = rig.model.calls[-1].request
        assert [message.text for message in request.messages][:1] == ["dinner is ready"]
        assert any("vegan" in block for block in request.system)


@pytest.mark.req("W27", "J24")
async def test_why_tells_of_what_was_sent_without_its_words(tmp_path: Path) -> None:
    async with open_rig(tmp_path, own_tools=True) as rig:
        message_id = await rig.say(sending("origin", "psst"))
        await rig.outcome(message_id)
        report = await explain(rig.store, message_id, now=rig.clock.now(), include_text=False)

        assert "psst" not in str(report)
