"""A twin of the link: a server in memory whose every move a test decides."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from hermes.config import McpSettings
from hermes.ports.tool import ToolContext
from hermes.testing.manual_time import ManualTime
from hermes.tools.mcp.calls import RunningCall
from hermes.tools.mcp.catalogue import ListedTool
from hermes.tools.mcp.connection import (
    Arguments,
    Connect,
    LinkEvents,
    LinkLost,
    LinkPlan,
    McpResult,
)
from hermes.tools.mcp.prompts import ListedPrompt, ListedResource
from hermes.tools.mcp.servers import McpServers

Behaviour = Callable[[Arguments, RunningCall], Awaitable[McpResult]]


async def echo(arguments: Arguments, call: RunningCall) -> McpResult:
    return McpResult(f"{call.context.person_id}: {arguments}")


class TwinServer:
    """The other side: what it lists, what its tools do, and every connection that was made."""

    def __init__(self, *tools: str) -> None:
        self.tools = [a_tool(name) for name in tools or ("echo",)]
        self.does: dict[str, Behaviour] = {}
        self.refuses: list[str] = []
        """Why the next tries to connect fail, one each."""
        self.plans: list[LinkPlan] = []
        self.events: LinkEvents | None = None
        self.listing: Callable[[], Awaitable[None]] | None = None
        self.leaving: Callable[[], Awaitable[object]] | None = None
        self.prompts: list[ListedPrompt] = []
        self.resources: list[ListedResource] = []
        self.reads: list[str] = []
        self.listed = 0
        self.open = 0

    @property
    def protocol(self) -> str:
        return "twin"

    @property
    def title(self) -> str:
        return "Twin 1"

    async def list_tools(self) -> tuple[ListedTool, ...]:
        self.listed += 1
        if self.listing is not None:
            await self.listing()
        return tuple(self.tools)

    async def list_prompts(self) -> tuple[ListedPrompt, ...]:
        return tuple(self.prompts)

    async def list_resources(self) -> tuple[ListedResource, ...]:
        return tuple(self.resources)

    async def prompt(self, name: str, arguments: Mapping[str, str]) -> str:
        return f"{name} {dict(arguments)}"

    async def read(self, uri: str) -> str:
        self.reads.append(uri)
        return f"what is at {uri}"

    async def call(self, tool: str, arguments: Arguments, *, call: RunningCall) -> McpResult:
        return await self.does.get(tool, echo)(arguments, call)

    @asynccontextmanager
    async def connect(self, plan: LinkPlan, events: LinkEvents) -> AsyncIterator["TwinServer"]:
        self.plans.append(plan)
        if self.refuses:
            raise LinkLost(self.refuses.pop(0))
        self.events = events
        self.open += 1
        try:
            yield self
        finally:
            if self.leaving is not None:
                await self.leaving()
            self.open -= 1

    def dies(self, reason: str = "the program ended with code 1") -> None:
        assert self.events is not None
        self.events.ended(reason)

    def changes(self, *tools: str) -> None:
        assert self.events is not None
        self.tools = [a_tool(name) for name in tools]
        self.events.changed()


def a_tool(name: str) -> ListedTool:
    return ListedTool(name=name, schema={"type": "object"}, read_only=True)


async def no_child(_text: str, _agent: str) -> str:
    raise AssertionError


def context_of(person: str = "p_ann", *, lane: str = "lane-1") -> ToolContext:
    return ToolContext(turn_id="m_1", ordinal=1, person_id=person, lane=lane, run_child=no_child)


def a_client(
    twins: dict[str, TwinServer],
    time: ManualTime,
    *,
    names: tuple[str, ...] = (),
    platforms: dict[str, list[str]] | None = None,
    each: dict[str, Any] | None = None,
    start_wait_s: float = 5.0,
    **given: Any,
) -> McpServers:
    """Return a client of twins, all configured unless `names` says which; chance is in the middle."""
    return McpServers(
        settings_of(list(names or twins), platforms=platforms, each=each).model_copy(
            update={"start_wait_s": start_wait_s}
        ),
        clock=time,
        sleep=time.sleep,
        chance=lambda: 0.5,
        connect=connector(twins),
        **given,
    )


def connector(twins: dict[str, TwinServer]) -> Callable[[], Awaitable[Connect]]:
    async def load() -> Connect:
        return lambda plan, events: twins[plan.name].connect(plan, events)

    return load


def settings_of(
    names: list[str],
    *,
    platforms: dict[str, list[str]] | None = None,
    each: dict[str, Any] | None = None,
) -> McpSettings:
    servers = {name: {"command": name, **(each or {})} for name in names}
    return McpSettings.model_validate({"servers": servers, "platforms": platforms or {}})


async def soon(happened: Callable[[], bool]) -> None:
    """Let tasks run until something has happened; nothing here takes real time."""
    for _ in range(10_000):
        if happened():
            return
        await asyncio.sleep(0)
    raise AssertionError("it did not happen")
