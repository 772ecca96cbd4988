"""Where the reply to an event goes, and under which name."""

from hermes.config import DisplaySettings
from hermes.message.channel_name import of_channel
from hermes.message.event import MessageEvent
from hermes.ports.channel import Target
from hermes.texts.languages import ENGLISH
from hermes.texts.say import spoken


def target_of(event: MessageEvent) -> Target:
    """Return the chat that the event came from, for a reply in the language of the moment."""
    source, language = event.source, spoken()
    return Target(
        platform=source.platform,
        account=event.account,
        chat_id=source.chat_id,
        thread_id=source.thread_id,
        reply_to=event.external_id,
        group=source.chat_type != "dm",
        language="" if language == ENGLISH else language,
    )


def vanish_after(display: DisplaySettings, platform: str) -> float:
    """Return after how many seconds a notice of the moment is taken back; 0 if it stays."""
    chosen = of_channel(display.vanish_platforms, platform)
    return display.vanish_s if chosen is None else chosen


def reply_id(message_id: str) -> str:
    """Return the one id of a message's reply, from its first preview to its last retry."""
    return "o_" + message_id.partition("_")[2]


def notice_id(message_id: str) -> str:
    """Return the id of a notice that is sent before a message's reply."""
    return reply_id(message_id) + "_n"
