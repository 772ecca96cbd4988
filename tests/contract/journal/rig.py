"""A whole core on a real database, with a scripted model, a push platform and a clock by hand."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Container, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

import msgspec

from hermes.app.core import Core, build_core
from hermes.app.core_parts import CoreParts, no_servers
from hermes.app.lifecycle import Lifecycle
from hermes.app.make_skills import make_skills
from hermes.config import Settings, load
from hermes.memory.fact_vectors import TextEmbedder
from hermes.message.event import (
    MessageEvent,
    PressedChoice,
    Reaction,
    ReplyContext,
    ReplyHandle,
    ScheduledRun,
)
from hermes.message.ids import make_id
from hermes.message.parts import Part, TextPart
from hermes.message.source import ChatType, Source
from hermes.pipeline.comebacks import ALL_TAKEN_UP, Comeback
from hermes.pipeline.observer import NOBODY, Observer
from hermes.pipeline.services import ReloadMcp
from hermes.pipeline.watch import WatchHub
from hermes.plugins.hook_book import HookBook
from hermes.ports.adapter import Adapter
from hermes.ports.channel import Capabilities
from hermes.ports.command import ChatCommand
from hermes.ports.media import Attachments
from hermes.ports.observer import CallMeter
from hermes.ports.outbox import DeliveryRecord
from hermes.ports.provider import Provider, ToolSpec
from hermes.ports.store import Store
from hermes.ports.timeline import Timeline
from hermes.ports.tool import Tool, ToolContext, ToolTraits
from hermes.ports.vision import VisionPipeline
from hermes.server.auth import StoredAccess
from hermes.store.search.notes import Notes
from hermes.testing.manual_time import ManualClock
from hermes.testing.memory_channel import MemoryChannel
from hermes.testing.model_script import Script, answer_by_text
from hermes.testing.scripted_model import SCRIPTED_INFO, ScriptedProvider
from tests.stores.engine import Options
from tests.stores.opening import KEYS, open_search, open_store

MakeMedia = Callable[[Store, Settings, Mapping[str, MemoryChannel]], Attachments]
PULL = Capabilities(delivery="pull", busy="queue")
PUSH = Capabilities(delivery="push", unknown="allow", edit=True, busy="interrupt")
STEP_S = 30.0
# As a gateway has it, but for the room that a test machine may not have.
AS_SHIPPED = Options(synchronous="FULL", disk_reserve_mb=1)


# Something that becomes true; reads of the store wait.
Claim = Callable[[], bool | Awaitable[bool]]
Value = TypeVar("Value")


def equals(read: Callable[[], Awaitable[object]], wanted: object) -> Claim:
    """Claim that something reads as `wanted`."""

    async def claim() -> bool:
        return await read() == wanted

    return claim


def has(read: Callable[[], Awaitable[Container[Value]]], wanted: Value) -> Claim:
    """Claim that `wanted` is among what is read."""

    async def claim() -> bool:
        return wanted in await read()

    return claim


def some(read: Callable[[], Awaitable[object]]) -> Claim:
    """Claim that something is read at all."""

    async def claim() -> bool:
        return bool(await read())

    return claim


async def _is_true(claim: Claim) -> bool:
    claimed = claim()
    return claimed if isinstance(claimed, bool) else await claimed


class RunTool:
    """A tool made of a function, counting its runs; fits `ports.tool.Tool`."""

    def __init__(
        self,
        name: str,
        act: Callable[[ToolContext], object] | None = None,
        *,
        traits: ToolTraits | None = None,
    ) -> None:
        self.spec = ToolSpec(name, f"Runs {name}.", msgspec.Raw(b'{"type":"object"}'))
        self.traits = traits or ToolTraits()
        self.runs = 0
        self._act = act

    async def run(self, arguments: msgspec.Raw, context: ToolContext) -> str:
        self.runs += 1
        result = None if self._act is None else self._act(context)
        if asyncio.iscoroutine(result):
            result = await result
        return str(result or f"{self.spec.name} ran")


class Rig:
    """One incarnation of the core; `crash` drops it as kill -9 would, `open_rig` starts the next."""

    def __init__(
        self,
        core: Core,
        *,
        store: Store,
        clock: ManualClock,
        model: ScriptedProvider,
        push: MemoryChannel,
        watch: WatchHub,
        lifecycle: Lifecycle,
    ) -> None:
        self.core = core
        self.store = store
        self.clock = clock
        self.model = model
        self.push = push
        self.watch = watch
        self._lifecycle = lifecycle
        self._drain_s = 0.0
        self._hurry: asyncio.Event | None = None
        self._cut_off = 0
        lifecycle.add(core.components(self._drain_turns))

    async def start(self) -> None:
        """Start what a gateway starts of its core."""
        await self._lifecycle.start()

    async def drain(self, timeout_s: float, *, hurry: asyncio.Event | None = None) -> int:
        """Accept nothing, end what runs; returns how many turns were cut off."""
        self._drain_s, self._hurry = timeout_s, hurry
        await self._lifecycle.drain()
        return self._cut_off

    async def _drain_turns(self) -> None:
        tells = self.core.settings.process.tell_stop
        self._cut_off = await self.core.lanes.drain(self._drain_s, hurry=self._hurry, tells=tells)

    async def say(
        self,
        text: str,
        *,
        chat: str = "ann",
        name: str | None = None,
        platform: str = "rest",
        user: str | None = None,
        chat_type: ChatType = "dm",
        thread: str | None = None,
        agent: str | None = None,
        user_name: str | None = None,
        attached: tuple[Part, ...] = (),
        album: str | None = None,
        addressed: bool = True,
        is_bot: bool = False,
        reply_to: ReplyContext | None = None,
        scheduled: ScheduledRun | None = None,
        token: str = "",
        key: str | None = None,
        account: str = "default",
        route: str = "api",
        denies: bool = False,
        is_temporary: bool = False,
        skill: str | None = None,
        handle: ReplyHandle | None = None,
        replaces: str = "",
    ) -> str:
        """Accept one message and return its id."""
        event = MessageEvent(
            account=account,
            route=route,
            external_id=name or make_id("x"),
            source=Source(
                platform=platform,
                chat_id=chat,
                user_id=user or chat,
                chat_type=chat_type,
                thread_id=thread,
                user_name=user_name,
                is_bot=is_bot,
            ),
            parts=(*((TextPart(text),) if text else ()), *attached),
            at=self.clock.now(),
            agent=agent,
            album=album,
            addressed=addressed,
            reply_to=reply_to,
            scheduled=scheduled,
            token=token,
            key=key,
            denies_approval=denies,
            is_temporary=is_temporary,
            skill=skill,
            handle=handle,
            replaces=replaces,
        )
        return (await self.core.inbox.accept(event)).message_id

    async def press(
        self,
        value: str,
        *,
        user: str = "ann",
        chat: str | None = None,
        chat_type: ChatType = "dm",
        name: str | None = None,
        under: str = "-",
    ) -> str:
        """Press a button on the push platform and return the message's id."""
        event = MessageEvent(
            account="default",
            route="press",
            external_id=name or make_id("x"),
            source=Source(platform="push", chat_id=chat or user, user_id=user, chat_type=chat_type),
            parts=(),
            at=self.clock.now(),
            type="choice",
            pressed=PressedChoice(value=value, message_id=under),
            addressed=False,
        )
        return (await self.core.inbox.accept(event)).message_id

    async def react(
        self,
        emoji: str,
        to: str,
        *,
        user: str = "ann",
        chat: str | None = None,
        removed: bool = False,
    ) -> str:
        """React to a message on the push platform and return the message's id."""
        event = MessageEvent(
            account="default",
            route="reaction",
            external_id=make_id("x"),
            source=Source(
                platform="push",
                chat_id=chat or user,
                user_id=user,
                chat_type="dm" if chat in (None, user) else "group",
            ),
            parts=(),
            at=self.clock.now(),
            type="reaction",
            reaction=Reaction(message_id=to, emoji=emoji, is_removed=removed),
            addressed=False,
        )
        return (await self.core.inbox.accept(event)).message_id

    async def say_in_thread(self, text: str, *, user: str) -> str:
        """Accept a message in a thread that several people share."""
        return await self.say(text, chat="room", user=user, chat_type="group", thread="7")

    async def outcome(self, message_id: str) -> str:
        """Wait until a message has ended (or is parked) and return its outcome."""
        async with asyncio.timeout(STEP_S):
            async for progress in self.core.gateway_api.watch(message_id):
                if progress.kind in ("done", "parked"):
                    return progress.outcome.value if progress.outcome else progress.kind
        raise AssertionError(f"{message_id} has no end")

    async def answer(
        self,
        text: str,
        *,
        chat: str = "ann",
        platform: str = "rest",
        user: str | None = None,
        chat_type: ChatType = "dm",
        user_name: str | None = None,
    ) -> str:
        """Say something and return the reply's text."""
        message_id = await self.say(
            text,
            chat=chat,
            platform=platform,
            user=user,
            chat_type=chat_type,
            user_name=user_name,
        )
        await self.outcome(message_id)
        result = await self.store.inbox.result(message_id)
        assert result is not None
        return result.text

    async def until(self, claim: Claim) -> None:
        """Let the loop run until a claim holds."""
        async with asyncio.timeout(STEP_S):
            while not await _is_true(claim):  # noqa: ASYNC110  any part of the core may make it true
                await asyncio.sleep(0)

    async def as_time_passes(self, claim: Claim) -> None:
        """Let seconds go by until a claim holds, waking the senders as their timers would."""
        async with asyncio.timeout(STEP_S):
            while not await _is_true(claim):
                self.clock.advance(1)
                for sender in self.core.push.senders.values():
                    sender.wake()
                await asyncio.sleep(0.01)

    async def timeline(self, message_id: str) -> Timeline:
        """Return everything the journal knows of a message."""
        timeline = await self.store.timeline(message_id)
        assert timeline is not None
        return timeline

    async def deliveries(self, message_id: str) -> tuple[DeliveryRecord, ...]:
        """Return what a message's replies became."""
        return (await self.timeline(message_id)).deliveries

    async def kinds(self, message_id: str) -> list[str]:
        """Return the kinds of a message's timeline."""
        return [event.kind for event in (await self.timeline(message_id)).events]

    def lane(self, chat: str = "ann", platform: str = "rest") -> str:
        """Return the lane of a direct chat."""
        return f"agent:main:{platform}:dm:{chat}"

    async def crash(self) -> None:
        """End every task without letting any of them write, as the end of the process would."""
        await self.core.lanes.drain(0)
        await self._lifecycle.stop()


