"""`from hermes import Hermes`: a gateway inside another program, on that program's event loop.

It is the gateway of `hermes up` without its process: the same home, journal and settings, no signals, and
HTTP only if it is wanted. The program's own logging stays as it is.
"""

import asyncio
import os
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Mapping
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Literal, Self

import msgspec
import structlog

from hermes.app.gateway import Gateway
from hermes.config import LoadedConfig
from hermes.config.load import load, load_draft
from hermes.errors import HermesError, Overloaded
from hermes.http.turn import Ticket, TurnView, ended_view
from hermes.message.event import MessageEvent
from hermes.message.ids import make_id
from hermes.message.outcome import Outcome
from hermes.message.parts import TextPart
from hermes.message.source import Source
from hermes.ops.logs import Logs, plan_of, secrets_in, set_up
from hermes.ports.clock import SystemClock
from hermes.ports.gateway_api import GatewayApi
from hermes.ports.tool import Tool
from hermes.ports.upward import Progress
from hermes.tools.function_tool import FunctionTool, tool

_PROGRAM: Final = "program"
_LOG_FILE: Final = Path("logs", "embedded.log")
_STOPPING_S: Final = 1.0
_STOPPING: Final = "Hermes is stopping; send the message again with the same id."
# What ends a turn, or lets it wait for the person; the others by what they are called here.
_LAST: Final = frozenset({"done", "parked", "question", "stopping"})
PieceKind = Literal["text", "again", "tool", "status", "done"]
_KINDS: Final[Mapping[str, PieceKind]] = {
    "delta": "text",
    "snapshot": "text",
    "restart": "again",
    "tool": "tool",
    "status": "status",
}
# Any: a function takes and returns what it likes.
PlainTool = Callable[..., Any] | Tool


