"""`hermes backup` and `hermes restore`: one archive with everything of a home but its secrets."""

import sys
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hermes.cli.environment import home_for, settings_for
from hermes.cli.failure import ending_cleanly
from hermes.cli.progress import Show, progress_bar
from hermes.cli.terminal import AsJson, Home, clean, examples, print_json
from hermes.lazy import lazy
from hermes.ops.backup import BackupReport
from hermes.ops.restore import RestoreReport

if TYPE_CHECKING:
    from hermes.app.backup import make_backup, make_restore
else:
    make_backup = lazy("hermes.app.backup:make_backup")
    make_restore = lazy("hermes.app.backup:make_restore")

BACKUP_EPILOG = examples(
    "hermes backup /mnt/backup/hermes.tar",
    "hermes backup /mnt/backup/hermes-$(date +%F).tar --json",
    "hermes backup - | ssh archive 'cat > hermes.tar'",
)
RESTORE_EPILOG = examples(
    "hermes restore /mnt/backup/hermes.tar --key-file /safe/store.keys",
    "hermes restore hermes.tar --home ./second --key-file store.keys",
)
_MB = 1_000_000
_STREAM = "-"


def backup(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="The archive to write; - is standard output.")
    ],
    *,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Write a backup of the home into one archive, also while the gateway runs.

    It has the database, the media and your hooks and plugins, but no secrets: neither the key file
    nor .env. Keep copies of those in another place.
    """
    if file == _STREAM and (as_json or sys.stdout.isatty()):
        raise typer.BadParameter(
            "Standard output is the archive: send it into a file or a program."
        )
    loaded = settings_for(home)
    target = sys.stdout.buffer if file == _STREAM else Path(file).expanduser().absolute()
    with ending_cleanly(), progress_bar("Backup (MB)") as show:
        report = make_backup(loaded, target, tell=_megabytes(show))
    if as_json:
        print_json(report)
    else:
        print(clean(_made(report, loaded.home)), file=sys.stderr if file == _STREAM else sys.stdout)


def restore(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="An archive that `hermes backup` wrote.")
    ],
    *,
    home: Home = None,
    key_file: Annotated[
        Path | None,
        typer.Option(
            help="Your copy of keys/store.keys; it is checked and copied into the home.",
            show_default=False,
        ),
    ] = None,
    without_key: Annotated[
        bool,
        typer.Option(
            "--without-key",
            help="Restore without the key file; the first start with it checks the signature.",
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Make a home from a backup. The home must be empty, and no gateway may run in it.

    Everything in the archive is checked before anything is written. The key file is needed for it,
    as --key-file or as keys/store.keys in the home.
    """
    if key_file is not None and without_key:
        raise typer.BadParameter("Name --key-file or --without-key, not both.")
    if str(file) == _STREAM:
        raise typer.BadParameter(
            "A restore reads its archive twice, so it cannot come from standard input. Write it into a "
            "file first (`cat > hermes.tar`), then name that file."
        )
    path, key_path = file.expanduser().absolute(), key_file and key_file.expanduser().absolute()
    with ending_cleanly(), progress_bar("Restore (MB)") as show:
        report = make_restore(
            home_for(home),
            path,
            key_path=key_path,
            tell=_megabytes(show),
            without_key=without_key,
        )
    if as_json:
        print_json(report)
    else:
        print(clean(_restored(report)))


def _megabytes(show: Show) -> Callable[[int, int, str], None]:
    return lambda done, total, note: show(done // _MB, max(1, total // _MB), note[:30])


def _made(report: BackupReport, home: Path) -> str:
    where = "standard output" if report.file == _STREAM else report.file
    left = "\n".join(f"  {one.name}: {one.why}" for one in report.left_out)
    lines = [
        f"The backup is in {where}: files: {report.files}, MB: {report.bytes / _MB:,.1f}.",
        f"Not inside:\n{left}" if left else "",
        f"To restore it you need {home}/keys/store.keys (fingerprint {report.key}): keep a copy of "
        "it in another place.",
        "" if report.recorded else "The home's disk is full: `hermes doctor` does not know of it.",
    ]
    return "\n".join(line for line in lines if line)


def _restored(report: RestoreReport) -> str:
    made = datetime.fromtimestamp(report.made_at).astimezone().strftime("%Y-%m-%d %H:%M")
    lines = [
        f"{report.home} is as it was on {made} (files: {report.files}, MB: {report.bytes / _MB:,.1f}).",
        "Next:",
    ]
    if not report.has_key:
        lines.append(
            f"  - put the key file with the fingerprint {report.key} at {report.home}/keys/store.keys "
            "(mode 0600); without it nothing can be read. The signature of the backup is not checked yet: "
            "the first start with the key file does it"
        )
    lines.append("  - set again what no backup has: the keys of models and bots (.env)")
    lines.append(
        f"  - check it with `hermes doctor --home {report.home}`, "
        f"start it with `hermes up --home {report.home}`"
    )
    lines.append("  - do not start the home that it comes from any more: both would answer")
    return "\n".join(lines)
