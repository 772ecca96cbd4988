"""Every reader of what strangers send: it gives something, or one of Hermes' own refusals.

Used by `make fuzz` with coverage-guided bytes, and by the tests with a few.
"""

from collections.abc import Callable

import msgspec

from hermes.channels.matrix.inbound import Bot, Place
from hermes.channels.matrix.inbound import to_event as matrix_event
from hermes.channels.matrix.wire import read_event, read_page, read_sync
from hermes.channels.rest.inbound import read_message
from hermes.channels.rest.inbound import to_event as rest_event
from hermes.channels.slack.inbound import Me, message_event, read_form
from hermes.channels.slack.wire import decode_message
from hermes.channels.telegram.inbound import read_update
from hermes.channels.telegram.inbound import to_event as telegram_event
from hermes.channels.telegram.wire import User
from hermes.channels.webhook.inbound import to_event as webhook_event
from hermes.channels.webhook.settings import Route
from hermes.channels.webhook.signatures import Signed
from hermes.errors import Refused
from hermes.message.event import MessageEvent
from hermes.message.ids import make_id
from hermes.message.markup.parse import parse
from hermes.message.markup.split import split
from hermes.message.markup.write import write

_BOT = User(id=1, is_bot=True, first_name="bot", username="b")
_ROUTE = Route(secret="a secret of some length", prompt="{a.b[0]} {event} {body}")
_SMALLEST = 40


def telegram(data: bytes) -> None:
    """Read an update."""
    event = telegram_event(read_update(data), bot=_BOT, account="a", now=1.0, raw=data)
    _keep(event)


def slack(data: bytes) -> None:
    """Read an event, a slash command and what was pressed."""
    for reader in (_slack_message, read_form):
        try:
            reader(data)
        except Refused:
            continue


def _slack_message(data: bytes) -> None:
    message = decode_message(data)
    if message is not None:
        me = Me(user_id="U0BOT", bot_id="B0BOT", team_id="T1", account="a")
        _keep(message_event(message, me, names={}, followed=()))


def matrix(data: bytes) -> None:
    """Read a sync, a page of history and one event."""
    for reader in (read_sync, read_page, _matrix_message):
        try:
            reader(data)
        except Refused:
            continue


def _matrix_message(data: bytes) -> None:
    place = Place(room_id="!r:b", is_direct=False, user_name="Ada")
    bot = Bot("@hermes:b", "Hermes")
    _keep(matrix_event(read_event(data), place, bot=bot, account="a", now=1.0, quoted=None))


def webhook(data: bytes) -> None:
    """Read the body of a generic webhook."""
    signed = Signed("1", "push")
    _keep(webhook_event("r", _ROUTE, signed=signed, body=data, external_id="1", at=1.0))


def rest(data: bytes) -> None:
    """Read a message of the REST API."""
    _keep(rest_event(read_message(data), now=1.0, make_id=make_id))


def markup(data: bytes) -> None:
    """Read, write and split formatted text; nothing is refused here."""
    text = data.decode(errors="replace")
    document = parse(text)
    if parse(write(document)) != document:
        raise AssertionError(f"writing changed it: {text!r}")
    for chunk in split(text, limit=_SMALLEST):
        if len(chunk) > _SMALLEST:
            raise AssertionError(f"a chunk of {len(chunk)}: {text!r}")


def _keep(event: MessageEvent | None) -> None:
    """Write the event as the inbox does."""
    if event is not None:
        msgspec.json.encode(event)


TARGETS: dict[str, Callable[[bytes], None]] = {
    "telegram": telegram,
    "slack": slack,
    "matrix": matrix,
    "webhook": webhook,
    "rest": rest,
    "markup": markup,
}


def try_one(name: str, data: bytes) -> None:
    """Give one input to one reader; anything but a refusal leaves as it is."""
    try:
        TARGETS[name](data)
    except Refused:
        return
