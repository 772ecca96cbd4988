"""Converts IRC lines to `MessageEvent`. Pure.

A message is named by its `msgid` if the server gives one. Otherwise it gets a unique name: IRC
repeats nothing, so two messages with the same text are two messages.
"""

import hashlib
import re
from datetime import datetime
from typing import Final

import msgspec

from hermes.contrib.irc.format import plain_of
from hermes.contrib.irc.roster import NickRoster
from hermes.contrib.irc.wire import IrcLine, fold
from hermes.message.event import NO_RAW, MessageEvent
from hermes.message.parts import TextPart
from hermes.message.source import Source

PLATFORM: Final = "irc"
ROUTE: Final = "connection"
_CTCP: Final = re.compile(r"\x01([A-Za-z]{1,20})(?: ([^\x01]*))?\x01?")
# A bouncer that plays back old messages gives their time; without a name they cannot be
# distinguished from answered ones.
_PLAYBACK_S: Final = 300.0
_MOST_ID: Final = 200
_COMMAND: Final = re.compile(r"/[A-Za-z]")
_SURROGATES: Final = re.compile("[\ud800-\udfff]")


class IrcIdentity(msgspec.Struct, frozen=True, kw_only=True):
    """The bot on this connection; `names` are all names that it answers to."""

    nick: str
    names: tuple[str, ...]
    connection: str
    since: float
    account: str = "default"
    mapping: str = "rfc1459"
    kinds: str = "#&"
    statuses: str = ""
    network: str | None = None
    prefix: str = ""

    def is_me(self, nick: str) -> bool:
        """Return whether a nick is the bot's."""
        return fold(nick, self.mapping) == fold(self.nick, self.mapping)

    def channel_of(self, target: str) -> str | None:
        """Return the channel that a message was sent to; None if it was sent to a nick."""
        bare = target.lstrip(self.statuses) if self.statuses else target
        return fold(bare, self.mapping) if bare and bare[0] in self.kinds else None


class Ctcp(msgspec.Struct, frozen=True):
    """A client-to-client request inside a message."""

    name: str
    text: str


def ctcp_of(line: IrcLine) -> Ctcp | None:
    """Return the request inside a message, if there is one."""
    found = _CTCP.fullmatch(line.at(1))
    if found is None:
        # Text that only begins like a request is not one for people either.
        return Ctcp("", "") if line.at(1).startswith("\x01") else None
    return Ctcp(found.group(1).upper(), found.group(2) or "")


def message_event(
    line: IrcLine, me: IrcIdentity, *, roster: NickRoster, number: int, now: float
) -> MessageEvent | None:
    """Return a message as an event; None if it must not be answered.

    A NOTICE is never answered, by IRC's own rule, so it is not an event.
    """
    is_message = line.command == "PRIVMSG" and len(line.params) > 1
    is_persons = bool(line.nick) and ("!" in line.prefix or "." not in line.prefix)
    if not is_message or not is_persons or me.is_me(line.nick):
        return None
    channel = me.channel_of(line.at(0))
    if channel is None and not me.is_me(line.at(0)):
        return None
    said = _said(line)
    sent_at = _time_of(line)
    if said is None or _is_old(line, me, sent_at=sent_at):
        return None
    text, is_named = without_name(said, me)
    if not text:
        return None
    return MessageEvent(
        account=me.account,
        route=ROUTE,
        external_id=_name_of(line, me, number=number),
        source=_source(line, me, roster=roster, channel=channel),
        parts=(TextPart(text),),
        at=now if sent_at is None else sent_at,
        type="command" if _COMMAND.match(text) else "text",
        addressed=channel is None or is_named,
        raw=_raw(line),
    )


def _source(line: IrcLine, me: IrcIdentity, *, roster: NickRoster, channel: str | None) -> Source:
    is_proven = roster.account_of(line) is not None
    return Source(
        platform=PLATFORM,
        chat_id=roster.chat_id(line) if channel is None else channel,
        chat_type="dm" if channel is None else "channel",
        chat_name=None if channel is None else channel,
        user_id=_text(roster.user_id(line)),
        user_name=_text(line.nick),
        user_id_alt=_text(line.prefix) if is_proven else None,
        is_bot="bot" in line.tags or "draft/bot" in line.tags,
        guild_id=me.network,
    )


def without_name(text: str, me: IrcIdentity) -> tuple[str, bool]:
    """Return a text without the bot's name in it, and whether it was there."""
    names = "|".join(re.escape(name) for name in sorted(me.names, key=len, reverse=True))
    edge = r"A-Za-z0-9\[\]\\`_^{|}\-"
    start = re.match(rf"\s*@?(?:{names})\s*[:,]\s*|\s*@(?:{names})(?![{edge}])\s*", text, re.I)
    rest = text if start is None else text[start.end() :]
    inner = re.compile(rf"(?<![{edge}@.])@(?:{names})(?![{edge}])", re.I)
    if inner.search(rest) is None:
        return rest.strip(), start is not None
    return re.sub(r"[ \t]{2,}", " ", inner.sub("", rest)).strip(), True


def _said(line: IrcLine) -> str | None:
    request = ctcp_of(line)
    if request is None:
        return _text(plain_of(line.at(1)))
    return f"* {line.nick} {_text(plain_of(request.text))}" if request.name == "ACTION" else None


def _time_of(line: IrcLine) -> float | None:
    try:
        read = datetime.fromisoformat(line.tags.get("time", ""))
        return read.timestamp() if read.tzinfo is not None else None
    except (ValueError, OverflowError, OSError):
        return None


def _is_old(line: IrcLine, me: IrcIdentity, *, sent_at: float | None) -> bool:
    has_name = bool(line.tags.get("msgid"))
    return not has_name and sent_at is not None and sent_at < me.since - _PLAYBACK_S


def _name_of(line: IrcLine, me: IrcIdentity, *, number: int) -> str:
    given = _text(line.tags.get("msgid", ""))
    if given and len(given) <= _MOST_ID:
        return given
    told = f"{me.connection}\0{line.tags.get('time', '')}\0{number}".encode("utf-8", "replace")
    return hashlib.sha256(told).hexdigest()[:40]


def _raw(line: IrcLine) -> msgspec.Raw:
    try:
        return msgspec.Raw(msgspec.json.encode(line))
    except (UnicodeEncodeError, msgspec.MsgspecError):
        return NO_RAW


def _text(text: str) -> str:
    return _SURROGATES.sub("\ufffd", text)
