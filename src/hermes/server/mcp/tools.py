"""The tools that Hermes offers over MCP, and what each of them does; nothing here knows the SDK.

A caller is a person. Everything goes through the same functions as on `/v1`: the inbox accepts a
message once, the gateway API waits for its end, the search decides what a person may see.
"""

from collections.abc import Awaitable, Callable
from typing import Annotated, Any
from urllib.parse import quote

import msgspec
from msgspec import Meta

from hermes.agents.roster import Agent, Roster
from hermes.errors import BadRequest, Forbidden, NotFound
from hermes.http.turn import Ticket, TurnView, ended_view, last_progress, status_view
from hermes.message.event import MessageEvent
from hermes.message.ids import MakeId
from hermes.message.parts import TextPart
from hermes.message.session_key import SessionKey, read_session_key
from hermes.message.source import Source
from hermes.ports.clock import Clock
from hermes.ports.gateway_api import GatewayApi
from hermes.ports.operations import OpenSession, OpenSessionStore
from hermes.ports.people import UserStore
from hermes.ports.search import Search, SearchAsk, Searcher
from hermes.server.mcp.progress import Report, TurnReports
from hermes.server.v1.callers import ApiCaller, check_model

_PLATFORM = "v1"
_DEFAULT_CONVERSATION = "mcp"
_MOST_AGENTS = 1_000
_MOST_WAIT_S = 600.0

Name = Annotated[str, Meta(max_length=200)]
Text = Annotated[str, Meta(min_length=1, max_length=100_000)]
Wait = Annotated[
    float,
    Meta(
        ge=0,
        le=_MOST_WAIT_S,
        description="Seconds to wait for the reply; after them, get_message returns it.",
    ),
]
MessageName = Annotated[
    Name,
    Meta(
        description="A name of your own for this message: if you send it again with the same name, "
        "it is not done twice, and you get the reply of the first."
    ),
]


class MessageCall(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Send a message to the assistant, and wait for its reply.

    Messages with the same `conversation` continue it.
    """

    text: Annotated[Text, Meta(description="What to say.")]
    conversation: Annotated[
        Name, Meta(description="The name of the conversation, of your choice.")
    ] = _DEFAULT_CONVERSATION
    id: MessageName = ""
    wait_s: Wait = 50.0


class RunAgent(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Give a task to an agent, and wait for its reply; list_agents names the agents.

    Without a `conversation` the agent knows nothing of earlier tasks.
    """

    agent: Annotated[Name, Meta(min_length=1, description="The agent's name.")]
    task: Annotated[Text, Meta(description="What to do, with everything that the agent must know.")]
    conversation: Annotated[Name, Meta(description="A conversation to continue.")] = ""
    id: MessageName = ""
    wait_s: Wait = 50.0


class GetMessage(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Return a message that was sent here before, and its reply."""

    id: Annotated[Name, Meta(min_length=1, description="The message's id, `m_...`.")]
    wait_s: Wait = 0.0


class ListAgents(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """List the agents that run_agent can be given."""


class SearchMessages(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Find earlier messages of the person, on all platforms, the newest first."""

    text: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=500,
            description='Words or parts of words; all must occur. "Words in quotes" stand together.',
        ),
    ]
    whole_words: Annotated[bool, Meta(description="Find whole words only.")] = False
    platform: Annotated[Name, Meta(description="Only on this platform.")] = ""
    since: Annotated[float, Meta(ge=0, description="Only after this time, a Unix time.")] = 0.0
    limit: Annotated[int, Meta(ge=1, le=100, description="How many at most.")] = 20


