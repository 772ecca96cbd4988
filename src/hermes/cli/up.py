"""`hermes up`: starts the gateway and runs until it is stopped.

The only command without typer and rich, to save start time and memory of the server.
"""

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import TextIO
from urllib.parse import urlsplit

from hermes.app import run_gateway
from hermes.cli.environment import environment, settings_for
from hermes.cli.who import operator_name
from hermes.config import LoadedConfig, StartChoices, ensure_home
from hermes.config.machine import INHERITED_LOCK, inherited_lock, supervisor_of
from hermes.ops.takeover import take_over
from hermes.ops.welcome import Welcome
from hermes.ports.clock import SystemClock

LOG_FORMATS = ("auto", "console", "json")
REPLACE = "--replace"
ACCEPT_LONE, NO_COPY = "--accept-lone-database", "--no-copy"
_ONCE = frozenset({REPLACE, ACCEPT_LONE, NO_COPY})
_LAST_PORT = 65_535


@dataclass(frozen=True, slots=True)
class UpOptions:
    """The command-line options of a start; None leaves a value to the configuration."""

    home: Path | None = None
    host: str | None = None
    port: int | None = None
    log_format: str | None = None
    replaces: bool = False
    choices: StartChoices = field(default_factory=StartChoices)


def main(arguments: Sequence[str]) -> int:
    """Read the options of `hermes up` and run the gateway."""
    return start(parse(arguments))


def parse(arguments: Sequence[str]) -> UpOptions:
    """Return the options; exit with code 2 and a message if one is wrong."""
    given = _parser().parse_args(arguments)
    choices = StartChoices(
        accepts_lone_database=given.accept_lone_database, copies_before_upgrade=not given.no_copy
    )
    return UpOptions(given.home, given.host, given.port, given.log_format, given.replace, choices)


def start(options: UpOptions) -> int:
    """Run the gateway until it is stopped; return its exit code."""
    loaded = overridden(settings_for(options.home), options)
    for warning in loaded.warnings:
        print(f"hermes: warning: {warning}", file=sys.stderr)
    ensure_home(loaded.home)
    if options.replaces:
        _take_over(loaded)
    ended = run_gateway(
        loaded,
        on_ready=show_banner,
        supervisor=supervisor_of(environment(), os.getpid()),
        inherited_lock=_take_inherited_lock(),
    )
    if ended.kept_lock is not None:
        _start_again(ended.kept_lock)
    return ended.code


def _take_inherited_lock() -> int | None:
    """Return the lock that a restart handed over; the programs of this process do not see it."""
    lock = inherited_lock(environment())
    os.environ.pop(INHERITED_LOCK, None)  # noqa: TID251 - not for children
    return lock


def _start_again(lock: int) -> None:
    """Replace this program by a new start of it: same process, terminal, arguments, and lock.

    It takes over from nobody: who started meanwhile could not take the lock. What was allowed once was
    allowed for the start before.
    """
    print("hermes: restarting", file=sys.stderr, flush=True)
    sys.stdout.flush()
    arguments = [one for one in sys.orig_argv[1:] if one not in _ONCE]
    variables = {**environment(), INHERITED_LOCK: str(lock)}
    try:
        os.execve(sys.executable, [sys.executable, *arguments], variables)
    except OSError as error:
        print(f"hermes: cannot start again: {sys.executable}: {error.strerror}", file=sys.stderr)


def _take_over(loaded: LoadedConfig) -> None:
    def tell(text: str) -> None:
        print(f"hermes: {text}", file=sys.stderr)

    drain_s = loaded.settings.server.drain_s
    take_over(loaded.home, drain_s=drain_s, clock=SystemClock(), tell=tell)


