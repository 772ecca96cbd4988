"""Shows that only the guarded client connects to addresses that strangers can influence (W34).

Part of `make check`. It reads source text only and imports nothing of Hermes. Whatever can open a
connection, start a program or load code has to be listed here with the reason why nobody outside
can choose the address; everything else fails, and so does a row that nothing needs any more.
"""

import argparse
import ast
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

# Libraries that open no connection, whatever they are given.
HARMLESS = frozenset(
    {
        *("apsw", "cryptography", "hermes", "httptools", "idna", "markdown_it"),
        *(
            "msgspec",
            "numpy",
            "pydantic",
            "pydantic_core",
            "rich",
            "starlette",
            "structlog",
            "threadpoolctl",
            "typer",
        ),
        *("uvloop", "vodozemac", "yaml", "yarl"),
    }
)
# Modules of Python itself that do. `socket` only makes them, but from there it is one line.
WIRES = frozenset(
    {
        *("ftplib", "http.client", "imaplib", "logging.handlers", "nntplib", "poplib", "smtplib"),
        *("socket", "socketserver", "ssl", "telnetlib", "urllib.request", "webbrowser"),
        *("xmlrpc.client", "_socket", "_ssl"),
    }
)
PROGRAMS = frozenset({"multiprocessing", "pty", "subprocess", "asyncio.subprocess"})
LOADERS = frozenset({"cffi", "ctypes", "runpy"})
WIRE_CALLS = frozenset(
    {
        *("create_connection", "create_datagram_endpoint", "create_unix_connection"),
        *("from_pretrained", "open_connection", "open_unix_connection", "sock_connect", "urlopen"),
        *("urlretrieve", "ws_connect"),
    }
)
PROGRAM_CALLS = frozenset(
    {
        *("create_subprocess_exec", "create_subprocess_shell", "execv", "execve", "execvp"),
        *("execvpe", "fork", "forkpty", "popen", "posix_spawn", "posix_spawnp", "spawnv"),
        *("spawnve", "subprocess_exec", "subprocess_shell", "system"),
    }
)
LOADER_CALLS = frozenset({"__import__", "eval", "exec", "exec_module"})

