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

    enabled: bool = Field(default=True, description="Whether it is used.")
    command: Word | None = Field(
        default=None, description="The program that is started and spoken to over its pipes."
    )
    args: tuple[str, ...] = Field(default=(), description="What the program is called with.")
    env: Headers = Field(
        default_factory=lambda: MappingProxyType({}),
        description="Variables of the program, beside PATH, HOME and the like; their values are "
        "kept secret, and `${NAME}` in one stands for a variable of the gateway or of `.env`.",
    )
    cwd: Path | None = Field(
        default=None, description="The folder the program runs in; else the gateway's."
    )
    url: Url | None = Field(default=None, description="Where the server is reached over HTTP.")
    transport: Literal["http", "sse"] = Field(
        default="http",
        description="How an address is spoken to: streamable HTTP, or the older server-sent events.",
    )
    headers: Headers = Field(
        default_factory=lambda: MappingProxyType({}),
        description="Headers of every HTTP request; kept secret, and `${NAME}` as in env.",
    )
    protocol: Literal["auto", "stateless", "handshake"] = Field(
        default="auto",
        description="Which era of MCP is spoken: stateless (2026-07-28), handshake (before), or "
        "what the server can.",
    )
    connect_timeout_s: Seconds = Field(
        default=30, description="Starting, agreeing and listing the tools may last this long."
    )
    timeout_s: Seconds = Field(
        default=60, description="One call of a tool may last this long, waiting for its turn too."
    )
    tool_timeouts_s: Limits = Field(
        default_factory=lambda: MappingProxyType({}),
        description="The same for one tool, by the server's own name for it.",
    )
    parallel: bool = Field(
        default=False, description="Whether its tools may run side by side; otherwise in turn."
    )
    allow: tuple[Word, ...] = Field(
        default=("*",),
        description="The tools that are taken, by the server's own names; `*` stands for anything.",
    )
    deny: tuple[Word, ...] = Field(
        default=(), description="The tools that are not, also when allowed."
    )
    approval: Literal["hints", "always", "never"] = Field(
        default="hints",
        description="Whether a person approves calls: hints asks unless the server says that a "
        "tool only reads, or destroys nothing.",
    )
    always_ask: tuple[Word, ...] = Field(
        default=(), description="The tools that are asked for whatever approval says."
    )
    never_ask: tuple[Word, ...] = Field(
        default=(), description="The tools that are not asked for whatever approval says."
    )
    max_tools: Annotated[int, Field(ge=1, le=1000)] = Field(
        default=100,
        description="Tools after this many are left out, and `hermes mcp list` says so.",
    )
    max_message_bytes: Count = Field(
        default=4_194_304,
        description="A message of the server larger than this ends the connection, or the call.",
    )


class McpSettings(Section):
    """Tools from MCP servers."""

    servers: Named[McpServerSettings] = Field(
        default_factory=lambda: MappingProxyType({}), description="The servers, by name."
    )
    platforms: Named[tuple[Word, ...]] = Field(
        default_factory=lambda: MappingProxyType({}),
        description="The servers whose tools may be used on a platform, by its name; no_mcp is "
        "none of them. A platform that is not listed has all.",
    )
    start_wait_s: Delay = Field(
        default=5, description="A start or reload waits this long for servers to connect."
    )
    check_s: Seconds = Field(
        default=300, description="How often a quiet server is asked for its tools again."
    )
    ask_timeout_s: Seconds = Field(
        default=300, description="How long a server's question to a person stays open."
    )