def overridden(loaded: LoadedConfig, options: UpOptions) -> LoadedConfig:
    """Return the settings with the command-line options applied."""
    settings = loaded.settings
    server = {"host": options.host, "port": options.port}
    logs = {"format": options.log_format}
    changed = {
        "server": settings.server.model_copy(update=_given(server)),
        "logs": settings.logs.model_copy(update=_given(logs)),
    }
    origins = {f"server.{name}": f"option --{name}" for name in _given(server)}
    origins |= {"logs.format": "option --log-format"} if options.log_format else {}
    return replace(
        loaded,
        settings=settings.model_copy(update=changed),
        reread=lambda: overridden(loaded.reread(), options),
        origins=MappingProxyType({**loaded.origins, **origins}),
        choices=options.choices,
    )


def _given(values: Mapping[str, object]) -> dict[str, object]:
    return {name: value for name, value in values.items() if value is not None}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="hermes up", allow_abbrev=False)
    parser.add_argument("--home", type=Path)
    parser.add_argument("--host", type=_host)
    parser.add_argument("--port", type=_port)
    parser.add_argument("--log-format", choices=LOG_FORMATS)
    parser.add_argument(REPLACE, action="store_true")
    parser.add_argument(ACCEPT_LONE, action="store_true")
    parser.add_argument(NO_COPY, action="store_true")
    return parser


def _host(text: str) -> str:
    if not text.strip():
        raise argparse.ArgumentTypeError("the address is empty; use 127.0.0.1 or leave it out")
    return text


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > _LAST_PORT:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a port; use 1 to {_LAST_PORT}, or 0 for any free one"
        )
    return int(text)


_NO_MODEL = frozenset({"", "none"})
# Beside the source; an installed package has none.
_DOCS = Path(__file__).parents[3] / "docs" / "index.md"
_HOW_TO_ADD = (
    "export OPENAI_API_KEY=...   (or ANTHROPIC_API_KEY, GEMINI_API_KEY, OPENROUTER_API_KEY;",
    "                             OPENAI_BASE_URL for any other server)",
)


def show_banner(welcome: Welcome, out: TextIO | None = None) -> None:
    """Print the banner at once, even into a pipe."""
    target = out or sys.stdout
    print(banner(welcome, bold=target.isatty()), file=target, flush=True)


def banner(welcome: Welcome, *, bold: bool) -> str:
    """Return the text of the banner."""
    title = f"Hermes {welcome.version} is running."
    rows = [("address", welcome.address), ("home", welcome.home)]
    if welcome.sign_in_link:
        rows.append(("sign in", f"{welcome.sign_in_link}"))
        rows.append(("", "(works once; `hermes link` prints another)"))
    if welcome.api_token:
        rows.append(("API token", welcome.api_token))
        rows.append(("", "(shown only this once: keep it in a safe place)"))
    rows += _model_rows(welcome)
    rows.append(("talk", "`hermes chat` in another terminal"))
    rows += _remote_rows(welcome)
    rows.append(("docs", str(_DOCS) if _DOCS.exists() else "docs/index.md of the source"))
    lines = [f"  {name:<10}{text}" for name, text in rows]
    shown = f"\x1b[1m{title}\x1b[0m" if bold else title
    return "\n".join(["", shown, "", *lines, "", "Ctrl-C stops it.", ""])


def _remote_rows(welcome: Welcome) -> list[tuple[str, str]]:
    """Return how another machine reaches the gateway."""
    if welcome.is_listening_widely:
        return [("note", "other machines can reach this address; the token protects it")]
    port = urlsplit(welcome.address).port or 80
    return [
        ("remote", "from another machine, first run this there, then open the link above:"),
        ("", f"ssh -L {port}:127.0.0.1:{port} {operator_name()}@{os.uname().nodename}"),
    ]


def _model_rows(welcome: Welcome) -> list[tuple[str, str]]:
    how = [("", line) for line in _HOW_TO_ADD]
    if welcome.model in _NO_MODEL:
        return [("model", "none can answer yet; set a key and start again, for example"), *how]
    if not welcome.is_demonstration:
        return [("model", welcome.model)]
    demonstration = f"{welcome.model}, a small demonstration model that is often wrong;"
    better = ("", "for a better one set a key and start again, for example")
    return [("model", demonstration), better, *how]
