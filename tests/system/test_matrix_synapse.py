"""Matrix on a real homeserver: a real gateway process, real clients, kills and restarts."""

import asyncio
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import quote

import aiohttp
import pytest

from hermes.channels.matrix.encrypted_rooms import NOTICE
from hermes.errors import ConfigurationError
from hermes.message.parts import ImagePart, TextPart
from hermes.ports.channel import Delivery, Target
from tests.system.live import live_gateway, model_server, with_model
from tests.system.matrix_rig import picture
from tests.system.real_synapse import Person, Synapse
from tests.system.synapse_rig import OnSynapse

pytestmark = pytest.mark.timeout(300)
# The scripted model takes its time over it, and repeats it.
SLOWLY = "[[deltas:12]][[gap:0.2]] a long story that is told slowly"
CAT, DOG = picture(1), picture(2)


@pytest.fixture
async def ada(synapse: Synapse, session: aiohttp.ClientSession) -> Person:
    return await synapse.register(session, "ada")


@pytest.fixture
async def model() -> AsyncIterator[str]:
    async with model_server() as url:
        yield url


def variables(synapse: Synapse, bot: Person, model: str, **more: str) -> dict[str, str]:
    return {
        **with_model(model),
        "MATRIX_HOMESERVER": synapse.url,
        "MATRIX_ACCESS_TOKEN": bot.token,
        "HERMES_MATRIX__JOIN": "all",
        "HERMES_ACCESS__ALLOW_ALL": "true",
        **more,
    }


@pytest.fixture
async def rig(tmp_path: Path, synapse: Synapse, bot: Person) -> AsyncIterator[OnSynapse]:
    made = OnSynapse(tmp_path, synapse, bot)
    yield made
    await made.close()


@pytest.mark.req("A2", "W9", "W19", "W30")
@pytest.mark.quality("real server")
async def test_people_are_answered_in_direct_chats_rooms_and_threads(
    tmp_path: Path,
    synapse: Synapse,
    ada: Person,
    bot: Person,
    session: aiohttp.ClientSession,
    model,
) -> None:
    eve = await synapse.register(session, "eve")
    async with live_gateway(tmp_path / "home", variables(synapse, bot, model)):
        direct = await ada.open_room(bot.user_id, is_direct=True)
        await ada.say(direct, "hello")
        await ada.until(direct, bot.user_id, "#1 hello")

        room = await ada.open_room(bot.user_id, eve.user_id)
        await eve.join(room)
        root = await ada.say(room, "the weather is fine")
        await ada.say(room, f"{bot.user_id} are you there?")
        # What was said before it was named is told to the model, which repeats it here.
        await ada.until_last(room, bot.user_id, ends="> [Ada] the weather is fine")

        threaded = {"rel_type": "m.thread", "event_id": root}
        await eve.say(room, "Hermes, what now?", **{"m.relates_to": threaded})
        heard = await ada.until_last(room, bot.user_id, ends="what now?")
        assert heard.relations[-1]["rel_type"] == "m.thread"
        assert heard.relations[-1]["event_id"] == root

        await ada.say(direct, SLOWLY)
        streamed = await ada.until(direct, bot.user_id, "#1 hello", f"#2 {SLOWLY}")
    assert len(streamed.edits) >= 2


@pytest.mark.req("J16", "J17", "A26")
@pytest.mark.parametrize("where", ["channel.send.after:1", "channel.edit.after:2"])
async def test_a_kill_in_the_middle_of_a_reply_leaves_exactly_one(
    tmp_path: Path, synapse: Synapse, ada: Person, bot: Person, model: str, where: str
) -> None:
    home = tmp_path / "home"
    room = await ada.open_room(bot.user_id, is_direct=True)
    kill = variables(synapse, bot, model, HERMES_FAILPOINTS=where)
    async with live_gateway(home, kill) as gateway:
        await ada.say(room, SLOWLY)
        async with asyncio.timeout(60):
            assert await gateway.process.wait() == -signal.SIGKILL
    assert len((await ada.heard(room, bot.user_id)).messages) == 1

    async with live_gateway(home, variables(synapse, bot, model)):
        await ada.until(room, bot.user_id, f"#1 {SLOWLY}")
        await ada.say(room, "barrier")
        await ada.until(room, bot.user_id, f"#1 {SLOWLY}", "#2 barrier")


@pytest.mark.req("W2", "J17")
async def test_a_restart_of_the_homeserver_loses_nothing(
    tmp_path: Path, synapse: Synapse, ada: Person, bot: Person, model: str
) -> None:
    async with live_gateway(tmp_path / "home", variables(synapse, bot, model)):
        room = await ada.open_room(bot.user_id, is_direct=True)
        await ada.say(room, "one")
        await ada.until(room, bot.user_id, "#1 one")

        synapse.stop()
        await synapse.start()
        await ada.say(room, "two")
        await ada.until(room, bot.user_id, "#1 one", "#2 two")


