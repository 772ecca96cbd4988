"""The programs that answer agents: their adapters, and the socket at which they call models.

The socket serves `/v1` and nothing else, only while a program needs it for the first time until the
gateway ends. It is shown inside a sandbox that has no other network.
"""

import asyncio
import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from starlette.types import ASGIApp

from hermes.agents.masked_adapter import MaskedAdapter
from hermes.agents.secret_mask import SecretMask
from hermes.app.lifecycle import Component
from hermes.app.make_terminal import Terminal, make_sandbox
from hermes.config import AdapterSettings, Settings
from hermes.config.section import names_a_secret
from hermes.errors import AdapterError
from hermes.lazy import lazy
from hermes.plugins.registry import Registry
from hermes.server.listen import HttpServer, ServeSettings, bind_in
from hermes.tools.programs.prompt import ReadMedia
from hermes.tools.programs.relay import SOCKET, ModelAccess
from hermes.tools.programs.run_keys import RunKeys
from hermes.tools.terminal.program import end_leftovers

if TYPE_CHECKING:
    from hermes.app.make_program import make_program
else:
    # Imported where a program is configured.
    make_program = lazy("hermes.app.make_program:make_program")

_FOLDER = "run/models"
MakeApp = Callable[[], ASGIApp]


class ModelSocket:
    """Serves `/v1` on a socket below the home, from its first use on.

    `address` is the gateway's own, for programs without a sandbox: to those no socket `is_shown`.
    """

    def __init__(self, home: Path, *, address: str, is_shown: bool) -> None:
        self._folder = home / _FOLDER
        self._address = address
        self._is_shown = is_shown
        self._server: HttpServer | None = None
        self._task: asyncio.Task[None] | None = None
        self._starting = asyncio.Lock()
        # Set once there is a core.
        self.make_app: MakeApp | None = None

    async def open(self) -> ModelAccess:
        """Return where models are called; they are from now on."""
        if not self._is_shown and not self._address:
            raise AdapterError("this gateway serves no HTTP, so programs cannot call its models")
        async with self._starting:
            if self._is_shown and self._server is None:
                await self._start()
        return ModelAccess(self._folder, self._address)

    async def _start(self) -> None:
        if self.make_app is None:
            raise AdapterError("the gateway has not started yet")
        try:
            listener = await asyncio.to_thread(bind_in, self._folder, SOCKET)
        except OSError as error:
            raise AdapterError(f"the socket for models cannot be made: {error.strerror}") from error
        server = HttpServer(self.make_app(), listener, settings=ServeSettings())
        self._task = asyncio.create_task(server.serve(), name="models of programs")
        await server.wait_started()
        self._server = server

    async def stop(self) -> None:
        """Serve no more."""
        if self._server is not None and self._task is not None:
            self._server.stop()
            await asyncio.wait({self._task})


class Programs(msgspec.Struct, frozen=True, kw_only=True):
    """What belongs to the programs of a gateway."""

    models: ModelSocket
    owner: str
    is_unsafe: bool

    def component(self) -> Component:
        """Return what ends programs of an earlier run, and the socket with the gateway."""

        async def start() -> None:
            if self.is_unsafe:
                await asyncio.to_thread(end_leftovers, self.owner)

        return Component(name="programs", start=start, stop=self.models.stop)


def add_programs(
    settings: Settings,
    registry: Registry,
    *,
    home: Path,
    terminal: Terminal,
    keys: RunKeys,
    address: str,
    mask: SecretMask,
    read_media: ReadMedia,
) -> Programs:
    """Add the configured programs to the adapters, and mask the answers of all adapters."""
    owner = hashlib.sha256(str(home.resolve()).encode()).hexdigest()[:32]
    base = make_sandbox(settings, home=home)
    models = ModelSocket(home, address=address, is_shown=base.kind == "bubblewrap")
    for name, one in settings.adapters.items():
        program = make_program(
            name,
            one,
            sandbox=msgspec.structs.replace(base, owner=owner),
            folders=terminal.folders,
            folder_mb=settings.terminal.folder_mb,
            keys=keys,
            open_models=models.open if one.models == "gateway" else None,
            read_media=read_media,
        )
        registry.adapter(name, MaskedAdapter(program, _own_mask(one)))
    for name, adapter in tuple(registry.adapters.items()):
        registry.adapters[name] = MaskedAdapter(adapter, mask)
    is_unsafe = base.kind == "unsafe" and bool(settings.adapters)
    return Programs(models=models, owner=owner, is_unsafe=is_unsafe)


def _own_mask(one: AdapterSettings) -> SecretMask:
    """Mask what the settings give a program to know: it may repeat that to the person."""
    mask = SecretMask()
    mask.use(
        (name, value.get_secret_value())
        for name, value in one.variables.items()
        if names_a_secret(name)
    )
    return mask
