"""Pages of a caller's tasks: `ListTasks`."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Final

import msgspec
from a2a.types import a2a_pb2 as pb
from a2a.utils.errors import InvalidParamsError
from a2a.utils.task import apply_history_length, validate_history_length, validate_page_size

from hermes.message.outcome import MessageState, Outcome
from hermes.ports.request_numbers import Quantity, WholeNumber
from hermes.ports.tasks import TaskQuery, TaskStore
from hermes.server.a2a.channel import A2aCall
from hermes.server.a2a.tasks import state_of_outcome, task_of

_PAGE: Final = 50
_decode = msgspec.json.Decoder(tuple[Quantity, WholeNumber]).decode
# The words of the journal for each state of the protocol.
_OPEN: Final = {
    pb.TaskState.TASK_STATE_SUBMITTED: (MessageState.NEW.value,),
    pb.TaskState.TASK_STATE_WORKING: (MessageState.RUNNING.value, MessageState.MERGING.value),
    pb.TaskState.TASK_STATE_INPUT_REQUIRED: (MessageState.PARKED.value,),
}


async def list_tasks(
    params: pb.ListTasksRequest, call: A2aCall, store: TaskStore, *, is_json: bool
) -> pb.ListTasksResponse:
    """Return the caller's tasks with an agent, the newest change first."""
    validate_history_length(params)
    size = params.page_size if params.HasField("page_size") else _PAGE
    validate_page_size(size)
    query = TaskQuery(
        caller=call.tasks,
        context_id=params.context_id,
        words=_words(params.status),
        since=_since(params),
        before=_position(params.page_token),
        limit=size,
    )
    page = await store.page(query)
    tasks = [
        apply_history_length(task_of(one, is_json=is_json), params)
        for one in page.tasks
        if one.record.event is not None
    ]
    if not params.include_artifacts:
        for task in tasks:
            task.ClearField("artifacts")
    following = "" if page.next is None else _token(page.next)
    return pb.ListTasksResponse(
        tasks=tasks, next_page_token=following, page_size=size, total_size=page.total
    )


def _words(state: pb.TaskState) -> tuple[str, ...]:
    """Return the words of the journal for a state; none for all states."""
    if state == pb.TaskState.TASK_STATE_UNSPECIFIED:
        return ()
    ended = tuple(one.value for one in Outcome if state_of_outcome(one) == state)
    # A state that no message is ever in finds nothing.
    return _OPEN.get(state, ended) or ("-",)


def _since(params: pb.ListTasksRequest) -> float:
    if not params.HasField("status_timestamp_after"):
        return 0.0
    after = params.status_timestamp_after
    return float(after.seconds) + after.nanos / 1e9


def _token(position: tuple[float, int]) -> str:
    return urlsafe_b64encode(msgspec.json.encode(position)).decode()


def _position(token: str) -> tuple[float, int] | None:
    if not token:
        return None
    try:
        return _decode(urlsafe_b64decode(token.encode()))
    except (ValueError, msgspec.DecodeError):
        raise InvalidParamsError("The pageToken is not one of this method.") from None
