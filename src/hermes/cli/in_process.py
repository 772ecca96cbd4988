"""A gateway inside the chat's own process, used if none runs; its event loop runs in a thread.

Imported by name only then, because it imports the whole composition root. The prompt stays in the
main thread, which receives the signals.
"""

import asyncio
import queue
import threading
from collections.abc import Coroutine, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager, suppress

from hermes.app import Gateway
from hermes.cli.conversation import MOST_PAST, SENDER, OutgoingMessage, PastMessage
from hermes.cli.offline import logs_in_a_file
from hermes.cli.server_events import ServerEvent, read_events
from hermes.config import LoadedConfig
from hermes.http.turn import Ticket, turn_frames
from hermes.message.event import MessageEvent
from hermes.message.owner import TERMINAL
from hermes.message.parts import TextPart
from hermes.message.source import Source
from hermes.ports.clock import SystemClock
from hermes.ports.gateway_api import GatewayApi
from hermes.ports.session_history import ConversationMessage

_END = b""


class InProcessTransport:
    """The connection to a gateway whose event loop runs in another thread."""

    def __init__(self, gateway_api: GatewayApi, loop: asyncio.AbstractEventLoop) -> None:
        self._gateway_api = gateway_api
        self._loop = loop

    @contextmanager
    def send(self, message: OutgoingMessage) -> Iterator[Iterator[ServerEvent]]:
        """Send a message and yield the events of its answer."""
        frames: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        pump = asyncio.run_coroutine_threadsafe(self._pump(message, frames), self._loop)
        pump.add_done_callback(lambda _: frames.put(_END))
        try:
            yield _events(frames, pump)
        finally:
            pump.cancel()

    def past(self, conversation_id: str, *, agent: str | None) -> Sequence[PastMessage]:
        """Return what was said in a conversation, as far as it is shown; oldest first."""
        reading = asyncio.run_coroutine_threadsafe(self._past(conversation_id, agent), self._loop)
        return reading.result()

    async def _past(self, conversation_id: str, agent: str | None) -> Sequence[PastMessage]:
        page = await self._gateway_api.conversation(
            TERMINAL[0], conversation_id, limit=MOST_PAST, user_id=SENDER, agent=agent
        )
        return [_past_message(one) for one in page.messages if one.taken_out != "all"]

    async def _pump(self, message: OutgoingMessage, frames: "queue.SimpleQueue[bytes]") -> None:
        event = to_event(message, now=SystemClock().now())
        accepted = await self._gateway_api.accept(event)
        ticket = Ticket(
            id=accepted.message_id,
            conversation=message.conversation,
            duplicate=accepted.duplicate,
        )
        async for frame in turn_frames(self._gateway_api, ticket):
            frames.put(frame)


def _past_message(message: ConversationMessage) -> PastMessage:
    event, result = message.record.event, message.result
    reply = "" if result is None or message.taken_out else result.text
    return PastMessage(event.text if event is not None else "", reply)


def to_event(message: OutgoingMessage, *, now: float) -> MessageEvent:
    """Return the event as the REST API sends it, so that both ways can share a conversation."""
    return MessageEvent(
        account="default",
        route="api",
        external_id=message.id,
        source=Source(platform="rest", chat_id=message.conversation, user_id=message.sender),
        parts=(TextPart(message.text),),
        at=now,
        type="command" if message.text.startswith("/") else "text",
        agent=message.agent,
    )


@contextmanager
def gateway_in_process(loaded: LoadedConfig) -> Iterator[InProcessTransport]:
    """Run a gateway beside the prompt until the block is left."""
    loop = asyncio.new_event_loop()
    ready: Future[GatewayApi] = Future()
    stop = asyncio.Event()
    thread = threading.Thread(
        target=lambda: _run(loop, _serve(loaded, ready, stop=stop)), name="gateway"
    )
    # The screen belongs to the chat: what the gateway logs goes to a file.
    with logs_in_a_file(loaded, "chat.log"):
        thread.start()
        try:
            yield InProcessTransport(ready.result(), loop)
        finally:
            # A gateway that failed to start has closed its loop already.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(stop.set)
            thread.join()


def _run(loop: asyncio.AbstractEventLoop, work: Coroutine[None, None, None]) -> None:
    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        runner.run(work)


async def _serve(loaded: LoadedConfig, ready: "Future[GatewayApi]", *, stop: asyncio.Event) -> None:
    try:
        async with Gateway(loaded, listen=False) as gateway:
            ready.set_result(gateway.gateway_api)
            await stop.wait()
    # Thread boundary: whatever fails at the start is raised in the main thread, which prints it.
    except BaseException as error:
        if ready.done():
            raise
        ready.set_exception(error)


def _events(frames: "queue.SimpleQueue[bytes]", pump: "Future[None]") -> Iterator[ServerEvent]:
    while frame := frames.get():
        yield from read_events(frame.split(b"\n"))
    pump.result()
