"""Tasks as callers see them, made of what the journal says about a message. Pure.

A task is an accepted message: its id is that of the message, its context is the conversation.
"""

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from a2a.compat.v0_3.conversions import to_compat_task
from a2a.types import a2a_pb2 as pb
from google.protobuf.json_format import MessageToDict
from google.protobuf.timestamp_pb2 import Timestamp

from hermes.message.outcome import MessageState, Outcome
from hermes.ports.gateway_api import MessageStatus
from hermes.ports.turns import MessageRecord, TurnResult
from hermes.ports.upward import Progress
from hermes.server.a2a.parts import data_part, text_part, write_parts

SUBMITTED: Final = pb.TaskState.TASK_STATE_SUBMITTED
WORKING: Final = pb.TaskState.TASK_STATE_WORKING
INPUT_REQUIRED: Final = pb.TaskState.TASK_STATE_INPUT_REQUIRED
COMPLETED: Final = pb.TaskState.TASK_STATE_COMPLETED
CANCELED: Final = pb.TaskState.TASK_STATE_CANCELED
FAILED: Final = pb.TaskState.TASK_STATE_FAILED
REJECTED: Final = pb.TaskState.TASK_STATE_REJECTED
ENDED: Final = frozenset({COMPLETED, CANCELED, FAILED, REJECTED})
REPLY: Final = "reply"

_BY_OUTCOME: Mapping[Outcome, pb.TaskState] = MappingProxyType(
    {
        Outcome.ANSWERED: COMPLETED,
        Outcome.MERGED: COMPLETED,
        Outcome.FAILED: FAILED,
        Outcome.EXPIRED: FAILED,
        Outcome.INTERRUPTED: CANCELED,
        Outcome.REFUSED: REJECTED,
        Outcome.OVERHEARD: REJECTED,
    }
)
_BY_STATE: Mapping[MessageState, pb.TaskState] = MappingProxyType(
    {
        MessageState.NEW: SUBMITTED,
        MessageState.RUNNING: WORKING,
        MessageState.MERGING: WORKING,
        MessageState.PARKED: INPUT_REQUIRED,
    }
)
_NO_RESULT: Final = TurnResult(text="")


def state_of_outcome(outcome: Outcome | None) -> pb.TaskState:
    """Return the state of a task whose message has ended."""
    return FAILED if outcome is None else _BY_OUTCOME[outcome]


def state_of(record: MessageRecord, *, asks: bool = False) -> pb.TaskState:
    """Return the state of a task; `asks` says that its turn waits for the answer to a question."""
    if record.state is MessageState.DONE:
        return state_of_outcome(record.outcome)
    if record.state is MessageState.NEW and record.interrupted_by is not None:
        # It is stopped before it begins.
        return CANCELED
    return INPUT_REQUIRED if asks else _BY_STATE[record.state]


def context_of(record: MessageRecord) -> str:
    """Return the context of a task: its conversation."""
    return "" if record.event is None else record.event.source.chat_id


def task_of(
    status: MessageStatus, *, asked: Progress | None = None, is_json: bool = False
) -> pb.Task:
    """Return a task as the journal has it; `asked` is the question that its turn waits for.

    The answer of an agent that answers `is_json` comes as data, too.
    """
    record, result = status.record, status.result or _NO_RESULT
    state = state_of(record, asks=asked is not None)
    context_id = context_of(record)
    said = result.text if asked is None else asked.text
    task = pb.Task(id=record.id, context_id=context_id)
    told = None
    if state == COMPLETED:
        data = data_part(result.text) if is_json else None
        task.artifacts.append(reply_artifact(result, data=data))
    elif said:
        told = agent_message(said, task_id=record.id, context_id=context_id)
    at = record.done_at or record.received_at
    task.status.CopyFrom(pb.TaskStatus(state=state, message=told, timestamp=timestamp(at)))
    if record.event is not None:
        task.history.append(user_message(record))
    return task


def user_message(record: MessageRecord) -> pb.Message:
    """Return what the caller sent."""
    assert record.event is not None
    return pb.Message(
        message_id=record.external_id.split(":", 2)[2],
        context_id=context_of(record),
        task_id=record.id,
        role=pb.Role.ROLE_USER,
        parts=write_parts(record.event.parts),
    )


def agent_message(
    text: str, *, task_id: str, context_id: str, data: pb.Part | None = None
) -> pb.Message:
    """Return what an agent says."""
    parts = [text_part(text)] if data is None else [text_part(text), data]
    return pb.Message(
        message_id=f"{task_id}.{REPLY}",
        context_id=context_id,
        task_id=task_id,
        role=pb.Role.ROLE_AGENT,
        parts=parts,
    )


def reply_artifact(result: TurnResult, *, data: pb.Part | None = None) -> pb.Artifact:
    """Return the reply of a completed task."""
    parts = [text_part(result.text)] if data is None else [text_part(result.text), data]
    return pb.Artifact(artifact_id=REPLY, parts=parts)


def status_event(
    task_id: str,
    context_id: str,
    *,
    state: pb.TaskState,
    text: str = "",
    at: float,
) -> pb.TaskStatusUpdateEvent:
    """Return the event that says a new state of a task."""
    told = agent_message(text, task_id=task_id, context_id=context_id) if text else None
    status = pb.TaskStatus(state=state, message=told, timestamp=timestamp(at))
    return pb.TaskStatusUpdateEvent(task_id=task_id, context_id=context_id, status=status)


def text_event(
    task_id: str, context_id: str, *, text: str, append: bool, last: bool = False
) -> pb.TaskArtifactUpdateEvent:
    """Return the event that adds a text to the reply, or begins it again."""
    artifact = pb.Artifact(artifact_id=REPLY, parts=[text_part(text)])
    return pb.TaskArtifactUpdateEvent(
        task_id=task_id, context_id=context_id, artifact=artifact, append=append, last_chunk=last
    )


def timestamp(at: float) -> Timestamp:
    """Return a time as the protocol has it, in milliseconds."""
    seconds = int(at)
    return Timestamp(seconds=seconds, nanos=int((at - seconds) * 1000) * 1_000_000)


def push_payload(
    status: MessageStatus, *, version: str, asked: Progress | None, is_json: bool
) -> bytes:
    """Return the body of a notification: the task as it is, in a version of the protocol."""
    task = task_of(status, asked=asked, is_json=is_json)
    if version == "0.3":
        old = to_compat_task(task)
        return old.model_dump_json(by_alias=True, exclude_none=True).encode()
    return json.dumps(MessageToDict(pb.StreamResponse(task=task))).encode()
