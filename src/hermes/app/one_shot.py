"""Delivers what an operator sends while no gateway runs: connects the platform, sends, disconnects.

The row is in the outbox before, so a crash at any point leaves it to the next gateway, which sends it or
settles whether it arrived. What waits for the same chat goes first. Messages that come in meanwhile are
not accepted: the platform sends them again.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from hermes.app.adapters import make_client, make_registry
from hermes.app.channel_files import open_state
from hermes.app.channel_test import not_now
from hermes.app.core_parts import outbox_timing
from hermes.app.credential_locks import make_rights
from hermes.app.media import make_media_cache
from hermes.app.platforms import make_one
from hermes.config import LoadedConfig
from hermes.control.sends import SendOutcome
from hermes.errors import ConfigurationError, HermesError, NotFound
from hermes.message.channel_name import platform_of, settings_place
from hermes.message.ids import make_id
from hermes.message.outcome import DeliveryState
from hermes.net.client import HttpClient
from hermes.ops.logs import secrets_in
from hermes.ops.masker import Masker
from hermes.outbox.channel_calls import LongReplies
from hermes.outbox.returns import take_arrivals, take_returns
from hermes.outbox.sender import OutboxSender
from hermes.plugins.registry import Registry
from hermes.ports.channel import PushChannel, Target
from hermes.ports.channel_setup import MediaFiles
from hermes.ports.clock import Clock
from hermes.ports.media import ReplyFiles
from hermes.ports.outbox import DeliveryRecord
from hermes.ports.store import Store

_CONNECT_S = 30.0
_MORE_S = 10.0


class OneShotSender:
    """Sends from the store of a home in which no gateway runs."""

    def __init__(self, store: Store, loaded: LoadedConfig, *, clock: Clock) -> None:
        self._store = store
        self._loaded = loaded
        self._settings = loaded.settings
        self._clock = clock
        self._mask = Masker(secrets_in(loaded.settings))

    async def deliver(self, send_id: str, target: Target) -> SendOutcome:
        """Try to send what waits for a chat, and return what became of one of it."""
        paused = {one.platform for one in await self._store.paused.all()}
        if target.platform in paused:
            return SendOutcome(state="waiting", problem=f"{target.platform} is paused")
        client = make_client(self._settings)
        try:
            await self._send(target, client)
        except TimeoutError:
            problem = f"{target.platform} could not be connected within {_CONNECT_S:g} s"
        except HermesError as error:
            problem = str(error)
        else:
            problem = ""
        finally:
            await client.close()
        return await self._outcome(send_id, problem)

    async def _send(self, target: Target, client: HttpClient) -> None:
        # What this process has on the wire is unknown to the next one if it dies.
        await self._store.fleet.join(make_id("n"))
        files = make_media_cache(
            self._loaded.home, self._settings, client=client, store=self._store, clock=self._clock
        )
        timing = outbox_timing(self._settings)
        async with self._channel(target.platform, client, files) as channel:
            sender = OutboxSender(
                channel,
                self._store.outbox,
                timing=timing,
                clock=self._clock,
                mask=self._mask.line,
                long=self._long(files),
                only_chat=target.chat_id,
            )
            try:
                await sender.flush(timing.send_timeout_s + _MORE_S)
            finally:
                await sender.stop()

    def _long(self, files: ReplyFiles) -> LongReplies:
        return LongReplies(self._settings.outbox.max_messages, files)

    @asynccontextmanager
    async def _channel(
        self, platform: str, client: HttpClient, files: MediaFiles
    ) -> AsyncIterator[PushChannel]:
        """Make the platform's channel, or its one-shot sender, for as long as the block lasts."""
        home = self._loaded.home
        registry = make_registry(self._settings, home=home, on_status=lambda _: None)
        channel = make_one(
            platform,
            self._settings,
            registry,
            client=client,
            state=await open_state(platform, self._store.channel_state, home=home),
            clock=self._clock,
            media_cache=files,
            returned=take_returns(platform, self._store.outbox, clock=self._clock),
            arrived=take_arrivals(platform, self._store.outbox, clock=self._clock),
            alone=True,
        )
        if not isinstance(channel, PushChannel):
            raise ConfigurationError(f"{settings_place(platform)}: its channel cannot send")
        if _sends_unconnected(registry, platform):
            yield channel
            return
        right = make_rights(self._settings, registry, home=home, clock=self._clock).get(platform)
        if right is not None:
            right.take()
        try:
            try:
                async with asyncio.timeout(_CONNECT_S):
                    await channel.connect(not_now)
                yield channel
            finally:
                await channel.disconnect()
        finally:
            if right is not None:
                right.release()

    async def _outcome(self, send_id: str, problem: str) -> SendOutcome:
        found = await self._store.outbox.of_message(send_id)
        record = next((one for one in found if one.id == send_id), None)
        if record is None:
            raise NotFound(f"the delivery {send_id} is not in the outbox any more")
        why = problem or _why(record)
        if record.state is DeliveryState.SENT:
            return SendOutcome(state="sent")
        if record.state is DeliveryState.DEAD:
            return SendOutcome(state="failed", problem=why)
        if record.state in (DeliveryState.UNKNOWN, DeliveryState.SENDING):
            return SendOutcome(state="unknown", problem=why)
        return SendOutcome(state="waiting", problem=why or "it could not be sent within the time")


def _sends_unconnected(registry: Registry, platform: str) -> bool:
    known = registry.platforms.get(platform_of(platform))
    return known is not None and known.sender is not None


def _why(record: DeliveryRecord) -> str:
    said = [note.why for note in record.story if note.why]
    return said[-1] if said else (record.failure or "")