# Each path is below src/hermes; one that ends in / stands for the folder.
MAY_CONNECT: Mapping[str, str] = {
    "net/calls.py": "the one client's sessions: what is not from the configuration passes the guard",
    "net/client.py": "the one client: it hands the operator's certificates to its sessions",
    "net/guard.py": (
        "the guard: makes the sockets of untrusted calls, after the last check; and asks the routing"
        " table with a socket that sends nothing"
    ),
    "net/name_lookup.py": "looks names up for the guard, and connects to nothing",
    "net/wire_failure.py": "reads the client's errors",
    "server/listen.py": "binds the listening socket of server.host and server.port",
    "ops/lean_imports.py": "imports uvicorn for `server/listen.py`, and connects to nothing",
    "server/a2a/": "the serving side of the A2A SDK: it reads and writes the protocol, and connects to nothing",
    "server/oidc/signature.py": "checks signatures with PyJWT on keys that it is given, and fetches none",
    "server/edge.py": "serves what is accepted, and connects to nothing",
    "server/mcp/sdk_server.py": "the MCP SDK's server: serves what is accepted, and connects to nothing",
    "config/machine.py": "reads a file of certificates, and connects to nothing",
    "cli/mcp_login.py": "a login at an MCP server: its address and its issuer alone, both in the configuration",
    "cli/gateway_client.py": "the command line asks the gateway of its own home, on loopback",
    "cli/acp_agent.py": "speaks over the streams that it is given, and connects to nothing",
    "cli/acp_prompt.py": "uses the types of the protocol",
    "ops/supervision.py": "a unix datagram to the systemd that started this process",
    "schema/checker.py": "compiles schemas with offline=True, which this gate checks",
    "graph/exports/parquet.py": "writes the file that the operator names",
    "graph/exports/tokenizer_file.py": "reads files only: local_files_only=True, checked here",
    "providers/local/worker.py": "reads the weights from their file",
    "providers/minilm/model.py": "reads the tokenizer from its file",
    "providers/wordllama/model.py": "reads the tokenizer from its file",
    "adapters/a2a/": "the A2A SDK over the one client's guarded side, to the origin of the card alone",
    "tools/mcp/": "the MCP SDK: the operator's addresses, and no redirect leaves their origin",
    "channel_kit/socket_session.py": "the socket that a channel names, on its platform's hosts or the operator's",
    "channels/email/client.py": "the mail servers of platforms.email, which are the operator's setting",
    "contrib/irc/client.py": "the IRC server of platforms.irc.server, which is the operator's setting",
    "testing/": "stand-ins for tests and plugin authors; import-linter keeps the rest from them",
}
MAY_RUN_PROGRAMS: Mapping[str, str] = {
    "providers/local/process.py": "starts this Python on a module of ours",
    "cli/config_change.py": "`hermes config edit`: the editor that the operator's EDITOR names",
    "cli/init_setup.py": "becomes `hermes up`, if the person says so at the end",
    "cli/up.py": "starts itself again for a restart, with its own arguments",
    "cli/channels_try.py": "starts this Python on a module of ours, for a trial on loopback",
    "ops/systemd.py": "`hermes service` runs systemctl and journalctl",
    "tools/mcp/stdio_wire.py": "starts the MCP servers of the configuration",
    "tools/terminal/program.py": "commands of models, in the sandbox, where terminal.enabled says so",
    "testing/": "stand-ins for tests and plugin authors",
}
MAY_LOAD_CODE: Mapping[str, str] = {
    "plugins/code_loader.py": "loads hooks, plugin folders and tool files, which only the operator can change",
    "plugins/loader.py": "loads the plugins of the configuration: their code is the operator's",
    "tools/modules.py": "loads the tools of the configuration: their code is the operator's",
    "ops/lean_imports.py": "imports structlog and uvicorn by name while parts of them are hidden",
    "lazy.py": "imports our own functions when they are first called",
    "cli/commands.py": "imports our own command when it is used, by the table of commands",
    "app/platforms.py": "loads our own channels when their platform is switched on",
    "app/channel_test.py": "loads what a channel finds out for its set-up, when `channels add` asks",
    "testing/": "stand-ins for tests and plugin authors",
}
MAY_TRUST: Mapping[str, str] = {
    "server/oidc/provider.py": "the identity provider's own origin, which is web.oidc.issuer of the configuration",
    "net/calls.py": "passes on what the client's callers say",
    "net/client.py": "passes on what its callers say",
    "net/platform_call.py": "a platform's API, whose address is the operator's setting",
    "channel_kit/api.py": "a platform's API, or files on hosts that its channel names",
    "channel_kit/event_stream.py": "a platform's stream of events, whose address is the operator's setting",
    "net/page_fetch.py": "the search engine of web_search.url, which is the operator's setting",
    "provider_kit/model_list.py": "a provider's base_url, which is the operator's setting",
    "provider_kit/stream.py": "a provider's base_url, which is the operator's setting",
    "ops/alert_sinks.py": "the webhooks of alerts.webhooks, which is the operator's setting",
    "ops/otel_export.py": "the collector of otel.endpoint, which is the operator's setting",
    "channel_kit/socket_session.py": "the socket that a channel names, on its platform's hosts or the operator's",
    "testing/": "stand-ins on loopback",
}
MAY_MAKE_CLIENTS: Mapping[str, str] = {
    "app/adapters.py": "makes the one client, with the operator's networks",
    "testing/": "stand-ins on loopback",
}
# Calls that stay on this machine only if they say so.
MUST_SAY = {"validator_for": "offline", "from_pretrained": "local_files_only"}
EXAMPLES = """examples:
  python tools/outbound_gate.py              the whole package
  python tools/outbound_gate.py other/hermes  another copy of it
"""


@dataclass(frozen=True, order=True)
class Breach:
    """One place that reaches out without leave, and what to do about it."""

    path: str
    line: int
    text: str


@dataclass
class Leave:
    """A list of who may do something, and who did."""

    name: str
    rows: Mapping[str, str]
    used: set[str] = field(default_factory=set)

    def given(self, path: str) -> bool:
        """Tell whether the module is listed."""
        row = next((row for row in self.rows if path == row or _holds(row, path)), None)
        if row is not None:
            self.used.add(row)
        return row is not None


def _holds(row: str, path: str) -> bool:
    return row.endswith("/") and path.startswith(row)


