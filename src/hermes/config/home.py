"""The home folder: where state lives, made and kept private to its owner.

Part of config; knows paths and permissions, not what is stored in them.
"""

import os
import stat
from collections.abc import Callable, Mapping
from pathlib import Path

from hermes.config.variables import HOME
from hermes.durable_file import sync_folder, write_durably, write_new
from hermes.errors import ConfigurationError

FOLDERS = ("keys", "logs", "run")
_WRITABLE_BY_OTHERS = 0o022
_OPEN_TO_OTHERS = 0o077


def config_folder(environ: Mapping[str, str]) -> Path:
    """The folder in which a person's programs keep their configuration."""
    given = environ.get("XDG_CONFIG_HOME")
    own = environ.get("HOME")
    return Path(given) if given else (Path(own) if own else Path.home()) / ".config"


def ensure_home(path: Path) -> Path:
    """Create the home folder and its private folders, or refuse one that others could change."""
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        _check_folder(path)
        for name in FOLDERS:
            folder = path / name
            folder.mkdir(mode=0o700, exist_ok=True)
            _check_owner(folder)
            folder.chmod(0o700)
    except FileExistsError as fault:
        raise ConfigurationError(
            f"{fault.filename} is not a folder, expected one; move the file away or set {HOME}"
        ) from None
    except OSError as fault:
        raise ConfigurationError(
            f"{fault.filename or path} cannot be made or used as a folder ({fault.strerror}); "
            f"fix its permissions or set {HOME} to another folder"
        ) from None
    return path


def check_home(path: Path) -> Path:
    """Refuse a home folder that others could change; one that is not there is not made yet."""
    if path.is_dir():
        _check_folder(path)
    return path


def _check_folder(path: Path) -> None:
    _check_owner(path)
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & _WRITABLE_BY_OTHERS:
        raise ConfigurationError(
            f"{path} can be changed by other users (mode {mode:04o}, expected 0700); "
            f"run chmod 700 {path}"
        )


def _check_owner(path: Path) -> None:
    owner = path.stat().st_uid
    if owner != os.geteuid():
        raise ConfigurationError(
            f"{path} belongs to user {owner}, expected user {os.geteuid()}, who runs Hermes; "
            f"run as its owner or set {HOME} to another folder"
        )


def read_or_create_secret_file(path: Path, make: Callable[[], bytes]) -> bytes:
    """Read a secret that only its owner can read, created on first use and never half written."""
    try:
        if not os.path.lexists(path):
            _create(path, make())
        return _read_private(path)
    except OSError as fault:
        raise ConfigurationError(
            f"{path} cannot be read or made ({fault.strerror}); it must be a regular file with "
            "mode 0600 in a folder that you can write to"
        ) from None


def replace_secret_file(path: Path, content: bytes) -> None:
    """Replace a secret as a whole: after a crash the file is the old one or the new one."""
    try:
        write_durably(path, content)
    except OSError as fault:
        raise ConfigurationError(
            f"{path} cannot be replaced ({fault.strerror}); it is as it was. Its folder must be "
            "writable, and its disk must have room"
        ) from None


def rename_secret_file(path: Path, to: Path) -> None:
    """Rename a secret in its folder; after a crash it has one of the two names."""
    try:
        path.rename(to)
        sync_folder(to.parent)
    except OSError as fault:
        raise ConfigurationError(
            f"{path} cannot be renamed to {to.name} ({fault.strerror}); its folder must be writable"
        ) from None


def _create(path: Path, content: bytes) -> None:
    """Write a temporary file, then link it: no reader sees a part, the first writer wins."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.unlink(missing_ok=True)
    try:
        write_new(draft, content)
        try:
            os.link(draft, path)
        except FileExistsError:
            return
    finally:
        draft.unlink(missing_ok=True)
    sync_folder(path.parent)


def _read_private(path: Path) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        found = os.fstat(file.fileno())
        mode = stat.S_IMODE(found.st_mode)
        if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid():
            raise ConfigurationError(
                f"{path} is not a file of the user who runs Hermes; move it away or chown it"
            )
        if mode & _OPEN_TO_OTHERS:
            raise ConfigurationError(
                f"{path} is open to other users (mode {mode:04o}, expected 0600); "
                f"run chmod 600 {path}, and change the secret if somebody may have read it"
            )
        content = file.read()
    if not content:
        raise ConfigurationError(
            f"{path} is empty, expected a secret; put your copy of it there (`hermes backup` does not "
            "include it), or remove it to make a new one"
        )
    return content
