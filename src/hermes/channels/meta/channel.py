"""WhatsApp, Instagram and Messenger: signed webhooks in, the Graph API out.

Fits `PushChannel`, `GlancingChannel`, `LiveChannel`, `ProbingChannel`, `MediaChannel`, `TypingChannel`,
`MeasuringChannel` and, for WhatsApp, `ReactingChannel`. What the platforms have of their own is their
wire: `outbound.WhatsAppWire` and `pages.PageWire`.
"""

from collections.abc import Sequence
from typing import Final

import msgspec

from hermes.channel_kit.account_life import AccountLife
from hermes.channel_kit.attachments import load_attachment
from hermes.channel_kit.bounded_map import BoundedMap
from hermes.channel_kit.kept_map import KeptMap
from hermes.channel_kit.known_ids import KnownIds
from hermes.channel_kit.late_proof import tell_arrived, tell_returned
from hermes.channel_kit.multipart import UploadPart
from hermes.channel_kit.reply_window import ReplyWindow
from hermes.channel_kit.texts import ChannelTexts
from hermes.channel_kit.webhook_door import WebhookDoor, keep_all
from hermes.channels.meta.client import GraphApi, Json
from hermes.channels.meta.inbound import (
    CallReader,
    HeardMessage,
    IdChange,
    canonical_id,
    is_scoped,
    scoped_of,
)
from hermes.channels.meta.outbound import WhatsAppWire
from hermes.channels.meta.pages import PageWire
from hermes.channels.meta.settings import MetaAccount, read_account
from hermes.errors import DeliveryRejected, FailureClass
from hermes.message.event import MessageEvent
from hermes.message.parts import AudioPart, FilePart, ImagePart, Media, choices_of, text_of
from hermes.ports.channel import Accept, Delivery, HttpRequest, ReactionName, Receipt, Target
from hermes.ports.channel_setup import ChannelSetup

_WINDOW_S: Final = 86_400.0
_MOST_CHATS: Final = 10_000
_MOST_MOVED: Final = 200_000
_MOST_CHANGES: Final = 10_000
_DONE: Final = "done"
_LAST_S: Final = 3600.0

Wire = WhatsAppWire | PageWire


