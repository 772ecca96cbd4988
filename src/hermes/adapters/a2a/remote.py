"""One remote agent, with the SDK's own client: sends a message, and follows its task to the end.

What the agent answers is text of a stranger: it is bounded here, and interpreted nowhere.
"""

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress
from typing import Final

import httpx
from a2a.client import Client, ClientConfig, ClientFactory
from a2a.client.errors import A2AClientError
from a2a.types import a2a_pb2 as pb
from a2a.utils.errors import A2AError
from google.protobuf.json_format import MessageToDict, ParseError
from pydantic import ValidationError
from yarl import URL

from hermes.adapters.a2a.adapter import RemotePlace, Sleep, session_id
from hermes.adapters.a2a.card import fetch_card
from hermes.adapters.a2a.guarded_transport import GuardedTransport
from hermes.errors import AdapterError, NetError
from hermes.message.chat import ChatMessage
from hermes.message.event import DEPTH
from hermes.message.parts import AudioPart, FilePart, ImagePart, NotePart, TextPart
from hermes.net.client import HttpClient
from hermes.ports.adapter import (
    AdapterCall,
    AdapterEnd,
    AdapterEvent,
    AdapterSession,
    AdapterStatus,
)
from hermes.ports.agents import RemoteCard
from hermes.ports.provider import TextDelta

_ENDED: Final = frozenset(
    {
        pb.TaskState.TASK_STATE_COMPLETED,
        pb.TaskState.TASK_STATE_CANCELED,
        pb.TaskState.TASK_STATE_FAILED,
        pb.TaskState.TASK_STATE_REJECTED,
    }
)
_ASKS: Final = pb.TaskState.TASK_STATE_INPUT_REQUIRED
_NEEDS_LOGIN: Final = pb.TaskState.TASK_STATE_AUTH_REQUIRED
_LONGEST_ID: Final = 500
_LONGEST_ANSWER: Final = 1_000_000
_LONGEST_STATUS: Final = 200
_BEFORE_CHARS: Final = 20_000
_POLLS_S: Final = (0.5, 1.0, 2.0, 5.0)
_MOST_FAILURES: Final = 10
# A cancelled task is not waited for: whoever stopped the turn waits for that.
_CANCEL_S: Final = 10.0
_FAILURES = (
    A2AClientError,
    A2AError,
    ParseError,
    ValidationError,
    ValueError,
    RecursionError,
    httpx.HTTPError,
)
# The SDK logs whole messages, including untrusted text; what matters is logged here.
logging.getLogger("a2a").setLevel(logging.CRITICAL)


@asynccontextmanager
async def open_remote(
    url: str, http: HttpClient, *, key: str, sleep: Sleep
) -> AsyncIterator["RemoteAgent"]:
    """Yield the agent whose card is at an address; raises `AdapterError` or `NetError`."""
    card = await fetch_card(url, key=key, client=http)
    transport = GuardedTransport(http, host=URL(url).raw_host or "")
    headers = {"authorization": f"Bearer {key}"} if key else {}
    async with httpx.AsyncClient(
        transport=transport, headers=headers, timeout=None, trust_env=False
    ) as session:
        try:
            client = ClientFactory(ClientConfig(httpx_client=session)).create(card)
        except ValueError as problem:
            raise AdapterError(f"the agent {card.name!r} cannot be called: {problem}") from None
        yield RemoteAgent(client, card, sleep=sleep)


