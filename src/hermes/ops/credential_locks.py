"""Lets one process of this machine use a credential: an OS lock named by the credential's hash.

The locks are outside of every home, because two homes may have the same bot. The lock ends with its
process, so a dead process never holds it; the file only names the holder, and never the credential.
"""

import fcntl
import hashlib
import os
import pwd
import stat
from pathlib import Path

import msgspec
import structlog

from hermes.errors import ConfigurationError, CredentialInUse
from hermes.ops.private_files import read_as
from hermes.ops.process import start_time_of
from hermes.ports.clock import Clock

_log = structlog.get_logger(__name__)
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


class Holder(msgspec.Struct, frozen=True, kw_only=True):
    """The holder of a lock: a process, its home, when it took the lock and when it started (in
    ticks).
    """

    platform: str
    pid: int
    home: str
    at: float
    start_time: int | None = None


class CredentialLock:
    """The lock of one credential; fits `app.connection.CredentialClaim`."""

    def __init__(
        self,
        folder: Path,
        credential: str,
        *,
        platform: str,
        setting: str,
        home: Path,
        clock: Clock,
    ) -> None:
        self._folder = folder
        self._platform = platform
        self._setting = setting
        self._home = home
        self._clock = clock
        digest = hashlib.sha256(f"{platform}\0{credential}".encode()).hexdigest()[:32]
        self._path = folder / f"{platform}-{digest}.lock"
        self._file: int | None = None

    def take(self) -> None:
        """Take the lock once; raise a `CredentialInUse` that names the holder."""
        if self._file is not None:
            return
        try:
            _make_folder(self._folder)
            file = _lock(self._path)
        except OSError as error:
            raise ConfigurationError(
                f"process.lock_dir: {self._folder} cannot be used ({error.strerror}); Hermes must "
                "be able to write and lock files there; fix its rights, or set another folder"
            ) from error
        known = read_as(self._path, Holder)
        if file is None:
            raise CredentialInUse(_in_use(self._setting, known))
        if known is not None:
            _log.info(
                "credential_lock_was_stale", platform=self._platform, pid=known.pid, home=known.home
            )
        self._sign(file)
        self._file = file

    def release(self) -> None:
        """Release the lock; a second call does nothing."""
        if self._file is None:
            return
        os.ftruncate(self._file, 0)
        os.close(self._file)
        self._file = None

    def _sign(self, file: int) -> None:
        pid = os.getpid()
        holder = Holder(
            platform=self._platform,
            pid=pid,
            home=str(self._home),
            at=self._clock.now(),
            start_time=start_time_of(pid),
        )
        os.ftruncate(file, 0)
        os.pwrite(file, msgspec.json.encode(holder), 0)


def default_folder() -> Path:
    """Return the folder of this user's locks, the same for every process however it was started."""
    uid = os.getuid()
    try:
        own = Path(pwd.getpwuid(uid).pw_dir)
    except KeyError:
        own = Path("/nonexistent")
    # Not from the environment: a service and a shell could have different ones.
    is_usable = own.is_dir() and os.access(own, os.W_OK)
    return own / ".cache" / "hermes" / "locks" if is_usable else Path(f"/tmp/hermes-locks-{uid}")


def _make_folder(folder: Path) -> None:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = folder.lstat()
    is_ours = stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid()
    if not is_ours or found.st_mode & _OTHERS:
        raise ConfigurationError(
            f"process.lock_dir: {folder} must be a folder of this user alone (mode 0700), found "
            f"mode {stat.S_IMODE(found.st_mode):04o} of user {found.st_uid}; correct it, or set "
            "another folder"
        )


def _lock(path: Path) -> int | None:
    """Lock the file, even if it is removed meanwhile; return None if it is taken."""
    while True:
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if path.exists() and os.path.samestat(os.fstat(file), path.stat()):
                return file
        except BlockingIOError:
            os.close(file)
            return None
        except OSError:
            os.close(file)
            raise
        os.close(file)


def _in_use(setting: str, holder: Holder | None) -> str:
    who, stop = "another process, which has not written its name yet", "stop that one"
    if holder is not None:
        who = f"the process {holder.pid} of the home {holder.home}"
        stop = f"stop that one (`hermes stop --home {holder.home}`)"
    return (
        f"{setting}: this credential is in use by {who}. A platform hands each message to one "
        f"process only, so two processes would each lose messages: {stop}, or give this gateway a "
        "credential of its own. Hermes connects by itself once the credential is free"
    )