@asynccontextmanager
async def open_rig(
    home: Path,
    *,
    script: Script = answer_by_text,
    tools: tuple[Tool, ...] = (),
    clock: ManualClock | None = None,
    push: MemoryChannel | None = None,
    start: bool = True,
    sending: bool = True,
    measure: Callable[[Path], int] | None = None,
    settings: Mapping[str, str] | None = None,
    reload_mcp: ReloadMcp | None = None,
    embedder: Provider | None = None,
    own_embedder: TextEmbedder | None = None,
    keys: bytes = KEYS,
    beside: Mapping[str, Provider] | None = None,
    blind: bool = False,
    visions: tuple[VisionPipeline, ...] = (),
    own_tools: bool = False,
    courier: bool = False,
    search: bool = False,
    plugged: tuple[ChatCommand, ...] = (),
    comeback: Comeback = ALL_TAKEN_UP,
    hooks: HookBook | None = None,
    observer: Observer = NOBODY,
    meter: CallMeter | None = None,
    media: MakeMedia | None = None,
    own_chats: bool = False,
    model: ScriptedProvider | None = None,
    adapters: Mapping[str, Adapter] | None = None,
) -> AsyncIterator[Rig]:
    """Open a core on the database in `home`; settings are given as {"LANES__LEASE_S": "1"}.

    The scripted model (another one is given as `model`) may be `blind` for pictures; `beside` are more providers. With `own_tools` the
    built-in tools of a gateway are there, too, and with `courier` other chats can be sent to; with `search` what is said is indexed. With `own_chats` a
    name of a direct chat belongs to its sender, as over REST.
    """
    clock = clock or ManualClock()
    info = msgspec.structs.replace(SCRIPTED_INFO, vision=not blind)
    model = model or ScriptedProvider(script, info=info)
    more = {**(beside or {}), **({} if embedder is None else {"embedder": embedder})}
    push = push or MemoryChannel(PUSH, name="push")
    watch, notes = WatchHub(), Notes()
    store = await open_store(
        home,
        key_file=keys,
        clock=clock,
        options=AS_SHIPPED,
        measure=measure,
        on_commit=notes.add if search else None,
    )
    await store.fleet.join(make_id("n"))
    lifecycle = Lifecycle()
    lifecycle.own("store", store.close)
    index = open_search(home, key_file=keys, notes=notes, clock=clock) if search else None
    if index is not None:
        lifecycle.own("search", index.close)
    table = {tool.spec.name: tool for tool in tools}
    pull = msgspec.structs.replace(PULL, own_chats=own_chats)
    channels = {"rest": MemoryChannel(pull, name="rest"), "push": push}
    read = settings_of(home, settings or {})
    given = CoreParts(
        providers={"scripted": model, **more},
        tools=table,
        channels=channels,
        access=StoredAccess(store.access, clock=clock),
        watch=watch,
        clock=clock,
        make_id=make_id,
        home=home if own_tools or courier else None,
        embedder=own_embedder,
        own_tools=own_tools,
        reload_mcp=reload_mcp or no_servers,
        adapters=adapters or {},
        visions={one.intent: one for one in visions},
        search=index,
        plugged={one.name: one for one in plugged},
        comeback=comeback,
        hooks=hooks,
        observer=observer,
        meter=meter,
        media=None if media is None else media(store, read, channels),
        skills=make_skills(read, home=home, clock=clock, plugged=[one.name for one in plugged]),
    )
    core = await build_core(store, read, given=given)
    rig = Rig(
        core, store=store, clock=clock, model=model, push=push, watch=watch, lifecycle=lifecycle
    )
    if start:
        await rig.start()
    if sending:
        core.push.connected(push)
    try:
        yield rig
    finally:
        await rig.crash()


def settings_of(home: Path, overrides: Mapping[str, str]) -> Settings:
    """Return the defaults with a few settings changed.

    Unless asked, a failed call is not retried, and a message stops a turn however soon it comes.
    """
    wanted = {"ROUTING__RETRY_S": "0", "BUSY__JOIN_S": "0", **overrides}
    return load({f"HERMES_{name}": value for name, value in wanted.items()}, home).settings
