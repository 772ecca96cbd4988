"""Reads from the source that nothing is written and nothing called without a failpoint.

It knows Python's syntax trees and how Hermes is laid out, and imports nothing of it. From the
same trees it derives the name of every failpoint there is.
"""

import ast
import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import msgspec

_PACKAGE = Path(__file__).parents[2] / "src/hermes"
SIDES = ("before", "after")
NETWORK = frozenset(
    {"aiohttp", "socket", "ssl", "http.client", "urllib.request", "httpx", "requests", "websockets"}
)
# Who may touch sockets: the one client, the listening side, the command line, the stand-ins.
# A unix datagram to the supervisor is no wire call.
MAY_USE_NETWORK = (
    "net/",
    "server/listen.py",
    "cli/",
    "testing/",
    "ops/supervision.py",
    # Other protocols than HTTP; what is sent over them stands between the sides of `channel.send`.
    "channels/email/",
    "channel_kit/socket_session.py",
    "contrib/irc/",
    # The SDK's HTTP library over the one client: by itself it connects to nothing.
    "adapters/a2a/",
    # Read certificates, and connect to nothing.
    "config/machine.py",
    "tools/mcp/http_wire.py",
)
# Where turns run and replies leave: every call of a port's outside effect is checked here.
EFFECTFUL = ("pipeline/", "outbox/", "tools/", "inbox/", "schedule/", "app/", "control/")
# What has a `find`, `edit` or `send` of its own that is no wire call, or makes one that is looked at.
_NO_CHANNELS = frozenset(
    {
        *("agents", "wire", "people", "questions", "roster", "courier", "search", "sends"),
        *("sessions", "store", "self"),
    }
)
# Make the calls of all channels under the names that they give; those are looked up where they are called.
_CALLS_FOR_OTHERS = frozenset(
    {"net/platform_call.py", "channel_kit/api.py", "channel_kit/event_stream.py"}
)
# Parts of the channel kit that a channel makes with its name, and that make its calls.
_CALLERS = {"Api": "channel_kit/api.py", "EventStreamReader": "channel_kit/event_stream.py"}
# Tries a key for `hermes init`, before there is a gateway or a message.
_BEFORE_MESSAGES = "app/key_test.py"
_WRITES = re.compile(r"\b(INSERT|UPDATE|DELETE|REPLACE|CREATE|DROP|ALTER)\b", re.IGNORECASE)


Constants = Mapping[tuple[str, str], str]


class Source(msgspec.Struct, frozen=True):
    """One module: its path below the package, its tree with parents, all nodes and all calls of it."""

    path: str
    tree: ast.Module
    parents: dict[ast.AST, ast.AST]
    nodes: list[ast.AST]
    calls: list[tuple[ast.Call, str]]

    def above(self, node: ast.AST) -> Iterator[ast.AST]:
        """Yield what encloses a node, from the inside out."""
        while node in self.parents:
            node = self.parents[node]
            yield node

    def at(self, node: ast.AST) -> str:
        """Return where a node stands."""
        return f"{self.path}:{getattr(node, 'lineno', 0)}"


class Findings(msgspec.Struct, frozen=True):
    """The names of all failpoints without their sides, and every place that lacks one."""

    names: frozenset[str]
    problems: tuple[str, ...]

    def points(self, provider: str = "openai") -> frozenset[str]:
        """Return every failpoint, with the wire calls of the one configured provider."""
        names = {name.replace("*", provider) for name in self.names}
        return frozenset(f"{name}.{side}" for name in names for side in SIDES)


def read_package(package: Path) -> list[Source]:
    """Return every module of the package, without the stand-ins for names but with their paths."""
    return [
        read_source(path.read_text(encoding="utf-8"), path.relative_to(package).as_posix())
        for path in sorted(package.rglob("*.py"))
    ]


