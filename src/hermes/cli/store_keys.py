"""`hermes keys rotate-store`: a new key for the store, without rewriting the stored data."""

from typing import TYPE_CHECKING, Annotated

import typer

from hermes.cli.environment import home_for, settings_for
from hermes.cli.gateway_client import client_for
from hermes.cli.operator_calls import ask_gateway, operator_name
from hermes.cli.progress import Show, progress_bar
from hermes.cli.terminal import AsJson, Home, console, error_console, examples, print_json
from hermes.control.orders import GATEWAY_ROTATE_KEYS
from hermes.control.store_keys import RotationOrder, RotationReport
from hermes.lazy import lazy
from hermes.ops.instance import find_running

if TYPE_CHECKING:
    from hermes.cli.store_keys_alone import rotate as rotate_alone
else:
    rotate_alone = lazy("hermes.cli.store_keys_alone:rotate")

EPILOG = examples(
    "hermes keys rotate-store", "hermes keys rotate-store --yes --json   (for scripts)"
)
_LONGEST_S = 900.0
_WARNING = (
    "The old key is removed once all data can be opened with the new one. Older backups "
    "of the database need a copy of the key file of their time."
)


def command(
    *,
    home: Home = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")] = False,
    as_json: AsJson = False,
) -> None:
    """Give the store a new key: the data keys are wrapped again, the stored data stays as it is.

    A running gateway can do this while it answers. If it is interrupted, the next run finishes it.
    """
    if not yes:
        error_console().print(_WARNING)
        typer.confirm("Rotate the key now?", abort=True, err=True)
    with progress_bar("data keys") as show:
        report = _rotated(home, show)
    if as_json:
        print_json(report)
    else:
        console().print(
            f"{report.data_keys} data keys are wrapped with a new key. Back up {report.key_file} "
            "now, separately from the database.",
            markup=False,
        )


def _rotated(home: Home, show: Show) -> RotationReport:
    running, by = find_running(home_for(home)), operator_name()
    if running is not None:
        order = RotationOrder(by=by)
        return ask_gateway(client_for(running), GATEWAY_ROTATE_KEYS, order, timeout_s=_LONGEST_S)
    return rotate_alone(settings_for(home), by=by, show=show)