class ListSessions(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """List the person's sessions that have not ended, on all platforms, the last used first."""

    limit: Annotated[int, Meta(ge=1, le=200, description="How many at most.")] = 50


class OfferedAgent(msgspec.Struct, frozen=True, kw_only=True):
    """An agent that the caller may run."""

    name: str
    title: str


class OfferedAgents(msgspec.Struct, frozen=True, kw_only=True):
    """The agents that the caller may run."""

    agents: tuple[OfferedAgent, ...]


class FoundLine(msgspec.Struct, frozen=True, kw_only=True):
    """A message that was found; `session` is an id that list_sessions shows, too."""

    at: float
    session: str
    agent: str
    platform: str
    role: str
    message_id: str
    snippet: str


class FoundLines(msgspec.Struct, frozen=True, kw_only=True):
    """What a search found; unless it `is_complete` there may be more."""

    found: tuple[FoundLine, ...]
    is_complete: bool


class PersonSession(msgspec.Struct, frozen=True, kw_only=True):
    """A session of the person; `messages` were answered since it began."""

    id: str
    agent: str
    platform: str
    messages: int
    used_at: float
    is_busy: bool


class PersonSessions(msgspec.Struct, frozen=True, kw_only=True):
    """The sessions of the person."""

    sessions: tuple[PersonSession, ...]


class McpParts(msgspec.Struct, frozen=True, kw_only=True):
    """The dependencies of the tools; without `search` nothing can be found."""

    gateway_api: GatewayApi
    roster: Roster
    users: UserStore
    sessions: OpenSessionStore
    search: Search | None
    session_id: Callable[[str], str]
    clock: Clock
    make_id: MakeId


class McpCall(msgspec.Struct, frozen=True, kw_only=True):
    """Who calls a tool, and where they want to hear how far it is; None if they do not."""

    caller: ApiCaller
    report: Report | None = None


class OfferedTool(msgspec.Struct, frozen=True, kw_only=True):
    """One tool: its arguments, what it does, and what may be said of it in advance."""

    name: str
    asks: type[msgspec.Struct]
    # Any: the struct that `asks` names.
    run: Callable[["McpTools", McpCall, Any], Awaitable[msgspec.Struct]]
    reads_history: bool = False
    changes: bool = False

    @property
    def description(self) -> str:
        """What a model is told of it."""
        return " ".join((self.asks.__doc__ or "").replace("`", "").split())

    def schema(self) -> dict[str, Any]:
        """Return the JSON schema of its arguments."""
        _, parts = msgspec.json.schema_components((self.asks,))
        schema: dict[str, Any] = dict(parts[self.asks.__name__])
        schema.pop("title", None)
        schema.pop("description", None)
        schema.setdefault("properties", {})
        return schema


class McpTools:
    """Runs the tools for their callers."""

    def __init__(self, parts: McpParts) -> None:
        self._parts = parts

    def offered(self, caller: ApiCaller) -> tuple[OfferedTool, ...]:
        """Return the tools that a caller may use."""
        return tuple(tool for tool in TOOLS if not tool.reads_history or _reads_history(caller))

    async def run(self, name: str, arguments: object, *, call: McpCall) -> msgspec.Struct:
        """Run a tool; every failure that a caller may see is a `HermesError`."""
        caller = call.caller
        tool = next((one for one in TOOLS if one.name == name), None)
        if tool is None:
            raise NotFound(f"There is no tool {name[:80]!r}: tools/list names all.")
        if tool.reads_history and not _reads_history(caller):
            raise Forbidden(
                f"This key may not use {name}: it needs a key that was made with --read-history."
            )
        if not tool.changes:
            # A message of somebody who is blocked is refused where all messages are.
            await self._check_access(caller)
        try:
            asked = msgspec.convert(arguments, tool.asks)
        except (msgspec.ValidationError, RecursionError) as error:
            raise BadRequest(f"The arguments of {name} do not fit: {error}.") from None
        return await tool.run(self, call, asked)

    async def send(self, call: McpCall, ask: MessageCall) -> TurnView:
        """Accept a message for the agent that answers the caller, and wait for its reply."""
        caller = call.caller
        source = _source(caller, ask.conversation or _DEFAULT_CONVERSATION)
        person_id = await self._person(caller)
        agent = self._parts.roster.for_source(source, person_id=person_id)
        return await self._ask(
            call, agent, source=source, text=ask.text, name=ask.id, wait_s=ask.wait_s
        )

    async def run_agent(self, call: McpCall, ask: RunAgent) -> TurnView:
        """Accept a task for an agent, and wait for its reply."""
        agent = await self._parts.roster.get(ask.agent)
        name = ask.id or self._parts.make_id("x")
        source = _source(call.caller, ask.conversation, apart=name)
        return await self._ask(
            call, agent, source=source, text=ask.task, name=name, wait_s=ask.wait_s
        )

    async def get(self, call: McpCall, ask: GetMessage) -> TurnView:
        """Return a message of the caller; those of others do not exist for them."""
        status = await self._parts.gateway_api.message(ask.id)
        event = None if status is None else status.record.event
        if status is None or event is None or _is_foreign(event.source, call.caller):
            raise NotFound(
                f"No message {ask.id[:80]!r} was sent with a key of this user, or it is older than "
                "the days that messages are kept."
            )
        if status.result is not None or not ask.wait_s:
            return status_view(status)
        ticket = Ticket(id=status.record.id, conversation=event.source.chat_id, duplicate=False)
        return await self._wait(ticket, ask.wait_s, report=call.report)

    async def agents(self, call: McpCall, _ask: ListAgents) -> OfferedAgents:
        """Return the agents that the caller may run."""
        answering = await self._parts.roster.answering(limit=_MOST_AGENTS)
        return OfferedAgents(
            agents=tuple(
                OfferedAgent(name=agent.name, title=agent.settings.name)
                for agent in answering
                if call.caller.may_use(f"agent:{agent.name}")
            )
        )

    async def find(self, call: McpCall, ask: SearchMessages) -> FoundLines:
        """Return what the caller's person may find in a direct chat of their own."""
        search, person_id = self._parts.search, await self._person(call.caller)
        if search is None:
            raise BadRequest("Search is switched off here: search.enabled in config.yaml is false.")
        if person_id is None:
            return FoundLines(found=(), is_complete=True)
        chat = SessionKey(
            agent="", platform=_PLATFORM, chat_type="dm", chat_id=_chat(call.caller, "c", "")
        )
        result = await search.find(
            SearchAsk(
                text=ask.text,
                asker=Searcher(person_id, str(chat), is_private=True),
                mode="words" if ask.whole_words else "anywhere",
                limit=ask.limit,
                platform=ask.platform or None,
                since=ask.since or None,
            )
        )
        lines = (
            FoundLine(
                at=one.at,
                session=self._parts.session_id(one.session),
                agent=one.agent,
                platform=one.platform,
                role=one.role,
                message_id=one.message_id,
                snippet=one.snippet,
            )
            for one in result.found
        )
        return FoundLines(found=tuple(lines), is_complete=result.is_complete and not result.unread)

    async def list_sessions(self, call: McpCall, ask: ListSessions) -> PersonSessions:
        """Return the sessions of the caller's person."""
        person_id = await self._person(call.caller)
        if person_id is None:
            return PersonSessions(sessions=())
        found = await self._parts.sessions.of_person(person_id, limit=ask.limit)
        return PersonSessions(sessions=tuple(map(self._line, found)))

    def _line(self, session: OpenSession) -> PersonSession:
        return PersonSession(
            id=self._parts.session_id(session.key),
            agent=read_session_key(session.key).agent,
            platform=session.platform,
            messages=session.messages,
            used_at=session.used_at,
            is_busy=session.is_busy,
        )

    async def _ask(
        self,
        call: McpCall,
        agent: Agent,
        *,
        source: Source,
        text: str,
        name: str,
        wait_s: float,
    ) -> TurnView:
        caller = call.caller
        check_model(caller, f"agent:{agent.name}", f"agent:{agent.key}")
        if not text.strip():
            raise BadRequest("There is nothing to say: the text contains only white space.")
        event = MessageEvent(
            account="default",
            route="mcp",
            external_id=f"{quote(caller.user, safe='')}:{name or self._parts.make_id('x')}",
            source=source,
            parts=(TextPart(text),),
            at=self._parts.clock.now(),
            agent=agent.key,
            key=None if caller.key is None else caller.key.id,
        )
        accepted = await self._parts.gateway_api.accept(event)
        ticket = Ticket(
            id=accepted.message_id,
            conversation=source.chat_id,
            duplicate=accepted.duplicate,
            is_new=accepted.is_new,
        )
        return await self._wait(ticket, wait_s, report=call.report)

    async def _wait(self, ticket: Ticket, wait_s: float, *, report: Report | None) -> TurnView:
        api = self._parts.gateway_api
        if wait_s:
            reports = TurnReports(ticket.id, report, clock=self._parts.clock)
            async with reports.during(api):
                progress = await last_progress(api, ticket, wait_s=wait_s)
            if progress is not None:
                return await ended_view(api, ticket, progress=progress)
        status = await api.message(ticket.id)
        if status is None:
            raise NotFound(f"The message {ticket.id} was erased while it was waited for.")
        view = status_view(status)
        return msgspec.structs.replace(view, duplicate=ticket.duplicate)

    async def _check_access(self, caller: ApiCaller) -> None:
        """Raise `Forbidden` if the caller's person is blocked: they may not read on, either."""
        if (await self._parts.users.channel_access(_PLATFORM, caller.user)).is_blocked:
            raise Forbidden("You are blocked here. Whoever runs this gateway can lift that.")

    async def _person(self, caller: ApiCaller) -> str | None:
        """Return the person who calls; None if nothing of them is known yet."""
        if caller.key is not None:
            return caller.key.person_id
        return (await self._parts.users.channel_access(_PLATFORM, caller.user)).person_id


def _reads_history(caller: ApiCaller) -> bool:
    return caller.key is None or caller.key.read_history


def _chat(caller: ApiCaller, kind: str, name: str) -> str:
    # A colon in a name must not let one user pass as another.
    return f"{quote(caller.user, safe='')}:{kind}:{name}"


def _source(caller: ApiCaller, conversation: str, *, apart: str = "") -> Source:
    """Return the source of a message, as `/v1` names its conversations."""
    kind, name = ("c", conversation) if conversation else ("x", apart)
    return Source(platform=_PLATFORM, chat_id=_chat(caller, kind, name), user_id=caller.user)


def _is_foreign(source: Source, caller: ApiCaller) -> bool:
    return (source.platform, source.user_id) != (_PLATFORM, caller.user)


# A table; the formatter would make it three times as long.
# fmt: off
TOOLS = (
    OfferedTool(name="send_message", asks=MessageCall, run=McpTools.send, changes=True),
    OfferedTool(name="run_agent", asks=RunAgent, run=McpTools.run_agent, changes=True),
    OfferedTool(name="get_message", asks=GetMessage, run=McpTools.get),
    OfferedTool(name="list_agents", asks=ListAgents, run=McpTools.agents),
    OfferedTool(name="search_messages", asks=SearchMessages, run=McpTools.find, reads_history=True),
    OfferedTool(name="list_sessions", asks=ListSessions, run=McpTools.list_sessions, reads_history=True),
)
# fmt: on
