"""The mail channel by itself, on its stand-in, with an inbox that can refuse; and a scripted server."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from itertools import count

from hermes.channels.email.channel import EmailChannel, make
from hermes.errors import NotFound, TooLarge
from hermes.message.event import MessageEvent
from hermes.message.parts import Media
from hermes.plugins.manifest import load_manifest, read_settings
from hermes.ports.channel import Acceptance, ReturnedDelivery
from hermes.ports.channel_setup import ChannelSetup
from hermes.ports.clock import SystemClock
from hermes.testing.channel_state import memory_state
from hermes.testing.email.server import EmailStandIn


class Shelf:
    """Keeps attachments in memory; the twin of the real one."""

    def __init__(self) -> None:
        self.kept: dict[str, bytes] = {}

    async def keep(self, data: bytes, *, mime: str, name: str | None = None) -> Media:
        if len(data) > 100_000:
            raise TooLarge("it is too large")
        path = f"/shelf/{len(self.kept)}"
        self.kept[path] = data
        return Media(mime, path=path, name=name, size=len(data))

    async def read(self, media: Media, *, limit: int) -> bytes:
        data = self.kept.get(media.path or "")
        if data is None:
            raise NotFound("it is gone")
        if len(data) > limit:
            raise TooLarge("it is too large")
        return data


class Rig:
    """A stand-in, channels on it, and what they handed on."""

    def __init__(self, **options: bool) -> None:
        self.state = memory_state("email")
        self.mail = EmailStandIn(**options)
        self.media_cache = Shelf()
        self.events: list[MessageEvent] = []
        self.refusals: list[Exception] = []
        self.returned: list[ReturnedDelivery] = []
        self.channels: list[EmailChannel] = []
        self._numbers = count(1)

    def setup(self, **more: object) -> ChannelSetup:
        manifest = load_manifest("hermes.channels.email")
        return ChannelSetup(
            name="email",
            account="default",
            settings=read_settings(manifest, {**self.mail.settings, **more}),
            capabilities=manifest.capabilities,
            client=None,
            clock=SystemClock(),
            make_id=lambda kind: f"{kind}_{next(self._numbers)}",
            media=self.media_cache,
            state=self.state,
            returned=self.take_back,
        )

    def channel(self, **more: object) -> EmailChannel:
        made = make(self.setup(**more))
        self.channels.append(made)
        return made

    async def connected(self, **more: object) -> EmailChannel:
        made = self.channel(**more)
        await made.connect(self.accept)
        return made

    async def accept(self, event: MessageEvent) -> Acceptance:
        if self.refusals:
            raise self.refusals.pop(0)
        known = any(one.external_id == event.external_id for one in self.events)
        if not known:
            self.events.append(event)
        return Acceptance(message_id=event.external_id, duplicate=known)

    async def take_back(self, back: ReturnedDelivery) -> None:
        self.returned.append(back)

    def texts(self) -> list[str]:
        return [event.text for event in self.events]


@asynccontextmanager
async def rig(**options: bool) -> AsyncIterator[Rig]:
    made = Rig(**options)
    await made.mail.start()
    try:
        yield made
    finally:
        for channel in made.channels:
            await channel.disconnect()
        await made.mail.stop()


async def until(claim: Callable[[], bool]) -> None:
    """Wait for a claim to become true; the time limit is only for a broken test."""
    async with asyncio.timeout(10):
        while not claim():  # noqa: ASYNC110 - another task makes it true
            await asyncio.sleep(0.005)


@asynccontextmanager
async def scripted(*answers: bytes) -> AsyncIterator[tuple[int, list[bytes]]]:
    """Run a server that gives each answer to one line, and ends the connection after the last.

    The first is its greeting. Gives its port and the lines that it heard.
    """
    heard: list[bytes] = []

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for answer in answers:
            writer.write(answer)
            # What is said to the last answer is heard to a line, and never answered.
            line = await reader.readline()
            heard.append(line)
            if not line:
                break

    async with serving(talk) as port:
        yield port, heard


@asynccontextmanager
async def serving(
    talk: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]],
) -> AsyncIterator[int]:
    """Run a server that talks so, and drops the connection when it has nothing more to say."""
    ended: list[asyncio.Event] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        ended.append(asyncio.Event())
        try:
            await talk(reader, writer)
        except OSError:
            pass
        finally:
            writer.transport.abort()
            ended[-1].set()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]
        for one in ended:
            await one.wait()
