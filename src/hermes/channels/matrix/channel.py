"""The Matrix channel: receives a homeserver's sync stream, and sends events, idempotent by
transaction id.
"""

from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

import structlog

from hermes.channel_kit.attachments import read_attachment
from hermes.channel_kit.kept_map import KeptMap
from hermes.channel_kit.lifeline import Lifeline
from hermes.channels.matrix.client import Content, MatrixClient
from hermes.channels.matrix.encryption.attachments import seal, unseal
from hermes.channels.matrix.inbound import Bot, media_place
from hermes.channels.matrix.outbound import (
    check_size,
    edit_content,
    media_content,
    reaction_content,
    size_of,
    text_content,
    with_relation,
)
from hermes.channels.matrix.room_events import RoomEvents
from hermes.channels.matrix.rooms import RoomBook
from hermes.channels.matrix.settings import MatrixSettings, read_settings
from hermes.channels.matrix.sync_loop import SyncLoop
from hermes.channels.matrix.sync_state import SyncState, SyncStateKeeper
from hermes.errors import (
    BadRequest,
    ConfigurationError,
    DeliveryError,
    DeliveryRejected,
    FailureClass,
    NetError,
    Overloaded,
)
from hermes.lazy import lazy
from hermes.message.parts import AudioPart, FilePart, ImagePart, Media, text_of
from hermes.ports.channel import Accept, ChatInfo, Delivery, ReactionName, Receipt, Target
from hermes.ports.channel_setup import ChannelSetup
from hermes.ports.directory import ChatEntry

if TYPE_CHECKING:
    from hermes.channels.matrix.encryption.machine import Encryption

# The library of the ratchets is installed only where encrypted rooms are read.
make_encryption = lazy("hermes.channels.matrix.encryption.machine:Encryption")
_TYPING_S: Final = 20.0
_MOST_REACTED: Final = 1000
_Attached = ImagePart | AudioPart | FilePart
_log = structlog.get_logger(__name__)


