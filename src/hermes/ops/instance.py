"""One gateway per home: the lock, the pid file, the address, and the planned-stop marker.

`run/gateway.lock` is an OS lock that ends with the process; it decides. The files next to it only
name the holder, and count only in the folder whose lock was taken: a copied home has copies of
these files and no gateway. Commands of the same machine find the gateway here; it knows nothing
about HTTP.
"""

import errno
import fcntl
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import msgspec

from hermes.errors import AlreadyRunning, ConfigurationError
from hermes.ops.private_files import create_private, read_as, write_private
from hermes.ops.process import ProcessHandle, ProcessIdentity, is_alive, own_identity

KIND = "hermes-gateway"
PLANNED_STOP_VALID_S = 60.0
"""How long a marker counts unless the settings say otherwise."""

_LOCK = "gateway.lock"
_PID = "gateway.pid"
_ADDRESS = "gateway.json"
_PLANNED_STOP = "planned-stop.json"
_TAKEOVER = "takeover.json"
_OF_ONE_LIFE = (_PID, _ADDRESS, _PLANNED_STOP, _TAKEOVER)
_EVERY_ADDRESS = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}


class GatewayAddress(msgspec.Struct, frozen=True, kw_only=True):
    """The address of a running gateway, with the token for this machine's commands."""

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


class LockHolder(ProcessIdentity, frozen=True, kw_only=True):
    """The process that holds a home's lock; `folder` is the run folder by device and inode.

    The pid file of an earlier version has no `folder`.
    """

    folder: str | None = None


class RunningGateway(msgspec.Struct, frozen=True):
    """A gateway that runs in this home; `address` is None until it listens."""

    identity: LockHolder
    address: GatewayAddress | None


class PlannedStop(msgspec.Struct, frozen=True, kw_only=True):
    """The marker that the next SIGTERM is planned, valid for one process and one minute.

    `by` is the process that wrote it; for a takeover it is the next gateway.
    """

    pid: int
    start_time: int | None
    written_at: float
    by: int = 0


Wanted = Literal["stop", "takeover"]
_MARKERS: dict[Wanted, str] = {"stop": _PLANNED_STOP, "takeover": _TAKEOVER}


class Instance:
    """The right to be the gateway of a home, held until `release` or the end of the process."""

    def __init__(self, home: Path, lock: int, *, identity: LockHolder) -> None:
        self.home = home
        self.identity = identity
        self._run = _run_folder(home)
        self._lock: int | None = lock

    def publish(self, address: GatewayAddress) -> None:
        """Write the gateway's address for the commands of this machine."""
        write_private(self._run / _ADDRESS, msgspec.json.encode(address))

    def take_marker(self, now: float, *, valid_s: float = PLANNED_STOP_VALID_S) -> Wanted | None:
        """Use up the markers; return which stop was planned for this process, if it is fresh."""
        found = [kind for kind in _MARKERS if self._take(_MARKERS[kind], now, valid_s=valid_s)]
        return found[0] if found else None

    def take_planned_stop(self, now: float) -> bool:
        """Use up the planned-stop marker; return True if it was for this process and is fresh."""
        return self._take(_PLANNED_STOP, now, valid_s=PLANNED_STOP_VALID_S)

    def _take(self, name: str, now: float, *, valid_s: float) -> bool:
        path = self._run / name
        marker = read_as(path, PlannedStop)
        path.unlink(missing_ok=True)
        if marker is None:
            return False
        meant = (marker.pid, marker.start_time) == (self.identity.pid, self.identity.start_time)
        return meant and 0 <= now - marker.written_at <= valid_s

    def hand_over(self) -> int:
        """Keep the lock and the pid file for the next program in this process; return the lock.

        What the old one wrote for commands goes: its address and the markers of its end.
        """
        assert self._lock is not None
        for name in (_ADDRESS, *_MARKERS.values()):
            (self._run / name).unlink(missing_ok=True)
        os.set_inheritable(self._lock, True)
        lock, self._lock = self._lock, None
        return lock

    def release(self) -> None:
        """Remove the files and release the lock; a second call does nothing."""
        if self._lock is None:
            return
        for name in _OF_ONE_LIFE:
            (self._run / name).unlink(missing_ok=True)
        os.close(self._lock)
        self._lock = None


