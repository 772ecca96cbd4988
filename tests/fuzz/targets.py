"""Every reader of what strangers send: it gives something, or one of Hermes' own refusals.

Used by `make fuzz` with coverage-guided bytes, and by the tests with a few.
"""

from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

import msgspec

from hermes.channel_kit.bodies import decode as decode_body
from hermes.channel_kit.bodies import decode_form
from hermes.channel_kit.opcode_gateway import GatewayFrame
from hermes.channel_kit.proof import check_proof
from hermes.channels.discord.gateway import gateway_wire
from hermes.channels.discord.inbound import Me as DiscordMe
from hermes.channels.discord.inbound import interaction_event as discord_interaction
from hermes.channels.discord.inbound import message_event as discord_message
from hermes.channels.discord.inbound import reaction_event as discord_reaction
from hermes.channels.discord.wire import WireChannel as DiscordPlace
from hermes.channels.discord.wire import WireInteraction as DiscordInteraction
from hermes.channels.discord.wire import WireMessage as DiscordMessage
from hermes.channels.discord.wire import WireReaction as DiscordReaction
from hermes.channels.email.addresses import MailAddress
from hermes.channels.email.bounces import Bounce
from hermes.channels.email.client import MailConnection
from hermes.channels.email.folders import read_fields
from hermes.channels.email.imap import Imap, ImapRefusal
from hermes.channels.email.inbound import IgnoredMail, MailReadRules, read_mail
from hermes.channels.email.inbound import to_event as mail_event
from hermes.channels.matrix.inbound import Bot, EventRoom
from hermes.channels.matrix.inbound import to_event as matrix_event
from hermes.channels.matrix.wire import read_event, read_page, read_sync
from hermes.channels.meta.inbound import CallReader, read_whatsapp
from hermes.channels.meta.pages import read_pages
from hermes.channels.rest.inbound import read_message, source_of
from hermes.channels.rest.inbound import to_event as rest_event
from hermes.channels.slack.inbound import (
    SlackIdentity,
    arrived_of,
    command_event,
    interaction_event,
    message_event,
    people_of,
    reaction_event,
)
from hermes.channels.slack.wire import (
    Frame,
    WireCall,
    WireCommand,
    WireInteraction,
    WireMessage,
    WirePosted,
    WireReaction,
    decode,
    decode_event,
    read_form,
)
from hermes.channels.sms.inbound import consent_of, status_of
from hermes.channels.sms.inbound import to_event as sms_event
from hermes.channels.telegram.inbound import migration_of, read_update
from hermes.channels.telegram.inbound import to_events as telegram_events
from hermes.channels.telegram.wire import User
from hermes.channels.web import inbound as web_inbound
from hermes.channels.webhook.inbound import SignedCall, proof_of, signed_call
from hermes.channels.webhook.inbound import to_event as webhook_event
from hermes.channels.webhook.settings import Route
from hermes.contrib.irc.inbound import IrcIdentity as IrcMe
from hermes.contrib.irc.inbound import message_event as irc_event
from hermes.contrib.irc.roster import NickRoster
from hermes.contrib.irc.settings import IrcSettings
from hermes.contrib.irc.sign_in import IrcSignIn
from hermes.contrib.irc.wire import read_line
from hermes.errors import AnswerLost, ConfigurationError, NetError, Refused
from hermes.message.event import MessageEvent
from hermes.message.ids import make_id
from hermes.message.markup.parse import parse
from hermes.message.markup.split import split
from hermes.message.markup.write import write
from hermes.plugins.manifest import load_manifest
from hermes.ports.channel import HttpRequest

_BOT = User(id=1, is_bot=True, first_name="bot", username="b")
_SLACK_ROW = load_manifest("hermes.channels.slack").rows.webhook
_PROOFS = load_manifest("hermes.channels.webhook").rows.proofs
_SECRET = "a secret of some length"
_ROUTE = Route(secret=_SECRET, prompt="{a.b[0]} {event} {body}")
_SCHEMES = ("standard", "github", "gitlab", "hmac")
_SLACK = SlackIdentity(user_id="U0BOT", bot_id="B0BOT", team_id="T1", account="a")
_MAILBOX = MailReadRules(own=MailAddress(local="hermes", domain="example.org"), authserv_id=None)
_CHECKED = msgspec.structs.replace(_MAILBOX, authserv_id="mx.example.org")
_IRC = IrcMe(nick="hermes", names=("hermes",), connection="c", since=0.0)
_NETWORK = IrcSettings(
    server="irc.example.org", port=6697, tls=True, sasl_user="hermes", sasl_password=_SECRET
)
_HOOK = load_manifest("hermes.channels.telegram").webhook
assert _HOOK is not None
assert _HOOK.proof is not None
_TELEGRAM = _HOOK.proof
_META = CallReader(platform="whatsapp", account="a", own_id="", now=1.0)
_SMALLEST = 40
_DISCORD = DiscordMe(user_id="1", application_id="2", account="a")
_DISCORD_PLACE = DiscordPlace(id="3", guild_id="4")


