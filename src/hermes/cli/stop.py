"""`hermes stop`: asks the running gateway to finish its turns and end, and waits for it."""

from typing import Annotated

import typer

from hermes.cli.environment import home_for, settings_for
from hermes.cli.terminal import Home, console, error_console, examples
from hermes.errors import ConfigurationError, HermesError
from hermes.ops.instance import find_running, request_stop
from hermes.ports.clock import SystemClock

EPILOG = examples("hermes stop", "hermes stop --timeout 5", "hermes stop --home ./other-home")
_AFTER_DRAIN_S = 15.0
_DRAIN_S = 180.0


class StillRunning(HermesError):
    """The gateway has not ended in time."""

    code = "still_running"


def command(
    home: Home = None,
    timeout: Annotated[
        float | None,
        typer.Option(
            min=0,
            help="Wait at most this many seconds; by default slightly longer than the drain time.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Stop the running gateway: it refuses new messages, finishes running turns, and ends."""
    folder = home_for(home)
    running = find_running(folder)
    if running is None:
        console().print(f"Hermes is not running in {folder}.")
        return
    wait_s = timeout if timeout is not None else _drain_time(home) + _AFTER_DRAIN_S
    pid = running.identity.pid
    clock = SystemClock()
    handle = request_stop(folder, running, now=clock.now())
    try:
        with error_console().status(f"Hermes (pid {pid}) is finishing its running turns …"):
            has_ended = handle.wait(wait_s, monotonic=clock.monotonic)
    finally:
        handle.close()
    if not has_ended:
        raise StillRunning(
            f"Hermes (pid {pid}) was asked to stop and still runs after {wait_s:g} s, because it "
            "finishes running turns first. `hermes status` shows them; run `hermes stop` again "
            "to keep waiting."
        )
    console().print(f"Hermes (pid {pid}) has stopped.")


def _drain_time(home: Home) -> float:
    """Return how long the gateway may take, even if its configuration is broken by now."""
    try:
        return float(settings_for(home).settings.server.drain_s)
    except ConfigurationError:
        return _DRAIN_S