def read_source(text: str, path: str) -> Source:
    """Return one module."""
    tree = ast.parse(text, filename=path)
    parents: dict[ast.AST, ast.AST] = {}
    nodes: list[ast.AST] = [tree]
    for node in nodes:
        for child in ast.iter_child_nodes(node):
            parents[child] = node
            nodes.append(child)
    calls = [(node, ast.unparse(node.func)) for node in nodes if isinstance(node, ast.Call)]
    return Source(path, tree, parents, nodes, calls)


def examine(sources: list[Source]) -> Findings:
    """Return the failpoints of the sources and what is wrong with them."""
    names: set[str] = set()
    problems: list[str] = []
    constants = _constants(sources)
    for source in sources:
        folder = source.path.rpartition("/")[0]
        beside = [one for one in sources if one.path.rpartition("/")[0] == folder]
        wires = _wires(source, constants, beside=beside)
        for found in (*_units(source), *_effects(source), *wires, *_direct(source)):
            if found.startswith("!"):
                problems.append(found[1:])
            else:
                names.add(found)
        problems += [problem for check in _CHECKS for problem in check(source)]
    return Findings(frozenset(names), tuple(problems))


@cache
def examine_package(package: Path) -> Findings:
    """Return what the whole package has; it is read once in a process."""
    return examine(read_package(package))


def _units(source: Source) -> Iterator[str]:
    """Yield the name of every unit that is handed to the writer, or `!` and a problem."""
    for call, name in source.calls:
        if not name.endswith("writer.run"):
            continue
        first = call.args[0]
        if isinstance(first, ast.Constant):
            yield f"store.{first.value!s}"
        elif isinstance(first, ast.JoinedStr):
            yield from _forwarded(source, call, first)
        else:
            yield f"!{source.at(call)}: the unit's name is not a literal"


def _forwarded(source: Source, call: ast.Call, text: ast.JoinedStr) -> Iterator[str]:
    """Resolve a name such as f"delivery_{name}" by the literals its function is called with."""
    function = next(node for node in source.above(call) if isinstance(node, ast.AsyncFunctionDef))
    prefix = "".join(str(part.value) for part in text.values if isinstance(part, ast.Constant))
    for other, name in source.calls:
        if name != f"self.{function.name}":
            continue
        first = other.args[0]
        if isinstance(first, ast.Constant):
            yield f"store.{prefix}{first.value!s}"
        else:
            yield f"!{source.at(other)}: the unit's name is not a literal"


def _effects(source: Source) -> Iterator[str]:
    for call, name in source.calls:
        if name != "failpoints.outside":
            continue
        first = call.args[0]
        if isinstance(first, ast.Constant):
            yield str(first.value)
        else:
            yield f"!{source.at(call)}: the effect's name is not a literal"


def _wires(source: Source, constants: Constants, *, beside: list[Source]) -> Iterator[str]:
    """Yield the names of wire calls over the one client, `*` for what a setting fills in."""
    if source.path.startswith("cli/") or source.path in _CALLS_FOR_OTHERS:
        return
    for call, name in source.calls:
        said = _wire_name(source, call, name)
        if said is None:
            if _is_made_of_setup(source, name):
                yield from (f"wire.{platform}" for platform in _manifest_names(source))
            continue
        for place, node in _given(source, said, beside=beside):
            template = _template(place, node, constants)
            if template is None and name in _CALLERS:
                yield from (f"wire.{platform}" for platform in _manifest_names(source))
            elif template is None or template.startswith("*"):
                yield f"!{source.at(call)}: the wire call's name cannot be derived"
            else:
                yield f"wire.{template}"


def _is_made_of_setup(source: Source, name: str) -> bool:
    """Return whether a call makes an API that has its channel's name from the set-up."""
    maker, _, verb = name.rpartition(".")
    return verb == "of" and maker in _CALLERS and _origin(source, maker) == _CALLERS[maker]


