"""A stand-in as a program: prints its address and settings as JSON, and ends with its standard
input.

Other processes control it at the printed `control` address, by POST of JSON: `say` (answered once
the bot has accepted it), `write` (answered at once), `posts`, `state`, `plan`, `point_at`, `cut`,
`revoke`, and for a `Site` `release`, which ends the calls that hang, and `press` if people can press
buttons there. A stand-in may add verbs.
"""

import argparse
import asyncio
import sys
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any

import msgspec
from aiohttp import web

from hermes.testing.stand_in import Fault, PersonMessage, StandIn

Verb = Callable[[bytes], Awaitable[object]]
_MAX_BODY = 64_000_000
_HOST = "127.0.0.1"


class Url(msgspec.Struct, frozen=True):
    """The body of `point_at`."""

    url: str


class Chat(msgspec.Struct, frozen=True):
    """The body of `posts` and `state`."""

    chat: str


# Any: a stand-in may add anything to its state.
def verbs_of(stand_in: StandIn, *, tells: Callable[[str], Mapping[str, Any]]) -> dict[str, Verb]:
    """Return the verbs of every stand-in; `tells` adds to the state of a chat."""
    under_way: set[asyncio.Task[str]] = set()

    async def say(body: bytes) -> object:
        return {"id": await stand_in.say(msgspec.json.decode(body, type=PersonMessage))}

    async def write(body: bytes) -> object:
        saying = asyncio.create_task(stand_in.say(msgspec.json.decode(body, type=PersonMessage)))
        under_way.add(saying)
        saying.add_done_callback(under_way.discard)
        return {}

    async def posts(body: bytes) -> object:
        return stand_in.posts(msgspec.json.decode(body, type=Chat).chat)

    async def state(body: bytes) -> object:
        chat = msgspec.json.decode(body, type=Chat).chat
        known = {"posts": stand_in.posts(chat), "rejections": stand_in.rejections}
        return {**known, **tells(chat)}

    async def plan(body: bytes) -> object:
        stand_in.plan(msgspec.json.decode(body, type=Fault))
        return {}

    async def point_at(body: bytes) -> object:
        stand_in.point_at(msgspec.json.decode(body, type=Url).url)
        return {}

    async def cut(_body: bytes) -> object:
        await stand_in.cut()
        return {}

    async def revoke(_body: bytes) -> object:
        stand_in.revoke()
        return {}

    named = (say, write, posts, state, plan, point_at, cut, revoke)
    return {verb.__name__: verb for verb in named}


async def serve(
    stand_in: StandIn,
    *,
    start: Callable[[], Awaitable[None]] | None = None,
    more: Mapping[str, Verb] | None = None,
    tells: Callable[[str], Mapping[str, Any]] = lambda _chat: {},
    has_groups: bool = True,
) -> None:
    """Run until the standard input closes; `has_groups` is printed for the controlling process."""
    await (start or stand_in.start)()
    verbs = {**verbs_of(stand_in, tells=tells), **(more or {})}
    app = web.Application(client_max_size=_MAX_BODY)
    app.add_routes(web.post(f"/control/{name}", _route(act)) for name, act in verbs.items())
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.2)
    await runner.setup()
    await web.TCPSite(runner, _HOST, 0).start()
    control = f"http://{_HOST}:{runner.addresses[0][1]}/control"
    told = {"control": control, "settings": stand_in.settings, "has_groups": has_groups}
    sys.stdout.write(msgspec.json.encode(told).decode() + "\n")
    sys.stdout.flush()
    await asyncio.to_thread(sys.stdin.read)
    await runner.cleanup()
    await stand_in.stop()


# Any: each stand-in has a constructor of its own.
def run_site(
    make: Callable[..., Any],
    *,
    platforms: tuple[str, ...] = (),
    modes: tuple[str, ...] = (),
    flags: Mapping[str, tuple[str, str]] | None = None,
    tells: Callable[[Any, str], Mapping[str, Any]] = lambda _site, _chat: {},
    has_groups: bool = True,
) -> None:
    """Read the command line, and run a stand-in that is a `Site`.

    `flags` maps each option to an argument of the constructor and its help. With `platforms`, the
    first argument says which of them it is.
    """
    parser = argparse.ArgumentParser(description=f"Run {make.__name__} on loopback.")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--webhook-url", default="", help="the address for events, if it pushes")
    if platforms:
        parser.add_argument("platform", choices=platforms)
    if modes:
        parser.add_argument("--mode", choices=modes, default=modes[0])
    for option, (name, text) in (flags or {}).items():
        parser.add_argument(f"--{option}", dest=name, action="store_true", help=text)
    given = vars(parser.parse_args())
    port, webhook_url = given.pop("port"), given.pop("webhook_url")

    async def run() -> None:
        site = make(**given)
        if webhook_url:
            site.point_at(webhook_url)

        async def release(_body: bytes) -> object:
            site.release()
            return {}

        async def press(body: bytes) -> object:
            await site.press(msgspec.json.decode(body, type=PersonMessage))
            return {}

        await serve(
            site,
            start=partial(site.start, port),
            more={"release": release, **({"press": press} if hasattr(site, "press") else {})},
            tells=partial(tells, site),
            has_groups=has_groups,
        )

    asyncio.run(run())


def _route(act: Verb) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    async def handle(request: web.Request) -> web.StreamResponse:
        try:
            answer = await act(await request.read())
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            return web.Response(status=400, text=str(error))
        return web.Response(body=msgspec.json.encode(answer), content_type="application/json")

    return handle
