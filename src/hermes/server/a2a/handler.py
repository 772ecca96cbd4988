"""The methods of A2A over the gateway: the SDK calls them for both versions of the protocol.

A message is accepted into the inbox like any other, and everything else is read from the journal;
nothing of a task is kept here.
"""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

import msgspec
from a2a.server.context import ServerCallContext
from a2a.server.events import Event
from a2a.server.request_handlers.request_handler import RequestHandler, validate_request_params
from a2a.types import a2a_pb2 as pb
from a2a.utils.errors import (
    ContentTypeNotSupportedError,
    InvalidParamsError,
    TaskNotCancelableError,
    TaskNotFoundError,
    UnsupportedOperationError,
)
from a2a.utils.task import apply_history_length, validate_history_length

from hermes.agents.conversation import call_source
from hermes.message.event import DEPTH, MessageEvent
from hermes.message.outcome import MessageState
from hermes.message.parts import AudioPart, FilePart, ImagePart, Part, text_of
from hermes.message.plain_answer import plain_answer
from hermes.message.source import Source
from hermes.ports.channel import Acceptance
from hermes.ports.gateway_api import MessageStatus
from hermes.ports.tasks import TaskPush
from hermes.ports.turns import TurnResult
from hermes.ports.upward import Progress
from hermes.server.a2a.cards import agent_card
from hermes.server.a2a.channel import PLATFORM, A2aCall, A2aParts
from hermes.server.a2a.parts import JSON, TEXT, data_part, read_parts
from hermes.server.a2a.progress import ReplyEvents
from hermes.server.a2a.protocol_errors import context_of_call, translated, translated_stream
from hermes.server.a2a.push_settings import read_push, write_push
from hermes.server.a2a.task_pages import list_tasks
from hermes.server.a2a.tasks import (
    CANCELED,
    COMPLETED,
    ENDED,
    INPUT_REQUIRED,
    agent_message,
    context_of,
    state_of,
    state_of_outcome,
    task_of,
)

_ACCOUNT = "default"
_CANCEL_S = 10.0
_MOST_PUSHES = 10
_MOST_OPEN_PUSHES = 1_000
# A larger number is none of ours.
_MOST_DEPTH = 1_000
_FILES = (ImagePart, AudioPart, FilePart)
_ANY_TEXT = frozenset({TEXT, "text/*", "*/*", "text"})


class _Sent(msgspec.Struct, frozen=True, kw_only=True):
    """A message that was accepted, and the task that its caller waits for: its own, or the one that
    it answers.
    """

    accepted: Acceptance
    task_id: str
    context_id: str

    @property
    def is_answer(self) -> bool:
        """Whether it answers a question of another task."""
        return self.task_id != self.accepted.message_id


