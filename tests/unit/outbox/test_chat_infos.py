"""What platforms say about chats: asked once in a while, and never waited for long."""

import msgspec

from hermes.outbox.chat_infos import ChatInfos, shown_chat
from hermes.ports.channel import Capabilities, ChatInfo, Target
from hermes.testing.manual_time import ManualClock
from hermes.testing.memory_channel import MemoryChannel

LAB = ChatInfo(chat_id="c1", chat_type="group", name="lab", topic="bees", members=12)
TARGET = Target(platform="memory", account="a", chat_id="c1")


def asked(channel: MemoryChannel) -> int:
    return sum(verb == "chat_info" for verb, _ in channel.calls)


async def test_a_chat_is_asked_for_once_an_hour() -> None:
    clock, channel = ManualClock(), MemoryChannel(Capabilities(delivery="push"))
    channel.infos["c1"] = LAB
    infos = ChatInfos({"memory": channel}, clock=clock)

    assert [await infos.get(TARGET), await infos.get(TARGET)] == [LAB, LAB]
    assert asked(channel) == 1

    channel.infos["c1"] = msgspec.structs.replace(LAB, topic="wasps")
    clock.advance(3_601.0)
    renewed = await infos.get(TARGET)
    assert renewed is not None
    assert (renewed.topic, asked(channel)) == ("wasps", 2)


async def test_what_is_not_known_is_not_asked_again_at_once() -> None:
    clock, channel = ManualClock(), MemoryChannel(Capabilities(delivery="push"))
    infos = ChatInfos({"memory": channel}, clock=clock)

    assert [await infos.get(TARGET), await infos.get(TARGET)] == [None, None]
    assert asked(channel) == 1
    clock.advance(301.0)
    channel.infos["c1"] = LAB
    assert await infos.get(TARGET) == LAB


async def test_a_platform_that_is_not_connected_is_not_asked() -> None:
    assert await ChatInfos({}, clock=ManualClock()).get(TARGET) is None


def test_a_chat_is_told_in_a_few_words() -> None:
    one = msgspec.structs.replace(LAB, name=None, members=1)
    assert [shown_chat(LAB), shown_chat(one)] == ["lab (group, 12 members)", "c1 (group, 1 member)"]
