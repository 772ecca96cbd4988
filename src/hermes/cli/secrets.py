"""`hermes secrets [set|list|delete]`: API keys and passwords; values come from a prompt or a pipe."""

import sys
from getpass import getpass
from typing import Annotated

import typer
from rich.console import Console

from hermes.cli.operator_calls import call, operator_name
from hermes.cli.tables import Cell, Column, print_table
from hermes.cli.terminal import AsJson, Home, Wide, clean, examples, print_done, print_report
from hermes.control.order import NoFields
from hermes.control.orders import (
    SECRETS_DELETE,
    SECRETS_DELETE_OF_AGENT,
    SECRETS_LIST,
    SECRETS_LIST_OF_AGENT,
    SECRETS_SET,
    SECRETS_SET_OF_AGENT,
)
from hermes.control.secrets import (
    AgentSecretEnd,
    AgentSecretsAsk,
    DroppedSecret,
    NewAgentSecret,
    NewSecret,
    SecretEnd,
    SecretLine,
    SecretsReport,
    SetSecret,
    check_name,
)
from hermes.errors import BadRequest, NotFound

SET_EPILOG = examples(
    "hermes secrets set ANTHROPIC_API_KEY                      (asks for the value)",
    "hermes secrets set ANTHROPIC_API_KEY < key.txt",
    "pass show github | hermes secrets set GITHUB_TOKEN --agent coder",
    "hermes secrets set ANTHROPIC_API_KEY --agent coder --hide",
)
LIST_EPILOG = examples(
    "hermes secrets list", "hermes secrets list --agent coder", "hermes secrets list --json"
)
DELETE_EPILOG = examples(
    "hermes secrets delete GITHUB_TOKEN", "hermes secrets delete GITHUB_TOKEN --agent coder"
)
# More than a secret may have, so that the gateway refuses what is too long.
_MOST_READ = 70_000
_COLUMNS = (
    Column("name", "id"),
    Column("hash", rank=2),
    Column("set", "time", rank=1),
    Column("used by"),
    Column("set by", rank=3),
)
_Name = Annotated[
    str,
    typer.Argument(
        metavar="SECRET_NAME", help="The name, such as ANTHROPIC_API_KEY or GITHUB_TOKEN."
    ),
]
_Agent = Annotated[
    str,
    typer.Option(
        "--agent", help="The secret of this agent, instead of a global one.", show_default=False
    ),
]


def set_value(
    secret_name: _Name,
    *,
    agent: _Agent = "",
    hide: Annotated[
        bool, typer.Option("--hide", help="Hide the global value from the agent; needs --agent.")
    ] = False,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Set a secret; the value is read from standard input, or asked for without being shown.

    A running gateway uses it from the next call on. Nobody can read the value back.
    """
    if hide and not agent:
        raise BadRequest("--hide needs --agent: a global secret is deleted instead.")
    # Before the value is asked for: it would be typed in vain.
    check_name(secret_name)
    value = "" if hide else _read_value(secret_name)
    by = operator_name()
    if agent:
        new = NewAgentSecret(id=agent, key=secret_name, value=value, by=by)
        made = call(home, SECRETS_SET_OF_AGENT, new)
    else:
        made = call(home, SECRETS_SET, NewSecret(key=secret_name, value=value, by=by))
    print_done(made, _set_text(made), as_json=as_json)


def list_all(
    *, agent: _Agent = "", home: Home = None, wide: Wide = False, as_json: AsJson = False
) -> None:
    """List the global secrets, or those of an agent, without their values."""
    if agent:
        ask = AgentSecretsAsk(id=agent)
        report = call(home, SECRETS_LIST_OF_AGENT, ask, empty=SecretsReport)
    else:
        report = call(home, SECRETS_LIST, NoFields(), empty=SecretsReport)
    print_report(report, _print, as_json=as_json, wide=wide)


def delete(
    secret_name: _Name, *, agent: _Agent = "", home: Home = None, as_json: AsJson = False
) -> None:
    """Delete a secret; a running gateway stops using it at once."""

    def nothing() -> DroppedSecret:
        raise NotFound("There are no secrets: nothing is stored here yet.")

    by = operator_name()
    if agent:
        ended = AgentSecretEnd(id=agent, key=secret_name, by=by)
        gone = call(home, SECRETS_DELETE_OF_AGENT, ended, empty=nothing)
    else:
        gone = call(home, SECRETS_DELETE, SecretEnd(key=secret_name, by=by), empty=nothing)
    whose = f" of the agent {gone.agent}" if gone.agent else ""
    print_done(gone, f"The secret {gone.key}{whose} is deleted.", as_json=as_json)


def _read_value(name: str) -> str:
    """Return the value, without the line break that editors and `echo` put at its end."""
    if sys.stdin.isatty():
        value = getpass(f"Value of {clean(name)} (it is not shown): ")
    else:
        value = sys.stdin.read(_MOST_READ).removesuffix("\n").removesuffix("\r")
    if not value:
        raise BadRequest(
            "The value is empty, so nothing was set. To hide the global value from an agent, give "
            "--agent and --hide."
        )
    return value


def _set_text(made: SetSecret) -> str:
    secret = made.secret
    whose = f" of the agent {secret.agent}" if secret.agent else ""
    done = (
        f"The global secret {secret.key} is hidden from the agent {secret.agent}."
        if secret.hides
        else f"The secret {secret.key}{whose} is set (hash {secret.hash})."
    )
    return f"{done}\n{made.note}" if made.note else done


def _print(report: SecretsReport, out: Console) -> None:
    if not report.secrets:
        out.print("There are no secrets here. `hermes secrets set NAME` sets one.")
        return
    print_table(out, _COLUMNS, map(_cells, report.secrets))


def _cells(line: SecretLine) -> tuple[Cell, ...]:
    users = ("hides the global value",) if line.hides else line.used_by
    return (line.key, line.hash or "-", line.set_at, ", ".join(users) or "tools", line.set_by)
