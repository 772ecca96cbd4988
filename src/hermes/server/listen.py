"""The listening socket and the HTTP server on it.

The socket is bound first, so that a port in use is reported in one clear line before anything else
starts. Signals are not handled here: `app.py` owns them and calls `stop`.
"""

import asyncio
import errno
import os
import socket
from collections.abc import Generator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import cast

import msgspec
from starlette.types import ASGIApp
from uvicorn.config import Config
from uvicorn.server import Server

from hermes.config.server_settings import ServerSettings
from hermes.errors import ConfigurationError
from hermes.net.open_files import FileShortage, open_files_limit
from hermes.ports.clock import SystemClock
from hermes.server.connection_limits import ConnectionLimits
from hermes.server.edge import EdgeLimits, EdgeProtocol

_CHANGE = "set server.port in config.yaml or HERMES_SERVER__PORT to another port"

# Files for the database, the logs and everything else that is open besides connections.
_OWN_FILES = 128
_FEWEST_CONNECTIONS = 16
# How long requests that were cut off have to finish their answers.
_CANCELLED_S = 5.0
Listener = socket.socket


class ServeSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Times and limits of the HTTP server.

    `per_address` does not count connections from this machine: a reverse proxy often runs here.
    """

    keep_alive_s: float = 75.0
    stop_s: float = 5.0
    backlog: int = 2048
    connections: int = 4096
    per_address: int = 512
    limits: EdgeLimits = EdgeLimits()


def serve_settings(server: ServerSettings) -> ServeSettings:
    """Return the HTTP server's part of the settings."""
    return ServeSettings(
        keep_alive_s=server.keep_alive_s,
        connections=server.max_connections,
        per_address=server.max_connections_per_address,
        limits=EdgeLimits(
            head_bytes=server.max_head_bytes,
            head_lines=server.max_head_lines,
            head_s=server.head_timeout_s,
            send_s=server.send_timeout_s,
        ),
    )


def bind(host: str, port: int) -> Listener:
    """Return a bound, listening socket; raise a `ConfigurationError` that says what to change."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind, protocol)
    except OSError as problem:
        raise ConfigurationError(_describe(problem, host, port=port)) from None
    try:
        # On Windows this option means something else: it would share a port that is in use.
        if os.name == "posix":
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(ServeSettings().backlog)
        listener.setblocking(False)
    except OSError as problem:
        listener.close()
        raise ConfigurationError(_describe(problem, host, port=port)) from None
    return listener


def bind_in(folder: Path, name: str) -> Listener:
    """Return a listening socket at a path, which may be of any length, for programs of any user.

    Who may enter the folders above may call it.
    """
    folder.mkdir(mode=0o711, parents=True, exist_ok=True)
    path = folder / name
    path.unlink(missing_ok=True)
    listener, place = socket.socket(socket.AF_UNIX), os.open(folder, os.O_PATH | os.O_DIRECTORY)
    try:
        # The path of a socket may have about a hundred letters only.
        listener.bind(f"/proc/self/fd/{place}/{name}")
        path.chmod(0o666)
        listener.listen()
        listener.setblocking(False)
    except OSError:
        listener.close()
        raise
    finally:
        os.close(place)
    return listener


def address_of(listener: Listener) -> str:
    """Return the http address that a listening socket answers on, for people to open."""
    host, port = listener.getsockname()[:2]
    if host in {"0.0.0.0", "::"}:
        host = "127.0.0.1"
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _connections_for(files: int) -> int:
    """Return how many connections leave enough files for the calls that they trigger."""
    return max(_FEWEST_CONNECTIONS, (files - _OWN_FILES) // 2)


def _describe(problem: OSError, host: str, *, port: int) -> str:
    if problem.errno == errno.EADDRINUSE:
        return (
            f"Port {port} on {host} is used by another program. Stop that program "
            f"(is Hermes running already? try `hermes status`), or {_CHANGE}."
        )
    if problem.errno == errno.EACCES:
        return f"Port {port} on {host} is reserved for the system: {_CHANGE}, at least 1024."
    return (
        f"The server cannot listen on {host} port {port}: {problem.strerror or problem}. Set "
        "server.host in config.yaml or HERMES_SERVER__HOST to an address of this machine, such "
        "as 127.0.0.1."
    )


class HttpServer:
    """Serves one app on one socket until `stop` is called."""

    def __init__(
        self,
        app: ASGIApp,
        listener: socket.socket,
        *,
        settings: ServeSettings,
        files: FileShortage | None = None,
    ) -> None:
        self._listener = listener
        self._server = _Server(_config(app, settings, files))

    async def serve(self) -> None:
        """Answer requests until `stop` is called, then let running ones finish."""
        await self._server.serve(sockets=[self._listener])

    async def wait_started(self) -> None:
        """Return once the server answers requests."""
        await self._server.is_started.wait()

    def stop(self) -> None:
        """Ask `serve` to end: accept no new connections, and give open ones `stop_s` to finish."""
        self._server.should_exit = True


async def serve(
    app: ASGIApp, listener: socket.socket, *, settings: ServeSettings, stop: asyncio.Event
) -> None:
    """Serve until `stop` is set."""
    server = HttpServer(app, listener, settings=settings)
    async with asyncio.TaskGroup() as group:
        group.create_task(server.serve())
        await stop.wait()
        server.stop()


class _Server(Server):
    def __init__(self, config: Config) -> None:
        super().__init__(config)
        self.is_started = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.is_started.set()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await super().shutdown(sockets)
        # uvicorn cancels what still runs and does not wait for it: without this, its records and
        # answer would come after everything else is closed.
        if self.server_state.tasks:
            await asyncio.wait(set(self.server_state.tasks), timeout=_CANCELLED_S)

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield


def _config(app: ASGIApp, settings: ServeSettings, files: FileShortage | None) -> Config:
    monotonic = SystemClock().monotonic
    places = ConnectionLimits(
        min(settings.connections, _connections_for(open_files_limit())),
        per_address=settings.per_address,
        monotonic=monotonic,
        files=files or FileShortage(monotonic),
    )
    # cast: uvicorn calls it like a class, and uses it in no other way.
    protocol = cast(
        "type[asyncio.Protocol]", partial(EdgeProtocol, limits=settings.limits, places=places)
    )
    return Config(
        app,
        # The caller owns the loop: `app.py` runs uvloop if it is installed.
        loop="none",
        http=protocol,
        ws="none",
        lifespan="off",
        interface="asgi3",
        access_log=False,
        log_config=None,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=int(settings.keep_alive_s),
        timeout_graceful_shutdown=int(settings.stop_s),
        backlog=settings.backlog,
    )
