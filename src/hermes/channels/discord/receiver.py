"""Takes what happens on Discord: reads it, learns where it happened, hands it to the inbox, answers it.

Messages and reactions come over the gateway; commands and pressed buttons over it or by HTTP. What is
asked of Discord meanwhile never changes the order of a chat.
"""

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Final
from urllib.parse import quote

import structlog

from hermes.channel_kit.bodies import decode
from hermes.channel_kit.bounded_map import BoundedMap
from hermes.channel_kit.events import raw_of
from hermes.channel_kit.intake import Intake
from hermes.channel_kit.keys import unpacked_key
from hermes.channel_kit.late_proof import tell_arrived
from hermes.channel_kit.lifeline import Lifeline
from hermes.channel_kit.opcode_gateway import GatewayFrame
from hermes.channel_kit.socket_wire import SocketFrame
from hermes.channel_kit.webhook_door import is_final
from hermes.channels.discord.client import DiscordApi
from hermes.channels.discord.inbound import (
    COMMAND,
    PRESSED,
    Me,
    command_text,
    interaction_event,
    message_event,
    reaction_event,
)
from hermes.channels.discord.outbound import PRIVATE, QUIET, Json
from hermes.channels.discord.wire import (
    PLATFORM,
    WireChannel,
    WireInteraction,
    WireMessage,
    WireNamed,
    WireReaction,
    direct,
)
from hermes.errors import BadRequest, DeliveryError, DeliveryRejected, HermesError
from hermes.http.json_body import json_response
from hermes.message.event import MessageEvent, ReplyHandle
from hermes.ports.channel import (
    Accept,
    Acceptance,
    HttpRequest,
    HttpResponse,
)
from hermes.ports.channel_setup import ChannelSetup

_MOST_CHANNELS: Final = 10_000
_CHANNEL_S: Final = 3600.0
_ANSWERED_S: Final = 900.0
_MOST_CHARS: Final = 2000
_NOT_TAKEN: Final = "Hermes did not take this command."
_UNKNOWN: Final = "Hermes has your command, but does not know you yet."
_log = structlog.get_logger(__name__)