def _wire_name(source: Source, call: ast.Call, name: str) -> ast.expr | None:
    """Return what names a wire call; None for any other call."""
    if name.endswith("client.request"):
        return call.args[0]
    is_caller = _origin(source, name) == _CALLERS.get(name, "-") or _is_made_of_setup(source, name)
    if not is_caller and (name != "call" or _origin(source, name) is None):
        return None
    given = {word.arg: word.value for word in call.keywords}
    return given.get("wire", given.get("platform"))


def _manifest_names(source: Source) -> Iterator[str]:
    """Yield the platforms of a channel's folder, one for each manifest."""
    for path in sorted((_PACKAGE / source.path).parent.glob("*.toml")):
        # A stand-in's rows have no name.
        if name := tomllib.loads(path.read_text(encoding="utf-8")).get("name"):
            yield name


def _given(
    source: Source, node: ast.expr, *, beside: list[Source]
) -> Iterator[tuple[Source, ast.expr]]:
    """Yield a node and its module; for a parameter, what its function is called with in the folder."""
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    function = next((one for one in source.above(node) if isinstance(one, functions)), None)
    words = [] if function is None else [one.arg for one in function.args.kwonlyargs]
    if function is None or not isinstance(node, ast.Name) or node.id not in words:
        yield source, node
        return
    default = function.args.kw_defaults[words.index(node.id)]
    if default is not None:
        yield source, default
    for place in beside:
        for other, name in place.calls:
            for word in other.keywords if name.endswith(f".{function.name}") else ():
                if word.arg == node.id:
                    yield from _given(place, word.value, beside=beside)


def _constants(sources: list[Source]) -> Constants:
    """Return every text that a module names, by its module and its name."""
    found: dict[tuple[str, str], str] = {}
    for source in sources:
        for node in source.tree.body:
            target: ast.expr | None = node.target if isinstance(node, ast.AnnAssign) else None
            if isinstance(node, ast.Assign):
                target = node.targets[0]
            value = getattr(node, "value", None)
            if isinstance(target, ast.Name) and isinstance(value, ast.Constant):
                found[source.path, target.id] = str(value.value)
    return found


def _origin(source: Source, name: str) -> str | None:
    """Return the path of the module that a name is imported from."""
    for node in source.tree.body:
        if isinstance(node, ast.ImportFrom) and any(one.name == name for one in node.names):
            return (node.module or "").removeprefix("hermes.").replace(".", "/") + ".py"
    return None


def _template(source: Source, node: ast.expr, constants: Constants) -> str | None:
    """Return a text as far as the source fixes it; a name is looked up where it comes from."""
    if isinstance(node, ast.Name):
        own = constants.get((source.path, node.id))
        return own or constants.get((_origin(source, node.id) or "", node.id))
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(
            str(part.value) if isinstance(part, ast.Constant) else "*" for part in node.values
        )
    if not isinstance(node, ast.Attribute):
        return None
    name = ast.unparse(node)
    values = (
        other.value
        for other in source.nodes
        if isinstance(other, ast.Assign) and ast.unparse(other.targets[0]) == name
    )
    return next((_template(source, value, constants) for value in values), None)


def _direct(source: Source) -> Iterator[str]:
    """Yield failpoints that are passed by hand, such as around the opening of the store."""
    for call, name in source.calls:
        if name == "failpoints.hit" and isinstance(call.args[0], ast.Constant):
            yield str(call.args[0].value).rpartition(".")[0]


def _unwrapped_effects(source: Source) -> Iterator[str]:
    """Yield calls of a provider, tool or channel that no `failpoints.outside` encloses."""
    if not source.path.startswith(EFFECTFUL) or source.path == _BEFORE_MESSAGES:
        return
    for call, name in source.calls:
        receiver, _, verb = name.rpartition(".")
        if _is_effect(receiver, verb) and not _is_wrapped(source, call):
            yield f"{source.at(call)}: {name}(...) is not inside failpoints.outside(...)"


