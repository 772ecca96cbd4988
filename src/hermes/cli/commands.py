"""Registers the commands with typer; `hermes up` uses it only for its `--help`."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption
from typer.main import get_group

from hermes import __version__
from hermes.cli import (
    agents,
    alerts,
    approvals,
    audit,
    backup,
    channels,
    channels_add,
    channels_try,
    chat,
    completion,
    config,
    config_change,
    costs,
    cron,
    deadletters,
    directory,
    doctor,
    graph_consent,
    graph_diff,
    graph_export,
    graph_rate,
    graph_show,
    graph_verify,
    hooks,
    init,
    interactions,
    keys,
    kill_switch,
    link,
    logs,
    mcp,
    memory,
    model_refresh,
    model_swap,
    models,
    pair,
    reload,
    route,
    search,
    send,
    service,
    sessions,
    status,
    stop,
    store_keys,
    token,
    users,
    users_export,
    why,
)
from hermes.cli import credits as credit_commands
from hermes.cli.terminal import Home, examples
from hermes.lazy import lazy

if TYPE_CHECKING:
    from hermes.cli.up import main as start_gateway
else:
    start_gateway = lazy("hermes.cli.up:main")

_PLAIN = {"help_option_names": ["-h", "--help"]}

app = typer.Typer(
    name="hermes",
    help="Hermes: one durable gateway between people on chat platforms and AI agents on models.",
    epilog=examples("hermes up", "hermes chat", "hermes status", "hermes why m_0k3v9c2h6l1g"),
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings=_PLAIN,
    rich_markup_mode="rich",
)
settings_app = typer.Typer(
    help="Show, change and check the configuration.",
    no_args_is_help=True,
    context_settings=_PLAIN,
)
models_app = typer.Typer(context_settings=_PLAIN)
agents_app = typer.Typer(context_settings=_PLAIN)
approvals_app = typer.Typer(context_settings=_PLAIN)
token_app = typer.Typer(context_settings=_PLAIN)
sessions_app = typer.Typer(
    help="List open sessions, and end one.",
    no_args_is_help=True,
    context_settings=_PLAIN,
)
channels_app = typer.Typer(context_settings=_PLAIN)
letters_app = typer.Typer(
    help="Replies that could not be sent: list them, send them again, or give them up.",
    no_args_is_help=True,
    context_settings=_PLAIN,
)
keys_app = typer.Typer(
    help="Make, list and revoke the API keys for /v1.",
    no_args_is_help=True,
    context_settings=_PLAIN,
)
credits_app = typer.Typer(
    help="People's credits: show, grant and refund them, and check the ledger.",
    no_args_is_help=True,
    context_settings=_PLAIN,
)
users_app = typer.Typer(
    help="The people of this gateway: list, let in, block, link and erase them.",
    no_args_is_help=True,
    context_settings=_PLAIN,
)
pair_app = typer.Typer(
    help="Let unknown people in by the pairing code that they received.",
    no_args_is_help=True,
    context_settings=_PLAIN,
)
switch_app = typer.Typer(
    help="Stop every model call at once, or allow them again.",
    no_args_is_help=True,
    context_settings=_PLAIN,
)

memory_app = typer.Typer(
    help="Show, set and delete what is known of a person.",
    no_args_is_help=True,
    context_settings=_PLAIN,
)
cron_app = typer.Typer(
    help="List, make, pause, run and remove scheduled jobs.",
    no_args_is_help=True,
    context_settings=_PLAIN,
)
mcp_app = typer.Typer(
    help="List, test and reload the MCP servers that provide tools.",
    no_args_is_help=True,
    context_settings=_PLAIN,
)

service_app = typer.Typer(
    help="Run the gateway as a systemd service.",
    no_args_is_help=True,
    context_settings=_PLAIN,
)
hooks_app = typer.Typer(
    help="List the hooks: your own code that is called on events.",
    no_args_is_help=True,
    context_settings=_PLAIN,
)

graph_app = typer.Typer(
    help="Show and check the conversations of this home, and export training data.",
    no_args_is_help=True,
    context_settings=_PLAIN,
)


def run(arguments: Sequence[str]) -> int:
    """Run the command that the arguments name; return its exit code."""
    completion.get_ready()
    command = get_group(app)
    _show_switches_plainly(command)
    try:
        command(args=list(arguments), prog_name="hermes")
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else 1
    return 0


def _show_switches_plainly(
    command: TyperCommand | TyperGroup, parent: typer.Context | None = None
) -> None:
    """Make `--help` show a switch by its name alone; typer would add `<bool>`."""
    context = typer.Context(command, parent=parent, **command.context_settings)
    for parameter in command.get_params(context):
        if isinstance(parameter, TyperOption) and parameter.is_flag:
            parameter.metavar = ""
    if isinstance(command, TyperGroup):
        for one in command.commands.values():
            if isinstance(one, TyperCommand | TyperGroup):
                _show_switches_plainly(one, context)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"hermes {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Read the options before a command."""


