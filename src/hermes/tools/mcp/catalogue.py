"""Turns a server's list of tools into offers for models: filtered, bounded, named, cautious.

Pure, and without the SDK: a listed tool comes as plain values. A tool that cannot be offered is
left out, and a note says so.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable
from fnmatch import fnmatchcase
from hashlib import sha256
from typing import Any

import msgspec

from hermes.config import McpServerSettings
from hermes.ports.provider import ToolSpec
from hermes.ports.tool import ToolTraits
from hermes.schema.checker import UnusableSchema, checker_of
from hermes.tools.mcp.clean_text import Scrubber, cleaned, one_line

_NAME_CHARS = 256
_DESCRIPTION_CHARS = 4_000
_WORDS_CHARS = 1_000
_SCHEMA_BYTES = 65_536
_SHOWN_CHARS = 80
_MAX_NOTES = 20
# The keywords of a schema that are prose; everything else in it is data and must not change.
_WORDS = frozenset({"description", "title", "$comment"})
# The answer to a question must not arrive after the outer limit.
_SLACK_S = 5.0
# Any: a JSON schema.
Json = Any


class ListedTool(msgspec.Struct, frozen=True, kw_only=True):
    """A tool as its server lists it; a hint that the server does not give is None."""

    name: str
    description: str = ""
    schema: dict[str, Json] = msgspec.field(default_factory=dict)
    read_only: bool | None = None
    destructive: bool | None = None
    idempotent: bool | None = None


class ToolOffer(msgspec.Struct, frozen=True, kw_only=True):
    """A tool as it is offered to models; `original` is the server's name for it."""

    original: str
    spec: ToolSpec
    traits: ToolTraits
    timeout_s: float


class Catalogue(msgspec.Struct, frozen=True):
    """The offers of one server by name, and what was left out or changed."""

    offers: tuple[ToolOffer, ...] = ()
    notes: tuple[str, ...] = ()


def make_catalogue(
    server: str,
    listed: Iterable[ListedTool],
    *,
    settings: McpServerSettings,
    servers: Collection[str],
    ask_timeout_s: float,
    mask: Callable[[str], str] = str,
) -> Catalogue:
    """Return the tools of a server's list that may be offered."""
    notes: list[str] = []
    fit = _fit(listed, settings, notes=notes)
    names = tool_names(server, fit, servers=servers)
    scrubber = secrets_of(settings, mask=mask)
    offers = tuple(
        _offer(tool, names[tool.name], settings=settings, scrubber=scrubber, asks_s=ask_timeout_s)
        for tool in fit.values()
    )
    notes += [
        f"{_shown(tool)} is renamed to {name}"
        for tool, name in names.items()
        if name != f"mcp_{server}_{tool}"
    ]
    return Catalogue(offers, tuple(_few(notes)))


def secrets_of(settings: McpServerSettings, *, mask: Callable[[str], str] = str) -> Scrubber:
    """Return the scrubber of the secrets that a server is given, and of those that `mask` masks."""
    tables = (settings.env, settings.headers)
    given = [secret.get_secret_value() for table in tables for secret in table.values()]
    if settings.oauth.client_secret is not None:
        given.append(settings.oauth.client_secret.get_secret_value())
    return Scrubber(given, mask=mask)


def traits_of(tool: ListedTool, settings: McpServerSettings, *, timeout_s: float) -> ToolTraits:
    """Return how a tool may be run; the server's hints are believed unless `always` is set."""
    believed = settings.approval != "always"
    reads_only = tool.read_only is True and tool.destructive is not True
    return ToolTraits(
        idempotent=believed and (reads_only or tool.idempotent is True),
        cancellable=True,
        needs_approval=_needs_approval(tool, settings, reads_only=reads_only),
        parallel=settings.parallel,
        timeout_s=timeout_s,
    )


def _needs_approval(tool: ListedTool, settings: McpServerSettings, *, reads_only: bool) -> bool:
    if _matches(tool.name, settings.always_ask):
        return True
    if _matches(tool.name, settings.never_ask):
        return False
    if settings.approval == "hints":
        return not (reads_only or tool.destructive is False)
    return settings.approval == "always"


