"""A progress bar on standard error for long work; none if standard error is not a terminal."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from hermes.cli.terminal import error_console

# Told how much is done, of how much, and what to say beside it.
Show = Callable[[int, int, str], None]


@contextmanager
def progress_bar(title: str) -> Iterator[Show]:
    """Yield a function that moves the bar; the bar is removed when the block ends."""
    out = error_console()
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[note]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=out, transient=True, disable=not out.is_terminal) as bar:
        task = bar.add_task(title, total=None, note="")

        def show(done: int, total: int, note: str) -> None:
            bar.update(task, completed=done, total=total, note=note)

        yield show