class HermesReply(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a message; as a text it is the reply.

    `outcome` is None while the turn waits for an `approval`, or for the answer to a question of a tool: then
    `text` is the question, and the next message of the conversation can answer it.
    """

    text: str
    id: str
    outcome: Outcome | None
    model: str | None = None
    tokens_in: int = 0
    tokens_out: int = 0
    cost_usd: float | None = None
    tools: tuple[str, ...] = ()
    approval: str = ""

    def __str__(self) -> str:
        return self.text


class HermesPiece(msgspec.Struct, frozen=True, kw_only=True):
    """A piece of a reply that is being written.

    `text` is a part of it. `again` says that a new answer begins, because a model failed in the middle: forget the
    text so far. `tool` names one that runs, `status` is a word for the person, `done` has the whole reply.
    """

    kind: PieceKind
    text: str = ""
    reply: HermesReply | None = None


class Hermes:
    """A gateway for one home; `async with` starts it and lets running turns end.

    `home` is `HERMES_HOME` or `~/.hermes` if left out. `config` are settings as in config.yaml, in whose place they
    are used. `tools` are functions with type hints and a docstring, in addition to those of the settings. With
    `listen` the web chat, the APIs and the commands of this machine reach it.
    """

    def __init__(
        self,
        home: str | os.PathLike[str] | None = None,
        *,
        # Any: values as YAML has them.
        config: Mapping[str, Any] | None = None,
        tools: Iterable[PlainTool] = (),
        listen: bool = False,
    ) -> None:
        self._home = None if home is None else Path(home).expanduser().absolute()
        self._config = config
        self._tools = tuple(map(_tool_of, tools))
        self._listen = listen
        self._clock = SystemClock()
        self._held: AsyncExitStack | None = None
        self._gateway_api: GatewayApi | None = None

    async def __aenter__(self) -> Self:
        loaded = await asyncio.to_thread(self._load)
        async with AsyncExitStack() as held:
            logs = held.enter_context(_process_logs.of(loaded))
            gateway = await held.enter_async_context(
                Gateway(
                    loaded,
                    listen=self._listen,
                    hide=None if logs is None else logs.hide,
                    logs=logs,
                    tools=self._tools,
                )
            )
            self._gateway_api = gateway.gateway_api
            self._held = held.pop_all()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        held, self._held, self._gateway_api = self._held, None, None
        if held is not None:
            await held.__aexit__(kind, error, trace)

    async def send(
        self,
        text: str,
        *,
        sender: str = _PROGRAM,
        conversation: str | None = None,
        agent: str | None = None,
        skill: str | None = None,
        id: str | None = None,  # noqa: A002  the field's own word in every API
    ) -> HermesReply:
        """Send a message and return the reply; raises `Refused` or `TryLater` if it was not taken.

        A message with the `id` of an earlier one of its conversation is that one, and its reply is returned. Whoever stops
        waiting does not stop the turn.
        """
        event = self._event(
            text, sender=sender, conversation=conversation, agent=agent, skill=skill, own_id=id
        )
        ticket = await self._accept(event)
        last = await self._running.end(ticket.id, is_new=ticket.is_new)
        return await self._reply(ticket, last)

    async def stream(
        self,
        text: str,
        *,
        sender: str = _PROGRAM,
        conversation: str | None = None,
        agent: str | None = None,
        skill: str | None = None,
        id: str | None = None,  # noqa: A002  the field's own word in every API
    ) -> AsyncGenerator[HermesPiece, None]:
        """Do the same as `send`, and yield the reply while it is written; the last piece is `done`."""
        event = self._event(
            text, sender=sender, conversation=conversation, agent=agent, skill=skill, own_id=id
        )
        ticket = await self._accept(event)
        async for progress in self._running.watch(ticket.id):
            if progress.kind in _LAST:
                reply = await self._reply(ticket, progress)
                yield HermesPiece(kind="done", text=reply.text, reply=reply)
                return
            kind = _KINDS.get(progress.kind)
            if kind is not None and (progress.text or kind == "again"):
                yield HermesPiece(kind=kind, text=progress.text)

    @property
    def _running(self) -> GatewayApi:
        if self._gateway_api is None:
            raise HermesError("Hermes does not run: use it inside `async with Hermes(...)`.")
        return self._gateway_api

    def _load(self) -> LoadedConfig:
        environ = os.environ  # noqa: TID251 - handed on unread
        if self._config is None:
            return load(environ, self._home)
        # JSON is YAML.
        draft = msgspec.json.encode(self._config).decode()
        return load_draft(environ, self._home, draft=draft)

    def _event(
        self,
        text: str,
        *,
        sender: str,
        conversation: str | None,
        agent: str | None,
        skill: str | None,
        own_id: str | None,
    ) -> MessageEvent:
        """Return the message as the REST API would take it, so that both can share a conversation."""
        return MessageEvent(
            account="default",
            route="api",
            external_id=own_id or make_id("x"),
            source=Source(platform="rest", chat_id=conversation or sender, user_id=sender),
            parts=(TextPart(text),),
            at=self._clock.now(),
            type="command" if text.startswith("/") else "text",
            agent=agent,
            skill=skill,
        )

    async def _accept(self, event: MessageEvent) -> Ticket:
        accepted = await self._running.accept(event)
        return Ticket(
            id=accepted.message_id,
            conversation=event.source.chat_id,
            duplicate=accepted.duplicate,
            is_new=accepted.is_new,
        )

    async def _reply(self, ticket: Ticket, last: Progress) -> HermesReply:
        if last.kind == "stopping":
            raise Overloaded(_STOPPING, _STOPPING_S)
        return _reply_of(await ended_view(self._running, ticket, progress=last))


def _tool_of(given: PlainTool) -> Tool:
    """Return a tool as it is, and a plain function as one."""
    return given if isinstance(given, FunctionTool) or not callable(given) else tool(given)


class _ProcessLogs:
    """The logs of the gateways in this process: they share the file of the first, until the last ends."""

    def __init__(self) -> None:
        self._logs: Logs | None = None
        self._users = 0
        # What structlog is set to by us, and not by the program.
        self._ours: object = None

    @contextmanager
    def of(self, loaded: LoadedConfig) -> Iterator[Logs | None]:
        """Yield the logs of one gateway; None if the program has configured structlog."""
        if structlog.is_configured() and structlog.get_config()["logger_factory"] is not self._ours:
            yield None
            return
        shared = self._logs
        if shared is None:
            own = self._logs = _set_up(loaded)
            self._ours = structlog.get_config()["logger_factory"]
        else:
            shared.hide(*secrets_in(loaded.settings))
            own = shared.joined()
        self._users += 1
        try:
            yield own
        finally:
            self._users -= 1
            own.listen(_hear_nothing)
            if not self._users and self._logs is not None:
                self._logs.close()
                self._logs = None


_process_logs: Final = _ProcessLogs()


def _hear_nothing(_fields: object) -> None:
    """Do nothing: whoever listened has ended."""


def _set_up(loaded: LoadedConfig) -> Logs:
    """Log into a file of the home."""
    plan = plan_of(loaded.settings.logs, loaded.home)
    if plan.file is None:
        plan = msgspec.structs.replace(plan, file=loaded.home / _LOG_FILE)
    nowhere = Path(os.devnull).open("wb")  # noqa: SIM115  the logs own it
    return set_up(
        plan,
        secrets_in(loaded.settings),
        clock=SystemClock(),
        stream=nowhere,
        takes_standard=False,
    )


def _reply_of(view: TurnView) -> HermesReply:
    return HermesReply(
        text=view.reply or "",
        id=view.id,
        outcome=view.outcome,
        model=view.model,
        tokens_in=view.tokens_in,
        tokens_out=view.tokens_out,
        cost_usd=view.cost_usd,
        tools=tuple(one.name for one in view.tool_calls),
        approval=view.approval or "",
    )