class Gate:
    """Reads modules one after the other and collects what they do without leave."""

    def __init__(self) -> None:
        self.connect = Leave("MAY_CONNECT", MAY_CONNECT)
        self.run = Leave("MAY_RUN_PROGRAMS", MAY_RUN_PROGRAMS)
        self.load = Leave("MAY_LOAD_CODE", MAY_LOAD_CODE)
        self.trust = Leave("MAY_TRUST", MAY_TRUST)
        self.make = Leave("MAY_MAKE_CLIENTS", MAY_MAKE_CLIENTS)

    def read(self, path: str, text: str) -> list[Breach]:
        """Return the breaches of one module, `path` being below the package."""
        found: set[Breach] = set()
        for node in ast.walk(ast.parse(text, filename=path)):
            for leave, problem in self._asks(node):
                if leave is None or not leave.given(path):
                    found.add(Breach(path, getattr(node, "lineno", 1), problem))
        return sorted(found)

    def unused(self) -> list[Breach]:
        """Return the rows that no module needed."""
        return [
            Breach(row, 1, f"does nothing that {leave.name} has to allow: take the row out")
            for leave in (self.connect, self.run, self.load, self.trust, self.make)
            for row in leave.rows
            if row not in leave.used and not row.endswith("/")
        ]

    def _asks(self, node: ast.AST) -> Iterator[tuple[Leave | None, str]]:
        """Yield what a node does that has to be allowed; by nobody, if there is no leave."""
        for name in _imported(node):
            yield from self._asks_to_import(name)
        if isinstance(node, ast.Call):
            yield from self._asks_to_call(node)

    def _asks_to_import(self, name: str) -> Iterator[tuple[Leave, str]]:
        top = name.partition(".")[0]
        last = name.rpartition(".")[2]
        if _is_in(name, WIRES) or last in WIRE_CALLS:
            yield self.connect, f"imports {name}: call others with the client that is handed in"
        elif _is_in(name, PROGRAMS) or (top in {"os", "asyncio"} and last in PROGRAM_CALLS):
            yield self.run, f"imports {name}: programs connect to where they like"
        elif _is_in(name, LOADERS):
            yield self.load, f"imports {name}: loaded code connects to where it likes"
        elif top not in HARMLESS and top not in sys.stdlib_module_names:
            yield (
                self.connect,
                f"imports {name}, of which nobody has said whether it connects: list {top} as"
                " harmless, or this module with its reason",
            )

    def _asks_to_call(self, call: ast.Call) -> Iterator[tuple[Leave | None, str]]:
        name = ast.unparse(call.func)
        last = name.rpartition(".")[2]
        said = {word.arg: word.value for word in call.keywords}
        if last in WIRE_CALLS:
            yield self.connect, f"calls {name}: use the client that is handed in"
        if last in PROGRAM_CALLS and ("." in name or last.startswith("create_")):
            yield self.run, f"calls {name}: programs connect to where they like"
        if last in LOADER_CALLS or (last == "import_module" and not _is_literal(call)):
            yield self.load, f"calls {name}: loaded code connects to where it likes"
        if last == "HttpClient":
            yield self.make, "makes a client of its own: take the one that is handed in"
        if last in MUST_SAY and not _is_constant(said.get(MUST_SAY[last]), True):
            yield (
                None,
                f"calls {name} without {MUST_SAY[last]}=True: it would connect to any address",
            )
        if "trusted" in said and not _is_constant(said["trusted"], False):
            yield (
                self.trust,
                "calls past the guard: say trusted=False, or list the module with the reason why"
                " only the operator chooses the address",
            )
        if name.endswith("client.request") and None in said:
            yield None, "hides from the gate whether the address is trusted: write trusted=..."


def _imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.module:
        whole = [f"{node.module}.{alias.name}" for alias in node.names]
        return [name for name in whole if _is_special(name)] or [node.module]
    if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
        return [str(ast.literal_eval(node.args[0]))] if _is_literal(node) else []
    return []


def _is_special(name: str) -> bool:
    last = name.rpartition(".")[2]
    return (
        last in WIRE_CALLS | PROGRAM_CALLS or name in WIRES or name in PROGRAMS or name in LOADERS
    )


def _is_in(name: str, modules: frozenset[str]) -> bool:
    return name in modules or any(name.startswith(f"{module}.") for module in modules)


def _is_literal(call: ast.Call) -> bool:
    return bool(call.args) and isinstance(call.args[0], ast.Constant)


def _is_constant(node: ast.expr | None, value: object) -> bool:
    return isinstance(node, ast.Constant) and node.value is value


def check(package: Path) -> list[Breach]:
    """Return every breach of the package, and every row that it does not need."""
    gate = Gate()
    breaches: list[Breach] = []
    for path in sorted(package.rglob("*.py")):
        name = path.relative_to(package).as_posix()
        try:
            breaches += gate.read(name, path.read_text(encoding="utf-8"))
        except SyntaxError as problem:
            breaches.append(Breach(name, problem.lineno or 1, f"is no Python: {problem.msg}"))
    return breaches + gate.unused()


def main(arguments: list[str] | None = None) -> int:
    """Checks the package and fails when something may reach out without leave."""
    parser = argparse.ArgumentParser(
        description="Check that only listed modules can open connections, each with its reason.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("package", nargs="?", type=Path, default=Path("src/hermes"))
    package: Path = parser.parse_args(arguments).package
    if not package.is_dir():
        print(f"outbound gate: no such folder: {package}; run it in the project", file=sys.stderr)
        return 2
    breaches = check(package)
    for breach in breaches:
        print(f"{package}/{breach.path}:{breach.line}: {breach.text}")
    print(
        f"outbound gate: {len(breaches)} breaches; the lists are in tools/outbound_gate.py"
        if breaches
        else f"outbound gate: {len(MAY_CONNECT)} places may connect, nothing else does"
    )
    return 1 if breaches else 0


if __name__ == "__main__":
    sys.exit(main())
