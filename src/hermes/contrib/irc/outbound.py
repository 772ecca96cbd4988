"""Converts replies to IRC lines, and the server's refusals to delivery errors. Pure."""

import re
from typing import Final

import msgspec

from hermes.contrib.irc.format import clean
from hermes.contrib.irc.inbound import IrcIdentity
from hermes.contrib.irc.line_cuts import payloads_of, read_markup, room_for
from hermes.contrib.irc.wire import IrcLine, fold
from hermes.errors import DeliveryError, DeliveryRejected, FailureClass, NotDelivered
from hermes.message.markup.dialect import TextRun
from hermes.message.markup.marks import Marks
from hermes.message.parts import AudioPart, FilePart, ImagePart, text_of
from hermes.ports.channel import Delivery

_TARGET: Final = re.compile(r"[^\x00-\x20,:@!$][^\x00-\x20,]{0,99}")
_ACTION: Final = "/me "
_ACTION_AROUND: Final = len("\x01ACTION \x01")
_WAIT: Final = re.compile(r"(\d{1,5}(?:\.\d{1,3})?)\s*s")
_WORDS: Final = 200

# Permanent refusals: the reason, and what helps.
_FOR_GOOD: Final = {
    "401": (FailureClass.INVALID_RECIPIENT, "nobody has that nick now"),
    "402": (FailureClass.INVALID_RECIPIENT, "there is no such server"),
    "403": (FailureClass.INVALID_RECIPIENT, "there is no such channel"),
    "404": (FailureClass.REJECTED, "join the channel, or have the bot voiced or unbanned there"),
    "406": (FailureClass.INVALID_RECIPIENT, "nobody ever had that nick"),
    "407": (FailureClass.INVALID_RECIPIENT, "the target is not one nick or one channel"),
    "411": (FailureClass.INVALID_RECIPIENT, "there is no recipient"),
    "412": (FailureClass.REJECTED, "the text is empty"),
    "413": (FailureClass.INVALID_RECIPIENT, "the target is a mask"),
    "414": (FailureClass.INVALID_RECIPIENT, "the target is a mask"),
    "417": (FailureClass.REJECTED, "the line is too long"),
    "442": (FailureClass.INVALID_RECIPIENT, "add the channel to platforms.irc.channels"),
    "477": (FailureClass.UNAUTHORIZED, "the bot has to be signed in: set sasl_user"),
    "481": (FailureClass.REJECTED, "only operators of the server may"),
    "482": (FailureClass.REJECTED, "only operators of the channel may"),
    "486": (FailureClass.UNAUTHORIZED, "the bot has to be signed in: set sasl_user"),
    "489": (FailureClass.REJECTED, "the bot needs a voice there"),
    "492": (FailureClass.REJECTED, "the server blocks such text"),
    "502": (FailureClass.REJECTED, "it belongs to another user"),
    "531": (FailureClass.REJECTED, "the person does not accept messages from the bot"),
    "716": (FailureClass.REJECTED, "the person accepts messages only from people they know"),
}
_TOO_OFTEN: Final = frozenset({"263", "439", "707"})
_NOT_NOW: Final = frozenset({"437"})
# These do not name their target.
_NAMELESS: Final = frozenset({"411", "412", "417", "263"})
REFUSALS: Final = frozenset(_FOR_GOOD) | _TOO_OFTEN | _NOT_NOW


class IrcMessage(msgspec.Struct, frozen=True, kw_only=True):
    """The lines of one delivery to one target."""

    target: str
    payloads: tuple[str, ...]


def check_target(target: str) -> str:
    """Return a nick or a channel that a message can be sent to; raise if it is not valid.

    A comma would name several targets, and `$` a whole server.
    """
    if _TARGET.fullmatch(target) is None:
        raise DeliveryRejected(
            f"irc: expected a nick or a channel such as #hermes, found {target[:60]!r}",
            FailureClass.INVALID_RECIPIENT,
        )
    return target


def letter_of(delivery: Delivery, target: str, *, me: IrcIdentity, marks: Marks) -> IrcMessage:
    """Return the lines of a delivery; raise for an attachment that has no address."""
    room = room_for(check_target(target), nick=me.nick, prefix=me.prefix)
    text = text_of(delivery.parts)
    is_action = text.startswith(_ACTION) and "\n" not in text.strip()
    lines = read_markup(text.removeprefix(_ACTION) if is_action else text, marks)
    lines += [[TextRun(clean(address))] for address in _addresses(delivery)]
    payloads = payloads_of(lines, marks, room - _ACTION_AROUND if is_action else room)
    if is_action:
        payloads = tuple(f"\x01ACTION {payload}\x01" for payload in payloads)
    if not payloads:
        raise DeliveryRejected(
            "irc: the message is empty, and IRC has no empty messages",
            FailureClass.REJECTED,
        )
    return IrcMessage(target=target, payloads=payloads)


def _addresses(delivery: Delivery) -> list[str]:
    """Return the addresses of attachments, which is all that IRC can show."""
    found: list[str] = []
    for part in delivery.parts:
        if not isinstance(part, ImagePart | AudioPart | FilePart):
            continue
        if part.media.url is None:
            raise DeliveryRejected(
                "irc: a file cannot be sent, only its address, and it has none",
                FailureClass.REJECTED,
            )
        found.append(f"{part.media.name or 'file'}: {part.media.url}")
    return found


def is_about(line: IrcLine, target: str, me: IrcIdentity) -> bool:
    """Return whether a refusal is about a message to `target`."""
    named = line.at(2) if line.command == "FAIL" else line.at(1)
    is_same = fold(named, me.mapping) == fold(target, me.mapping)
    return is_same or line.command in _NAMELESS


def refusal_of(line: IrcLine, target: str) -> DeliveryError:
    """Return the delivery error of a refusal of a message to `target`."""
    told = f"irc: {target[:60]} was refused ({line.command}: {line.last[:_WORDS]})"
    if line.command in _TOO_OFTEN:
        wait = _WAIT.search(line.last)
        return NotDelivered(
            f"{told}; it will be sent again later",
            FailureClass.RATE_LIMITED,
            retry_after=float(wait.group(1)) if wait else None,
        )
    if line.command in _NOT_NOW:
        return NotDelivered(
            f"{told}; it will be sent again later", FailureClass.SERVICE_UNAVAILABLE
        )
    failure, hint = _FOR_GOOD.get(
        line.command, (FailureClass.REJECTED, "correct the cause and replay the dead letter")
    )
    return DeliveryRejected(f"{told}; {hint}", failure)
