"""The state of the MCP servers, and what a reload changed: values for people and programs."""

from collections.abc import Mapping
from typing import Literal

import msgspec

State = Literal["connecting", "connected", "waiting", "stopped"]


class ToolLine(msgspec.Struct, frozen=True, kw_only=True):
    """One tool; `original` is the server's own name for it."""

    name: str
    original: str
    needs_approval: bool
    idempotent: bool


class PromptLine(msgspec.Struct, frozen=True, kw_only=True):
    """One prompt: the command that people write, the server's own name, and its arguments."""

    command: str
    original: str
    use: str = ""


class ServerStatus(msgspec.Struct, frozen=True, kw_only=True):
    """The state of one server; `problem` is why it is, or last was, not connected."""

    name: str
    state: State
    transport: Literal["stdio", "http", "sse"]
    protocol: str = ""
    title: str = ""
    problem: str | None = None
    failures: int = 0
    connected_s: float | None = None
    calls: int = 0
    calls_failed: int = 0
    tools: tuple[ToolLine, ...] = ()
    notes: tuple[str, ...] = ()
    prompts: tuple[PromptLine, ...] = ()
    resources: tuple[str, ...] = ()


class McpReport(msgspec.Struct, frozen=True, kw_only=True):
    """Every configured server."""

    servers: tuple[ServerStatus, ...] = ()


class Diff(msgspec.Struct, frozen=True, kw_only=True):
    """What changed: servers by name, and tools by the names that models know."""

    servers_added: tuple[str, ...] = ()
    servers_removed: tuple[str, ...] = ()
    servers_changed: tuple[str, ...] = ()
    tools_added: tuple[str, ...] = ()
    tools_removed: tuple[str, ...] = ()
    tools_changed: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether nothing changed."""
        return not any(getattr(self, name) for name in self.__struct_fields__)


_WORDS: Mapping[str, str] = {
    "servers_added": "New servers",
    "servers_removed": "Removed servers",
    "servers_changed": "Changed servers",
    "tools_added": "New tools",
    "tools_removed": "Removed tools",
    "tools_changed": "Changed tools",
    "problems": "Problems",
}
_MAX_NAMED = 30


def diff_text(diff: Diff) -> str:
    """Return a diff as text, for the transcript and the terminal."""
    if diff.is_empty:
        return "The MCP servers were reloaded; nothing changed."
    lines = ["The MCP servers were reloaded."]
    for field, words in _WORDS.items():
        names: tuple[str, ...] = getattr(diff, field)
        if names:
            more = f" and {len(names) - _MAX_NAMED} more" if len(names) > _MAX_NAMED else ""
            lines.append(f"{words}: {', '.join(names[:_MAX_NAMED])}{more}.")
    return "\n".join(lines)
