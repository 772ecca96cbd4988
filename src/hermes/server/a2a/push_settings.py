"""Where a caller wants to be notified of a task: read from the protocol, and written for it. Pure."""

from typing import Final

from a2a.types import a2a_pb2 as pb
from a2a.utils.errors import InvalidParamsError

from hermes.errors import AddressRefused
from hermes.net.guard import Guard
from hermes.net.untrusted_url import read_url
from hermes.ports.tasks import TaskPush

_LONGEST: Final = 2_000
_LONGEST_ID: Final = 200


def read_push(
    config: pb.TaskPushNotificationConfig, *, task_id: str, version: str, guard: Guard
) -> TaskPush:
    """Return where to notify of a task; raises `InvalidParamsError`.

    A name that leads to an address which may not be fetched is refused when it is called.
    """
    try:
        guard.check_url(read_url(config.url))
    except AddressRefused as error:
        raise InvalidParamsError(f"The url of the push notification is refused: {error}.") from None
    auth = config.authentication
    if len(config.id) > _LONGEST_ID:
        raise InvalidParamsError(f"'id' is longer than {_LONGEST_ID} characters.")
    return TaskPush(
        task_id=task_id,
        id=config.id or task_id,
        url=config.url,
        version=version,
        token=_header_value(config.token, "token"),
        scheme=_header_value(auth.scheme, "authentication.scheme"),
        credentials=_header_value(auth.credentials, "authentication.credentials"),
    )


def write_push(push: TaskPush) -> pb.TaskPushNotificationConfig:
    """Return a configuration as its caller sees it: without the credentials."""
    auth = pb.AuthenticationInfo(scheme=push.scheme) if push.scheme else None
    return pb.TaskPushNotificationConfig(
        id=push.id, task_id=push.task_id, url=push.url, token=push.token, authentication=auth
    )


def _header_value(text: str, name: str) -> str:
    """Return what is sent in a header."""
    if len(text) > _LONGEST or not (text.isascii() and (text.isprintable() or not text)):
        raise InvalidParamsError(
            f"'{name}' is sent in a header: expected at most {_LONGEST:,} printable characters."
        )
    return text
