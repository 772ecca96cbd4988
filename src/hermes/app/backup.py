"""Backs up and restores a home: which files it has, its SQLite store, and its key file."""

from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, Final

from hermes.app.media import FOLDER as MEDIA
from hermes.app.store_files import (
    DATABASE,
    KEY_FILE,
    check_database,
    check_restored,
)
from hermes.config import LoadedConfig, ensure_home
from hermes.config.file_secrets import secrets_in_files
from hermes.config.files import LEGACY, YAML, dotenv_values
from hermes.config.home import read_or_create_secret_file, replace_secret_file
from hermes.config.hook_files import FOLDER as HOOKS
from hermes.config.section import names_a_secret
from hermes.errors import BadRequest, NotFound, StoreError
from hermes.ops.backup import BackupPlan, BackupReport, Tell, back_up, stream_backup
from hermes.ops.backup_manifest import LeftOut
from hermes.ops.instance import acquire
from hermes.ops.logs import secrets_in
from hermes.ops.masker import Masker
from hermes.ops.restore import RestorePlan, RestoreReport, check_fit, examine, restore
from hermes.outbox.local_file import FOLDER as DELIVERED
from hermes.ports.clock import SystemClock
from hermes.skills.folder import FOLDER as SKILLS
from hermes.store.sql.key_prints import is_signed, key_print, sign
from hermes.store.sql.seal import make_store_keys
from hermes.store.sqlite.backup import SqliteBackup
from hermes.store.sqlite.connection import lacks_wal
from hermes.store.sqlite.store import NO_WAL

_CHANNELS: Final = "channels"
_MODELS: Final = "models.json"
# Which conversation `hermes chat` continues.
_CHAT: Final = "chat"
_FOLDERS = (MEDIA, HOOKS, SKILLS, _CHANNELS, DELIVERED, _CHAT, _MODELS)
# Secrets, and what Hermes makes again.
_NO_PART: Final = {
    "keys": "it has the key of the store: keep a copy of it in another place than the backups",
    ".env": "it has secrets: keep a copy of it beside the key file",
    "search.db": "Hermes makes it again",
    "logs": "Hermes makes it again",
    "run": "Hermes makes it again",
    "workdirs": "it has what commands have written: copy what you want to keep",
    "copies": "copies of the database before upgrades",
}
_BESIDE = ("-wal", "-shm")
_OWN_FILES = (DATABASE, "last-backup.json")


def make_backup(loaded: LoadedConfig, target: Path | BinaryIO, *, tell: Tell) -> BackupReport:
    """Write the archive of a home to a file or a stream, also while its gateway runs."""
    home = loaded.home
    check_restored(home)
    if not (home / DATABASE).exists():
        check_database(home)
        raise NotFound(f"Nothing is stored in {home} yet, so there is nothing to back up.")
    if lacks_wal(home / DATABASE):
        raise StoreError(f"{home / DATABASE} {NO_WAL}")
    key_file = _read_key(home)

    def same_key() -> bytes:
        if _read_key(home) != key_file:
            raise StoreError("the store's key was rotated during the backup; make it again")
        return key_file

    names, left_out = _names(loaded)
    plan = BackupPlan(
        home=home,
        store=SqliteBackup(home / DATABASE, same_key),
        names=names,
        left_out=left_out,
        key=key_print(key_file),
        sign=lambda content: sign(key_file, content),
        made_at=SystemClock().now(),
    )
    if isinstance(target, Path):
        return back_up(plan, target, tell=tell)
    return stream_backup(plan, target, tell=tell)


def make_restore(
    home: Path, archive: Path, *, key_path: Path | None, tell: Tell, without_key: bool = False
) -> RestoreReport:
    """Make a home of an archive; a key file is checked, and copied into it if it was named.

    Without a key file in either place the archive is refused, unless it is wanted `without_key`.
    """
    if archive.exists() and not archive.is_file():
        raise BadRequest(f"{archive} cannot be restored: it is not a file, and is read twice.")
    try:
        file = archive.open("rb")
    except OSError as error:
        raise NotFound(f"{archive} cannot be read ({error.strerror}).") from error
    with file:
        try:
            manifest = examine(file, tell=tell)
            plan = RestorePlan(
                home=home,
                store=SqliteBackup(home / DATABASE, lambda: _read_key(home)),
                key_file=_key_of(home, key_path),
                without_key=without_key,
                print_of=key_print,
                is_signed=is_signed,
            )
            check_fit(manifest, plan)
        except BadRequest as error:
            raise BadRequest(f"{archive} cannot be restored: {error}.") from error
        ensure_home(home)
        instance = acquire(home)
        try:
            report = restore(file, manifest, plan, tell=tell)
            if key_path is not None and plan.key_file is not None:
                replace_secret_file(home / KEY_FILE, plan.key_file)
            return report
        finally:
            instance.release()


def _read_key(home: Path) -> bytes:
    path = home / KEY_FILE
    if not path.exists():
        raise StoreError(
            f"{path} is missing, so nobody could read a backup of {home / DATABASE}; put your copy of "
            "it there"
        )
    return read_or_create_secret_file(path, make_store_keys)


def _key_of(home: Path, key_path: Path | None) -> bytes | None:
    """Return the key file for a restore: the named one, else the one that is in the home."""
    if key_path is None and not (home / KEY_FILE).exists():
        return None
    path = key_path or home / KEY_FILE
    try:
        return path.read_bytes()
    except OSError as error:
        raise NotFound(f"The key file {path} cannot be read ({error.strerror}).") from error


def _names(loaded: LoadedConfig) -> tuple[tuple[str, ...], tuple[LeftOut, ...]]:
    """Return what a backup has of the home, and what it leaves out with the reason."""
    home, secret = loaded.home, _secrets(loaded)
    files = [name for name in (YAML, LEGACY) if name not in secret and (home / name).exists()]
    names = (*files, *(one for one in _FOLDERS if (home / one).exists()), *_own_code(loaded))
    left_out = {
        name: f"it has a secret ({key}): keep a copy of it beside the key file"
        for name, key in secret.items()
    }
    inside = {name.split("/")[0] for name in names}
    for one in sorted(path.name for path in home.iterdir()):
        known = one in inside or one in _OWN_FILES or one.endswith(_BESIDE)
        if not known and not _is_draft(one):
            left_out.setdefault(one, _NO_PART.get(one, "it is not a file of Hermes"))
    return tuple(dict.fromkeys(names)), tuple(LeftOut(name=n, why=w) for n, w in left_out.items())


def _secrets(loaded: LoadedConfig) -> dict[str, str]:
    """Return the configuration files with a secret: also one of `.env`, or one that only looks so."""
    variables = dotenv_values(loaded.home).items()
    named = {value for name, value in variables if names_a_secret(name)}
    masker = Masker(named | secrets_in(loaded.settings))
    return secrets_in_files(loaded.home, looks_secret=lambda line: masker.line(line) != line)


def _is_draft(name: str) -> bool:
    return name.startswith(".") and name != ".env"


def _own_code(loaded: LoadedConfig) -> list[str]:
    """Return the tools and plugins that the settings name and that are inside the home."""
    settings, home = loaded.settings, loaded.home.resolve()
    named = [one for one in settings.tools.modules if one.endswith(".py")]
    named += [one for one in settings.plugins if "/" in one]
    found = []
    for one in named:
        with suppress(ValueError, OSError):
            found.append(str((home / Path(one).expanduser()).resolve().relative_to(home)))
    return [one for one in found if one.split("/")[0] not in _NO_PART and one != "."]
