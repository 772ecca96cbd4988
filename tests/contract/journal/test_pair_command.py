"""W31, J9: admins are told of pairing codes in their chat, and let people in with a press or a word."""

import re
from pathlib import Path

import msgspec
import pytest

from hermes.message.event import MessageEvent
from hermes.message.parts import TextPart
from hermes.message.source import Source
from hermes.ports.channel import Buttons, Capabilities
from hermes.testing.memory_channel import MemoryChannel
from tests.contract.journal.rig import PUSH, Rig, open_rig

ABLE = msgspec.structs.replace(
    PUSH, unknown="pair", buttons=Buttons(most=5, label_chars=20, value_bytes=64)
)
SETTINGS = {
    "ACCESS__PLATFORMS__PUSH__COMMANDS__DM__ADMINS": '["root"]',
    "ACCESS__PLATFORMS__PUSH__ALLOW_FROM": '["root"]',
    "ACCESS__PAIRING__TELL_ADMINS": "true",
}


def platform(able: Capabilities = ABLE) -> MemoryChannel:
    return MemoryChannel(able, name="push")


async def knock(rig: Rig, user: str = "eve") -> None:
    """Let the admin be known, and a stranger ask."""
    await rig.answer("hello", chat="root", platform="push")
    await rig.answer("hello", chat=user, platform="push", user_name="Eve")


async def notice(rig: Rig) -> str:
    """Wait for what the admin is told; return the post's id."""

    def found() -> list[str]:
        posts = rig.push.posts.values()
        return [one.id for one in posts if one.chat == "root" and "wants to be let in" in one.text]

    await rig.as_time_passes(lambda: bool(found()))
    (post,) = found()
    return post


@pytest.mark.req("W31")
async def test_an_admin_lets_a_stranger_in_with_a_press(tmp_path: Path) -> None:
    async with open_rig(tmp_path, push=platform(), settings=SETTINGS) as rig:
        await knock(rig)
        post = rig.push.posts[await notice(rig)]
        assert post.text.startswith("Eve (push:eve) wants to be let in, with the code ")
        assert [one.label for one in post.choices] == ["Let in", "Refuse"]

        others = await rig.press(post.choices[0].value, user="eve", chat="root")
        assert await rig.outcome(others) == "refused"
        pressed = await rig.press(post.choices[0].value, user="root")
        await rig.outcome(pressed)

        result = await rig.store.inbox.result(pressed)
        assert result is not None
        assert result.text == "push:eve is let in."
        assert "hello again" in await rig.answer("hello again", chat="eve", platform="push")
        await rig.as_time_passes(lambda: not rig.push.posts[post.id].choices)
        assert rig.push.posts[post.id].text.endswith("→ Let in")


@pytest.mark.req("W31")
async def test_an_admin_refuses_and_wrong_words_do_nothing(tmp_path: Path) -> None:
    async with open_rig(tmp_path, push=platform(), settings=SETTINGS) as rig:
        await knock(rig)
        await notice(rig)

        async def say(text: str) -> str:
            return await rig.answer(text, chat="root", platform="push")

        assert "Write /pair PLATFORM CODE" in await say("/pair")
        assert await say("/pair push nonsense") == "'nonsense' is not a pairing code."
        assert "Nobody on push waits" in await say("/pair push AAAA-AAAA")
        assert await say("/pair deny push:eve") == (
            "push:eve is refused: the code is no longer valid."
        )
        assert await say("/pair deny push:eve") == "push:eve does not wait to be let in."


@pytest.mark.req("W31")
async def test_by_default_no_admin_is_told_and_nobody_else_may_pair(tmp_path: Path) -> None:
    settings = {**SETTINGS, "ACCESS__PAIRING__TELL_ADMINS": "false"}
    able = msgspec.structs.replace(ABLE, unknown="allow")
    (tmp_path / "quiet").mkdir()
    (tmp_path / "open").mkdir()
    async with open_rig(tmp_path / "quiet", push=platform(), settings=settings) as rig:
        await knock(rig)
        await rig.as_time_passes(lambda: len(rig.push.posts) == 2)
        assert len(rig.push.texts("root")) == 1
    open_to_all = {"ACCESS__PLATFORMS__PUSH__ALLOW_ALL": "true"}
    async with open_rig(tmp_path / "open", push=platform(able), settings=open_to_all) as rig:
        told = await rig.answer("/pair push AAAA-AAAA", chat="eve", platform="push")
        assert "it is for admins" in told


@pytest.mark.req("W31")
async def test_an_admin_lets_nobody_in_on_another_platform_unless_they_are_admin_there_too(
    tmp_path: Path,
) -> None:
    settings = {
        **SETTINGS,
        "ACCESS__PLATFORMS__REST__UNKNOWN": "pair",
        "ACCESS__PLATFORMS__REST__COMMANDS__DM__ADMINS": '["ada"]',
    }
    async with open_rig(tmp_path, push=platform(), settings=settings) as rig:
        # given a stranger on another platform
        await rig.answer("hello", chat="root", platform="push")
        told = await rig.answer("hello", chat="eve")
        code = re.findall(r"[A-Z0-9]{4}-[A-Z0-9]{4}", told)[0]

        async def say(text: str) -> str:
            return await rig.answer(text, chat="root", platform="push")

        # when an admin tries, and once more after they are known there, too
        refused = [await say(f"/pair rest {code}"), await say("/pair deny rest:eve")]
        root = await rig.store.people.find("push", "root")
        assert root is not None
        ada = await rig.store.users.add("rest", "ada", name=None, at=rig.clock.now())
        await rig.store.users.link("rest", "ada", person_id=root.id, at=rig.clock.now())

        text = "You are no admin of rest: only its own admins, and the owner, let people in there."
        assert refused == [text, text]
        assert ada != root.id
        assert await say(f"/pair rest {code}") == "rest:eve is let in."
        assert not [one for one in rig.push.texts("root") if "wants to be let in" in one]


@pytest.mark.req("W31")
async def test_a_channel_is_told_whose_messages_are_a_strangers(tmp_path: Path) -> None:
    async with open_rig(tmp_path, push=platform(), settings=SETTINGS) as rig:
        told = {}
        for user in ("root", "eve"):
            event = MessageEvent(
                account="default",
                route="api",
                external_id=user,
                source=Source(platform="push", chat_id=user, user_id=user),
                parts=(TextPart("/model fast"),),
                at=rig.clock.now(),
            )
            accepted = await rig.core.inbox.accept(event)
            await rig.outcome(accepted.message_id)
            told[user] = accepted.is_stranger

        assert told == {"root": False, "eve": True}
