"""Who gets an answer: a platform's rules about the sender, the chat, and who let the sender in.

Pure. People are identified by the platform's own ids; a display name decides nothing. Requests
between agents inside Hermes always pass.
"""

from collections.abc import Mapping
from typing import Literal

import msgspec

from hermes.config import PlatformAccess, Settings
from hermes.message.channel_name import of_channel
from hermes.message.source import Source
from hermes.ports.people import ChannelAccess, Unknown

Verdict = Literal["in", "blocked", "pair", "signup", "tell", "ignore"]
InGroups = Literal["tell", "ignore", "allow"]
_GROUPS: Mapping[Unknown, InGroups] = {
    "pair": "tell",
    "signup": "tell",
    "ignore": "ignore",
    "allow": "allow",
}


class Admission(msgspec.Struct, frozen=True):
    """Whether a message is answered, and the rule that decided it."""

    verdict: Verdict
    rule: str

    @property
    def is_in(self) -> bool:
        """Whether it is answered."""
        return self.verdict == "in"


class PlatformRules(msgspec.Struct, frozen=True, kw_only=True):
    """The rules of one platform, with all defaults filled in."""

    platform: str
    unknown: Unknown = "allow"
    groups: InGroups = "allow"
    allow_all: bool = False
    allow_from: frozenset[str] = frozenset()
    group_allow_from: frozenset[str] = frozenset()
    allowed_chats: frozenset[str] = frozenset()
    signup_text: str = ""

    @property
    def is_open(self) -> bool:
        """Whether everyone is answered in every chat."""
        if self.allowed_chats:
            return False
        return self.allow_all or (self.unknown == "allow" and self.groups == "allow")


def platform_rules(platform: str, settings: Settings, *, manifest: Unknown) -> PlatformRules:
    """Return the rules of a platform; `manifest` is its channel's default for strangers."""
    access = of_channel(settings.access.platforms, platform) or PlatformAccess()
    listed = settings.channels.get(platform)
    extra = {} if listed is None else listed.extra
    allow_from = frozenset((*access.allow_from, *_ids(extra, "allowed_users")))
    group_allow_from = frozenset(access.group_allow_from)
    has_list = bool(allow_from or group_allow_from)
    unknown = access.unknown or ("pair" if has_list and manifest == "allow" else manifest)
    return PlatformRules(
        platform=platform,
        unknown=unknown,
        groups=access.groups or _GROUPS[unknown],
        allow_all=access.allow_all or settings.access.allow_all,
        allow_from=allow_from,
        group_allow_from=group_allow_from,
        allowed_chats=frozenset((*access.allowed_chats, *_ids(extra, "allowed_chats"))),
        signup_text=access.signup_text,
    )


def admit(source: Source, channel_access: ChannelAccess, *, rules: PlatformRules) -> Admission:
    """Decide whether a sender is answered in a chat."""
    if channel_access.is_blocked:
        return Admission("blocked", "the person is blocked (`hermes users show` says since when)")
    is_direct = source.chat_type == "dm"
    is_listed_chat = bool(rules.allowed_chats & {source.chat_id, source.parent_chat_id})
    if not is_direct and rules.allowed_chats and not is_listed_chat:
        return Admission("ignore", f"{_key(rules)}.allowed_chats does not name the chat")
    let_in = _let_in(source, channel_access, rules=rules)
    if let_in is not None:
        return Admission("in", let_in)
    if not is_direct and is_listed_chat and not rules.group_allow_from:
        return Admission("in", f"{_key(rules)}.allowed_chats")
    if is_direct:
        verdict: Verdict = "in" if rules.unknown == "allow" else rules.unknown
        return Admission(verdict, f"{_key(rules)}.unknown is {rules.unknown}")
    verdict = "in" if rules.groups == "allow" else rules.groups
    return Admission(verdict, f"{_key(rules)}.groups is {rules.groups}")


def is_vouched_for(
    source: Source, *, is_active: bool, rules: PlatformRules, manifest: Unknown
) -> bool:
    """Return whether somebody let this sender in, rather than everyone.

    Where the channel's manifest lets strangers in, callers have authenticated to the gateway.
    """
    return is_active or source.user_id in rules.allow_from or manifest == "allow"


def _let_in(source: Source, channel_access: ChannelAccess, *, rules: PlatformRules) -> str | None:
    """Return the rule that admits the sender everywhere; None if there is none."""
    if rules.allow_all:
        return "access.allow_all"
    if source.user_id in rules.allow_from:
        return f"{_key(rules)}.allow_from"
    if source.chat_type != "dm" and source.user_id in rules.group_allow_from:
        return f"{_key(rules)}.group_allow_from"
    return "the channel was admitted" if channel_access.is_active else None


def _key(rules: PlatformRules) -> str:
    return f"access.platforms.{rules.platform}"


def _ids(extra: Mapping[str, object], name: str) -> tuple[str, ...]:
    """Return a list of ids from a platform's own settings, which config stores as text."""
    found = extra.get(name, ())
    return tuple(map(str, found)) if isinstance(found, tuple) else ()
