"""The gateway API: what a channel that serves HTTP itself (REST, web) may ask of the gateway."""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Literal, Protocol, runtime_checkable

import msgspec

from hermes.errors import Forbidden, HermesError
from hermes.message.event import MessageEvent
from hermes.message.source import Source
from hermes.ports.access import Role
from hermes.ports.channel import Acceptance, Channel
from hermes.ports.session_history import ConversationPage
from hermes.ports.turns import MessageRecord, TurnResult
from hermes.ports.upward import Progress
from hermes.ports.work_files import SessionOwner


class Caller(msgspec.Struct, frozen=True):
    """Who speaks over HTTP: a token holder, the command line of this machine, or a browser.

    `id` is the token that was shown, or that signed the browser in; `session` is the browser's own. A token
    that `may_delegate` gives tasks to agents by commands in its messages. `user` is as whom the caller
    writes in the web chat; empty for those who have no conversations there.
    """

    kind: Literal["token", "local", "browser"]
    name: str
    role: Role = "owner"
    id: str = ""
    session: str = ""
    may_delegate: bool = False
    user: str = ""

    @property
    def sender(self) -> str:
        """As whom the caller writes if a message names no sender."""
        return self.id or self.name


def chatting(caller: Caller) -> Caller:
    """Return a caller who has conversations in the web chat; raises `Forbidden` for others."""
    if not caller.user:
        raise Forbidden(
            f"This is a token of the role {caller.role}, which has no conversations in the web "
            "chat: use it as 'Authorization: Bearer TOKEN' for /api. The owner opens the link that "
            "`hermes link` prints; everybody else is invited with `hermes invite PERSON`."
        )
    return caller


class MessageStatus(msgspec.Struct, frozen=True):
    """A message and, once it has ended, what it answered."""

    record: MessageRecord
    result: TurnResult | None


class GatewayApi(Protocol):
    """The gateway as a channel sees it."""

    async def accept(self, event: MessageEvent) -> Acceptance:
        """Keep a message; raises `Refused` or `TryLater`, and then nothing was kept."""
        ...

    async def refuse(
        self, platform: str, error: HermesError, *, external_id: str | None = None
    ) -> str | None:
        """Note an authenticated refusal best-effort; return the id that `hermes why` explains.

        Returns None if it could not be noted.
        """
        ...

    async def authenticate(self, headers: Mapping[str, str]) -> Caller:
        """Return who may speak with the agents; raises `Unauthenticated`, `Forbidden` for viewers."""
        ...

    async def recognise(self, headers: Mapping[str, str]) -> Caller:
        """Return which operator shows a bearer token or a session cookie; raises `Unauthenticated`.

        Raises `Forbidden` for people of the web chat, who are no operators.
        """
        ...

    async def signed_in(self, headers: Mapping[str, str]) -> Caller:
        """Return whoever shows a bearer token or a session cookie, also a person of the web chat.

        For the pages of the web chat alone. Raises `Unauthenticated`.
        """
        ...

    async def message(self, message_id: str) -> MessageStatus | None:
        """Return one message and its result."""
        ...

    def watch(self, message_id: str) -> AsyncIterator[Progress]:
        """Yield a snapshot of a message, then everything until it is done or parked."""
        ...

    async def end(self, message_id: str, *, is_new: bool = False) -> Progress:
        """Wait for the end of a message or a question of its turn; `stopping` is neither.

        `is_new` is what its acceptance said a moment ago, with nothing awaited since.
        """
        ...

    async def question(self, message_id: str) -> Progress | None:
        """Return what the turn of a message asks and waits for; None if it asks nothing."""
        ...

    async def stop(self, message_id: str, *, by: str) -> bool:
        """Let a message end that has not ended, also one that waits; false if it had ended.

        `by` says who wanted it. The turn may still run when this returns.
        """
        ...

    async def call_source(
        self, agent: str, *, platform: str, caller: str, context_id: str | None = None
    ) -> Source:
        """Return the source of a call of an agent, which decides its conversation.

        `agent` is its id or its name, `caller` who calls, `context_id` which of their conversations.
        Raises `NotFound` if there is no such agent.
        """
        ...

    async def conversation(
        self,
        platform: str,
        chat_id: str,
        *,
        limit: int,
        user_id: str = "",
        before: str | None = None,
        agent: str | None = None,
    ) -> ConversationPage:
        """Return the newest messages of a conversation over all its epochs, oldest first.

        `user_id` is whose direct chat it is: the rules may give them an agent of their own, and what
        another person said there before is not shown. `before` is the `earlier` of another page;
        raises `BadRequest` if it is none. `agent` is the one that a message names, if it names one.
        """
        ...

    async def session_owner(self, source: Source, *, agent: str | None = None) -> SessionOwner:
        """Return whose session a message from a source would join; `agent` is the one it names.

        Raises `NotFound` if its sender has never written, or for an unknown agent.
        """
        ...

    async def conversations(
        self, platform: str, *, limit: int, user_id: str | None = None
    ) -> tuple[dict[str, Any], ...]:
        """Return the platform's conversations, the most recently used first.

        With `user_id` only those that this user of the platform began.
        """
        ...


class RouteChannel(Channel, Protocol):
    """A channel that adds its own HTTP routes."""

    # Any: Starlette's routes; the port stays free of the framework.
    def routes(self, gateway_api: GatewayApi) -> Sequence[Any]:
        """Return the Starlette routes to mount."""
        ...


class ApiEndpoint(msgspec.Struct, frozen=True, kw_only=True):
    """One HTTP endpoint as OpenAPI describes it; `streams` says it can answer with events.

    One that `is_bearer_only` takes keys and tokens, and no cookie. `accepted` says what 202 means, if it is
    an answer. `refusals` says why requests are refused, by status, with bodies of the type `refusal`
    (None is that of all endpoints).
    """

    name: str
    method: Literal["GET", "POST", "PUT", "DELETE"]
    path: str
    group: str
    summary: str
    # Any: types of bodies, as annotations name them; `bytes` is a file, None no body or a free one.
    request: Any = None
    report: Any = None
    query: Mapping[str, str] = {}
    streams: bool = False
    is_bearer_only: bool = False
    headers: Mapping[str, str] = {}
    accepted: str = ""
    # Any: the type of a body.
    refusal: Any = None
    refusals: Mapping[int, str] = {}


@runtime_checkable
class DescribedChannel(Protocol):
    """A channel whose routes are part of the public API."""

    def endpoints(self) -> Sequence[ApiEndpoint]:
        """Return the endpoints, for OpenAPI."""
        ...