class TaskHandler(RequestHandler):
    """Fits the SDK's `RequestHandler`."""

    def __init__(self, parts: A2aParts) -> None:
        self._parts = parts
        self._gateway_api = parts.gateway_api

    @validate_request_params
    @translated
    async def on_message_send(
        self, params: pb.SendMessageRequest, context: ServerCallContext
    ) -> pb.Task | pb.Message:
        """Accept a message; return its reply, or its task if there is no reply (yet)."""
        call = context_of_call(context).call
        sent = await self._send(params, call, version=_version(context))
        if not params.configuration.return_immediately:
            last = await self._last_progress(sent)
            result = None if last is None else _result_of(last)
            if result is not None:
                return agent_message(
                    result.text,
                    task_id=sent.task_id,
                    context_id=sent.context_id,
                    data=_data_of(call, result),
                )
        task = await self._task(call, sent.task_id)
        if task.status.state == COMPLETED and not params.configuration.return_immediately:
            return _as_message(task)
        return apply_history_length(task, params.configuration)

    @validate_request_params
    @translated_stream
    async def on_message_send_stream(
        self, params: pb.SendMessageRequest, context: ServerCallContext
    ) -> AsyncGenerator[Event, None]:
        """Accept a message; yield its task, and then what happens to it."""
        call = context_of_call(context).call
        sent = await self._send(params, call, version=_version(context))
        if sent.is_answer:
            await self._gateway_api.end(sent.accepted.message_id)
        async with aclosing(self._follow(call, sent.task_id)) as events:
            async for event in events:
                yield event

    @validate_request_params
    @translated
    async def on_get_task(self, params: pb.GetTaskRequest, context: ServerCallContext) -> pb.Task:
        """Return a task of the caller."""
        validate_history_length(params)
        task = await self._task(context_of_call(context).call, params.id)
        return apply_history_length(task, params)

    @validate_request_params
    @translated
    async def on_cancel_task(
        self, params: pb.CancelTaskRequest, context: ServerCallContext
    ) -> pb.Task:
        """Stop the turn of a task; one that waits does not begin."""
        call = context_of_call(context).call
        status = await self._own(call, params.id)
        if state_of(status.record) in ENDED:
            raise TaskNotCancelableError(f"The task {params.id} has ended already.")
        by = f"tasks/cancel of {call.caller.credential}"
        is_stopping = await self._gateway_api.stop(params.id, by=by)
        task = await self._task(call, params.id)
        if is_stopping and task.status.state not in ENDED:
            await self._until_ended(params.id)
            task = await self._task(call, params.id)
        if not is_stopping or (task.status.state in ENDED and task.status.state != CANCELED):
            raise TaskNotCancelableError(f"The task {params.id} ended before it was stopped.")
        return task

    @validate_request_params
    @translated_stream
    async def on_subscribe_to_task(
        self, params: pb.SubscribeToTaskRequest, context: ServerCallContext
    ) -> AsyncGenerator[Event, None]:
        """Yield a task, and then what happens to it."""
        call = context_of_call(context).call
        status = await self._own(call, params.id)
        is_old = context.state.get("method") == "tasks/resubscribe"
        if state_of(status.record) in ENDED and not is_old:
            raise UnsupportedOperationError(f"The task {params.id} has ended: get it instead.")
        async with aclosing(self._follow(call, params.id)) as events:
            async for event in events:
                yield event

    @validate_request_params
    @translated
    async def on_list_tasks(
        self, params: pb.ListTasksRequest, context: ServerCallContext
    ) -> pb.ListTasksResponse:
        """Return the caller's tasks with this agent, the newest change first."""
        call = context_of_call(context).call
        return await list_tasks(params, call, self._parts.tasks, is_json=_answers_json(call))

    @validate_request_params
    @translated
    async def on_create_task_push_notification_config(
        self, params: pb.TaskPushNotificationConfig, context: ServerCallContext
    ) -> pb.TaskPushNotificationConfig:
        """Store where to notify of a task."""
        call = context_of_call(context).call
        status = await self._own(call, params.task_id)
        push = self._read_push(params, task_id=params.task_id, version=_version(context))
        await self._put_push(push, person_id=status.record.person_id)
        return write_push(push)

    @validate_request_params
    @translated
    async def on_get_task_push_notification_config(
        self, params: pb.GetTaskPushNotificationConfigRequest, context: ServerCallContext
    ) -> pb.TaskPushNotificationConfig:
        """Return where to notify of a task."""
        for push in await self._pushes(context, params.task_id):
            if push.id == (params.id or params.task_id):
                return write_push(push)
        raise TaskNotFoundError(f"The task {params.task_id} has no configuration {params.id!r}.")

    @validate_request_params
    @translated
    async def on_list_task_push_notification_configs(
        self, params: pb.ListTaskPushNotificationConfigsRequest, context: ServerCallContext
    ) -> pb.ListTaskPushNotificationConfigsResponse:
        """Return every place that is told of a task."""
        pushes = await self._pushes(context, params.task_id)
        return pb.ListTaskPushNotificationConfigsResponse(configs=map(write_push, pushes))

    @validate_request_params
    @translated
    async def on_delete_task_push_notification_config(
        self, params: pb.DeleteTaskPushNotificationConfigRequest, context: ServerCallContext
    ) -> None:
        """Notify one place no more; it is no error if there is none."""
        await self._own(context_of_call(context).call, params.task_id)
        await self._parts.tasks.drop_push(params.task_id, params.id)

    @validate_request_params
    @translated
    async def on_get_extended_agent_card(
        self, params: pb.GetExtendedAgentCardRequest, context: ServerCallContext
    ) -> pb.AgentCard:
        """Return the card of the agent, which is the same for everybody."""
        del params
        ours = context_of_call(context)
        return agent_card(ours.call.agent, address=ours.address)

    async def _pushes(self, context: ServerCallContext, task_id: str) -> tuple[TaskPush, ...]:
        await self._own(context_of_call(context).call, task_id)
        return await self._parts.tasks.pushes(task_id)

    def _read_push(
        self, config: pb.TaskPushNotificationConfig, *, task_id: str, version: str
    ) -> TaskPush:
        return read_push(config, task_id=task_id, version=version, guard=self._parts.guard)

    async def _put_push(self, push: TaskPush, *, person_id: str) -> None:
        await self._parts.tasks.put_push(
            push,
            person_id=person_id,
            at=self._parts.clock.now(),
            most=_MOST_PUSHES,
            most_open=_MOST_OPEN_PUSHES,
        )
        self._parts.pushes.expect(push.task_id)

    async def _send(self, params: pb.SendMessageRequest, call: A2aCall, *, version: str) -> _Sent:
        """Accept a message, and the settings for notifications that it brings."""
        validate_history_length(params.configuration)
        _check_output(params.configuration.accepted_output_modes, call)
        self._check_depth(params.message)
        parts = await self._read(params.message)
        answered = await self._answered(params.message, call, parts)
        source = self._source(params.message, call) if answered is None else answered
        configuration, push = params.configuration, None
        if configuration.HasField("task_push_notification_config"):
            config = configuration.task_push_notification_config
            push = self._read_push(config, task_id="", version=version)
        accepted = await self._gateway_api.accept(
            self._event(params.message, call, parts=parts, source=source)
        )
        task_id = accepted.message_id if answered is None else params.message.task_id
        if push is not None:
            accepted = msgspec.structs.replace(accepted, is_new=False)
            push = msgspec.structs.replace(push, task_id=task_id, id=push.id or task_id)
            status = await self._own(call, task_id)
            await self._put_push(push, person_id=status.record.person_id)
        return _Sent(accepted=accepted, task_id=task_id, context_id=source.chat_id)

    async def _read(self, message: pb.Message) -> tuple[Part, ...]:
        """Return the parts of a message; files are checked beside the event loop."""
        limits = self._parts.settings.files
        if any(part.WhichOneof("content") == "raw" for part in message.parts):
            return await asyncio.to_thread(read_parts, message.parts, limits)
        return read_parts(message.parts, limits)

    async def _answered(
        self, message: pb.Message, call: A2aCall, parts: tuple[Part, ...]
    ) -> Source | None:
        """Return the conversation of the task that a message answers; None if it names none."""
        if not message.task_id:
            return None
        status = await self._own(call, message.task_id)
        record, context_id = status.record, context_of(status.record)
        assert record.event is not None
        if message.context_id and message.context_id != context_id:
            raise InvalidParamsError(
                f"The task {record.id} belongs to the context {context_id!r}, not to "
                f"{message.context_id!r}."
            )
        asked = await self._gateway_api.question(record.id)
        if state_of(record, asks=asked is not None) != INPUT_REQUIRED:
            raise UnsupportedOperationError(
                f"The task {record.id} asks nothing: send the message with the contextId "
                f"{context_id!r} and without a taskId."
            )
        if record.state is MessageState.PARKED and plain_answer(text_of(parts)) is None:
            raise InvalidParamsError(f"The task {record.id} waits for an approval: say yes or no.")
        return record.event.source

    def _source(self, message: pb.Message, call: A2aCall) -> Source:
        context_id = message.context_id or None
        return call_source(
            call.agent, platform=PLATFORM, caller=call.caller.credential, context_id=context_id
        )

    def _event(
        self, message: pb.Message, call: A2aCall, *, parts: tuple[Part, ...], source: Source
    ) -> MessageEvent:
        key = call.caller.key
        return MessageEvent(
            account=_ACCOUNT,
            route=PLATFORM,
            external_id=f"{call.tasks}{message.message_id}",
            source=source,
            parts=parts,
            at=self._parts.clock.now(),
            agent=call.agent.key,
            key=None if key is None else key.id,
            token=call.caller.token,
            may_delegate=call.caller.may_delegate,
            depth=_depth_of(message),
        )

    def _check_depth(self, message: pb.Message) -> None:
        """Raise for a message that agents pass on in a circle, or too often."""
        deepest = self._parts.settings.delegate_depth
        if _depth_of(message) > deepest + 1:
            raise UnsupportedOperationError(
                f"Agents have passed this message on too often: expected tasks that are nested {deepest} "
                "deep at most (tools.delegate_depth). Do they call each other in a circle?"
            )

    async def _last_progress(self, sent: _Sent) -> Progress | None:
        """Return the end of a task, or what it asks; None if it goes on for too long."""
        try:
            async with asyncio.timeout(self._parts.settings.wait_s):
                if sent.is_answer:
                    await self._gateway_api.end(sent.accepted.message_id)
                    return await self._gateway_api.end(sent.task_id)
                return await self._gateway_api.end(sent.task_id, is_new=sent.accepted.is_new)
        except TimeoutError:
            return None

    async def _until_ended(self, task_id: str) -> None:
        try:
            async with asyncio.timeout(_CANCEL_S):
                last = await self._gateway_api.end(task_id)
                if last.kind in ("parked", "question"):
                    # It still has to hear that it is stopped.
                    await self._gateway_api.end(task_id, is_new=True)
        except TimeoutError:
            return

    async def _follow(self, call: A2aCall, task_id: str) -> AsyncGenerator[Event, None]:
        """Yield a task as it is, and then what happens to it until it ends or asks something."""
        task = await self._task(call, task_id)
        yield task
        if task.status.state in ENDED:
            return
        reply = ReplyEvents(task_id, task.context_id, clock=self._parts.clock)
        # The gateway API's `watch` is an async generator; its port does not declare that.
        watching = aclosing(self._gateway_api.watch(task_id))  # type: ignore[type-var]
        async with watching as updates:
            async for progress in updates:
                for event in reply.hear(progress):
                    yield event
                if reply.has_ended:
                    return

    async def _task(self, call: A2aCall, task_id: str) -> pb.Task:
        status = await self._own(call, task_id)
        asked = None
        if status.record.state in (MessageState.RUNNING, MessageState.PARKED):
            asked = await self._gateway_api.question(task_id)
        return task_of(status, asked=asked, is_json=_answers_json(call))

    async def _own(self, call: A2aCall, task_id: str) -> MessageStatus:
        """Return a message that this caller sent to this agent; raises `TaskNotFoundError`."""
        status = await self._gateway_api.message(task_id)
        if status is None or not _is_own(status, call):
            raise TaskNotFoundError(f"There is no task {task_id[:80]!r}.")
        return status