def up(
    *,
    home: Home = None,
    host: Annotated[
        str | None, typer.Option(help="The address to listen on.", show_default=False)
    ] = None,
    port: Annotated[
        int | None, typer.Option(help="The port; 0 picks a free one.", show_default=False)
    ] = None,
    log_format: Annotated[
        str | None,
        typer.Option(help="The format of log lines: auto, console or json.", show_default=False),
    ] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Take over from a gateway that runs in this home.")
    ] = False,
    accept_lone_database: Annotated[
        bool,
        typer.Option(
            "--accept-lone-database",
            help="Start with a hermes.db whose hermes.db-wal is gone, without what was in it.",
        ),
    ] = False,
    no_copy: Annotated[
        bool,
        typer.Option("--no-copy", help="Upgrade the database without keeping a copy of it first."),
    ] = False,
) -> None:
    """Start the gateway and run it until it is stopped (Ctrl-C, or `hermes stop`)."""
    given = {"--home": home, "--host": host, "--port": port, "--log-format": log_format}
    arguments = [
        text for name, value in given.items() if value is not None for text in (name, str(value))
    ]
    switches = {
        "--replace": replace,
        "--accept-lone-database": accept_lone_database,
        "--no-copy": no_copy,
    }
    arguments += [name for name, is_on in switches.items() if is_on]
    raise typer.Exit(start_gateway(arguments))