class RemoteAgent:
    """An agent that can be called, by its card."""

    def __init__(self, client: Client, card: pb.AgentCard, *, sleep: Sleep) -> None:
        self._client = client
        self._sleep = sleep
        self.card = RemoteCard(name=card.name, description=card.description[:2_000])

    async def answer(
        self, call: AdapterCall, place: RemotePlace, *, is_first: bool
    ) -> AsyncGenerator[AdapterEvent, None]:
        """Send a message to a place, and yield its answer; the first one says what was said before."""
        message = pb.Message(
            role=pb.Role.ROLE_USER,
            message_id=call.id,
            context_id=place.context_id,
            task_id=place.task_id,
            parts=_parts_of(call, is_first=is_first),
        )
        message.metadata.update({DEPTH: call.depth + 1})
        answer = _Answer(place.context_id)
        try:
            sending = self._client.send_message(pb.SendMessageRequest(message=message))
            async for event in self._read(sending, answer):
                yield event
            async for event in self._finish(answer):
                yield event
        finally:
            await self._cancel(answer)

    async def follow(self, task_id: str) -> AsyncGenerator[AdapterEvent, None]:
        """Yield the answer of a task that was begun before."""
        answer = _Answer("")
        answer.task_id = task_id
        try:
            async for event in self._finish(answer):
                yield event
        finally:
            await self._cancel(answer)

    async def _read(
        self, events: AsyncIterator[pb.StreamResponse], answer: "_Answer"
    ) -> AsyncGenerator[AdapterEvent, None]:
        """Yield what a stream says; it may end, or break off, before its task has ended."""
        try:
            async for event in events:
                for one in answer.hear(event):
                    yield one
                if answer.is_over:
                    return
        except NetError:
            if not answer.task_id:
                raise
        except _FAILURES as problem:
            if not answer.task_id:
                raise self._failed(problem) from None

    async def _finish(self, answer: "_Answer") -> AsyncGenerator[AdapterEvent, None]:
        """Ask for a task until it has ended, and yield its end."""
        failures = polls = 0
        while not answer.is_over:
            if not answer.task_id:
                raise AdapterError(f"the agent {self.card.name!r} answered nothing")
            try:
                task = await self._client.get_task(pb.GetTaskRequest(id=answer.task_id))
            except (NetError, *_FAILURES) as problem:
                failures += 1
                if failures == _MOST_FAILURES:
                    raise self._failed(problem) from None
            else:
                failures = 0
                for one in answer.hear(pb.StreamResponse(task=task)):
                    yield one
            if not answer.is_over:
                await self._sleep(_POLLS_S[min(polls, len(_POLLS_S) - 1)])
                polls += 1
        yield AdapterSession(session_id(answer.context_id, answer.open_task))
        yield AdapterEnd((TextPart(answer.end(self.card.name)),), model=self.card.name)

    async def _cancel(self, answer: "_Answer") -> None:
        """Cancel a task that has not ended: nobody waits for it any more."""
        if answer.is_over or not answer.task_id:
            return
        with suppress(NetError, TimeoutError, *_FAILURES):
            async with asyncio.timeout(_CANCEL_S):
                await self._client.cancel_task(pb.CancelTaskRequest(id=answer.task_id))

    def _failed(self, problem: Exception) -> AdapterError:
        text = " ".join(str(problem).split())[:300]
        return AdapterError(f"the agent {self.card.name!r} could not be called: {text}")


