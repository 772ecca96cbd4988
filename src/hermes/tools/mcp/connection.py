"""One connection to one MCP server, as the rest of the client sees it: the edge to the SDK.

`sdk_link` is the real implementation; tests use a twin.
"""

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, Protocol

import msgspec

from hermes.config import McpServerSettings
from hermes.tools.mcp.calls import RunningCall
from hermes.tools.mcp.catalogue import ListedTool
from hermes.tools.mcp.grants import GrantStore
from hermes.tools.mcp.prompts import ListedPrompt, ListedResource
from hermes.tools.mcp.traffic_limit import TrafficLimit

# Any: the JSON arguments of a call.
Arguments = dict[str, Any]


class LinkLost(Exception):
    """The connection is gone or cannot be made; the text says why, for operators."""


class NotTaken(LinkLost):
    """The connection is gone, and the call certainly did not reach the server."""


class CallRefused(Exception):
    """The server answered a call with an error; the text is for the model.

    `doubtful` if the error may also mean that the connection is gone.
    """

    def __init__(self, text: str, *, doubtful: bool = False) -> None:
        super().__init__(text)
        self.doubtful = doubtful


class McpResult(msgspec.Struct, frozen=True):
    """The result of a tool; `failed` if the tool reported an error."""

    text: str
    failed: bool = False


class LinkPlan(msgspec.Struct, frozen=True, kw_only=True):
    """What is needed to connect; `probes` tries the stateless era first."""

    name: str
    settings: McpServerSettings
    pace: TrafficLimit
    proxy: str | None = None
    ipv4_only: bool = False
    home: Path | None = None
    ca_bundle: Path | None = None
    probes: bool = True
    grants: GrantStore | None = None
    mask: Callable[[str], str] = str


class LinkEvents(msgspec.Struct, frozen=True, kw_only=True):
    """Callbacks of a link: its tools changed, or it ended and why."""

    changed: Callable[[], None]
    ended: Callable[[str], None]


class McpConnection(Protocol):
    """A connection on which both sides have agreed on a protocol."""

    @property
    def protocol(self) -> str:
        """The negotiated MCP revision."""
        ...

    @property
    def title(self) -> str:
        """The server's own name and version, cleaned."""
        ...

    async def list_tools(self) -> tuple[ListedTool, ...]:
        """Return everything the server lists, bounded; raises `LinkLost` or `CallRefused`."""
        ...

    async def list_prompts(self) -> tuple[ListedPrompt, ...]:
        """Return the prompts that the server lists, bounded; raises as `list_tools` does."""
        ...

    async def list_resources(self) -> tuple[ListedResource, ...]:
        """Return the resources that the server lists, and its templates; raises as `list_tools`."""
        ...

    async def prompt(self, name: str, arguments: Mapping[str, str]) -> str:
        """Return a prompt as one text; raises `LinkLost` or `CallRefused`."""
        ...

    async def read(self, uri: str) -> str:
        """Return a resource as text; the address is the server's affair, nobody else opens it."""
        ...

    async def call(self, tool: str, arguments: Arguments, *, call: RunningCall) -> McpResult:
        """Run a tool; raises `LinkLost`, `NotTaken` or `CallRefused`; cancelling notifies the
        server."""
        ...


Connect = Callable[[LinkPlan, LinkEvents], AbstractAsyncContextManager[McpConnection]]
