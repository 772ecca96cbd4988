"""The settings of MCP: which servers bring tools, and on which platforms these may be used.

Part of config; the client that reads them is `hermes.tools.mcp`.
"""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, PlainSerializer

from hermes.config.section import Count, Delay, Headers, Named, Seconds, Section, Url, Word

# In the list of a platform: none of the servers.
NO_MCP = "no_mcp"

Limits = Annotated[
    Mapping[str, Seconds],
    AfterValidator(lambda table: MappingProxyType(dict(table))),
    PlainSerializer(dict),
]


class McpServerSettings(Section):
    """One MCP server: a command that is started here, or an address that is called."""

    enabled: bool = Field(default=True, description="Whether the server is used.")
    command: Word | None = Field(
        default=None, description="The program to start; Hermes talks to it over stdin and stdout."
    )
    args: tuple[str, ...] = Field(default=(), description="The arguments of the program.")
    env: Headers = Field(
        default_factory=lambda: MappingProxyType({}),
        description="Environment variables of the program, in addition to PATH, HOME and the "
        "like. Their values are secret; `${NAME}` in a value is replaced by a variable of the "
        "gateway or of `.env`.",
    )
    cwd: Path | None = Field(
        default=None, description="The working folder of the program; default: the gateway's."
    )
    url: Url | None = Field(default=None, description="The HTTP address of the server.")
    transport: Literal["http", "sse"] = Field(
        default="http",
        description="The HTTP transport: streamable HTTP, or the older server-sent events.",
    )
    headers: Headers = Field(
        default_factory=lambda: MappingProxyType({}),
        description="Headers of every HTTP request; secret, with `${NAME}` as in env.",
    )
    protocol: Literal["auto", "stateless", "handshake"] = Field(
        default="auto",
        description="The MCP generation: stateless (2026-07-28), handshake (before), or what the "
        "server supports.",
    )
    connect_timeout_s: Seconds = Field(
        default=30, description="The time limit for starting, connecting and listing the tools."
    )
    timeout_s: Seconds = Field(
        default=60, description="The time limit of one tool call, including the wait for its turn."
    )
    tool_timeouts_s: Limits = Field(
        default_factory=lambda: MappingProxyType({}),
        description="The time limit for one tool, by the server's own name for it.",
    )
    parallel: bool = Field(
        default=False,
        description="Whether its tools may run in parallel; otherwise one after the other.",
    )
    allow: tuple[Word, ...] = Field(
        default=("*",),
        description="The tools to use, by the server's own names; `*` matches any text.",
    )
    deny: tuple[Word, ...] = Field(
        default=(), description="The tools to leave out, even if `allow` matches them."
    )
    approval: Literal["hints", "always", "never"] = Field(
        default="hints",
        description="Whether a person approves calls: hints asks unless the server says that a "
        "tool only reads, or destroys nothing.",
    )
    always_ask: tuple[Word, ...] = Field(
        default=(), description="The tools that always need an approval."
    )
    never_ask: tuple[Word, ...] = Field(
        default=(), description="The tools that never need an approval."
    )
    max_tools: Annotated[int, Field(ge=1, le=1000)] = Field(
        default=100,
        description="At most this many tools are used; `hermes mcp list` shows if some are left "
        "out.",
    )
    max_message_bytes: Count = Field(
        default=4_194_304,
        description="A larger message of the server ends the connection, or the call.",
    )


class McpSettings(Section):
    """Tools from MCP servers."""

    servers: Named[McpServerSettings] = Field(
        default_factory=lambda: MappingProxyType({}), description="The servers, by name."
    )
    platforms: Named[tuple[Word, ...]] = Field(
        default_factory=lambda: MappingProxyType({}),
        description="The servers whose tools may be used on a platform, by its name; no_mcp "
        "means none. A platform that is not listed may use all.",
    )
    start_wait_s: Delay = Field(
        default=5, description="A start or reload waits this long for servers to connect."
    )
    check_s: Seconds = Field(
        default=300, description="How often a silent server is asked for its list of tools again."
    )
    ask_timeout_s: Seconds = Field(
        default=300, description="How long a server's question to a person stays open."
    )
