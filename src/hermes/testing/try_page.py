"""`python -m hermes.testing.try_page NAME`: a stand-in, a gateway and a page to type in, all on
loopback.

`hermes channels try` runs it. Everything it starts is a child process and ends with it; the
gateway's home is a temporary folder.
"""

import argparse
import asyncio
import contextlib
import json
import os
import signal
import socket
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import aiohttp
import yaml
from aiohttp import web

from hermes.config.dotenv import parse
from hermes.config.layers import DOTENV
from hermes.config.variables import WELL_KNOWN
from hermes.plugins.manifest import ManifestFile, load_manifest, manifests_in
from hermes.testing.try_rooms import Rooms, page_app

_HOST = "127.0.0.1"
_MAX_WAIT_S = 60.0
_LOOK_S = 0.1
_END_S = 15.0
_MODEL_TABLES = ("providers", "models", "routing", "agents", "default_agent", "offline")
_MODEL_VARIABLES = tuple(f"HERMES_{table.upper()}" for table in _MODEL_TABLES)


class CannotTry(Exception):
    """Something did not start; the text says what."""


@asynccontextmanager
async def child(*command: str, environ: Mapping[str, str]) -> AsyncIterator[Process]:
    """Run a program that ends with its standard input, or on request."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", *command, stdin=PIPE, stdout=PIPE, stderr=DEVNULL, env=environ,
        start_new_session=True,
    )  # fmt: skip
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            if process.stdin is not None:
                process.stdin.close()
            process.terminate()
        try:
            await asyncio.wait_for(process.wait(), _END_S)
        except TimeoutError:
            process.kill()
            await process.wait()


# Any: a program may print anything about itself.
async def told_by(process: Process, name: str) -> dict[str, Any]:
    """Return the first line of a program, which says where it listens."""
    assert process.stdout is not None
    async with asyncio.timeout(_MAX_WAIT_S):
        line = await process.stdout.readline()
    if not line:
        raise CannotTry(f"{name} did not start")
    return dict(json.loads(line))


def manifest_of(name: str) -> ManifestFile:
    """Return where the manifest of a platform is: built in, or in a plugin that comes with Hermes."""
    for parent in ("hermes.channels", "hermes.contrib"):
        if (found := manifests_in(parent).get(name)) is not None:
            return found
    raise CannotTry(f"there is no platform {name!r} that comes with Hermes")


def stand_in_of(name: str) -> tuple[str, ...]:
    """Return the program of a platform's stand-in; one of several platforms is told which it is."""
    package = manifest_of(name).package.rpartition(".")[2]
    program = f"hermes.testing.{package}"
    return (program,) if package == name else (program, name)


def clean_environment(*, keep_models: bool) -> dict[str, str]:
    """Return the environment without anything that configures a gateway, except perhaps
    model keys.
    """
    return {
        name: text
        for name, text in os.environ.items()  # noqa: TID251 - handed on to the children
        if not (name in WELL_KNOWN or name.startswith("HERMES_"))
        or (keep_models and _is_of_model(name))
    }


def keys_of(models_of: Path | None) -> dict[str, str]:
    """Return the model settings in the `.env` of a home."""
    if models_of is None or not (models_of / DOTENV).is_file():
        return {}
    values = parse((models_of / DOTENV).read_text(encoding="utf-8")).values
    return {name: text for name, text in values.items() if _is_of_model(name)}


def _is_of_model(name: str) -> bool:
    row = WELL_KNOWN.get(name)
    return name.startswith(_MODEL_VARIABLES) if row is None else row.key[0] == "providers"


def write_home(
    home: Path, name: str, *, told: Mapping[str, Any], port: int, models_of: Path | None
) -> None:
    """Write the settings of the private gateway."""
    models: dict[str, Any] = {}
    if models_of is not None and (models_of / "config.yaml").is_file():
        known = yaml.safe_load((models_of / "config.yaml").read_text(encoding="utf-8")) or {}
        models = {table: known[table] for table in _MODEL_TABLES if table in known}
    package = manifest_of(name).package
    settings = {
        **models,
        "plugins": [] if package.startswith("hermes.channels.") else [package],
        "server": {"port": port, "public_url": f"http://{_HOST}:{port}"},
        "platforms": {name: {"enabled": True, "extra": told["settings"]}},
        "access": {"platforms": {name: {"allow_all": True}}},
        "net": {"exempt": ["127.0.0.0/8"]},
        "process": {"lock_dir": str(home / "locks")},
    }
    (home / "config.yaml").write_text(yaml.safe_dump(settings), encoding="utf-8")
    (home / "config.yaml").chmod(0o600)


