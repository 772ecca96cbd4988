"""A reply is cut by what the platform counts, and marked as a repeat without breaking its form."""

import asyncio
import threading
from typing import Any

import pytest

from hermes.message.parts import TextPart, text_of
from hermes.outbox.channel_calls import ChannelCalls
from hermes.outbox.chunk_sends import compose
from hermes.outbox.marks import POSSIBLE_REPEAT
from hermes.ports.channel import Capabilities
from hermes.testing.memory_channel import MemoryChannel

pytestmark = pytest.mark.req("A26")

FLAGS = "🇩🇪" * 40


class Rendering(MemoryChannel):
    """A platform whose messages are twice as long as what was written."""

    def measure(self, text: str) -> int:
        return 2 * len(text)


class Noting(MemoryChannel):
    """A platform that notes in which threads its texts are measured."""

    def __init__(self, capabilities: Capabilities) -> None:
        super().__init__(capabilities)
        self.threads: set[int] = set()

    def measure(self, text: str) -> int:
        self.threads.add(threading.get_ident())
        return len(text)


class Faulty(MemoryChannel):
    """A platform whose measure fails."""

    def measure(self, text: str) -> int:
        raise RuntimeError(text)


def lengths(channel: MemoryChannel, text: str) -> list[int]:
    chunks = ChannelCalls(channel, timeout_s=1).chunks((TextPart(text),))
    return [len(text_of(chunk)) for chunk in chunks]


@pytest.mark.parametrize(
    ("unit", "expected"), [("chars", [80]), ("utf16", [40, 40]), ("bytes", [20, 20, 20, 20])]
)
def test_without_a_measure_the_unit_counts(unit: str, expected: list[int]) -> None:
    wanted = Capabilities(delivery="push", max_chars=100, unit=unit)  # type: ignore[arg-type]

    assert lengths(MemoryChannel(wanted), FLAGS) == expected


def test_the_channels_own_measure_counts() -> None:
    wanted = Capabilities(delivery="push", max_chars=100)

    assert lengths(MemoryChannel(wanted), "word " * 15 + "word") == [79]
    assert lengths(Rendering(wanted), "word " * 15 + "word") == [29, 29, 19]


@pytest.mark.parametrize(("words", "is_beside"), [(100, False), (20_000, True)])
async def test_a_long_text_is_split_while_other_chats_go_on(
    bench: Any, words: int, is_beside: bool
) -> None:
    channel = bench.channel = Noting(Capabilities(delivery="push", max_chars=4096))
    bench.reply("long", "word " * words)

    await bench.start()
    async with asyncio.timeout(20):
        while not channel.posts:  # noqa: ASYNC110 - a thread makes it true
            await asyncio.sleep(0)

    assert (threading.get_ident() not in channel.threads) is is_beside
    assert len(channel.threads) == 1


def test_a_measure_that_fails_is_replaced_by_the_unit() -> None:
    wanted = Capabilities(delivery="push", max_chars=100, unit="bytes")

    assert lengths(Faulty(wanted), FLAGS) == [20, 20, 20, 20]


@pytest.mark.parametrize(
    ("text", "marked"),
    [
        ("hello", "(possibly a repeat) hello"),
        ("#1 is no title", "(possibly a repeat) #1 is no title"),
        ("# Title", "(possibly a repeat)\n# Title"),
        ("- item", "(possibly a repeat)\n- item"),
        ("```\ncode\n```", "(possibly a repeat)\n```\ncode\n```"),
    ],
)
def test_a_repeat_says_so_and_keeps_its_form(record, text: str, marked: str) -> None:
    row = record(failure=POSSIBLE_REPEAT)

    assert text_of(compose(row, (TextPart(text),)).parts) == marked
