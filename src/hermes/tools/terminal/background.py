"""Background processes: they go on after the turn that started them, and end with their session.

Each has a record and its output as files beside the working folder, so that an id means the same
after a restart. The processes themselves end with the gateway: what a record calls running and
this gateway does not run was lost with an earlier one.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, Final, Literal

import msgspec
import structlog

from hermes.durable_file import write_durably
from hermes.errors import ToolError
from hermes.ports.clock import Clock
from hermes.tools.terminal.program import SandboxedProgram, finish, start
from hermes.tools.terminal.sandbox import Sandbox
from hermes.tools.terminal.work_folders import WorkFolder

_log = structlog.get_logger(__name__)
_RECORDS: Final = "processes"
_CHECK_S: Final = 2.0
_SHOWN: Final = 200
# Outputs are not part of the working folder, so its limit does not count them.
_KEPT: Final = 20
Why = Literal["", "exited", "stopped", "session", "gateway", "time", "full"]
_TOLD: Final[dict[Why, str]] = {
    "": "it is running",
    "exited": "it ended by itself",
    "stopped": "it was stopped",
    "session": "it was ended with the conversation that started it",
    "gateway": "it ended when this gateway stopped; start it again if it is still needed",
    "time": "it was ended because its time was over",
    "full": "it was ended because the working folder was full",
}
_encode = msgspec.json.Encoder().encode
# Returns the part of a session, counted by its resets, that is going on now.
EpochOf = Callable[[str], Awaitable[int]]
IsFull = Callable[[WorkFolder], Awaitable[bool]]


class ProcessRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One background process of the gateway's `run`; `why` is empty while it runs, `told` is the turn
    that was told of its end."""

    id: str
    command: str
    epoch: int
    run: str
    started_at: float
    ended_at: float | None = None
    code: int | None = None
    why: Why = ""
    told: str = ""

    @property
    def line(self) -> str:
        """The process in one line, for a model."""
        code = f" with exit code {self.code}" if self.why == "exited" else ""
        command = " ".join(self.command.split())
        shown = command if len(command) <= _SHOWN else f"{command[:_SHOWN]}..."
        return f"{self.id} ({shown}): {_TOLD[self.why]}{code}"


_decode = msgspec.json.Decoder(ProcessRecord).decode


class BackgroundLimits(msgspec.Struct, frozen=True, kw_only=True):
    """How many processes a session may have, for how long, and how much output is kept."""

    most: int = 4
    timeout_s: float = 43_200.0
    output_bytes: int = 200_000


class LiveProcess(msgspec.Struct, frozen=True, kw_only=True):
    """A process that runs now: its session's lane and records, its id and its start."""

    lane: str
    records: Path
    id: str
    started_at: float


class _OutputFile:
    """The end of an output in a file of at most twice `limit` bytes."""

    def __init__(self, path: Path, limit: int) -> None:
        self._path = path
        self._limit = limit
        self._size = 0
        path.write_bytes(b"")

    def add(self, piece: bytes) -> None:
        """Append what was written; cut the beginning off if the file is too long."""
        piece = piece[-self._limit :]
        with self._path.open("ab") as file:
            file.write(piece)
        self._size += len(piece)
        if self._size > 2 * self._limit:
            kept = self._path.read_bytes()[-self._limit :]
            self._path.write_bytes(kept)
            self._size = len(kept)


class _Live(msgspec.Struct, kw_only=True):
    work: WorkFolder
    record: ProcessRecord
    program: SandboxedProgram
    ending: "asyncio.Future[Why]"
    task: "asyncio.Task[None] | None" = None


