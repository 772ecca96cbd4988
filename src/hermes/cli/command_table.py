"""Every command of `hermes`, in the groups of `hermes --help`: data only, and nothing is imported.

To add a command, add a row here, run `python -m tools.command_words`, and give it a heading in
docs/cli.md. A `Word` is what follows `hermes`: a command, or a group of commands with a row each.
"""

from typing import NamedTuple


class Row(NamedTuple):
    """One command: its name, the function that runs it, and where its examples are."""

    name: str
    function: str
    examples: str = "EPILOG"
    # What looks like an option is an argument, such as a negative number.
    takes_negatives: bool = False


class Word(NamedTuple):
    """A first word, with the line that `hermes --help` shows.

    A group has `rows`; the first of them runs if no command of the group is named. Whatever
    else follows is for the command `other`, if there is one: an argument, or an option.
    """

    name: str
    about: str
    row: Row | None = None
    rows: tuple[Row, ...] = ()
    other: str = ""


class HelpGroup(NamedTuple):
    """A heading of `hermes --help` and the words below it."""

    title: str
    words: tuple[Word, ...]


def _one(name: str, function: str, about: str, *, examples: str = "EPILOG") -> Word:
    return Word(name, about, row=Row(name, f"hermes.cli.{function}", examples))


def _group(name: str, module: str, about: str, *rows: Row, other: str = "") -> Word:
    """Return a group; a function without a module is in `module`."""
    named = (
        row if "." in row.function else row._replace(function=f"hermes.cli.{module}:{row.function}")
        for row in rows
    )
    return Word(name, about, rows=tuple(named), other=other)


TITLE = "Hermes: one durable gateway between people on chat platforms and AI agents on models."
EXAMPLES = ("hermes up", "hermes chat", "hermes status", "hermes why m_0k3v9c2h6l1g")

