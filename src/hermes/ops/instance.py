"""One gateway per home: the lock, the pid file, where it listens, and the word of a planned stop.

`run/gateway.lock` is an OS lock that dies with the process; it decides. The files beside it only
say who holds it. Commands of the same machine find the gateway here; it knows nothing of HTTP.
"""

import fcntl
import os
import signal
from pathlib import Path
from typing import TypeVar

import msgspec

from hermes.errors import AlreadyRunning, ConfigurationError
from hermes.ops.process import ProcessHandle, ProcessIdentity, is_alive, own_identity

KIND = "hermes-gateway"
PLANNED_STOP_VALID_S = 60.0

_LOCK = "gateway.lock"
_PID = "gateway.pid"
_ADDRESS = "gateway.json"
_PLANNED_STOP = "planned-stop.json"
_EVERY_ADDRESS = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}

_Value = TypeVar("_Value")


class Address(msgspec.Struct, frozen=True, kw_only=True):
    """Where a running gateway answers, with the token that lets this machine's commands in."""

    host: str
    port: int
    token: str
    version: str
    started_at: float

    @property
    def url(self) -> str:
        """The base address for a caller on this machine."""
        host = _EVERY_ADDRESS.get(self.host, self.host)
        return f"http://[{host}]:{self.port}" if ":" in host else f"http://{host}:{self.port}"


class Running(msgspec.Struct, frozen=True):
    """A gateway that runs in this home; `address` is None until it listens."""

    identity: ProcessIdentity
    address: Address | None


class PlannedStop(msgspec.Struct, frozen=True, kw_only=True):
    """The word that the next SIGTERM is wanted, good for one process and one minute."""

    pid: int
    start_time: int | None
    written_at: float


class Instance:
    """The right to be the gateway of a home, held until `release` or the end of the process."""

    def __init__(self, home: Path, lock: int, *, identity: ProcessIdentity) -> None:
        self.home = home
        self.identity = identity
        self._run = _run_folder(home)
        self._lock: int | None = lock

    def publish(self, address: Address) -> None:
        """Tell the commands of this machine where the gateway answers."""
        _write_private(self._run / _ADDRESS, msgspec.json.encode(address))

    def take_planned_stop(self, now: float) -> bool:
        """Use up the planned-stop marker; true if it was meant for this process and is fresh."""
        path = self._run / _PLANNED_STOP
        marker = _read(path, PlannedStop)
        path.unlink(missing_ok=True)
        if marker is None:
            return False
        meant = (marker.pid, marker.start_time) == (self.identity.pid, self.identity.start_time)
        return meant and 0 <= now - marker.written_at <= PLANNED_STOP_VALID_S

    def release(self) -> None:
        """Take the files away and free the lock; a second call does nothing."""
        if self._lock is None:
            return
        for name in (_ADDRESS, _PID, _PLANNED_STOP):
            (self._run / name).unlink(missing_ok=True)
        os.close(self._lock)
        self._lock = None


def acquire(home: Path) -> Instance:
    """Become the gateway of `home`; raises `AlreadyRunning` when another process is."""
    folder = _run_folder(home)
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock = _lock(folder / _LOCK)
    except OSError as error:
        raise ConfigurationError(
            f"The folder {folder} cannot be used: {error.strerror}. Hermes must be able to write "
            "and lock files there; fix its owner and rights, or set HERMES_HOME to another folder."
        ) from error
    running = find_running(home)
    if lock is None or running is not None:
        if lock is not None:
            os.close(lock)
        raise AlreadyRunning(_already_running(home, running))
    # Whoever wrote these held the lock and is dead.
    for name in (_PID, _ADDRESS, _PLANNED_STOP):
        (folder / name).unlink(missing_ok=True)
    identity = own_identity(KIND)
    _create_private(folder / _PID, msgspec.json.encode(identity))
    return Instance(home, lock, identity=identity)


def find_running(home: Path) -> Running | None:
    """Return the gateway that runs in `home`, proven by pid, start time and arguments."""
    folder = _run_folder(home)
    identity = _read(folder / _PID, ProcessIdentity)
    if identity is None or identity.kind != KIND or not is_alive(identity):
        return None
    return Running(identity, _read(folder / _ADDRESS, Address))


def request_stop(home: Path, running: Running, *, now: float) -> ProcessHandle:
    """Mark the stop as planned and send SIGTERM; returns a handle to wait on."""
    identity = running.identity
    marker = PlannedStop(pid=identity.pid, start_time=identity.start_time, written_at=now)
    handle = ProcessHandle(identity)
    try:
        _write_private(_run_folder(home) / _PLANNED_STOP, msgspec.json.encode(marker))
        handle.signal(signal.SIGTERM)
    except OSError as error:
        handle.close()
        raise ConfigurationError(
            f"The gateway (pid {identity.pid}) cannot be stopped from here: {error.strerror}. "
            "Run `hermes stop` as the user who started it."
        ) from error
    return handle


def _run_folder(home: Path) -> Path:
    return home / "run"


def _lock(path: Path) -> int | None:
    """Lock the file at `path`, also if somebody replaces it meanwhile; None when it is taken."""
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_at(descriptor, path):
                return descriptor
        except BlockingIOError:
            os.close(descriptor)
            return None
        except OSError:
            os.close(descriptor)
            raise
        os.close(descriptor)


def _is_at(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


def _create_private(path: Path, content: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)


def _write_private(path: Path, content: bytes) -> None:
    """Replace a file as a whole, so that a reader never sees half of it."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.unlink(missing_ok=True)
    _create_private(draft, content)
    draft.replace(path)


def _read(path: Path, kind: type[_Value]) -> _Value | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except (OSError, msgspec.DecodeError):
        return None


def _already_running(home: Path, running: Running | None) -> str:
    who = "a process that has not said its name yet (it is starting, or runs in another container)"
    if running is not None:
        where = running.address.url if running.address else "an address it has not opened yet"
        who = f"pid {running.identity.pid} at {where}"
    return (
        f"Hermes already runs in {home}: {who}. Only one gateway can use a home at a time. "
        "`hermes status` shows it, `hermes stop` ends it, and another HERMES_HOME starts a second."
    )
