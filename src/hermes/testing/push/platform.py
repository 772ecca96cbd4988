"""The HTTP server of the stand-in platform, in a test's own process or in a separate one.

`python -m hermes.testing.push.platform --port 0 ...` prints its port as JSON and ends when its
standard input closes. `/v1` is the platform's API, `/control` plans faults and sends inbound
messages.
"""

import argparse
import asyncio
import hmac
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import msgspec
from aiohttp import web

from hermes.ports.clock import Clock, SystemClock
from hermes.testing.push.faults import Fault, FaultKind, Faults
from hermes.testing.push.state import (
    EditBody,
    PostedMessage,
    PushState,
    SampleError,
    SampleSettings,
    SendBody,
)
from hermes.testing.push.tally import Tally
from hermes.testing.push.webhooks import InboundBatch, Webhooks

_UNREAD: tuple[FaultKind, ...] = ("reset_before",)
_BEFORE: tuple[FaultKind, ...] = ("rate_limited", "server_error", "hang_before")
_AFTER: tuple[FaultKind, ...] = ("reset_after", "hang_after", "garbage_after")
_MAX_HISTORY = 100
_MAX_BODY = 1 << 20

Body = TypeVar("Body")
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class SamplePlatform:
    """One running platform."""

    def __init__(
        self,
        settings: SampleSettings,
        *,
        clock: Clock | None = None,
        count_file: Path | None = None,
    ) -> None:
        self._clock = clock or SystemClock()
        self._settings = settings
        self.tally = Tally(count_file)
        self.state = PushState(settings, clock=self._clock)
        self.faults = Faults()
        self.webhooks = Webhooks(settings, clock=self._clock, tally=self.tally)
        self.calls: list[tuple[str, str]] = []
        self._released = asyncio.Event()
        self._runner: web.AppRunner | None = None
        self.port = 0

    @property
    def base_url(self) -> str:
        """The address of the API."""
        return f"http://127.0.0.1:{self.port}"

    async def start(self, port: int = 0) -> None:
        """Listen on the loopback interface."""
        app = web.Application(client_max_size=_MAX_BODY)
        app.add_routes(
            [
                web.get("/v1/me", self._handle("me", self._me)),
                web.post("/v1/send", self._handle("send", self._send)),
                web.post("/v1/edit", self._handle("edit", self._edit)),
                web.get("/v1/history", self._handle("history", self._history)),
                web.post("/control/fault", self._control_fault),
                web.post("/control/inbound", self._control_inbound),
                web.post("/control/webhook", self._control_webhook),
                web.post("/control/release", self._control_release),
                web.get("/control/state", self._control_state),
            ]
        )
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.2)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", port)
        await site.start()
        self.port = int(self._runner.addresses[0][1])

    async def stop(self) -> None:
        """Release every hanging call and stop listening."""
        self._released.set()
        await self.webhooks.close()
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    def release(self) -> None:
        """End the calls that hang."""
        self._released.set()
        self._released = asyncio.Event()

    def _handle(self, op: str, handler: Handler) -> Handler:
        async def handle(request: web.Request) -> web.StreamResponse:
            if self.faults.take(op, _UNREAD):
                self._note(op, "fault", fault="reset_before")
                raise _cut(request)
            try:
                self._authenticate(request)
                return await handler(request)
            except SampleError as error:
                self._note(op, "refused", code=error.code)
                return _refusal(error)

        return handle

    def _authenticate(self, request: web.Request) -> None:
        shown = request.headers.get("Authorization", "")
        if not hmac.compare_digest(shown.encode(), f"Bearer {self._settings.token}".encode()):
            raise SampleError(401, "bad_token")

    async def _me(self, request: web.Request) -> web.StreamResponse:
        return _json({"name": "pigeon-bot", "keys": self._settings.keys})

    async def _send(self, request: web.Request) -> web.StreamResponse:
        body = await _decode(request, SendBody)
        fault = await self._fail_before("send", body.chat)
        if fault is not None:
            return fault
        posted, is_new = self.state.send(body)
        self._note("send", "applied" if is_new else "deduplicated", posted=posted, key=body.key)
        return await self._answer(request, "send", posted=posted)

    async def _edit(self, request: web.Request) -> web.StreamResponse:
        body = await _decode(request, EditBody)
        fault = await self._fail_before("edit", self.state.chat_of(body.message_id))
        if fault is not None:
            return fault
        posted = self.state.edit(body)
        self._note("edit", "applied", posted=posted)
        return await self._answer(request, "edit", posted=posted)

    async def _history(self, request: web.Request) -> web.StreamResponse:
        chat = request.query.get("chat", "")
        fault = await self._fail_before("history", chat)
        if fault is not None:
            return fault
        limit = request.query.get("limit", "50")
        if not limit.isdecimal() or not 1 <= int(limit) <= _MAX_HISTORY:
            raise SampleError(400, "bad_limit")
        found = self.state.history(chat, limit=int(limit))
        self._note("history", "answered")
        return _json({"messages": found})

    async def _fail_before(self, op: str, chat: str | None) -> web.StreamResponse | None:
        fault = self.faults.take(op, _BEFORE, chat=chat)
        if fault is None:
            return None
        self._note(op, "fault", fault=fault.kind)
        if fault.kind == "hang_before":
            await self._released.wait()
        if fault.kind == "rate_limited":
            return _refusal(SampleError(429, "rate_limited", retry_after=fault.retry_after))
        return _refusal(SampleError(500, "server_error", retry_after=fault.retry_after))

    async def _answer(
        self, request: web.Request, op: str, *, posted: PostedMessage
    ) -> web.StreamResponse:
        fault = self.faults.take(op, _AFTER, chat=posted.chat)
        if fault is None:
            return _json({"message_id": posted.message_id})
        self._note(op, "answer_lost", fault=fault.kind, posted=posted)
        if fault.kind == "garbage_after":
            return web.Response(text="<html>proxy</html>", content_type="text/html")
        if fault.kind == "hang_after":
            await self._released.wait()
        raise _cut(request)

    def _note(
        self, op: str, outcome: str, *, posted: PostedMessage | None = None, **facts: object
    ) -> None:
        self.calls.append((op, outcome))
        if posted is not None:
            facts |= {"message_id": posted.message_id, "chat": posted.chat, "text": posted.text}
        self.tally.add(op=op, outcome=outcome, at=self._clock.now(), **facts)

    async def _control_fault(self, request: web.Request) -> web.StreamResponse:
        self.faults.plan(msgspec.json.decode(await request.read(), type=Fault))
        return _json({})

    async def _control_inbound(self, request: web.Request) -> web.StreamResponse:
        batch = msgspec.json.decode(await request.read(), type=InboundBatch)
        for message in batch.messages:
            self.state.open_chat(message.chat)
        return _json({"statuses": await self.webhooks.deliver(batch)})

    async def _control_webhook(self, request: web.Request) -> web.StreamResponse:
        self.webhooks.url = msgspec.json.decode(await request.read(), type=dict[str, str])["url"]
        return _json({})

    async def _control_release(self, request: web.Request) -> web.StreamResponse:
        self.release()
        return _json({})

    async def _control_state(self, request: web.Request) -> web.StreamResponse:
        return _json({"posted": self.state.posted, "calls": self.calls})