@pytest.mark.req("W2", "W10")
async def test_what_is_said_while_nobody_listens_is_taken_once_and_in_order(
    rig: OnSynapse, ada: Person, bot: Person
) -> None:
    channel = await rig.connected()
    room = await ada.open_room(bot.user_id, is_direct=True)
    await ada.say(room, "first")
    await rig.until("first")
    await channel.disconnect()
    said = [f"missed {number}" for number in range(130)]
    for text in said:
        await ada.say(room, text)

    again = await rig.connected()
    await rig.until("first", *said)
    await again.disconnect()
    await rig.change_place(since="no-token-at-all")
    await ada.say(room, "last")

    await rig.connected()
    await rig.until("first", *said, "last")


@pytest.mark.req("W10", "W17", "A26")
async def test_pictures_edits_and_deletions_stand_as_they_were_meant(
    rig: OnSynapse, ada: Person, bot: Person
) -> None:
    channel = await rig.connected()
    room = await ada.open_room(bot.user_id, is_direct=True)
    uri = await ada.upload(CAT, "image/png")
    picture = {"msgtype": "m.image", "url": uri, "filename": "cat.png", "body": "my cat"}
    await ada.put(room, {**picture, "info": {"mimetype": "image/png", "size": len(CAT)}})
    await rig.until("my cat")
    part = rig.events[0].parts[1]
    assert isinstance(part, ImagePart)
    assert await channel.fetch(part.media, limit=1000) == CAT

    target = Target(platform="matrix", account="default", chat_id=room)
    kept = await rig.media_cache.keep(DOG, mime="image/png", name="dog.png")
    await channel.send(Delivery(id="d", target=target, parts=(ImagePart(kept),), key="d.0"))
    text = Delivery(id="e", target=target, parts=(TextPart("**draft**"),), key="e/0 ?#")
    first = await channel.send(text)
    assert await channel.send(text) == first
    await channel.edit(target, first.platform_message_id, text="| a | b |\n|---|---|\n| 1 | 2 |")
    doomed = await channel.send(
        Delivery(id="f", target=target, parts=(TextPart("oops"),), key="f.0")
    )
    await channel.delete(target, doomed.platform_message_id)
    await channel.typing(target)
    await channel.probe()

    heard = await ada.heard(room, bot.user_id)
    sent, edited, deleted = heard.messages
    assert await ada.download(sent["content"]["url"]) == DOG
    assert edited["content"]["formatted_body"] == "<strong>draft</strong>"
    assert "<td>2</td>" in heard.edits[0]["content"]["m.new_content"]["formatted_body"]
    assert deleted["content"] == {}
    info = await channel.chat_info(target)
    assert (info.chat_type, info.members) == ("dm", 2)
    assert [entry.chat_id for entry in await channel.directory()] == [room]


@pytest.mark.req("W10")
async def test_a_reply_of_the_largest_size_that_is_declared_is_taken(
    rig: OnSynapse, ada: Person, bot: Person
) -> None:
    channel = await rig.connected()
    room = await ada.open_room(bot.user_id, is_direct=True)
    await ada.say(room, "hi")
    await rig.until("hi")
    line = '**漢字** `<&>` "quoted" & 👩‍👩‍👧 '
    text = line * (100 * channel.capabilities.max_chars // channel.measure(line * 101))
    assert 0.9 < channel.measure(text) / channel.capabilities.max_chars <= 1

    target = Target(platform="matrix", account="default", chat_id=room)
    sent = await channel.send(Delivery(id="d", target=target, parts=(TextPart(text),), key="d.0"))
    await channel.edit(target, sent.platform_message_id, text=text)

    heard = await ada.heard(room, bot.user_id)
    assert "formatted_body" in heard.edits[0]["content"]["m.new_content"]


@pytest.mark.req("W2", "W9")
async def test_encryption_is_answered_with_a_notice_and_a_lost_token_is_final(
    rig: OnSynapse, ada: Person, bot: Person
) -> None:
    channel = await rig.connected()
    room = await ada.open_room(bot.user_id, is_direct=True)
    path = f"rooms/{quote(room)}/state/m.room.encryption"
    await ada.call("PUT", path, {"algorithm": "m.megolm.v1.aes-sha2"})
    secret = {"algorithm": "m.megolm.v1.aes-sha2", "ciphertext": "AwgA", "session_id": "s"}
    await ada.put(room, secret, "m.room.encrypted")
    await ada.until(room, bot.user_id, NOTICE)

    await bot.call("POST", "logout")

    with pytest.raises(ConfigurationError, match="set a new one"):
        async with asyncio.timeout(60):
            await channel.lost()