def telegram(data: bytes) -> None:
    """Read an update."""
    update = read_update(data)
    migration_of(update)
    for event in telegram_events(update, bot=_BOT, account="a", now=1.0, raw=msgspec.Raw(data)):
        _keep(event)


def discord(data: bytes) -> None:
    """Read a frame of the gateway and what it holds, and an interaction that comes by HTTP."""
    for reader in (_discord_frame, _discord_interaction, _discord_message, _discord_reaction):
        try:
            reader(data)
        except Refused:
            continue


def _discord_frame(data: bytes) -> None:
    # The address alone is asked for; nothing that is read here needs the API.
    wire = gateway_wire(None, token="t", user_id="1", reads_content=True, events=frozenset({"X"}))  # type: ignore[arg-type]
    wire.read(data)
    held = bytes(decode_body(data, GatewayFrame, platform="discord").d)
    for reader in (_discord_interaction, _discord_message, _discord_reaction):
        try:
            reader(held)
        except Refused:
            continue


def _discord_message(data: bytes) -> None:
    found = decode_body(data, DiscordMessage, platform="discord")
    raw = msgspec.Raw(b"{}")
    _keep(discord_message(found, me=_DISCORD, place=_DISCORD_PLACE, now=1.0, raw=raw))


def _discord_interaction(data: bytes) -> None:
    found = decode_body(data, DiscordInteraction, platform="discord")
    _keep(discord_interaction(found, me=_DISCORD, place=_DISCORD_PLACE, now=1.0, handle=None))


def _discord_reaction(data: bytes) -> None:
    found = decode_body(data, DiscordReaction, platform="discord")
    event = discord_reaction(
        found, me=_DISCORD, place=_DISCORD_PLACE, is_removed=False, name="r1", now=1.0
    )
    _keep(event)


def slack(data: bytes) -> None:
    """Read an event, an envelope of the socket, a slash command and what was pressed."""
    for reader in (_slack_message, _slack_call, _slack_frame, _slack_form):
        try:
            reader(data)
        except Refused:
            continue


def _slack_message(data: bytes) -> None:
    found = decode_event(data)
    if isinstance(found, WireMessage):
        names = dict.fromkeys(people_of(found, _SLACK), "Ada")
        _keep(message_event(found, _SLACK, names=names, followed=(), raw=data))
    elif isinstance(found, WireReaction):
        _keep(reaction_event(found, _SLACK, raw=data))
    if isinstance(found, WireMessage | WirePosted):
        arrived_of(found)


def _slack_call(data: bytes) -> None:
    call = decode(data, WireCall)
    if bytes(call.event):
        _slack_message(bytes(call.event))


def _slack_frame(data: bytes) -> None:
    frame = decode(data, Frame)
    payload = bytes(frame.payload)
    if frame.type == "events_api":
        _slack_call(payload)
    elif frame.type == "slash_commands":
        _slack_pressed(decode(payload, WireCommand), payload)
    elif frame.type == "interactive":
        _slack_pressed(decode(payload, WireInteraction), payload)


def _slack_form(data: bytes) -> None:
    _slack_pressed(read_form(data), b"")


def _slack_pressed(found: WireCommand | WireInteraction, raw: bytes) -> None:
    if isinstance(found, WireCommand):
        _keep(command_event(found, _SLACK, at=1.0, raw=raw))
    else:
        _keep(interaction_event(found, _SLACK, at=1.0, raw=raw))


def matrix(data: bytes) -> None:
    """Read a sync, a page of history and one event."""
    for reader in (read_sync, read_page, _matrix_message):
        try:
            reader(data)
        except Refused:
            continue


def _matrix_message(data: bytes) -> None:
    place = EventRoom(room_id="!r:b", is_direct=False, user_name="Ada")
    bot = Bot("@hermes:b", "Hermes")
    _keep(matrix_event(read_event(data), place, bot=bot, account="a", now=1.0, quoted=None))


def webhook(data: bytes) -> None:
    """Read the body of a generic webhook."""
    signed = SignedCall("1", "push")
    _keep(webhook_event("r", _ROUTE, signed=signed, body=data, external_id="1", at=1.0))