def _depth_of(message: pb.Message) -> int:
    """Return how many agents wait for the answer to a message, if they say so."""
    if DEPTH not in message.metadata:
        return 0
    depth = message.metadata.fields[DEPTH].number_value
    return int(depth) if 0 < depth < _MOST_DEPTH else 0


def _is_own(status: MessageStatus, call: A2aCall) -> bool:
    record = status.record
    is_ours = record.platform == PLATFORM and record.event is not None
    return is_ours and record.external_id.startswith(call.tasks)


def _result_of(last: Progress) -> TurnResult | None:
    """Return the answer of a turn; None if it has none, or it has to be read."""
    if last.kind != "done" or last.outcome is None:
        return None
    return last.result if state_of_outcome(last.outcome) == COMPLETED else None


def _version(context: ServerCallContext) -> str:
    """Return the version of the protocol that a call speaks: its methods have other names."""
    return "0.3" if "/" in context.state.get("method", "") else "1.0"


def _answers_json(call: A2aCall) -> bool:
    return bool(call.agent.settings.response_schema)


def _data_of(call: A2aCall, result: TurnResult) -> pb.Part | None:
    return data_part(result.text) if _answers_json(call) else None


def _as_message(task: pb.Task) -> pb.Message:
    """Return the reply of a completed task as a message."""
    message = agent_message("", task_id=task.id, context_id=task.context_id)
    message.ClearField("parts")
    message.parts.extend(task.artifacts[0].parts)
    return message


def _check_output(modes: Sequence[str], call: A2aCall) -> None:
    """Raise `ContentTypeNotSupportedError` if the caller accepts nothing that the agent answers."""
    own = {*_ANY_TEXT, JSON} if _answers_json(call) else _ANY_TEXT
    if modes and own.isdisjoint(mode.lower() for mode in modes):
        raise ContentTypeNotSupportedError(
            f"This agent answers in {TEXT}; none of the accepted output modes is that."
        )
