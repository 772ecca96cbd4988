"""Converts the body of `POST /api/messages` to an event. Pure."""

import re
from collections.abc import Mapping
from typing import Annotated, Literal

import msgspec

from hermes.errors import BadRequest, Forbidden
from hermes.http.json_body import JsonBody
from hermes.http.message_files import UploadedFile, split_form
from hermes.message.choices import TaskType
from hermes.message.event import MessageEvent
from hermes.message.ids import MakeId
from hermes.message.owner import OWNER_CHANNELS
from hermes.message.parts import Part, TextPart
from hermes.message.source import Source
from hermes.ports.gateway_api import Caller
from hermes.ports.message_files import MessageFiles

ShortText = Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
LongText = Annotated[str, msgspec.Meta(max_length=100_000)]

_COMMAND = re.compile(r"/[A-Za-z][\w-]*(?:\s|$)")


class RestMessage(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The body of a message; without `id` every request is a new message.

    A conversation's name belongs to its sender, unless the conversation is `shared`. A `task` chooses
    the model by its route. If the conversation waits for an approval, a message that `denies_approval`
    denies it and is answered; another one waits for it. A `temporary` message begins a conversation that
    uses nothing of others and leaves nothing to them. Without a `sender`, the token that is shown
    writes to the `agent`; `context_id` is another word for `conversation`. A `skill` is run as if the
    text began with its command. One that `replaces` an earlier message of the conversation takes the
    place of it and of all that followed. A message with `files` needs no text.
    """

    sender: ShortText | None = None
    text: LongText = ""
    files: tuple[UploadedFile, ...] = ()
    conversation: ShortText | None = None
    context_id: ShortText | None = None
    id: ShortText | None = None
    agent: ShortText | None = None
    shared: bool = False
    task: TaskType | None = None
    denies_approval: bool = False
    temporary: bool = False
    replaces: ShortText | None = None
    skill: ShortText | None = None

    @property
    def context(self) -> str | None:
        """The conversation, by whichever name it was given."""
        return self.conversation or self.context_id


_body = JsonBody(RestMessage)


def read_message(raw: bytes) -> RestMessage:
    """Return the message in a JSON body; raises `BadRequest`."""
    return checked(_body.decode(raw))


def read_form(raw: bytes, headers: Mapping[str, str], files: MessageFiles | None) -> RestMessage:
    """Return the message in a form with files; raises `BadRequest`."""
    if files is None:
        raise BadRequest("This gateway takes no files here.")
    text, attached = split_form(raw, headers, files)
    message = _body.decode(text)
    return checked(msgspec.structs.replace(message, files=(*message.files, *attached)))


def checked(message: RestMessage) -> RestMessage:
    """Return a message whose fields fit each other; raises `BadRequest`."""
    if not message.text.strip() and not message.files:
        raise BadRequest("The message has no 'text': send a text, 'files', or both.")
    if message.sender is None and message.agent is None:
        raise BadRequest("The message has no 'sender': name who writes, or the 'agent' to call.")
    if message.conversation is not None and message.context_id is not None:
        raise BadRequest("'conversation' and 'context_id' are the same: send one of them.")
    if message.shared and message.context is None:
        raise BadRequest("The message is 'shared': name the 'conversation' that it is shared in.")
    return message


def to_event(
    message: RestMessage,
    *,
    source: Source,
    now: float,
    make_id: MakeId,
    token: str = "",
    may_delegate: bool = False,
    attached: tuple[Part, ...] = (),
) -> MessageEvent:
    """Return the message as an event; `token` is the id of the token that was used.

    `attached` are its files. With a token that `may_delegate` its text may be commands that give tasks to agents.
    """
    return MessageEvent(
        account="default",
        route="api",
        external_id=message.id or make_id("x"),
        source=source,
        parts=(*((TextPart(message.text),) if message.text.strip() else ()), *attached),
        at=now,
        type=_type_of(message.text),
        agent=message.agent,
        token=token,
        task=message.task,
        denies_approval=message.denies_approval,
        is_temporary=message.temporary,
        replaces=message.replaces or "",
        may_delegate=may_delegate,
        skill=message.skill,
    )


def source_of(sender: str, conversation: str | None, *, shared: bool) -> Source:
    """Return the source of a message: a direct chat, or a thread that several senders share."""
    chat = conversation or sender
    if not shared:
        return Source(platform="rest", chat_id=chat, user_id=sender)
    return Source(
        platform="rest",
        chat_id=chat,
        chat_type="thread",
        thread_id=chat,
        user_id=sender,
        user_name=sender,
    )


def check_sender(sender: str, caller: Caller) -> None:
    """Raise `Forbidden` if a caller who is not the owner writes as the owner."""
    if ("rest", sender) in OWNER_CHANNELS and caller.role != "owner":
        raise Forbidden(
            f"The sender {sender!r} is the owner at the terminal, and this is a token of the role "
            f"{caller.role}: use another sender, or a token of the role owner."
        )


def _type_of(text: str) -> Literal["text", "command"]:
    return "command" if _COMMAND.match(text) else "text"
