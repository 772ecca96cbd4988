"""Who may use which chat command, by platform and by direct chat or group.

Pure. If commands are not restricted, everyone may use them. If they are, everyone may still use
`help` and `whoami` to find out what they may do.
"""

from typing import Literal

import msgspec

from hermes.config import AccessSettings, CommandSettings, PlatformAccess
from hermes.message.channel_name import of_channel, platform_of
from hermes.message.source import Source
from hermes.ports.people import User

Scope = Literal["dm", "group"]
ALWAYS = frozenset({"help", "whoami"})
_OPEN = PlatformAccess()


class CommandPlace(msgspec.Struct, frozen=True):
    """Where a command was written."""

    platform: str
    scope: Scope


def where_of(source: Source) -> CommandPlace:
    """Return where a message was written; everything but a direct chat is a group."""
    return CommandPlace(source.platform, "dm" if source.chat_type == "dm" else "group")


def is_named_admin(who: str, *, where: CommandPlace, settings: AccessSettings) -> bool:
    """Return whether the configuration names a user id as an admin there."""
    return who in _rules(where, settings).admins


def may_let_in(user: User, platform: str, settings: AccessSettings) -> bool:
    """Return whether a person may let others in on a platform: the owner, and its own admins."""
    admins = {
        who
        for name, rules in settings.platforms.items()
        if platform_of(name) == platform
        for who in (*rules.commands.dm.admins, *rules.commands.group.admins)
    }
    own = (one.user_id for one in user.channels if platform_of(one.platform) == platform)
    return user.state == "owner" or not admins.isdisjoint(own)


def may_use(command: str, who: str, *, where: CommandPlace, settings: AccessSettings) -> bool:
    """Return whether a user id may use a command there, such as `stop`."""
    rules = _rules(where, settings)
    if not _is_gated(rules) or who in rules.admins or command in ALWAYS:
        return True
    return command in {_bare(name) for name in (*rules.allowed, *rules.people.get(who, ()))}


def _rules(where: CommandPlace, settings: AccessSettings) -> CommandSettings:
    scopes = (of_channel(settings.platforms, where.platform) or _OPEN).commands
    return scopes.dm if where.scope == "dm" else scopes.group


def _is_gated(rules: CommandSettings) -> bool:
    return bool(rules.admins) if rules.gated is None else rules.gated


def _bare(name: str) -> str:
    return name.removeprefix("/").lower()
