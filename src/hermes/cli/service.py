"""`hermes service`: runs the gateway as a systemd service, for one user or the machine."""

import getpass
import pwd
import sys
from pathlib import Path
from typing import Annotated

import typer

from hermes.cli.environment import environment, home_for, settings_for
from hermes.cli.terminal import Home, console, error_console, examples
from hermes.config import LoadedConfig, config_folder
from hermes.errors import ConfigurationError
from hermes.ops.service_unit import ServiceUnit, unit_name, unit_text
from hermes.ops.systemd import SYSTEM_UNITS, Systemd

INSTALL_EPILOG = examples(
    "hermes service install",
    "hermes service install --dry-run",
    "sudo hermes service install --system --run-as hermes --home /srv/hermes",
)
UNINSTALL_EPILOG = examples("hermes service uninstall", "sudo hermes service uninstall --system")
START_EPILOG = examples("hermes service start")
STOP_EPILOG = examples("hermes service stop")
RESTART_EPILOG = examples("hermes service restart")
STATUS_EPILOG = examples("hermes service status", "hermes service status --name hermes-second")
LOGS_EPILOG = examples(
    "hermes service logs", "hermes service logs --lines 500", "hermes service logs -f"
)
_FROM_ENVIRONMENT = "environment "

System = Annotated[
    bool,
    typer.Option("--system", help="Use the machine's systemd instead of your own; needs root."),
]
Name = Annotated[str, typer.Option("--name", help="The name of the service.")]


def install(
    *,
    home: Home = None,
    system: System = False,
    name: Name = "hermes",
    run_as: Annotated[
        str | None,
        typer.Option(
            "--run-as",
            help="With --system: the user it runs as; by default the owner of the home.",
            show_default=False,
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the unit and change nothing.")
    ] = False,
) -> None:
    """Install the gateway as a service, start it with the machine, and start it now."""
    loaded = settings_for(home)
    file = unit_name(name)
    unit = ServiceUnit(
        command=(sys.executable, "-m", "hermes"),
        home=loaded.home,
        drain_s=loaded.settings.server.drain_s,
        user=_user(loaded.home, run_as) if system else None,
    )
    text = unit_text(unit)
    if dry_run:
        sys.stdout.write(text)
        return
    manager = _manager(is_system=system)
    path = manager.write(file, text)
    manager.control("enable", "--now", file)
    console().print(f"{file} is installed ({path}) and started.")
    _warn(loaded, is_system=system)


def uninstall(*, system: System = False, name: Name = "hermes") -> None:
    """Stop and remove the service; the home stays as it is."""
    manager, file = _manager(is_system=system), unit_name(name)
    if not (manager.units / file).exists():
        console().print(f"{file} is not installed in {manager.units}.")
        return
    try:
        manager.control("disable", "--now", file)
    except ConfigurationError:
        if manager.is_booted:
            raise
        # Nothing runs it: only the file is left.
        manager.delete(file)
        console().print(f"{file} is removed; no systemd runs on this machine.")
        return
    manager.remove(file)
    console().print(f"{file} is stopped and removed.")


def start(*, system: System = False, name: Name = "hermes") -> None:
    """Start the service."""
    _order("start", name, is_system=system, said="is started")


def stop(*, system: System = False, name: Name = "hermes") -> None:
    """Stop the service: running turns finish first; systemd does not start it again."""
    _order("stop", name, is_system=system, said="is stopped")


def restart(*, system: System = False, name: Name = "hermes") -> None:
    """Restart the service: running turns finish first, or continue afterwards."""
    _order("restart", name, is_system=system, said="is restarted")


def status(*, system: System = False, name: Name = "hermes") -> None:
    """Show systemd's status of the service; `hermes status` shows more about the gateway."""
    code = _manager(is_system=system).show("status", "--no-pager", unit_name(name))
    raise typer.Exit(code)


def logs(
    *,
    system: System = False,
    name: Name = "hermes",
    lines: Annotated[
        int, typer.Option("--lines", "-n", min=1, help="How many lines to print.")
    ] = 100,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Keep printing new lines as they arrive.")
    ] = False,
) -> None:
    """Print the service's log lines."""
    words = ["--no-pager", "-u", unit_name(name), "-n", str(lines), *(["-f"] if follow else [])]
    raise typer.Exit(_manager(is_system=system).journal(*words))


def _order(verb: str, name: str, *, is_system: bool, said: str) -> None:
    file = unit_name(name)
    _manager(is_system=is_system).control(verb, file)
    console().print(f"{file} {said}.")


def _manager(*, is_system: bool) -> Systemd:
    own = config_folder(environment()) / "systemd" / "user"
    runtime = environment().get("XDG_RUNTIME_DIR")
    return Systemd(
        SYSTEM_UNITS if is_system else own,
        is_system=is_system,
        runtime=None if runtime is None else Path(runtime),
    )


def _user(home: Path, wanted: str | None) -> str:
    try:
        if wanted is not None:
            return pwd.getpwnam(wanted).pw_name
        return pwd.getpwuid(home.stat().st_uid).pw_name if home.exists() else getpass.getuser()
    except KeyError:
        named = wanted or f"with the id {home.stat().st_uid}"
        raise ConfigurationError(
            f"there is no user {named} on this machine; give one with --run-as"
        ) from None


def _warn(loaded: LoadedConfig, *, is_system: bool) -> None:
    """Print what this terminal has and a service has not."""
    out = error_console()
    names = sorted(
        {
            origin.removeprefix(_FROM_ENVIRONMENT)
            for origin in loaded.origins.values()
            if origin.startswith(_FROM_ENVIRONMENT)
        }
    )
    if names:
        out.print(
            f"A service does not see this terminal's variables. Put these into "
            f"{home_for(loaded.home) / '.env'}: {', '.join(names)}",
            style="yellow",
        )
    if not is_system:
        out.print(
            "It runs only while you are signed in; `sudo loginctl enable-linger $USER` keeps it "
            "running.",
            style="dim",
        )
