"""Decides which group messages are for the bot: mentions, chats in which it reads all, and other
bots.

Pure. The channel says whether a message mentions the bot; `people.access` decides who gets answers
at all.
"""

from collections.abc import Mapping
from typing import Literal

import msgspec

from hermes.config import PlatformAccess, Settings
from hermes.message.channel_name import of_channel
from hermes.message.event import MessageEvent

Hearing = Literal["turn", "context", "nothing"]
Bots = Literal["ignore", "addressed", "all"]


class GroupVerdict(msgspec.Struct, frozen=True):
    """What happens to a message, and the rule that decided it."""

    hearing: Hearing
    rule: str = ""


class GroupRules(msgspec.Struct, frozen=True, kw_only=True):
    """The rules of one platform; `bot_turns` limits bot messages in a row (0: no limit)."""

    platform: str
    require_mention: bool = True
    free_chats: frozenset[str] = frozenset()
    bots: Bots = "ignore"
    bot_turns: int = 3


TURN = GroupVerdict("turn")


def group_rules(platform: str, access: Mapping[str, PlatformAccess]) -> GroupRules:
    """Return the rules of a platform."""
    chosen = of_channel(access, platform) or PlatformAccess()
    return GroupRules(
        platform=platform,
        require_mention=chosen.require_mention,
        free_chats=frozenset(chosen.free_chats),
        bots=chosen.bots,
        bot_turns=chosen.bot_turns,
    )


def hear(event: MessageEvent, rules: GroupRules) -> GroupVerdict:
    """Decide whether a message is answered, kept as context, or ignored."""
    source = event.source
    key = f"access.platforms.{rules.platform}"
    if source.is_bot and rules.bots == "ignore":
        return GroupVerdict("nothing", f"messages of bots are ignored ({key}.bots)")
    if event.addressed or source.chat_type == "dm":
        return TURN
    if source.is_bot and rules.bots == "addressed":
        return GroupVerdict("context", f"a bot has to mention me ({key}.bots)")
    if not rules.require_mention or rules.free_chats & {source.chat_id, source.parent_chat_id}:
        return TURN
    return GroupVerdict(
        "context", f"it is in a group and does not mention me ({key}.require_mention)"
    )


class Groups:
    """The rules of every platform of a gateway."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._rules: dict[str, GroupRules] = {}

    def hear(self, event: MessageEvent) -> GroupVerdict:
        """Decide about a message; one from a person to the bot costs nothing."""
        if (event.addressed and not event.source.is_bot) or event.internal:
            return TURN
        return hear(event, self.of(event.source.platform))

    def of(self, platform: str) -> GroupRules:
        """Return the rules of a platform."""
        rules = self._rules.get(platform)
        if rules is None:
            rules = group_rules(platform, self._settings.access.platforms)
            self._rules[platform] = rules
        return rules