app.command(
    "up",
    epilog=examples(
        "hermes up",
        "hermes up --port 8090",
        "hermes up --host 0.0.0.0 --log-format json",
        "hermes up --replace",
        "HERMES_HOME=./second hermes up --port 0",
    ),
)(up)
app.command("init", epilog=init.EPILOG)(init.command)
app.command("stop", epilog=stop.EPILOG)(stop.command)
app.command("status", epilog=status.EPILOG)(status.command)
app.command("reload", epilog=reload.EPILOG)(reload.command)
service_app.command("install", epilog=service.INSTALL_EPILOG)(service.install)
service_app.command("uninstall", epilog=service.UNINSTALL_EPILOG)(service.uninstall)
service_app.command("start", epilog=service.START_EPILOG)(service.start)
service_app.command("stop", epilog=service.STOP_EPILOG)(service.stop)
service_app.command("restart", epilog=service.RESTART_EPILOG)(service.restart)
service_app.command("status", epilog=service.STATUS_EPILOG)(service.status)
service_app.command("logs", epilog=service.LOGS_EPILOG)(service.logs)
app.add_typer(service_app, name="service")
app.command("doctor", epilog=doctor.EPILOG)(doctor.command)
app.command("backup", epilog=backup.BACKUP_EPILOG)(backup.backup)
app.command("restore", epilog=backup.RESTORE_EPILOG)(backup.restore)
app.command("chat", epilog=chat.EPILOG)(chat.command)
app.command("why", epilog=why.EPILOG)(why.command)
models_app.callback(invoke_without_command=True, epilog=models.EPILOG)(models.command)
models_app.command("refresh", epilog=model_refresh.EPILOG)(model_refresh.command)
models_app.command("swap", epilog=model_swap.EPILOG)(model_swap.command)
app.add_typer(models_app, name="models")
app.command("route", epilog=route.EPILOG)(route.command)
agents_app.callback(invoke_without_command=True, epilog=agents.EPILOG)(agents.command)
agents_app.command("list", epilog=agents.LIST_EPILOG)(agents.list_all)
app.add_typer(agents_app, name="agents")
approvals_app.callback(invoke_without_command=True, epilog=approvals.EPILOG)(approvals.command)
approvals_app.command("list", epilog=approvals.LIST_EPILOG)(approvals.list_all)
approvals_app.command("approve", epilog=approvals.APPROVE_EPILOG)(approvals.approve)
approvals_app.command("deny", epilog=approvals.DENY_EPILOG)(approvals.deny)
app.add_typer(approvals_app, name="approvals")
app.command("send", epilog=send.EPILOG)(send.command)
app.command("search", epilog=search.EPILOG)(search.command)
app.command("interactions", epilog=interactions.EPILOG)(interactions.command)
app.command("logs", epilog=logs.EPILOG)(logs.command)
app.command("alerts", epilog=alerts.EPILOG)(alerts.command)
app.command("link", epilog=link.EPILOG)(link.command)
token_app.callback(invoke_without_command=True, epilog=token.EPILOG)(token.command)
token_app.command("create", epilog=token.CREATE_EPILOG)(token.create)
token_app.command("list", epilog=token.LIST_EPILOG)(token.list_all)
token_app.command("revoke", epilog=token.REVOKE_EPILOG)(token.revoke)
app.add_typer(token_app, name="token")
app.command("audit", epilog=audit.EPILOG)(audit.command)
sessions_app.command("list", epilog=sessions.LIST_EPILOG)(sessions.list_all)
sessions_app.command("end", epilog=sessions.END_EPILOG)(sessions.end)
app.add_typer(sessions_app, name="sessions")
channels_app.callback(invoke_without_command=True, epilog=channels.EPILOG)(channels.command)
channels_app.command("list", epilog=channels.LIST_EPILOG)(channels.list_all)
channels_app.command("add", epilog=channels_add.EPILOG)(channels_add.command)
channels_app.command("try", epilog=channels_try.EPILOG)(channels_try.command)
channels_app.command("pause", epilog=channels.PAUSE_EPILOG)(channels.pause)
channels_app.command("resume", epilog=channels.RESUME_EPILOG)(channels.resume)
channels_app.command("directory", epilog=directory.EPILOG)(directory.command)
app.add_typer(channels_app, name="channels")
letters_app.command("list", epilog=deadletters.LIST_EPILOG)(deadletters.list_all)
letters_app.command("show", epilog=deadletters.SHOW_EPILOG)(deadletters.show)
letters_app.command("replay", epilog=deadletters.REPLAY_EPILOG)(deadletters.replay)
letters_app.command("drop", epilog=deadletters.DROP_EPILOG)(deadletters.drop)
app.add_typer(letters_app, name="deadletters")
app.command("completion", epilog=completion.EPILOG)(completion.command)
keys_app.command("create", epilog=keys.CREATE_EPILOG)(keys.create)
keys_app.command("list", epilog=keys.LIST_EPILOG)(keys.list_all)
keys_app.command("revoke", epilog=keys.REVOKE_EPILOG)(keys.revoke)
keys_app.command("rotate-store", epilog=store_keys.EPILOG)(store_keys.command)
app.add_typer(keys_app, name="keys")
users_app.command("list", epilog=users.LIST_EPILOG)(users.list_all)
users_app.command("show", epilog=users.SHOW_EPILOG)(users.show)
users_app.command("add", epilog=users.ADD_EPILOG)(users.add)
users_app.command("activate", epilog=users.ACTIVATE_EPILOG)(users.activate)
users_app.command("block", epilog=users.BLOCK_EPILOG)(users.block)
users_app.command("tier", epilog=users.TIER_EPILOG)(users.set_tier)
users_app.command("link", epilog=users.LINK_EPILOG)(users.link)
users_app.command("unlink", epilog=users.UNLINK_EPILOG)(users.unlink)
users_app.command("export", epilog=users_export.EPILOG)(users_export.command)
users_app.command("erase", epilog=users.ERASE_EPILOG)(users.erase)
app.add_typer(users_app, name="users")
pair_app.command("list", epilog=pair.LIST_EPILOG)(pair.list_all)
pair_app.command("approve", epilog=pair.APPROVE_EPILOG)(pair.approve)
pair_app.command("deny", epilog=pair.DENY_EPILOG)(pair.deny)
pair_app.command("revoke", epilog=pair.REVOKE_EPILOG)(pair.revoke)
app.add_typer(pair_app, name="pair")
app.command("costs", epilog=costs.EPILOG)(costs.command)
credits_app.command("show", epilog=credit_commands.SHOW_EPILOG)(credit_commands.show)
credits_app.command("list", epilog=credit_commands.LIST_EPILOG)(credit_commands.list_all)
# A negative number is an argument, and no option.
credits_app.command(
    "grant", epilog=credit_commands.GRANT_EPILOG, context_settings={"ignore_unknown_options": True}
)(credit_commands.grant)
credits_app.command("refund", epilog=credit_commands.REFUND_EPILOG)(credit_commands.refund)
credits_app.command("refer", epilog=credit_commands.REFER_EPILOG)(credit_commands.refer)
credits_app.command("audit", epilog=credit_commands.AUDIT_EPILOG)(credit_commands.audit)
app.add_typer(credits_app, name="credits")
switch_app.command("on", epilog=kill_switch.ON_EPILOG)(kill_switch.turn_on)
switch_app.command("off", epilog=kill_switch.OFF_EPILOG)(kill_switch.turn_off)
switch_app.command("status", epilog=kill_switch.STATUS_EPILOG)(kill_switch.status)
app.add_typer(switch_app, name="kill-switch")
graph_app.command("list", epilog=graph_show.LIST_EPILOG)(graph_show.list_all)
graph_app.command("show", epilog=graph_show.SHOW_EPILOG)(graph_show.show)
graph_app.command("export", epilog=graph_export.EPILOG)(graph_export.command)
graph_app.command("verify", epilog=graph_verify.VERIFY_EPILOG)(graph_verify.verify)
graph_app.command("diff", epilog=graph_diff.EPILOG)(graph_diff.command)
graph_app.command("verify-export", epilog=graph_verify.FILE_EPILOG)(graph_verify.verify_export)
graph_app.command("consent", epilog=graph_consent.EPILOG)(graph_consent.command)
graph_app.command("rate", epilog=graph_rate.EPILOG)(graph_rate.command)
app.add_typer(graph_app, name="graph")
memory_app.command("show", epilog=memory.SHOW_EPILOG)(memory.show)
memory_app.command("set", epilog=memory.SET_EPILOG)(memory.set_fact)
memory_app.command("forget", epilog=memory.FORGET_EPILOG)(memory.forget)
memory_app.command("dream", epilog=memory.DREAM_EPILOG)(memory.dream)
memory_app.command("export", epilog=memory.EXPORT_EPILOG)(memory.export)
app.add_typer(memory_app, name="memory")
mcp_app.command("list", epilog=mcp.LIST_EPILOG)(mcp.list_all)
mcp_app.command("test", epilog=mcp.TEST_EPILOG)(mcp.try_out)
mcp_app.command("reload", epilog=mcp.RELOAD_EPILOG)(mcp.reload)
app.add_typer(mcp_app, name="mcp")
hooks_app.command("list", epilog=hooks.LIST_EPILOG)(hooks.list_all)
app.add_typer(hooks_app, name="hooks")
cron_app.command("list", epilog=cron.LIST_EPILOG)(cron.list_all)
cron_app.command("add", epilog=cron.ADD_EPILOG)(cron.add)
cron_app.command("show", epilog=cron.SHOW_EPILOG)(cron.show)
cron_app.command("pause", epilog=cron.PAUSE_EPILOG)(cron.pause)
cron_app.command("resume", epilog=cron.RESUME_EPILOG)(cron.resume)
cron_app.command("run", epilog=cron.RUN_EPILOG)(cron.run)
cron_app.command("remove", epilog=cron.REMOVE_EPILOG)(cron.remove)
app.add_typer(cron_app, name="cron")
settings_app.command("show", epilog=config.EPILOG)(config.command)
settings_app.command("set", epilog=config_change.SET_EPILOG)(config_change.set_value)
settings_app.command("edit", epilog=config_change.EDIT_EPILOG)(config_change.edit)
settings_app.command("check", epilog=config_change.CHECK_EPILOG)(config_change.check)
settings_app.command("schema", epilog=config_change.SCHEMA_EPILOG)(config_change.schema)
app.add_typer(settings_app, name="config")