class BackgroundProcesses:
    """All background processes of a gateway; `check` ends those whose session is over.

    `run` names this process of the gateway.
    """

    def __init__(
        self,
        sandbox: Sandbox,
        *,
        limits: BackgroundLimits,
        epoch_of: EpochOf,
        is_full: IsFull,
        clock: Clock,
        run: str,
    ) -> None:
        self._sandbox = sandbox
        self._limits = limits
        self._epoch_of = epoch_of
        self._is_full = is_full
        self._clock = clock
        self._run = run
        self._live: dict[tuple[Path, str], _Live] = {}
        self._starting = asyncio.Lock()

    async def start(
        self,
        work: WorkFolder,
        program: Sequence[str],
        *,
        command: str,
        sandbox: Sandbox | None = None,
    ) -> ProcessRecord:
        """Start a process, in a sandbox of its own if one is given; its record is on the disk before it."""
        # Whoever is stopped meanwhile leaves no process without a record.
        inside = sandbox or self._sandbox
        return await asyncio.shield(self._start(work, program, command=command, sandbox=inside))

    async def _start(
        self, work: WorkFolder, program: Sequence[str], *, command: str, sandbox: Sandbox
    ) -> ProcessRecord:
        async with self._starting:
            record = await self._new_record(work, command)
            try:
                started = await start(sandbox, program, folder=work.files)
            except ToolError:
                await _save(work, self._ended(record, "stopped"))
                raise
            live = _Live(
                work=work,
                record=record,
                program=started,
                ending=asyncio.get_running_loop().create_future(),
            )
            self._live[work.records, record.id] = live
            live.task = asyncio.create_task(self._watch(live), name=f"process {record.id}")
            return record

    async def _new_record(self, work: WorkFolder, command: str) -> ProcessRecord:
        running = [one.record.id for one in self._live.values() if one.work == work]
        if len(running) >= self._limits.most:
            raise ToolError(
                f"{len(running)} background processes run in this session, and that is the limit; "
                f"stop one with terminal_stop: {', '.join(running)}"
            )
        known = await self.records(work)
        await asyncio.to_thread(_forget, work, known)
        record = ProcessRecord(
            id=f"b{int(known[-1].id[1:]) + 1 if known else 1}",
            command=command,
            epoch=await self._epoch_of(work.lane),
            run=self._run,
            started_at=self._clock.now(),
        )
        await _save(work, record)
        return record

    async def stop(self, work: WorkFolder, name: str) -> ProcessRecord:
        """End a process, and return its record."""
        live = self._live.get((work.records, name))
        if live is not None:
            await self._end(live, "stopped")
        return await self.record(work, name)

    async def record(self, work: WorkFolder, name: str) -> ProcessRecord:
        """Return the record of a process of a session."""
        found = {one.id: one for one in await self.records(work)}
        if name not in found:
            known = ", ".join(found) or "none was started"
            raise ToolError(f"there is no background process {name[:40]!r}; known: {known}")
        return found[name]

    async def output(self, work: WorkFolder, name: str) -> str:
        """Return the end of what a process of a session has written."""
        path = _path(work, (await self.record(work, name)).id, "out")
        data = await asyncio.to_thread(_bytes_of, path)
        limit = self._limits.output_bytes
        cut = "[the beginning is left out]\n" if len(data) > limit else ""
        return cut + data[-limit:].decode(errors="replace")

    async def records(self, work: WorkFolder) -> tuple[ProcessRecord, ...]:
        """Return all processes of a session; what an earlier gateway ran has ended."""
        found = await asyncio.to_thread(_saved, work)
        return tuple([await self._settled(work, one) for one in found])

    async def news(self, work: WorkFolder, turn_id: str) -> tuple[str, ...]:
        """Return what has ended since a model was last told; the same again for the same turn."""
        ended = [one for one in await self.records(work) if one.why not in ("", "session")]
        new = [one for one in ended if one.told in ("", turn_id)]
        for one in new:
            await self.note_told(work, one, turn_id)
        return tuple(one.line for one in new)

    async def note_told(self, work: WorkFolder, record: ProcessRecord, turn_id: str) -> None:
        """Note that a turn knows of an end, so that no later one is told of it."""
        if record.why and not record.told:
            await _save(work, msgspec.structs.replace(record, told=turn_id))

    def running(self) -> tuple[LiveProcess, ...]:
        """Return what runs now, in all sessions."""
        return tuple(
            LiveProcess(
                lane=one.work.lane,
                records=one.work.records,
                id=one.record.id,
                started_at=one.record.started_at,
            )
            for one in self._live.values()
        )

    def works_in(self, lane: str) -> bool:
        """Return whether a process runs in a session."""
        return any(one.work.lane == lane for one in self._live.values())

    async def check(self) -> None:
        """End the processes whose session has ended since they were started."""
        for live in tuple(self._live.values()):
            if await self._epoch_of(live.work.lane) != live.record.epoch:
                await self._end(live, "session")

    async def end_below(self, folder: Path) -> None:
        """End the processes whose records are below a folder."""
        for live in tuple(self._live.values()):
            if live.work.records.is_relative_to(folder):
                await self._end(live, "session")

    async def close(self) -> None:
        """End all processes with the gateway."""
        await asyncio.gather(*(self._end(one, "gateway") for one in tuple(self._live.values())))

    async def _end(self, live: _Live, why: Why) -> None:
        if not live.ending.done():
            live.ending.set_result(why)
        assert live.task is not None
        await asyncio.wait({live.task})

    async def _watch(self, live: _Live) -> None:
        """Wait for the end of a process, whatever brings it, and write it down."""
        output = _OutputFile(_path(live.work, live.record.id, "out"), self._limits.output_bytes)
        reading = asyncio.create_task(live.program.read(output.add), name="process output")
        exited = asyncio.create_task(live.program.exited(), name="process exit")
        why: Why = "gateway"
        try:
            why = await self._first_end(live, exited)
        except Exception:  # noqa: BLE001  task boundary: a process that nobody watches is ended
            _log.exception("background_process_failed", process=live.record.id)
        finally:
            exited.cancel()
            await self._close(live, reading, why)

    async def _close(self, live: _Live, reading: "asyncio.Task[None]", why: Why) -> None:
        try:
            await finish(live.program, reading)
        except TimeoutError:
            _log.error("background_process_not_ended", process=live.record.id)
        finally:
            code = live.program.streams.returncode if why == "exited" else None
            try:
                await _save(live.work, self._ended(live.record, why, code=code))
            finally:
                del self._live[live.work.records, live.record.id]

    async def _first_end(self, live: _Live, exited: "asyncio.Task[int]") -> Why:
        loop = asyncio.get_running_loop()
        end = loop.time() + self._limits.timeout_s
        # Any: one future has an exit code, the other a reason.
        ends: set[asyncio.Future[Any]] = {exited, live.ending}
        while loop.time() < end:
            await asyncio.wait(
                ends,
                timeout=min(_CHECK_S, end - loop.time()),
                return_when=asyncio.FIRST_COMPLETED,
            )
            if live.ending.done():
                return live.ending.result()
            if exited.done():
                return "exited"
            if await self._is_full(live.work):
                return "full"
        return "time"

    async def _settled(self, work: WorkFolder, record: ProcessRecord) -> ProcessRecord:
        if record.why or record.run == self._run:
            return record
        lost = self._ended(record, "gateway")
        await _save(work, lost)
        return lost

    def _ended(self, record: ProcessRecord, why: Why, *, code: int | None = None) -> ProcessRecord:
        return msgspec.structs.replace(record, why=why, code=code, ended_at=self._clock.now())


def _path(work: WorkFolder, name: str, kind: str) -> Path:
    return work.records / _RECORDS / f"{name}.{kind}"


async def _save(work: WorkFolder, record: ProcessRecord) -> None:
    path = _path(work, record.id, "json")
    await asyncio.to_thread(write_durably, path, _encode(record))


def _saved(work: WorkFolder) -> list[ProcessRecord]:
    paths = (work.records / _RECORDS).glob("b*.json")
    return [_decode(one.read_bytes()) for one in sorted(paths, key=lambda one: int(one.stem[1:]))]


def _forget(work: WorkFolder, known: Sequence[ProcessRecord]) -> None:
    """Remove the oldest records of processes that have ended, with their output."""
    ended = [one for one in known if one.why]
    for one in ended[: max(0, len(ended) - _KEPT)]:
        _path(work, one.id, "out").unlink(missing_ok=True)
        _path(work, one.id, "json").unlink(missing_ok=True)


def _bytes_of(path: Path) -> bytes:
    return path.read_bytes() if path.exists() else b""
