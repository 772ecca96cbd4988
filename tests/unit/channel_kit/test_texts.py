"""How a channel writes and measures Markdown by the dialect of its manifest."""

import msgspec

from hermes.channel_kit.texts import ChannelTexts
from hermes.ports.channel import Capabilities
from hermes.testing.setup_channel import channel_setup

SETTINGS = {"bot_token": "t"}


async def test_a_text_is_written_in_the_dialect_and_measured_as_it_is_written() -> None:
    texts = ChannelTexts(channel_setup("hermes.channels.discord", SETTINGS))

    written = await texts.written("*Grüße*")

    assert (written, texts.measure("*Grüße*")) == ("_Grüße_", 7)


async def test_a_platform_that_counts_bytes_is_measured_in_bytes() -> None:
    setup = channel_setup("hermes.channels.discord", SETTINGS)
    in_bytes = Capabilities(delivery="push", unit="bytes")
    texts = ChannelTexts(msgspec.structs.replace(setup, capabilities=in_bytes))

    assert texts.measure("Grüße") == 7


async def test_words_that_markdown_hides_are_shown_and_mark_nothing() -> None:
    texts = ChannelTexts(channel_setup("hermes.channels.discord", SETTINGS))

    written = await texts.written("[@everyone]: http://example.com")

    assert written == "\\[@\u200beveryone\\]: http://example.com"