def _is_effect(receiver: str, verb: str) -> bool:
    last = receiver.rpartition(".")[2].strip("_")
    if verb == "stream":
        # Its own `stream` is called by who calls it; `http` asks for tokens, before a session and its calls.
        return last not in {"self", "http"}
    if verb == "run":
        return last in {"tool", "tools"}
    return verb in {"send", "edit", "find"} and last not in _NO_CHANNELS


def _is_wrapped(source: Source, call: ast.Call) -> bool:
    return any(
        isinstance(item.context_expr, ast.Call)
        and ast.unparse(item.context_expr.func) == "failpoints.outside"
        for node in source.above(call)
        if isinstance(node, ast.AsyncWith)
        for item in node.items
    )


def _network(source: Source) -> Iterator[str]:
    """Yield imports of anything that opens sockets where only the one client may."""
    if source.path.startswith(MAY_USE_NETWORK):
        return
    for node in source.nodes:
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        for name in names:
            if name in NETWORK or name.partition(".")[0] in NETWORK:
                yield f"{source.at(node)}: imports {name}; only net/ makes wire calls"


def _one_wire(source: Source) -> Iterator[str]:
    """Yield requests inside net/ that do not go through the call with the failpoints."""
    if not source.path.startswith("net/"):
        return
    for call, name in source.calls:
        if re.search(r"session\.(request|get|post|put|delete|ws_connect)$", name) is None:
            continue
        owner = next((n for n in source.above(call) if isinstance(n, ast.ClassDef)), None)
        body = "" if owner is None else ast.unparse(owner)
        if body.count("failpoints.hit(") < 3:
            yield f"{source.at(call)}: a request outside the class that passes the failpoints"


def _direct_writes(source: Source) -> Iterator[str]:
    """Yield uses of the writable connection outside the writer and the guarded opening."""
    if not source.path.startswith("store/") or source.path.endswith("writer.py"):
        return
    if source.path.startswith("store/search/"):
        # An index of its own, made anew from the store at any time; search_kills.py kills in it.
        return
    for node in source.nodes:
        if isinstance(node, ast.Attribute) and node.attr == "_db" and not _is_safe(source, node):
            yield f"{source.at(node)}: uses the writable connection outside a unit"
    for call, name in source.calls:
        # The adoption of old conversations is part of the guarded opening.
        if name.endswith("SqliteTx") and not source.path.endswith("sqlite/adoption.py"):
            yield f"{source.at(call)}: makes a transaction outside the writer"


def _is_safe(source: Source, node: ast.Attribute) -> bool:
    parent = source.parents[node]
    statement = next(n for n in (node, *source.above(node)) if isinstance(n, ast.stmt))
    text = ast.unparse(statement)
    if text.startswith("self._db = open_database(") or text == "self._db.close()":
        return True
    if isinstance(parent, ast.Call) and ast.unparse(parent.func) == "Writer":
        return True
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    body = next(n for n in source.above(node) if isinstance(n, functions)).body
    return _between_hits(body, statement.lineno)


def _between_hits(body: list[ast.stmt], line: int) -> bool:
    hits = {
        ast.unparse(statement): statement.lineno
        for statement in body
        if ast.unparse(statement).startswith("failpoints.hit(")
    }
    before = [at for text, at in hits.items() if ".before" in text]
    after = [at for text, at in hits.items() if ".after" in text]
    return bool(before and after) and min(before) < line < max(after)


def _sql_in_code(source: Source) -> Iterator[str]:
    """Yield SQL that writes and stands in code, where no unit's query file lists it."""
    if source.path.startswith("testing/"):
        return
    for call, name in source.calls:
        if not name.endswith((".execute", ".executemany")) or not call.args:
            continue
        text = "".join(
            str(part.value) for part in ast.walk(call.args[0]) if isinstance(part, ast.Constant)
        )
        looked_up = isinstance(call.args[0], ast.Subscript)
        if not looked_up and _WRITES.search(text) and not source.path.endswith("connection.py"):
            yield f"{source.at(call)}: writes by SQL in code"


_CHECKS = (_unwrapped_effects, _network, _one_wire, _direct_writes, _sql_in_code)
