"""`hermes users export`: everything that is kept of one person, in one file of JSON lines."""

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO, NoReturn

import typer

from hermes.cli.environment import settings_for
from hermes.cli.failure import ending_cleanly
from hermes.cli.operator_calls import call, operator_name
from hermes.cli.terminal import Home, Person, clean, error_console, examples
from hermes.control.consent import unknown_person
from hermes.control.orders import USERS_EXPORT
from hermes.control.user_export import user_export
from hermes.control.users import UserOrder
from hermes.durable_file import sync_folder
from hermes.errors import BadRequest, Conflict
from hermes.lazy import lazy
from hermes.ports.clock import SystemClock

if TYPE_CHECKING:
    from hermes.cli.offline import open_graph_reader
else:
    open_graph_reader = lazy("hermes.cli.offline:open_graph_reader")

EPILOG = examples(
    "hermes users export telegram:4711 --out ann.jsonl",
    "hermes users export rest:ann | gzip > ann.jsonl.gz",
)
_SHOWN_EVERY = 500


def command(
    user: Person,
    *,
    out: Annotated[
        Path | None,
        typer.Option(help="The file to write; otherwise it is printed.", show_default=False),
    ] = None,
    home: Home = None,
) -> None:
    """Export everything that is kept of a person as JSON lines, with a manifest and a checksum.

    It shows one moment, the time in the manifest. It needs the role owner and is on record. A file is
    whole or not there.
    """
    file = None if out is None else out.expanduser().absolute()
    if file is not None and file.exists():
        raise _taken(file)
    found = call(
        home, USERS_EXPORT, UserOrder(user=user, by=operator_name()), empty=partial(_nobody, user)
    )
    with open_graph_reader(settings_for(home)) as reader:
        assert reader is not None, "the order found the person in this store"
        lines = user_export(reader, found.user.id, user=user, now=SystemClock().now)
        with ending_cleanly(), export_target(file) as stream:
            count = _write(lines, stream)
    if file is not None:
        print(clean(f"wrote {count:,} lines about {user} into {file}"))


def _taken(file: Path) -> Conflict:
    return Conflict(f"{file} is there already, so nothing was written. Name another file.")


def _nobody(user: str) -> NoReturn:
    raise unknown_person(user)


def _write(lines: Iterator[bytes], stream: BinaryIO) -> int:
    count = 0
    with error_console().status("Exporting ...") as shown:
        for count, line in enumerate(lines, start=1):
            stream.write(line)
            if count % _SHOWN_EVERY == 0:
                shown.update(f"Exporting ... {count:,} lines")
    stream.flush()
    return count


@contextmanager
def export_target(file: Path | None) -> Iterator[BinaryIO]:
    """Yield where the export goes: a file that gets its name once it is whole, or standard output."""
    if file is None:
        # Printed once it is whole: a slow reader would make the database's log grow meanwhile.
        with tempfile.TemporaryFile() as whole:
            yield whole
            whole.seek(0)
            shutil.copyfileobj(whole, sys.stdout.buffer)
            sys.stdout.buffer.flush()
        return
    draft = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        _name(draft, file)
        sync_folder(file.parent)
    except OSError as error:
        raise BadRequest(f"{file} cannot be written: {error.strerror or error}.") from error
    finally:
        draft.unlink(missing_ok=True)


def _name(draft: Path, file: Path) -> None:
    # Not renamed: that would replace a file that has appeared meanwhile.
    try:
        os.link(draft, file)
    except FileExistsError:
        raise _taken(file) from None
