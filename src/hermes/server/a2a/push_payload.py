"""What a notification of a task says, in the version of the protocol in which it was asked for. Pure."""

import json

from a2a.compat.v0_3.conversions import to_compat_task
from a2a.types import a2a_pb2 as pb
from google.protobuf.json_format import MessageToDict

from hermes.ports.gateway_api import MessageStatus
from hermes.ports.upward import Progress
from hermes.server.a2a.tasks import task_of


def push_payload(
    status: MessageStatus, *, version: str, asked: Progress | None, is_json: bool
) -> bytes:
    """Return the body of a notification: the task as it is."""
    task = task_of(status, asked=asked, is_json=is_json)
    if version == "0.3":
        old = to_compat_task(task)
        return old.model_dump_json(by_alias=True, exclude_none=True).encode()
    return json.dumps(MessageToDict(pb.StreamResponse(task=task))).encode()