async def _decode(request: web.Request, shape: type[Body]) -> Body:
    if request.content_type != "application/json":
        raise SampleError(415, "not_json")
    try:
        return msgspec.json.decode(await request.read(), type=shape)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise SampleError(400, "bad_body") from error


def _json(value: object) -> web.Response:
    return web.Response(body=msgspec.json.encode(value), content_type="application/json")


def _refusal(error: SampleError) -> web.Response:
    headers = {} if error.retry_after is None else {"Retry-After": f"{error.retry_after:g}"}
    return web.Response(
        status=error.status,
        headers=headers,
        body=msgspec.json.encode({"error": error.code}),
        content_type="application/json",
    )


def _cut(request: web.Request) -> asyncio.CancelledError:
    """Reset the connection, like a crashed server or a broken network; raise the result."""
    if request.transport is not None:
        request.transport.abort()
    return asyncio.CancelledError()


def read_arguments(arguments: list[str] | None = None) -> argparse.Namespace:
    """Return the command line of the platform's own process."""
    parser = argparse.ArgumentParser(description="Run the stand-in chat platform Pigeon.")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one and prints it")
    parser.add_argument("--token", required=True)
    parser.add_argument("--signing-secret", required=True)
    parser.add_argument("--keys", action="store_true", help="deduplicate sends by their key")
    parser.add_argument("--chat", action="append", default=[], help="a chat the bot may write in")
    parser.add_argument("--rate-limit", type=int, default=0, help="calls per chat and window")
    parser.add_argument("--rate-window", type=float, default=1.0, help="in seconds")
    parser.add_argument(
        "--webhook-url", default=None, help="the address to which inbound messages are delivered"
    )
    parser.add_argument("--webhook-tries", type=int, default=60)
    parser.add_argument("--webhook-delay", type=float, default=0.5, help="in seconds")
    parser.add_argument("--count-file", type=Path, default=None, help="JSON lines of every call")
    return parser.parse_args(arguments)


async def serve(arguments: argparse.Namespace) -> None:
    """Run until the standard input closes."""
    settings = SampleSettings(
        token=arguments.token,
        signing_secret=arguments.signing_secret,
        keys=arguments.keys,
        chats=tuple(arguments.chat),
        rate_limit=arguments.rate_limit,
        rate_window_s=arguments.rate_window,
        webhook_url=arguments.webhook_url,
        webhook_tries=arguments.webhook_tries,
        webhook_delay_s=arguments.webhook_delay,
    )
    pigeon = SamplePlatform(settings, count_file=arguments.count_file)
    await pigeon.start(arguments.port)
    sys.stdout.write(msgspec.json.encode({"port": pigeon.port}).decode() + "\n")
    sys.stdout.flush()
    await asyncio.to_thread(sys.stdin.read)
    await pigeon.stop()


if __name__ == "__main__":
    asyncio.run(serve(read_arguments()))