class MetaChannel:
    """One account."""

    def __init__(self, setup: ChannelSetup, account: MetaAccount, wire: Wire) -> None:
        self.name = setup.name
        self.capabilities = setup.capabilities
        self._setup = setup
        self._account = account
        self._wire = wire
        self._texts = ChannelTexts(setup)
        self._own_id = ""
        self._ids = KnownIds(setup.state)
        # Which changes of numbers were told, and where those who have changed theirs are written to.
        self._changes = KeptMap(setup.state, "changed/", most=_MOST_CHANGES)
        self._moved = KeptMap(setup.state, "moved/", most=_MOST_MOVED)
        self._window = ReplyWindow(
            setup.state, platform=setup.name, lasts_s=_WINDOW_S, clock=setup.clock
        )
        self._last: BoundedMap[str, str] = BoundedMap(
            _MOST_CHATS, lasts_s=_LAST_S, clock=setup.clock
        )
        door = WebhookDoor.of(setup, self._take, row=account.webhook)
        life = AccountLife(setup, door, credential=account.credential, check=self._check)
        self._api = GraphApi(setup, account, on_refused=life.refused)
        self.connect, self.disconnect = life.connect, life.disconnect
        self.lost, self.probe = life.lost, life.probe
        self.glance, self.webhook = door.glance, door.answer
        self.measure = self._texts.measure

    async def _check(self) -> None:
        self._own_id = self._wire.own_id(await self._api.check())

    async def _take(self, request: HttpRequest, accept: Accept) -> None:
        reader = CallReader(
            platform=self._account.platform,
            account=self._setup.account,
            own_id=self._own_id,
            now=self._setup.clock.now(),
        )
        call = self._wire.read(request.body, reader)
        for proof in call.proofs:
            if proof.failed:
                await tell_returned(self._setup, proof.key, code=proof.failed)
            else:
                await tell_arrived(self._setup, proof.key, message_id=proof.message_id)
        for change in call.changes:
            await self._change(change)
        await keep_all([await self._known(heard) for heard in call.heard], accept)

    async def _change(self, change: IdChange) -> None:
        """Follow a person to their new number; whoever gets the old one is somebody else."""
        old, new = change.before[0], change.after[0]
        known = await self._changes.get(change.id)
        if known == _DONE:
            # By now the numbers may be those of others.
            return
        person = known or await self._ids.of(change.before, own=scoped_of(change.before))
        await self._changes.put(change.id, person)
        if old in change.after or not (old.isdecimal() and new.isdecimal()):
            await self._learn([one for one in change.after if one != old], person)
        else:
            left = f"{old}@{change.at}"
            await self._learn(change.after, person)
            await self._ids.give(old, left)
            await self._moved.put(left, old)
            await self._moved.put(person, new)
        await self._changes.put(change.id, _DONE)

    async def _learn(self, ids: Sequence[str], person: str) -> None:
        for one in ids:
            await self._ids.give(one, person, is_own=is_scoped(one))

    async def _place(self, target: Target) -> str:
        """Return where a person is written to: by their own id, if their number is somebody else's now."""
        chat_id = canonical_id(target.chat_id)
        place = await self._moved.get(chat_id) or chat_id
        if is_scoped(place) or await self._ids.holder(place) in (None, chat_id):
            return place
        own = await self._ids.own_of(chat_id)
        if own is None:
            raise DeliveryRejected(
                f"{self.name}: the number of this chat belongs to somebody else now, and no other "
                "id of the person is known; they are answered once they write again",
                FailureClass.REJECTED,
            )
        return own

    async def _known(self, heard: HeardMessage) -> MessageEvent:
        """Return a message under the one id of its person, who can be answered from now on."""
        event, source = heard.event, heard.event.source
        person = await self._ids.of(heard.ids, own=scoped_of(heard.ids), at=event.at)
        await self._window.heard(person, at=event.at)
        self._last.put(person, event.external_id)
        others = [one for one in heard.ids if one != person]
        alt = others[0] if others else None
        source = msgspec.structs.replace(source, chat_id=person, user_id=person, user_id_alt=alt)
        return msgspec.structs.replace(event, source=source)

    async def send(self, delivery: Delivery) -> Receipt:
        """Send one message; raises a `DeliveryError` subclass that says what is known."""
        chat_id, key = canonical_id(delivery.target.chat_id), delivery.key
        text, place = text_of(delivery.parts), await self._place(delivery.target)
        if await self._window.is_closed(chat_id):
            late = (
                self._wire.late(place, await self._texts.written(text), key=key) if text else None
            )
            if late is None:
                raise self._window.closed(self._wire.late_hint)
            return await self._api.send(late, receipt=self._wire.receipt)
        for part in delivery.parts:
            if isinstance(part, ImagePart | AudioPart | FilePart):
                is_voice = isinstance(part, AudioPart) and part.is_voice
                body = await self._file(place, part.media, is_voice=is_voice, key=key)
                return await self._api.send(body, receipt=self._wire.receipt)
        choices = choices_of(delivery.parts)
        body = self._wire.text(place, await self._texts.written(text), choices, key=key)
        return await self._api.send(body, receipt=self._wire.receipt)

    async def _file(self, chat_id: str, media: Media, *, is_voice: bool, key: str) -> Json:
        """Upload an attachment, which nobody sees yet; return the message with it."""
        loaded = await load_attachment(self._setup, media)
        kind = loaded.kind
        part = UploadPart(name=media.name or kind, data=loaded.data, mime=media.mime)
        fields = self._wire.upload_fields(kind, media.mime)
        file_id = await self._api.upload(
            self._wire.upload, fields, part, answer=self._wire.upload_answer
        )
        return self._wire.file(chat_id, kind, file_id, media=media, is_voice=is_voice, key=key)

    async def typing(self, target: Target) -> None:
        """Show that the last message was read and is being answered."""
        chat_id = canonical_id(target.chat_id)
        body = self._wire.working(chat_id, self._last.get(chat_id) or "")
        if body is not None:
            await self._api.post(body)

    async def react(self, target: Target, platform_message_id: str, name: ReactionName) -> None:
        """React to a message, in place of the reaction before."""
        emoji, place = self._setup.rows.reactions.get(name, ""), await self._place(target)
        body = self._wire.reaction(place, platform_message_id, emoji)
        if body is not None:
            await self._api.post(body)

    async def fetch(self, media: Media, *, limit: int) -> bytes:
        """Return the bytes of an attachment, from Meta's own hosts only."""
        return await self._api.download(media.ref or "", limit=limit)


def make_whatsapp(setup: ChannelSetup) -> MetaChannel:
    """Return the channel of a WhatsApp number."""
    account = read_account(setup)
    return MetaChannel(setup, account, WhatsAppWire(account))


def make_instagram(setup: ChannelSetup) -> MetaChannel:
    """Return the channel of a professional account of Instagram."""
    account = read_account(setup)
    return MetaChannel(setup, account, PageWire(account))


def make_messenger(setup: ChannelSetup) -> MetaChannel:
    """Return the channel of a page on Messenger."""
    return make_instagram(setup)