async def connected(http: aiohttp.ClientSession, home: Path, *, name: str) -> None:
    """Wait until the gateway reports that the platform is connected."""
    state = "the gateway did not start"
    try:
        async with asyncio.timeout(_MAX_WAIT_S):
            while (state := await _state(http, home, name=name)) != "connected":  # noqa: ASYNC110
                await asyncio.sleep(_LOOK_S)
    except TimeoutError:
        raise CannotTry(f"{name} is not connected after {_MAX_WAIT_S:g} s: {state}") from None


async def _state(http: aiohttp.ClientSession, home: Path, *, name: str) -> str:
    try:
        told = await asyncio.to_thread((home / "run" / "gateway.json").read_bytes)
        address = json.loads(told)
        url = f"http://{address['host']}:{address['port']}/control/channels"
        headers = {"authorization": f"Bearer {address['token']}"}
        async with http.get(url, headers=headers) as answer:
            channels = (await answer.json())["channels"]
    except (OSError, ValueError, KeyError, aiohttp.ClientError):
        return "the gateway did not start"
    found = [f"{one['state']}" for one in channels if one["platform"] == name]
    return found[0] if found else "it is not there"


async def run(options: argparse.Namespace) -> None:
    """Run until requested to end."""
    name, stack = options.name, AsyncExitStack()
    manifest = manifest_of(name)
    label = load_manifest(manifest.package, manifest.file).label
    async with stack:
        home = Path(stack.enter_context(TemporaryDirectory(prefix="hermes-try-")))
        http = await stack.enter_async_context(aiohttp.ClientSession())
        environ = clean_environment(keep_models=options.model == "configured")
        environ = {**keys_of(options.models_of), **environ}
        platform = await stack.enter_async_context(child(*stand_in_of(name), environ=environ))
        told = await told_by(platform, f"the stand-in for {label}")
        if options.model == "echo":
            echo = child("hermes.testing.model_server", "--port", "0", environ=environ)
            model = await told_by(await stack.enter_async_context(echo), "the model")
            environ["OPENAI_BASE_URL"] = f"http://{_HOST}:{model['port']}/v1"
            environ["OPENAI_API_KEY"] = "no-key-is-needed"
        port = _free_port()
        write_home(home, name, told=told, port=port, models_of=options.models_of)
        up = child("hermes", "up", "--home", str(home), environ=environ)
        await stack.enter_async_context(up)
        rooms = Rooms(http, control=told["control"], platform=label, has_groups=told["has_groups"])
        await rooms.ask("point_at", {"url": f"http://{_HOST}:{port}/webhooks/{name}"})
        await connected(http, home, name=name)
        await _serve(stack, rooms, port=options.port)
        await _told_to_end(with_stdin=options.with_stdin)


async def _serve(stack: AsyncExitStack, rooms: Rooms, *, port: int) -> None:
    runner = web.AppRunner(page_app(rooms), access_log=None, shutdown_timeout=0.2)
    await runner.setup()
    stack.push_async_callback(runner.cleanup)
    await web.TCPSite(runner, _HOST, port).start()
    url = f"http://{_HOST}:{runner.addresses[0][1]}/"
    sys.stdout.write(f"Open {url} (Ctrl-C ends everything)\n")
    sys.stdout.flush()


async def _told_to_end(*, with_stdin: bool) -> None:
    end, loop = asyncio.Event(), asyncio.get_running_loop()
    for name in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(name, end.set)
    if with_stdin:
        loop.add_reader(sys.stdin.fileno(), end.set)
    await end.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((_HOST, 0))
        return int(probe.getsockname()[1])


def main() -> None:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(description="Try a channel without an account.")
    parser.add_argument("name")
    parser.add_argument("--port", type=int, default=0, help="of the page; 0 takes a free one")
    parser.add_argument("--model", choices=("demo", "configured", "echo"), default="demo")
    parser.add_argument("--models-of", type=Path, default=None, help="the home with the models")
    parser.add_argument("--with-stdin", action="store_true", help="end with the standard input")
    try:
        asyncio.run(run(parser.parse_args()))
    except CannotTry as problem:
        sys.exit(f"error: {problem}")
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()