SECTIONS = (
    HelpGroup(
        "Core",
        (
            _one("up", "up_command:command", "Start the gateway"),
            _one("stop", "stop:command", "Stop the gateway after its running turns"),
            _one("status", "status:command", "Show the state of the gateway"),
            _one("chat", "chat:command", "Talk to Hermes in this terminal"),
            _one("acp", "acp:command", "Let an editor talk to an agent"),
            _one("send", "send:command", "Send a message to a chat"),
            _one("why", "why:command", "Explain what happened to a message or a call"),
        ),
    ),
    HelpGroup(
        "Setup",
        (
            _one("init", "init:command", "Write a first configuration and test its key"),
            _one("doctor", "doctor:command", "Check this home and say how to fix problems"),
            _group(
                "channels",
                "channels",
                "List, add, test and pause chat platforms",
                Row("list", "list_all", "LIST_EPILOG"),
                Row("add", "hermes.cli.channels_add:command"),
                Row("try", "hermes.cli.channels_try:command"),
                Row("pause", "pause", "PAUSE_EPILOG"),
                Row("resume", "resume", "RESUME_EPILOG"),
                Row("directory", "hermes.cli.directory:command"),
            ),
            _group(
                "models",
                "models",
                "List models, refresh their lists, swap the default",
                Row("list", "list_all"),
                Row("refresh", "hermes.cli.model_refresh:command"),
                Row("swap", "hermes.cli.model_swap:command"),
            ),
            _one("route", "route:command", "Show which models a prompt would use, and why"),
            _group(
                "mcp",
                "mcp",
                "List, test and reload MCP servers, and log in at them",
                Row("list", "list_all", "LIST_EPILOG"),
                Row("test", "try_out", "TEST_EPILOG"),
                Row("reload", "reload", "RELOAD_EPILOG"),
                Row("login", "login", "LOGIN_EPILOG"),
                Row("logout", "logout", "LOGOUT_EPILOG"),
            ),
            _group(
                "hooks",
                "hooks",
                "List the hooks: your own code that is called on events",
                Row("list", "list_all", "LIST_EPILOG"),
            ),
            _group(
                "skills",
                "skills",
                "List, add, show and remove skills: instructions that agents use by name",
                Row("list", "list_all", "LIST_EPILOG"),
                Row("add", "add", "ADD_EPILOG"),
                Row("show", "show", "SHOW_EPILOG"),
                Row("remove", "remove", "REMOVE_EPILOG"),
            ),
            _group(
                "agents",
                "agents",
                "Create, list, change, stop and delete agents",
                Row("list", "list_all", "LIST_EPILOG"),
                Row("create", "create", "CREATE_EPILOG"),
                Row("add-remote", "add_remote", "ADD_REMOTE_EPILOG"),
                Row("show", "show", "SHOW_EPILOG"),
                Row("edit", "edit", "EDIT_EPILOG"),
                Row("stop", "stop", "STOP_EPILOG"),
                Row("start", "start", "START_EPILOG"),
                Row("delete", "delete", "DELETE_EPILOG"),
                Row("history", "history", "HISTORY_EPILOG"),
                Row("diff", "diff", "DIFF_EPILOG"),
                Row("revert", "revert", "REVERT_EPILOG"),
                Row("swap", "swap", "SWAP_EPILOG"),
            ),
            _group(
                "secrets",
                "secrets",
                "Set, list and delete API keys and passwords",
                Row("list", "list_all", "LIST_EPILOG"),
                Row("set", "set_value", "SET_EPILOG"),
                Row("delete", "delete", "DELETE_EPILOG"),
            ),
            _group(
                "config",
                "config_change",
                "Show, change and check the configuration",
                Row("show", "hermes.cli.config:command"),
                Row("set", "set_setting", "SET_EPILOG"),
                Row("edit", "edit", "EDIT_EPILOG"),
                Row("check", "check", "CHECK_EPILOG"),
                Row("schema", "schema", "SCHEMA_EPILOG"),
            ),
            _one("reload", "reload:command", "Reload the configuration"),
        ),
    ),
    HelpGroup(
        "People",
        (
            _group(
                "users",
                "users",
                "List, let in, block, link, export and erase people",
                Row("list", "list_all", "LIST_EPILOG"),
                Row("show", "show", "SHOW_EPILOG"),
                Row("add", "add", "ADD_EPILOG"),
                Row("activate", "activate", "ACTIVATE_EPILOG"),
                Row("block", "block", "BLOCK_EPILOG"),
                Row("tier", "set_tier", "TIER_EPILOG"),
                Row("link", "link", "LINK_EPILOG"),
                Row("unlink", "unlink", "UNLINK_EPILOG"),
                Row("export", "hermes.cli.users_export:command"),
                Row("erase", "erase", "ERASE_EPILOG"),
            ),
            _group(
                "pair",
                "pair",
                "Let unknown people in by their pairing code",
                Row("list", "list_all", "LIST_EPILOG"),
                Row("approve", "approve", "APPROVE_EPILOG"),
                Row("deny", "deny", "DENY_EPILOG"),
                Row("revoke", "revoke", "REVOKE_EPILOG"),
            ),
            _group(
                "credits",
                "credits",
                "Show, grant and refund credits, and check the ledger",
                Row("list", "list_all", "LIST_EPILOG"),
                Row("show", "show", "SHOW_EPILOG"),
                Row("grant", "grant", "GRANT_EPILOG", takes_negatives=True),
                Row("refund", "refund", "REFUND_EPILOG"),
                Row("refer", "refer", "REFER_EPILOG"),
                Row("audit", "audit", "AUDIT_EPILOG"),
            ),
            _group(
                "memory",
                "memory",
                "Show, set and delete what is remembered about people",
                Row("list", "list_all", "LIST_EPILOG"),
                Row("show", "show", "SHOW_EPILOG"),
                Row("set", "set_fact", "SET_EPILOG"),
                Row("forget", "forget", "FORGET_EPILOG"),
                Row("dream", "dream", "DREAM_EPILOG"),
                Row("export", "export", "EXPORT_EPILOG"),
            ),
            _group(
                "cron",
                "cron",
                "List, add, pause, run and remove scheduled jobs",
                Row("list", "list_all", "LIST_EPILOG"),
                Row("add", "add", "ADD_EPILOG"),
                Row("show", "show", "SHOW_EPILOG"),
                Row("pause", "pause", "PAUSE_EPILOG"),
                Row("resume", "resume", "RESUME_EPILOG"),
                Row("run", "run", "RUN_EPILOG"),
                Row("remove", "remove", "REMOVE_EPILOG"),
            ),
            _group(
                "approvals",
                "approvals",
                "List tool calls that wait, approve and deny them",
                Row("list", "list_all", "LIST_EPILOG"),
                Row("approve", "approve", "APPROVE_EPILOG"),
                Row("deny", "deny", "DENY_EPILOG"),
            ),
            _group(
                "sessions",
                "sessions",
                "List open sessions, and end one",
                Row("list", "list_all", "LIST_EPILOG"),
                Row("end", "end", "END_EPILOG"),
            ),
        ),
    ),
    HelpGroup(
        "Access",
        (
            _one("link", "link:command", "Print a sign-in link for the web chat"),
            _one("invite", "invite:command", "Invite a person into the web chat"),
            _group(
                "invites",
                "invite",
                "List invitations to the web chat, and withdraw one",
                Row("list", "list_all", "LIST_EPILOG"),
                Row("withdraw", "withdraw", "WITHDRAW_EPILOG"),
            ),
            _group(
                "token",
                "token",
                "Make, list and revoke API tokens and browser sessions",
                Row("new", "command"),
                Row("create", "create", "CREATE_EPILOG"),
                Row("list", "list_all", "LIST_EPILOG"),
                Row("revoke", "revoke", "REVOKE_EPILOG"),
            ),
            _group(
                "keys",
                "keys",
                "Make, list and revoke the API keys of /v1",
                Row("list", "list_all", "LIST_EPILOG"),
                Row("create", "create", "CREATE_EPILOG"),
                Row("revoke", "revoke", "REVOKE_EPILOG"),
                Row("rotate-store", "hermes.cli.store_keys:command"),
            ),
            _group(
                "kill-switch",
                "kill_switch",
                "Stop every model call at once, or allow them again",
                Row("status", "status", "STATUS_EPILOG"),
                Row("on", "turn_on", "ON_EPILOG"),
                Row("off", "turn_off", "OFF_EPILOG"),
            ),
        ),
    ),
    HelpGroup(
        "Records",
        (
            _group(
                "messages",
                "messages",
                "List messages by person, channel, model, outcome, cost",
                Row("list", "list_all", "LIST_EPILOG"),
            ),
            _one("interactions", "interactions:command", "List turns: model, tokens, cost, tools"),
            _one("costs", "costs:command", "Show what model calls cost"),
            _one("search", "search:command", "Search what people and agents wrote"),
            _one("logs", "logs:command", "Show the log file of the gateway"),
            _one("alerts", "alerts:command", "List alerts"),
            _one("audit", "audit:command", "List the orders that operators gave"),
            _group(
                "deadletters",
                "deadletters",
                "List, resend and drop replies that could not be sent",
                Row("list", "list_all", "LIST_EPILOG"),
                Row("show", "show", "SHOW_EPILOG"),
                Row("replay", "replay", "REPLAY_EPILOG"),
                Row("drop", "drop", "DROP_EPILOG"),
            ),
            _group(
                "replay",
                "replay",
                "Make answers again with another model or prompt, and compare",
                Row("list", "list_all", "LIST_EPILOG"),
                Row("run", "run"),
                Row("show", "show", "SHOW_EPILOG"),
                other="run",
            ),
            _group(
                "graph",
                "graph_show",
                "Show and check conversations, export training data",
                Row("list", "list_all", "LIST_EPILOG"),
                Row("show", "show", "SHOW_EPILOG"),
                Row("diff", "hermes.cli.graph_diff:command"),
                Row("verify", "hermes.cli.graph_verify:verify", "VERIFY_EPILOG"),
                Row("export", "hermes.cli.graph_export:command"),
                Row("verify-export", "hermes.cli.graph_verify:verify_export", "FILE_EPILOG"),
                Row("consent", "hermes.cli.graph_consent:command"),
                Row("rate", "hermes.cli.graph_rate:command"),
            ),
        ),
    ),
    HelpGroup(
        "Operating",
        (
            _group(
                "service",
                "service",
                "Run the gateway as a systemd service",
                Row("status", "status", "STATUS_EPILOG"),
                Row("install", "install", "INSTALL_EPILOG"),
                Row("uninstall", "uninstall", "UNINSTALL_EPILOG"),
                Row("start", "start", "START_EPILOG"),
                Row("stop", "stop", "STOP_EPILOG"),
                Row("restart", "restart", "RESTART_EPILOG"),
                Row("logs", "logs", "LOGS_EPILOG"),
            ),
            _one(
                "backup",
                "backup:backup",
                "Write a backup of the home into one archive",
                examples="BACKUP_EPILOG",
            ),
            _one(
                "restore",
                "backup:restore",
                "Make a home from a backup",
                examples="RESTORE_EPILOG",
            ),
            _one("completion", "completion:command", "Print a shell completion script"),
        ),
    ),
)

WORDS = {word.name: word for section in SECTIONS for word in section.words}