class GatewayReceiver:
    """The inbound side of one connected bot."""

    def __init__(
        self, setup: ChannelSetup, api: DiscordApi, *, me: Me, accept: Accept, life: Lifeline
    ) -> None:
        self._setup = setup
        self._api = api
        self._me = me
        self._life = life
        self._intake = Intake(accept, platform=PLATFORM, repeats=False)
        self._channels: BoundedMap[str, WireChannel] = BoundedMap(
            _MOST_CHANNELS, lasts_s=_CHANNEL_S, clock=setup.clock
        )
        self._happen: Mapping[str, Callable[[bytes, str], Awaitable[None]]] = {
            "MESSAGE_CREATE": self._written,
            "INTERACTION_CREATE": self._used,
            "MESSAGE_REACTION_ADD": partial(self._reaction, is_removed=False),
            "MESSAGE_REACTION_REMOVE": partial(self._reaction, is_removed=True),
            "CHANNEL_UPDATE": self._changed,
            "THREAD_UPDATE": self._changed,
        }

    @property
    def events(self) -> frozenset[str]:
        """The kinds of events that are of use."""
        return frozenset(self._happen)

    async def take(self, frame: SocketFrame) -> bool:
        """Handle an event of the gateway."""
        found = decode(frame.payload, GatewayFrame, platform=PLATFORM)
        await self._happen[found.t or ""](bytes(found.d), frame.id)
        return True

    async def _written(self, data: bytes, _name: str) -> None:
        message = decode(data, WireMessage, platform=PLATFORM)
        if message.author.id == self._me.user_id:
            await self._arrived(message)
            return
        # The chat's turn is taken before anything is asked: what came later does not overtake it.
        async with self._intake.turn(message.channel_id):
            place = await self._place(message.channel_id, message.guild_id)
            now = self._setup.clock.now()
            event = message_event(message, me=self._me, place=place, now=now, raw=raw_of(data))
            if event is not None:
                await self._intake.take_now(event)

    async def _arrived(self, message: WireMessage) -> None:
        """Tell that a message of ours has arrived; its nonce is the key under which it was sent."""
        key = unpacked_key(message.nonce) if isinstance(message.nonce, str) else None
        if key is not None:
            await tell_arrived(self._setup, key, message_id=message.id)

    async def _reaction(self, data: bytes, name: str, *, is_removed: bool) -> None:
        found = decode(data, WireReaction, platform=PLATFORM)
        async with self._intake.turn(found.channel_id):
            place = await self._place(found.channel_id, found.guild_id)
            event = reaction_event(
                found,
                me=self._me,
                place=place,
                is_removed=is_removed,
                name=f"r{name}",
                now=self._setup.clock.now(),
            )
            if event is not None:
                await self._intake.take_now(event)

    async def _changed(self, data: bytes, _name: str) -> None:
        self._channels.drop(decode(data, WireNamed, platform=PLATFORM).id)

    async def _used(self, data: bytes, _name: str) -> None:
        """Keep a slash command or a pressed button, then answer it: Discord waits for three seconds."""
        found = decode(data, WireInteraction, platform=PLATFORM)
        async with self._intake.turn(found.channel_id):
            event = await self._event_of(found)
            if event is None:
                return
            accepted = await self._intake.take_now(event)
        self._life.run_aside(self._answer(found, accepted), "interaction")

    async def _answer(self, found: WireInteraction, accepted: Acceptance | None) -> None:
        path = f"/interactions/{found.id}/{quote(found.token, safe='')}/callback"
        try:
            body = self._answer_to(found, accepted)
            await self._api.with_token(found.token).call("POST", path, json=body)
        except DeliveryError as error:
            _log.info("discord.interaction_not_answered", problem=str(error)[:200])

    async def called(self, request: HttpRequest, accept: Accept) -> HttpResponse:
        """Keep what came by HTTP, and answer it there."""
        found = decode(request.body, WireInteraction, platform=PLATFORM)
        event = await self._event_of(found)
        if event is None:
            raise BadRequest("discord: an interaction that is no command and no button")
        try:
            accepted = await accept(event)
        except HermesError as error:
            if not is_final(error):
                raise
            accepted = None
        return json_response(self._answer_to(found, accepted))

    async def _event_of(self, found: WireInteraction) -> MessageEvent | None:
        now = self._setup.clock.now()
        handle = None
        if self._is_private(found):
            token = f"{found.application_id}/{found.token}"
            handle = ReplyHandle(token=token, until=now + _ANSWERED_S)
        place = await self._place(found.channel_id, found.guild_id)
        return interaction_event(found, me=self._me, place=place, now=now, handle=handle)

    def _answer_to(self, found: WireInteraction, accepted: Acceptance | None) -> Json:
        """Return the answer to an interaction: nothing, a promise, or the command for all to see.

        What a stranger wrote is not repeated to a server under the bot's name.
        """
        if found.type == PRESSED:
            return {"type": 6}
        if accepted is None:
            return {"type": 4, "data": {"content": _NOT_TAKEN, "flags": PRIVATE}}
        if self._is_private(found):
            return {"type": 5, "data": {"flags": PRIVATE}}
        if accepted.is_stranger and found.guild_id is not None:
            return {"type": 4, "data": {"content": _UNKNOWN, "flags": PRIVATE}}
        content = command_text(found)[:_MOST_CHARS]
        return {"type": 4, "data": {"content": content, "allowed_mentions": QUIET}}

    def _is_private(self, found: WireInteraction) -> bool:
        names = self._setup.settings["private_commands"]
        return found.type == COMMAND and found.guild_id is not None and found.data.name in names

    async def _place(self, channel_id: str, guild_id: str | None) -> WireChannel:
        """Return the channel of an id; of a thread it must be known to which channel it belongs."""
        if guild_id is None:
            return direct(channel_id)
        known = self._channels.get(channel_id)
        if known is None:
            known = await self._looked_up(channel_id, guild_id)
            self._channels.put(channel_id, known)
        return known

    async def _looked_up(self, channel_id: str, guild_id: str) -> WireChannel:
        try:
            return await self._api.get(f"/channels/{channel_id}", WireChannel)
        except DeliveryError as error:
            last = self._channels.last(channel_id)
            if last is not None:
                return last
            if error.credential or not isinstance(error, DeliveryRejected):
                raise
            return WireChannel(id=channel_id, guild_id=guild_id)