def acquire(home: Path, *, inherited: int | None = None) -> Instance:
    """Become the gateway of `home`; raise `AlreadyRunning` if another process is.

    `inherited` is the lock that the gateway before this one left open in this very process.
    """
    folder = _run_folder(home)
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        kept = _adopt(inherited, folder / _LOCK)
        lock = _lock(folder / _LOCK) if kept is None else kept
    except OSError as error:
        raise _unusable(folder, error) from error
    running = None if kept is not None else _find(folder, is_locked=lambda: lock is None)
    if lock is None or running is not None:
        if lock is not None:
            os.close(lock)
        raise AlreadyRunning(_already_running(home, running))
    own = msgspec.structs.asdict(own_identity(KIND))
    identity = LockHolder(**own, folder=_name_of(folder))
    try:
        # The writer of these is dead, or runs in the home that this one was copied from.
        for name in _OF_ONE_LIFE:
            (folder / name).unlink(missing_ok=True)
        create_private(folder / _PID, msgspec.json.encode(identity))
    except OSError as error:
        os.close(lock)
        raise _unusable(folder, error) from error
    return Instance(home, lock, identity=identity)


def _unusable(folder: Path, error: OSError) -> ConfigurationError:
    if error.errno == errno.ENOSPC:
        return ConfigurationError(
            f"The disk of {folder} is full: Hermes cannot write the file that says it runs. Free "
            "some space and start it again."
        )
    return ConfigurationError(
        f"The folder {folder} cannot be used: {error.strerror}. Hermes must be able to write "
        "and lock files there; fix its owner and rights, or set HERMES_HOME to another folder."
    )


def find_running(home: Path) -> RunningGateway | None:
    """Return the gateway that runs in `home`, verified by pid, start time, arguments and folder."""
    folder = _run_folder(home)
    return _find(folder, is_locked=lambda: _is_locked(folder / _LOCK))


def _find(folder: Path, *, is_locked: Callable[[], bool]) -> RunningGateway | None:
    identity = read_as(folder / _PID, LockHolder)
    if identity is None or identity.kind != KIND or not is_alive(identity):
        return None
    is_ours = is_locked() if identity.folder is None else identity.folder == _name_of(folder)
    return RunningGateway(identity, read_as(folder / _ADDRESS, GatewayAddress)) if is_ours else None


def _name_of(folder: Path) -> str:
    """Return what distinguishes a folder from every copy of it."""
    found = folder.stat()
    return f"{found.st_dev}:{found.st_ino}"


def left_behind(home: Path) -> tuple[str, ...]:
    """Return the run files that exist; without a running gateway, a crashed one left them."""
    return tuple(name for name in _OF_ONE_LIFE if (_run_folder(home) / name).exists())


def request_stop(
    home: Path, running: RunningGateway, *, now: float, wanted: Wanted = "stop"
) -> ProcessHandle:
    """Mark the stop as planned and send SIGTERM; return a handle to wait on."""
    identity = running.identity
    marker = PlannedStop(
        pid=identity.pid, start_time=identity.start_time, written_at=now, by=os.getpid()
    )
    handle = ProcessHandle(identity)
    try:
        write_private(_run_folder(home) / _MARKERS[wanted], msgspec.json.encode(marker))
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
    """Lock the file at `path`, even if it is replaced meanwhile; return None if it is taken."""
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


def _adopt(descriptor: int | None, path: Path) -> int | None:
    """Return the descriptor if it holds the lock at `path`; otherwise None."""
    try:
        if descriptor is None or not _is_at(descriptor, path):
            return None
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.set_inheritable(descriptor, False)
    except OSError:
        return None
    return descriptor


def _is_locked(path: Path) -> bool:
    """Return whether another process holds the lock at `path`."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def _is_at(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


def _already_running(home: Path, running: RunningGateway | None) -> str:
    who = (
        "a process that has not written its name yet (it is starting, or runs in another container)"
    )
    if running is not None:
        where = running.address.url if running.address else "an address it has not opened yet"
        who = f"pid {running.identity.pid} at {where}"
    return (
        f"Hermes already runs in {home}: {who}. Only one gateway can use a home at a time. "
        "`hermes status` shows it, `hermes stop` ends it; another HERMES_HOME allows a second one."
    )
