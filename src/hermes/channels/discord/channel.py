"""The Discord channel: the gateway and, if a public key is set, HTTP interactions in; the HTTP API out.

Fits `PushChannel`, `WebhookChannel` and every optional ability but drafts and history. It verifies and
translates; retries, order and storage belong to the inbox and the outbox.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any, Final
from urllib.parse import quote

from hermes.channel_kit.account_life import AccountLife
from hermes.channel_kit.attachments import attachments_of, read_attachment
from hermes.channel_kit.bot_reactions import BotReactions
from hermes.channel_kit.multipart import UploadPart
from hermes.channel_kit.refusals import receipt_at
from hermes.channel_kit.texts import ChannelTexts
from hermes.channel_kit.webhook_door import WebhookDoor
from hermes.channels.discord.client import DiscordApi
from hermes.channels.discord.gateway import gateway_wire
from hermes.channels.discord.inbound import Me
from hermes.channels.discord.outbound import (
    PRIVATE,
    Json,
    channel_of,
    edited_body,
    entries_of,
    info_of,
    message_body,
    posted_body,
    reaction_path,
)
from hermes.channels.discord.receiver import GatewayReceiver
from hermes.channels.discord.wire import PLATFORM, WireChannel, WireNamed, WireUser
from hermes.errors import ConfigurationError, Overloaded
from hermes.message.parts import Media, text_of
from hermes.ports.channel import (
    Accept,
    ChatInfo,
    Delivery,
    HttpRequest,
    HttpResponse,
    ReactionName,
    Receipt,
    Target,
)
from hermes.ports.channel_setup import ChannelSetup
from hermes.ports.directory import ChatEntry

_NO_CALLS: Final = (
    "discord: interactions come in by the gateway here; set platforms.discord.public_key"
)
_GONE: Final = "10008"
# The application may read the words of messages, also before Discord has checked it.
_MAY_READ: Final = 1 << 18 | 1 << 19
_PAGE: Final = 200
Files = Mapping[str, UploadPart]


class DiscordChannel:
    """One bot on Discord."""

    def __init__(self, setup: ChannelSetup) -> None:
        self.name = setup.name
        self.capabilities = setup.capabilities
        self._setup = setup
        self._texts = ChannelTexts(setup)
        door = WebhookDoor.of(
            setup, self._called, unused="" if setup.settings["public_key"] else _NO_CALLS
        )
        self._life = AccountLife(setup, door, credential="bot_token", check=self._who_am_i)
        self._api = DiscordApi(setup, on_refused=self._life.refused)
        self._reactions = BotReactions(setup.rows.reactions, clock=setup.clock)
        self._receiver: GatewayReceiver | None = None
        self.disconnect, self.lost, self.probe = (
            self._life.disconnect,
            self._life.lost,
            self._life.probe,
        )
        self.glance, self.webhook, self.measure = door.glance, door.answer, self._texts.measure

    async def connect(self, accept: Accept) -> None:
        """Start receiving; return once the session has begun or goes on."""
        me = await self._life.start()
        receiver = GatewayReceiver(self._setup, self._api, me=me, accept=accept, life=self._life)
        wire = gateway_wire(
            self._api.gateway,
            token=self._setup.settings["bot_token"],
            user_id=me.user_id,
            reads_content=self._setup.settings["message_content"],
            events=receiver.events,
        )
        await self._life.open_socket(wire, receiver.take)
        self._receiver = receiver
        self._life.open_door(accept)

    async def _called(self, request: HttpRequest, accept: Accept) -> HttpResponse:
        if self._receiver is None:
            raise Overloaded("discord is not connected; send it again", retry_after=1.0)
        return await self._receiver.called(request, accept)

    async def _who_am_i(self) -> Me:
        user = await self._api.get("/users/@me", WireUser)
        application = await self._api.get("/applications/@me", WireNamed)
        if self._setup.settings["message_content"] and not application.flags & _MAY_READ:
            raise ConfigurationError(
                "discord: the bot may not read messages in servers: switch on 'Message Content Intent' "
                "under 'Bot' on the application's page, or set platforms.discord.message_content to "
                "false; then it reads direct messages and those that mention it"
            )
        return Me(user_id=user.id, application_id=application.id, account=self._setup.account)

    async def send(self, delivery: Delivery) -> Receipt:
        """Send one message; raises a `DeliveryError` subclass that says what is known."""
        files = await self._read_files(delivery)
        content = await self._texts.written(text_of(delivery.parts))
        body = message_body(delivery, content, files=[one.name for one in files.values()])
        if delivery.handle is not None:
            found = await self._answer_privately(delivery, body, files)
            return receipt_at(found, "id", platform=PLATFORM)
        path = f"/channels/{channel_of(delivery.target)}/messages"
        options = _as_sent(posted_body(delivery, body), files)
        found = await self._api.call("POST", path, limit=path, **options)
        return receipt_at(found, "id", platform=PLATFORM)

    async def _answer_privately(self, delivery: Delivery, body: Json, files: Files) -> Any:
        """Answer who used a command: its first message fills in the answer that was promised."""
        shown = "" if delivery.handle is None else delivery.handle.token
        application, _, token = shown.partition("/")
        api, hook = self._api.with_token(token), f"/webhooks/{application}/{quote(token, safe='')}"
        if delivery.key.endswith(".0"):
            return await api.call("PATCH", f"{hook}/messages/@original", **_as_sent(body, files))
        more = {**body, "flags": PRIVATE}
        return await api.call("POST", f"{hook}?wait=true", **_as_sent(more, files))

    async def _read_files(self, delivery: Delivery) -> Files:
        limit, found = self.capabilities.media_bytes, attachments_of(delivery.parts)
        files: dict[str, UploadPart] = {}
        for number, media in enumerate(found):
            data = await read_attachment(self._setup.media, media, limit=limit, platform=PLATFORM)
            name = media.name or f"file-{number}"
            files[f"files[{number}]"] = UploadPart(name=name, data=data, mime=media.mime)
        return files

    async def edit(self, target: Target, platform_message_id: str, *, text: str) -> None:
        """Replace the text of a message that was sent before; its buttons are gone then."""
        channel = channel_of(target)
        body = edited_body(await self._texts.written(text))
        path = f"/channels/{channel}/messages/{platform_message_id}"
        await self._api.call("PATCH", path, limit=f"edit {channel}", json=body)

    async def delete(self, target: Target, platform_message_id: str) -> None:
        """Delete a message that was sent before."""
        path = f"/channels/{channel_of(target)}/messages/{platform_message_id}"
        said = await self._api.gateway.ask("DELETE", path)
        if said.code != _GONE:
            self._api.gateway.success(said, path=path)

    async def typing(self, target: Target) -> None:
        """Show for ten seconds that an answer is being written."""
        await self._api.call("POST", f"/channels/{channel_of(target)}/typing")

    async def react(self, target: Target, platform_message_id: str, name: ReactionName) -> None:
        """Put a reaction on a message, in place of the bot's one before; a command is no message."""
        if not platform_message_id.isdecimal():
            return
        at = partial(reaction_path, target, platform_message_id)
        await self._reactions.replace(
            platform_message_id,
            name,
            put=lambda emoji: self._api.call("PUT", at(emoji)),
            remove=lambda emoji: self._api.call("DELETE", at(emoji)),
        )

    async def fetch(self, media: Media, *, limit: int) -> bytes:
        """Return the bytes of a file of a message."""
        return (await self._api.download(media.ref or "", limit=limit)).body

    async def directory(self) -> tuple[ChatEntry, ...]:
        """Return the channels of every server that the bot is in."""
        entries: list[ChatEntry] = []
        guilds = await self._api.get(f"/users/@me/guilds?limit={_PAGE}", list[WireNamed])
        for guild in guilds:
            channels = await self._api.get(f"/guilds/{guild.id}/channels", list[WireChannel])
            entries += entries_of(channels, platform=self.name, guild=guild.name)
        return tuple(entries)

    async def chat_info(self, target: Target) -> ChatInfo:
        """Return what Discord tells of a chat."""
        return info_of(await self._api.get(f"/channels/{channel_of(target)}", WireChannel))


def make(setup: ChannelSetup) -> DiscordChannel:
    """Return the channel of one bot."""
    return DiscordChannel(setup)


def _as_sent(body: Json, files: Files) -> dict[str, Any]:
    return {"form": {"payload_json": body}, "files": files} if files else {"json": body}
