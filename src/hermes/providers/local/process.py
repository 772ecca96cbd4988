"""The gateway's side of the model's child process: start, ask, cancel, stop.

The event loop only waits on pipes here, so neither loading nor generating can block it.
"""

import asyncio
import json
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncGenerator
from contextlib import suppress
from typing import Any

import msgspec

from hermes.errors import ProviderUnavailable
from hermes.providers.local.settings import MODEL_NAME, LocalSettings, find_weights

_MODULE = "hermes.providers.local.worker"
_LINE_LIMIT = 4_194_304


class _Line(msgspec.Struct):
    ready: bool = False
    failed: str | None = None
    id: int = -1
    chunk: msgspec.Raw = msgspec.Raw()
    end: bool = False


_decode = msgspec.json.Decoder(_Line).decode


class EngineProcess:
    """One running child; its owner makes sure that it gets one request at a time."""

    def __init__(self, process: Process, settings: LocalSettings) -> None:
        self._process = process
        self._settings = settings
        self._number = 0

    @classmethod
    async def start(cls, settings: LocalSettings) -> "EngineProcess":
        """Start the child and wait until the model is loaded."""
        options = {
            "weights": str(find_weights()),
            "model": MODEL_NAME,
            "context_tokens": settings.context_tokens,
            "threads": settings.thread_count,
        }
        try:
            # In its own session: a Ctrl-C is for the gateway, which decides what happens to the
            # call. The child ends when its standard input closes, however the gateway ended.
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", _MODULE, json.dumps(options),
                stdin=PIPE, stdout=PIPE, stderr=DEVNULL, limit=_LINE_LIMIT, start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            raise ProviderUnavailable(
                f"{settings.name}: the demonstration model cannot be started ({error.strerror});"
                " free some memory, or configure a model of your own"
            ) from error
        engine = cls(process, settings)
        loaded = False
        try:
            await engine._wait_until_loaded()
            loaded = True
        finally:
            if not loaded:
                engine._kill()
                await process.wait()
        return engine

    @property
    def pid(self) -> int:
        """The child's process id."""
        return self._process.pid

    @property
    def is_running(self) -> bool:
        """Whether the child is alive."""
        return self._process.returncode is None

    # Any: a JSON object on its way to the engine.
    async def generate(self, body: dict[str, Any]) -> AsyncGenerator[bytes, None]:
        """Yield the engine's chunks as raw JSON; leaving early stops the generation."""
        self._number += 1
        number = self._number
        self._send({"id": number, "body": body})
        finished = False
        try:
            while True:
                line = await self._next()
                if line.id != number:
                    continue
                if line.end:
                    finished = True
                    return
                if line.chunk:
                    yield bytes(line.chunk)
        finally:
            if not finished:
                await self._cancel(number)

    async def stop(self) -> None:
        """End the child and wait for it; its memory is free afterwards."""
        process = self._process
        if process.stdin is not None:
            process.stdin.close()
        try:
            async with asyncio.timeout(self._settings.cancel_grace_s):
                await process.wait()
        except TimeoutError:
            self._kill()
            await process.wait()
        except asyncio.CancelledError:
            self._kill()
            raise

    async def _wait_until_loaded(self) -> None:
        limit = self._settings.load_timeout_s
        try:
            async with asyncio.timeout(limit):
                line = await self._next()
        except TimeoutError as error:
            raise ProviderUnavailable(
                f"{self._settings.name}: the demonstration model was not loaded within {limit:g} "
                "s because the machine is busy: try again, or configure a model of your own"
            ) from error
        if not line.ready:
            raise ProviderUnavailable(
                f"{self._settings.name}: the demonstration model cannot be loaded:"
                f" {(line.failed or 'it gave no reason')[:300]}"
            )

    async def _cancel(self, number: int) -> None:
        """Stop a generation; kill a child that does not stop in time."""
        if not self.is_running:
            return
        self._send({"cancel": number})
        try:
            async with asyncio.timeout(self._settings.cancel_grace_s):
                while not (line := await self._next()).end or line.id != number:
                    pass
        except (TimeoutError, ProviderUnavailable):
            self._kill()
            await self._process.wait()
        except asyncio.CancelledError:
            self._kill()
            raise

    def _send(self, order: dict[str, Any]) -> None:
        if self._process.stdin is not None:
            self._process.stdin.write(msgspec.json.encode(order) + b"\n")

    async def _next(self) -> _Line:
        reader = self._process.stdout
        line = await reader.readline() if reader is not None else b""
        if line.endswith(b"\n"):
            with suppress(msgspec.DecodeError):
                return _decode(line)
        self._kill()
        code = await self._process.wait()
        raise ProviderUnavailable(
            f"{self._settings.name}: the demonstration model's process ended (exit {code});"
            " the next call starts it again"
        )

    def _kill(self) -> None:
        with suppress(ProcessLookupError):
            self._process.kill()