class _Answer:
    """What a remote agent has said of one message."""

    def __init__(self, context_id: str) -> None:
        self.context_id = context_id
        self.task_id = ""
        self.is_over = False
        self._is_named = False
        self._state = pb.TaskState.TASK_STATE_UNSPECIFIED
        self._told = ""
        self._artifacts: dict[str, str] = {}

    @property
    def open_task(self) -> str:
        """The task that the next message answers, if there is one."""
        return self.task_id if self._state == _ASKS else ""

    def hear(self, event: pb.StreamResponse) -> list[AdapterEvent]:
        """Return what an event is to whoever waits for the answer."""
        kind = event.WhichOneof("payload")
        if kind == "message":
            self._told, self.is_over = _text_of(event.message.parts), True
            self.context_id = _id(event.message.context_id) or self.context_id
            return []
        if kind == "task":
            return self._of_task(event.task)
        if kind == "status_update":
            update = event.status_update
            return self._of_status(update.task_id, update.context_id, status=update.status)
        if kind == "artifact_update":
            return self._of_artifact(event.artifact_update)
        return []

    def _of_task(self, task: pb.Task) -> list[AdapterEvent]:
        if task.artifacts:
            # They are all that the task has: those of an earlier look are among them.
            self._artifacts = {one.artifact_id: _text_of(one.parts) for one in task.artifacts}
            self._check_length()
        return self._of_status(task.id, task.context_id, status=task.status)

    def _of_status(
        self, task_id: str, context_id: str, *, status: pb.TaskStatus
    ) -> list[AdapterEvent]:
        found: list[AdapterEvent] = []
        if task_id and self.task_id and task_id != self.task_id:
            # Each name would be written down, and nobody would look after the task before.
            raise AdapterError("the remote agent gave its task another name")
        if task_id and not self._is_named:
            self._is_named = True
            self.task_id, self.context_id = _id(task_id), _id(context_id) or self.context_id
            found.append(AdapterSession(session_id(self.context_id, self.task_id)))
        self._state = status.state
        told = _text_of(status.message.parts)
        self._told = told or self._told
        self.is_over = status.state in _ENDED or status.state in (_ASKS, _NEEDS_LOGIN)
        if told and not self.is_over:
            found.append(AdapterStatus(" ".join(told.split())[:_LONGEST_STATUS]))
        return found

    def _of_artifact(self, update: pb.TaskArtifactUpdateEvent) -> list[AdapterEvent]:
        artifact = update.artifact
        text, known = _text_of(artifact.parts), self._artifacts.get(artifact.artifact_id, "")
        self._artifacts[artifact.artifact_id] = known + text if update.append else text
        self._check_length()
        is_more = update.append or not known
        return [TextDelta(text)] if text and is_more else []

    def _check_length(self) -> None:
        if sum(map(len, self._artifacts.values())) > _LONGEST_ANSWER:
            raise AdapterError(f"the answer has more than {_LONGEST_ANSWER:,} characters")

    def end(self, name: str) -> str:
        """Return the answer; raises `AdapterError` if there is none."""
        if self._state == _NEEDS_LOGIN:
            raise AdapterError(f"the agent {name!r} wants a login that nobody can give here")
        if self._state in _ENDED and self._state != pb.TaskState.TASK_STATE_COMPLETED:
            word = pb.TaskState.Name(self._state).removeprefix("TASK_STATE_").lower()
            why = f": {self._told[:500]}" if self._told else ""
            raise AdapterError(f"the task of the agent {name!r} is {word}{why}")
        text = "\n\n".join(filter(None, self._artifacts.values()))
        if self._state == _ASKS:
            text = self._told or text
        return text or self._told


def _id(text: str) -> str:
    """Return an id of the remote agent's, if it is short enough to be kept."""
    if len(text) > _LONGEST_ID:
        raise AdapterError(f"the remote agent names an id of {len(text)} characters")
    return text


def _text_of(parts: Iterable[pb.Part]) -> str:
    """Return what parts say: text, data as JSON, and addresses of files."""
    texts = []
    for part in parts:
        kind = part.WhichOneof("content")
        if kind == "text":
            texts.append(part.text)
        elif kind == "data":
            texts.append(json.dumps(MessageToDict(part.data), ensure_ascii=False))
        elif kind in ("url", "raw"):
            name = part.filename or part.media_type or "a file"
            texts.append(f"[{name}: {part.url}]" if kind == "url" else f"[{name}]")
    return "\n".join(texts)[: _LONGEST_ANSWER + 1]


def _parts_of(call: AdapterCall, *, is_first: bool) -> list[pb.Part]:
    """Return the message to answer; the first one of a context says what was said before."""
    *before, message = call.messages
    parts = [pb.Part(text=_said_before(before))] if before and is_first else []
    for part in message.parts:
        if isinstance(part, TextPart | NotePart):
            parts.append(pb.Part(text=part.text))
        elif isinstance(part, ImagePart | AudioPart | FilePart):
            url = part.media.url or ""
            name = part.media.name or part.media.mime
            if url.startswith(("https://", "http://")):
                parts.append(pb.Part(url=url, filename=name, media_type=part.media.mime))
            else:
                parts.append(pb.Part(text=f"[{name}: it is not passed on]"))
    return parts or [pb.Part(text="")]


def _said_before(messages: list[ChatMessage]) -> str:
    lines = [f"{one.role}: {one.text}" for one in messages if one.text]
    return "Said before in this conversation:\n" + "\n".join(lines)[-_BEFORE_CHARS:] + "\n\n"