def _fit(
    listed: Iterable[ListedTool], settings: McpServerSettings, *, notes: list[str]
) -> dict[str, ListedTool]:
    """Return the tools that are wanted and can be offered, by name."""
    fit: dict[str, ListedTool] = {}
    too_many = 0
    for tool in listed:
        if not _matches(tool.name, settings.allow) or _matches(tool.name, settings.deny):
            continue
        # Checking a schema takes time, even if the tool is then left out.
        if len(fit) >= settings.max_tools or len(notes) >= settings.max_tools:
            too_many += 1
            continue
        problem = _problem(tool, fit)
        if problem is not None:
            notes.append(f"{_shown(tool.name)} is left out: {problem}")
        else:
            fit[tool.name] = tool
    if too_many:
        notes.insert(
            0, f"{too_many} more tools are left out, because max_tools is {settings.max_tools}"
        )
    return fit


def _problem(tool: ListedTool, known: Collection[str]) -> str | None:
    if not tool.name or len(tool.name) > _NAME_CHARS:
        return f"its name is not 1 to {_NAME_CHARS} characters long"
    if tool.name in known:
        return "it is listed twice"
    if tool.schema.get("type") != "object":
        return "its arguments are not a JSON object"
    raw = msgspec.json.encode(tool.schema)
    if len(raw) > _SCHEMA_BYTES:
        return f"its schema is {len(raw)} bytes long; at most {_SCHEMA_BYTES} are allowed"
    try:
        checker_of(raw)
    except UnusableSchema as unfit:
        return f"its schema {one_line(str(unfit), _SHOWN_CHARS * 2)}"
    return None


def _offer(
    tool: ListedTool,
    name: str,
    *,
    settings: McpServerSettings,
    scrubber: Scrubber,
    asks_s: float,
) -> ToolOffer:
    timeout_s = settings.tool_timeouts_s.get(tool.name, settings.timeout_s)
    return ToolOffer(
        original=tool.name,
        spec=ToolSpec(
            name=name,
            description=scrubber.scrub(cleaned(tool.description, _DESCRIPTION_CHARS)),
            parameters=msgspec.Raw(msgspec.json.encode(_readable(tool.schema))),
        ),
        traits=traits_of(tool, settings, timeout_s=timeout_s + asks_s + _SLACK_S),
        timeout_s=timeout_s,
    )


def _readable(schema: Json) -> Json:
    """Return a schema with its texts cleaned; its depth was checked before."""
    if isinstance(schema, dict):
        return {
            key: cleaned(value, _WORDS_CHARS)
            if key in _WORDS and isinstance(value, str)
            else _readable(value)
            for key, value in schema.items()
        }
    return [_readable(item) for item in schema] if isinstance(schema, list) else schema


def _matches(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def _shown(name: str) -> str:
    return one_line(name, _SHOWN_CHARS) or "a tool without a name"


def _few(notes: list[str]) -> list[str]:
    if len(notes) <= _MAX_NOTES:
        return notes
    return [*notes[:_MAX_NOTES], f"and {len(notes) - _MAX_NOTES} more"]


MAX_NAME = 64
_UNFIT = re.compile(r"[^A-Za-z0-9_-]")
_DIGEST_CHARS = 8


def tool_names(server: str, tools: Iterable[str], *, servers: Collection[str]) -> dict[str, str]:
    """Return the name of each tool of a server; `servers` are all that are configured.

    If several would get the same name, the tool that needs no change keeps it.
    """
    plain = {tool: _plain(server, tool) for tool in tools}
    shared = Counter(plain.values())
    return {
        tool: name
        if _is_clear(server, tool, name=name, shared=shared[name] > 1, servers=servers)
        else _with_digest(server, tool)
        for tool, name in plain.items()
    }


def _plain(server: str, tool: str) -> str:
    return f"mcp_{server}_{_UNFIT.sub('_', tool[: MAX_NAME + 1])}"


def _is_clear(server: str, tool: str, *, name: str, shared: bool, servers: Collection[str]) -> bool:
    """Return whether the plain name can only mean this tool."""
    if len(name) > MAX_NAME or (shared and _UNFIT.search(tool)):
        return False
    # The tool `b_c` of `a` must not be confused with the tool `c` of `a_b`.
    return not any(
        name.startswith(f"mcp_{other}_") for other in servers if len(other) > len(server)
    )


def _with_digest(server: str, tool: str) -> str:
    digest = sha256(f"{server}\0{tool}".encode(errors="surrogatepass")).hexdigest()[:_DIGEST_CHARS]
    return f"{_plain(server, tool)[: MAX_NAME - _DIGEST_CHARS - 1]}_{digest}"