class MatrixChannel:
    """One account on one homeserver; fits every ability of `ports.channel` but webhooks."""

    def __init__(self, setup: ChannelSetup, settings: MatrixSettings) -> None:
        self.name = setup.name
        self.capabilities = setup.capabilities
        self._setup = setup
        self._settings = settings
        self._client = MatrixClient(
            setup.client,
            settings.homeserver,
            rows=setup.rows,
            make_id=setup.make_id,
            on_revoked=self._credential_gone,
        )
        # Turns resumed after a restart fetch their pictures before the stream is open.
        self._client.token = settings.access_token or ""
        self._keeper = SyncStateKeeper(setup.state)
        self._reacted = KeptMap(setup.state, "reacted:", most=_MOST_REACTED)
        self._life = Lifeline(setup.name)
        self._encryption: Encryption | None = None
        self._events: RoomEvents | None = None
        self._sync_loop: SyncLoop | None = None
        self._user_id = ""
        self._typing: set[str] = set()

    async def connect(self, accept: Accept) -> None:
        """Sign in, load the rooms, and start receiving."""
        await self.disconnect()
        self._life.begin()
        kept = await self._sign_in(await self._keeper.load())
        bot = Bot(kept.user_id, await self._client.display_name(kept.user_id))
        await self._start_encryption(kept)
        events = RoomEvents(
            self._client,
            accept,
            bot=bot,
            setup=self._setup,
            kept=kept,
            encryption=self._encryption,
        )
        sync_loop = SyncLoop(
            self._client,
            events,
            settings=self._settings,
            keeper=self._keeper,
            kept=kept,
            clock=self._setup.clock,
            make_id=self._setup.make_id,
        )
        await sync_loop.look_around()
        self._events, self._sync_loop = events, sync_loop
        self._life.run(sync_loop.poll.run(), "stream")

    async def disconnect(self) -> None:
        """Stop receiving; replies can still be sent."""
        await self._life.close()

    async def lost(self) -> None:
        """Wait until the stream has ended; raise why."""
        await self._life.lost()

    async def probe(self) -> None:
        """Check that the account is still valid and that its stream works."""
        await self._client.whoami()
        if self._events is None or self._sync_loop is None:
            raise NetError("matrix: the stream was never open")
        if self._events.held is not None:
            raise Overloaded(f"matrix: messages are held back: {self._events.held}")
        self._sync_loop.poll.check_hears()
        if self._events.unreadable.problem is not None:
            raise BadRequest(self._events.unreadable.problem)

    @property
    def identity(self) -> str:
        """The key of this device, by which people verify it; empty without encryption."""
        if self._encryption is None:
            return ""
        shown = self._encryption.me.shown()
        by = "verified by its owner" if self._encryption.me.is_signed else "not verified"
        return f"device {shown['device']} ({by}), key {shown['key']}"

    def measure(self, text: str) -> int:
        """Return the bytes of both bodies of a text."""
        return size_of(text)

    async def send(self, delivery: Delivery) -> Receipt:
        """Send one message; its key is the transaction id."""
        target = delivery.target
        contents = [with_relation(one, target) for one in await self._contents(delivery)]
        if not contents:
            raise DeliveryRejected("matrix: there is nothing to send", FailureClass.REJECTED)
        for content in contents:
            check_size(content)
        sent = [
            await self._put(
                target.chat_id,
                content,
                txn=delivery.key if not number else f"{delivery.key}.{number}",
            )
            for number, content in enumerate(contents)
        ]
        await self._stop_typing(target.chat_id)
        return Receipt(sent[0])

    async def edit(self, target: Target, platform_message_id: str, *, text: str) -> None:
        """Replace the text of a message; repeating an edit changes nothing."""
        content = edit_content(text, platform_message_id)
        check_size(content)
        await self._put(target.chat_id, content, txn=self._setup.make_id("e"))

    async def delete(self, target: Target, platform_message_id: str) -> None:
        """Delete (redact) a message."""
        txn = f"redact.{platform_message_id}"
        await self._client.redact(target.chat_id, platform_message_id, txn=txn)

    async def react(self, target: Target, platform_message_id: str, name: ReactionName) -> None:
        """React to a message, in place of the bot's reaction before."""
        before = await self._reacted.get(platform_message_id) or ""
        if before:
            await self._client.redact(target.chat_id, before, txn=f"redact.{before}")
        sent = await self._client.put_event(
            target.chat_id,
            reaction_content(self._setup.rows.reactions[name], platform_message_id),
            txn=f"{name}.{platform_message_id}.{before}",
            kind="m.reaction",
        )
        await self._reacted.put(platform_message_id, sent)

    async def typing(self, target: Target) -> None:
        """Show the typing indicator."""
        await self._client.typing(target.chat_id, self._user_id, for_s=_TYPING_S)
        self._typing.add(target.chat_id)

    async def fetch(self, media: Media, *, limit: int) -> bytes:
        """Return the bytes behind an mxc address."""
        place = media_place(media.ref)
        if place is None:
            raise BadRequest("matrix: the attachment's reference is not an mxc address")
        server, media_id, secret = place
        data = await self._client.download(server, media_id, limit=limit)
        return unseal(data, secret) if secret else data

    async def chat_info(self, target: Target) -> ChatInfo:
        """Return what is known about a room that the bot is in."""
        room = None if self._book is None else self._book.get(target.chat_id)
        if self._book is None or room is None:
            raise DeliveryRejected(
                "matrix: the bot is not in this room; invite it", FailureClass.INVALID_RECIPIENT
            )
        return ChatInfo(
            chat_id=room.id,
            chat_type="dm" if self._book.is_direct(room.id) else "group",
            name=self._book.name_of(room.id),
            topic=room.topic or None,
            members=room.joined,
        )

    async def directory(self) -> tuple[ChatEntry, ...]:
        """Return the rooms that the bot is in, by their names."""
        joined = await self._client.joined_rooms()
        return tuple(self._entry(room_id, self._book) for room_id in joined)

    @property
    def _book(self) -> RoomBook | None:
        return None if self._events is None else self._events.book

    def _entry(self, room_id: str, book: RoomBook | None) -> ChatEntry:
        is_direct = book is not None and book.is_direct(room_id)
        return ChatEntry(
            platform=self.name,
            chat_id=room_id,
            kind="dm" if is_direct else "group",
            name=(book.name_of(room_id) if book is not None else None) or room_id,
            user_id=book.other_in(room_id) if book is not None and is_direct else None,
        )

    async def _sign_in(self, kept: SyncState) -> SyncState:
        """Sign in; return the stored state, if it belongs to the same account."""
        settings = self._settings
        if settings.access_token:
            self._client.token = settings.access_token
        else:
            self._client.token = ""
            found = await self._client.login(
                settings.user_id or "", settings.password or "", device_id=kept.device_id
            )
            self._client.token = str(found.get("access_token", ""))
        who = await self._client.whoami()
        user_id, device_id = str(who.get("user_id", "")), who.get("device_id")
        if settings.user_id and settings.user_id != user_id:
            raise ConfigurationError(
                f"platforms.matrix.user_id: the credential is that of {user_id}, expected "
                f"{settings.user_id}; correct one of them"
            )
        self._user_id = user_id
        same = kept if kept.user_id == user_id else SyncState(user_id=user_id)
        same.device_id = str(device_id) if device_id else None
        await self._keeper.save(same)
        return same

    def _credential_gone(self, is_soft: bool) -> None:
        """A revoked token is final; with a password the bot can sign in again."""
        if self._settings.access_token and not self._settings.password:
            expired = " (it has expired)" if is_soft else ""
            self._life.end(
                ConfigurationError(
                    "platforms.matrix.access_token: the homeserver no longer accepts it"
                    f"{expired}; sign in as the bot and set a new one"
                )
            )
        else:
            self._life.end(NetError("matrix: the bot was signed out; it signs in again"))

    async def _start_encryption(self, kept: SyncState) -> None:
        if not self._settings.encryption:
            return
        if not kept.device_id:
            raise ConfigurationError(
                "platforms.matrix.encryption: the access token belongs to no device; sign in as the bot "
                "and set a new access_token"
            )
        if find_spec("vodozemac") is None:
            raise ConfigurationError(
                "platforms.matrix.encryption: the package vodozemac is missing; run `pip install "
                "--require-hashes -r requirements/matrix.txt` in the environment of Hermes"
            )
        # One for all connections: a reply may be under way while the next one begins.
        if self._encryption is None:
            self._encryption = make_encryption(
                self._client,
                state=self._setup.state,
                clock=self._setup.clock,
                make_id=self._setup.make_id,
                password=self._settings.password or "",
            )
        await self._encryption.start(kept.user_id, kept.device_id)

    async def _put(self, room_id: str, content: Content, *, txn: str) -> str:
        """Send a message; in an encrypted room never in the clear."""
        if not await self._is_encrypted(room_id):
            return await self._client.put_event(room_id, content, txn=txn)
        if self._encryption is None:
            raise DeliveryRejected(
                "matrix: the room is end-to-end encrypted, and Hermes sends nothing there "
                "unencrypted; use a room without encryption, or set platforms.matrix.encryption",
                FailureClass.INVALID_RECIPIENT,
            )
        sealed = await self._encryption.encrypt(room_id, "m.room.message", content)
        return await self._client.put_event(room_id, sealed, txn=txn, kind="m.room.encrypted")

    async def _is_encrypted(self, room_id: str) -> bool:
        """Return whether a room is encrypted; the homeserver is asked about one that is not known."""
        room = None if self._book is None else self._book.get(room_id)
        return await self._client.is_encrypted(room_id) if room is None else room.is_encrypted

    async def _contents(self, delivery: Delivery) -> list[Content]:
        text = text_of(delivery.parts)
        said = [text_content(text)] if text.strip() else []
        attached = [part for part in delivery.parts if isinstance(part, _Attached)]
        is_sealed = await self._is_encrypted(delivery.target.chat_id)
        return [*said, *[await self._upload(part, is_sealed=is_sealed) for part in attached]]

    async def _upload(self, part: _Attached, *, is_sealed: bool) -> Content:
        media = part.media
        limit = self.capabilities.media_bytes
        data = await read_attachment(self._setup.media, media, limit=limit, platform="matrix")
        if not is_sealed:
            uri = await self._client.upload(data, mime=media.mime, name=media.name or "file")
            return media_content(part, media, uri=uri, size=len(data))
        sealed, file = seal(data)
        uri = await self._client.upload(sealed, mime="application/octet-stream", name="file")
        return media_content(part, media, uri=uri, size=len(data), file=file)

    async def _stop_typing(self, room_id: str) -> None:
        """Stop the typing indicator, which a message does not end; a failure only leaves it on
        longer.
        """
        if room_id not in self._typing:
            return
        self._typing.discard(room_id)
        try:
            await self._client.typing(room_id, self._user_id, for_s=0.0)
        except DeliveryError as error:
            _log.info("matrix.typing_failed", problem=str(error))


def make(setup: ChannelSetup) -> MatrixChannel:
    """Return the channel of the operator's account."""
    return MatrixChannel(setup, read_settings(setup.settings))
