"""Notifies callers of the ends of their tasks, and of questions to them (push notifications).

What is due is read from the journal: the row of a configuration says what was told last. So a crash
repeats a notification at worst, and another process may go on. Addresses of callers are called
through the guarded client alone.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Final

import structlog

from hermes.agents.roster import Roster
from hermes.errors import NetError
from hermes.lazy import lazy
from hermes.message.event import MessageEvent
from hermes.message.outcome import MessageState
from hermes.net.client import HttpClient
from hermes.ports.clock import Clock
from hermes.ports.gateway_api import GatewayApi
from hermes.ports.tasks import DuePush, TaskPush, TaskStore
from hermes.schedule.rounds import Rounds

if TYPE_CHECKING:
    from hermes.server.a2a.tasks import push_payload
else:
    push_payload = lazy("hermes.server.a2a.tasks:push_payload")

_EVERY_S: Final = 10.0
_AT_ONCE: Final = 16
_EACH: Final = 4
_TIMEOUT_S: Final = 10.0
# After a crash in the middle of an attempt the next one begins this long after it began.
_TAKEN_S: Final = _TIMEOUT_S + 5.0
_RETRIES_S: Final = (10.0, 30.0, 120.0, 600.0, 3_600.0, 3_600.0, 3_600.0)
_MOST_WAITING: Final = 1_000
_REVOKED: Final = "the credential of the caller is not valid any more"
# Returns whether the credential is still valid with which a message was sent.
IsValid = Callable[[MessageEvent], Awaitable[bool]]
_log = structlog.get_logger(__name__)


class TaskPushes:
    """Delivers the notifications of one gateway."""

    def __init__(
        self,
        store: TaskStore,
        gateway_api: GatewayApi,
        *,
        client: HttpClient,
        roster: Roster,
        clock: Clock,
        is_valid: IsValid,
    ) -> None:
        self._store = store
        self._gateway_api = gateway_api
        self._client = client
        self._roster = roster
        self._clock = clock
        self._is_valid = is_valid
        self._rounds = Rounds("task pushes", self.round, every_s=_EVERY_S)
        self._waiting: dict[str, asyncio.Task[None]] = {}

    def start(self) -> None:
        """Start the rounds."""
        self._rounds.start()

    async def stop(self) -> None:
        """Stop the rounds; what is not delivered is delivered after the next start."""
        await self._rounds.stop()
        for task in (waiting := tuple(self._waiting.values())):
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)

    def expect(self, task_id: str) -> None:
        """Look as soon as a task ends or asks something; without it the next round does."""
        if task_id in self._waiting or len(self._waiting) >= _MOST_WAITING:
            return
        waiting = asyncio.create_task(self._wait(task_id), name=f"end of {task_id}")
        self._waiting[task_id] = waiting
        waiting.add_done_callback(lambda _task: self._waiting.pop(task_id, None))

    async def _wait(self, task_id: str) -> None:
        await self._gateway_api.end(task_id)
        self._rounds.wake()

    async def round(self) -> None:
        """Deliver what is due."""
        while due := await self._store.due_pushes(self._clock.now(), limit=_AT_ONCE, each=_EACH):
            await asyncio.gather(*map(self._deliver, due))

    async def _deliver(self, due: DuePush) -> None:
        until = self._clock.now() + _TAKEN_S
        if not await self._store.begin_push(due, until=until):
            return
        push = due.push
        status = await self._gateway_api.message(push.task_id)
        event = None if status is None else status.record.event
        if event is not None and not await self._is_valid(event):
            at = self._clock.now()
            await self._store.end_push(due, is_last=True, at=at, why=_REVOKED)
            return
        problem = await self._attempt(due)
        now = self._clock.now()
        if not problem:
            is_last = due.state is MessageState.DONE
            await self._store.end_push(due, is_last=is_last, at=now)
            return
        _log.warning("task_push_failed", message_id=push.task_id, problem=problem)
        if due.attempts >= len(_RETRIES_S):
            await self._store.end_push(due, is_last=True, at=now, why=problem)
        else:
            await self._store.retry_push(due, at=now + _RETRIES_S[due.attempts])

    async def _attempt(self, due: DuePush) -> str:
        """Send a notification; return why it failed, or an empty text."""
        body = await self._body(due)
        if body is None:
            return "the task is gone"
        call = self._client.request(
            "task_push",
            "POST",
            due.push.url,
            headers=_headers(due.push),
            body=body,
            timeout_s=_TIMEOUT_S,
            trusted=False,
        )
        try:
            async with call as response:
                status = response.status
        except NetError as error:
            return str(error)
        return "" if 200 <= status < 300 else f"the host answered {status}"

    async def _body(self, due: DuePush) -> bytes | None:
        status = await self._gateway_api.message(due.push.task_id)
        if status is None or status.record.event is None:
            return None
        asked = None
        if due.state is MessageState.PARKED:
            asked = await self._gateway_api.question(due.push.task_id)
        agent = await self._roster.find(status.record.event.agent or "")
        settings = (agent or self._roster.default).settings
        is_json = bool(settings.response_schema)
        return push_payload(status, version=due.push.version, asked=asked, is_json=is_json)


def _headers(push: TaskPush) -> Mapping[str, str]:
    headers = {"content-type": "application/json"}
    if push.token:
        headers["x-a2a-notification-token"] = push.token
    if push.scheme and push.credentials:
        headers["authorization"] = f"{push.scheme} {push.credentials}"
    return headers
