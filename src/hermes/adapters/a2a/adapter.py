"""A remote agent as an adapter: an agent with the runtime `a2a` answers by calling it over A2A.

The SDK is imported by the first call. The remote agent keeps the conversation in a context of its
own; its task is on the disk before its answer is read, so that a crash loses nothing.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, aclosing
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from hermes.errors import AdapterError, AdapterLost, HermesError, NetError
from hermes.lazy import lazy
from hermes.message.ids import MakeId
from hermes.net.client import HttpClient
from hermes.ports.adapter import (
    AdapterAgent,
    AdapterCall,
    AdapterEnd,
    AdapterEvent,
    AdapterSession,
    last_event,
)
from hermes.ports.agents import RemoteCard

if TYPE_CHECKING:
    from hermes.adapters.a2a.remote import RemoteAgent, open_remote
else:
    open_remote = lazy("hermes.adapters.a2a.remote:open_remote")

RUNTIME: Final = "a2a"
# Returns the value of a secret by its name, as an agent sees it.
Sleep = Callable[[float], Awaitable[object]]
FindSecret = Callable[[str, str], str | None]


class RemotePlace(NamedTuple):
    """A conversation at a remote agent: its context, and the task that waits for the next message.

    The first message names the context: one that is not named may be shared by all our conversations.
    """

    context_id: str
    task_id: str


_decode = msgspec.json.Decoder(tuple[str, str, str]).decode


class A2aAdapter:
    """Fits `ports.adapter.Adapter`."""

    # It runs nothing on this machine.
    needs_grant = False
    # The remote agent has tools of its own.
    supports_tools = False

    def __init__(
        self, client: HttpClient, *, secret: FindSecret, sleep: Sleep, make_id: MakeId
    ) -> None:
        self._client = client
        self._secret = secret
        self._sleep = sleep
        self._make_id = make_id

    async def complete(self, call: AdapterCall) -> AdapterEnd:
        """Return the whole answer."""
        return await last_event(self.stream(call))

    async def stream(self, call: AdapterCall) -> AsyncGenerator[AdapterEvent, None]:
        """Yield the answer as the remote agent writes it."""
        context_id, task_id, called = _decode(call.session) if call.session else ("", "", "")
        if call.was_cut_off and (_turn_of(called) != _turn_of(call.id) or not task_id):
            raise AdapterLost(f"{call.agent.name} had not named its task yet")
        try:
            async with self._open(call.agent) as remote:
                if call.was_cut_off:
                    events = remote.follow(task_id)
                else:
                    place = RemotePlace(context_id or self._make_id("c"), task_id)
                    events = remote.answer(call, place, is_first=not context_id)
                async with aclosing(events):
                    async for event in events:
                        yield _with_call(event, call)
        except NetError as error:
            raise AdapterError(str(error)) from error

    async def health_check(self, agent: AdapterAgent) -> str:
        """Return why the remote agent cannot be called now; empty if its card is good."""
        try:
            async with self._open(agent):
                return ""
        except HermesError as error:
            return str(error)

    async def card(self, url: str, secret: str) -> RemoteCard:
        """Return what the card of a remote agent says; raises `AdapterError` or `NetError`."""
        value = self._secret("", secret) if secret else None
        if secret and not value:
            raise AdapterError(_not_set(secret))
        async with open_remote(url, self._client, key=value or "", sleep=self._sleep) as remote:
            return remote.card

    def _open(self, agent: AdapterAgent) -> AbstractAsyncContextManager["RemoteAgent"]:
        url, name = str(agent.options.get("url", "")), str(agent.options.get("secret", ""))
        if not url:
            raise AdapterError(f"the agent {agent.name!r} has no address: set its adapter.url")
        value = self._secret(agent.key, name) if name else ""
        if value is None:
            raise AdapterError(_not_set(name))
        return open_remote(url, self._client, key=value, sleep=self._sleep)


def _turn_of(call_id: str) -> str:
    """Return the turn that a call belongs to: a call that is made again has another number."""
    return call_id.rpartition(".")[0]


def _not_set(name: str) -> str:
    return f"the secret {name!r} is not set: `hermes secrets set {name}`"


def _with_call(event: AdapterEvent, call: AdapterCall) -> AdapterEvent:
    """Return an event; a session is bound to the call that began it."""
    if not isinstance(event, AdapterSession):
        return event
    context_id, task_id, _ = _decode(event.id)
    return AdapterSession(session_id(context_id, task_id, call_id=call.id))


def session_id(context_id: str, task_id: str, *, call_id: str = "") -> str:
    """Return what is kept of a conversation: its context there, and the task that is open."""
    return msgspec.json.encode((context_id, task_id, call_id)).decode()