def signatures(data: bytes) -> None:
    """Check the headers of a webhook, by every scheme; headers stand before the body as in HTTP."""
    head, _, body = data.partition(b"\r\n\r\n")
    lines = (line.partition(":") for line in head.decode("latin-1").split("\r\n"))
    headers = {name.strip().lower(): value.strip() for name, _, value in lines}
    call = HttpRequest(method="POST", path="/", query={}, headers=headers, body=body)
    for scheme in _SCHEMES:
        route = msgspec.structs.replace(_ROUTE, scheme=scheme)
        _refusing(partial(check_proof, proof_of(route, _PROOFS), call, secret=_SECRET, now=1.0))
        _refusing(partial(signed_call, route, call))
    assert _SLACK_ROW is not None
    assert _SLACK_ROW.proof is not None
    _refusing(partial(check_proof, _SLACK_ROW.proof, call, secret=_SECRET, now=1.0))
    _refusing(partial(check_proof, _TELEGRAM, call, secret=_SECRET, now=1.0))


def _refusing(check: Callable[[], object]) -> None:
    try:
        check()
    except Refused:
        return


def email(data: bytes) -> None:
    """Read a mail, by a server that checks senders and by one that does not, and its headers."""
    _refusing(lambda: read_mail(data, reading=_CHECKED, fallback_id="1-1@uid"))
    _refusing(lambda: read_fields(data))
    mail = read_mail(data, reading=_MAILBOX, fallback_id="1-1@uid")
    if isinstance(mail, Bounce):
        _ = mail.returned
    elif not isinstance(mail, IgnoredMail):
        _keep(mail_event(mail, account="a", at=1.0, fallback_id="1-1@uid", media=()))


class _Recording(MailConnection):
    """A connection on which the server has already said everything."""

    def __init__(self, said: bytes) -> None:
        self._said = said

    async def line(self, timeout_s: float | None = None) -> bytes:
        line, end, self._said = self._said.partition(b"\n")
        if not end:
            raise AnswerLost("the recording is over")
        return line.rstrip(b"\r\n")

    async def exactly(self, size: int) -> bytes:
        if size > len(self._said):
            raise AnswerLost("the recording is over")
        found, self._said = self._said[:size], self._said[size:]
        return found

    async def write(self, data: bytes) -> None:
        """Nobody listens."""


def imap(data: bytes) -> None:
    """Read what an IMAP server answers to everything that a mailbox asks."""
    try:
        _at_once(_ask(Imap(_Recording(data))))
    except (NetError, ImapRefusal):
        return


async def _ask(server: Imap) -> None:
    await server.select("INBOX")
    for uid in (*await server.search("UNSEEN"), 7):
        await server.letter(uid)
        await server.fetch(uid, limit=1000)


def _at_once(coroutine: Coroutine[Any, Any, None]) -> None:
    """Run what never waits, without a loop."""
    try:
        coroutine.send(None)
    except StopIteration:
        return
    raise AssertionError("it waits for something")


def irc(data: bytes) -> None:
    """Read lines of an IRC server, while signing in and after it."""
    roster, signing_in = NickRoster(), IrcSignIn(_NETWORK)
    for number, raw in enumerate(data.split(b"\n")):
        line = read_line(raw)
        if line is None:
            continue
        roster.saw(line)
        if line.command == "NICK":
            roster.renamed(line)
        _keep(irc_event(line, _IRC, roster=roster, number=number, now=1.0))
        try:
            signing_in.take(line)
        except (NetError, ConfigurationError):
            signing_in = IrcSignIn(_NETWORK)


def web(data: bytes) -> None:
    """Read what the browser's chat sends."""
    _refusing(lambda: web_inbound.read_stop(data))
    _refusing(lambda: web_inbound.read_token(data, is_form=False))
    web_inbound.read_token(data, is_form=True)
    _keep(web_inbound.to_event(web_inbound.read_message(data), user="owner", now=1.0))


def rest(data: bytes) -> None:
    """Read a message of the REST API."""
    message = read_message(data)
    source = source_of(message.sender or "key", message.context, shared=message.shared)
    _keep(rest_event(message, source=source, now=1.0, make_id=make_id))


def meta(data: bytes) -> None:
    """Read a call of WhatsApp's webhook, and one of Messenger's."""
    for read in (read_whatsapp, read_pages):
        try:
            found = read(data, _META)
        except Refused:
            continue
        for heard in found.heard:
            _keep(heard.event)


def sms(data: bytes) -> None:
    """Read a message or a status of Twilio's."""
    fields = decode_form(data, platform="twilio")
    consent_of(fields)
    if status_of(fields) is None:
        _keep(sms_event(fields, account="a", own_numbers=frozenset(), now=1.0))


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
    "discord": discord,
    "slack": slack,
    "matrix": matrix,
    "meta": meta,
    "sms": sms,
    "email": email,
    "imap": imap,
    "irc": irc,
    "webhook": webhook,
    "signatures": signatures,
    "rest": rest,
    "web": web,
    "markup": markup,
}


def try_one(name: str, data: bytes) -> None:
    """Give one input to one reader; anything but a refusal leaves as it is."""
    try:
        TARGETS[name](data)
    except Refused:
        return
