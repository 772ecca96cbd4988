"""`send_message`: sends a message to a chat that the model names.

Messages to the person's own chats need no approval; all others do. A call has one delivery, named
by the turn and the call, so that a crash never sends it twice.
"""

from typing import Annotated, Final

import msgspec
from msgspec import Meta

from hermes.errors import Refused, ToolError
from hermes.message.target import FORMS
from hermes.ports.provider import ToolSpec
from hermes.ports.sends import Courier, FoundTarget, Parcel
from hermes.ports.tool import Approver, ToolContext, ToolTraits

INTENT: Final = "messaging"
MAX_CHARS: Final = 20_000
_APPROVERS: Final[dict[str, Approver]] = {"own": "nobody", "asks": "person", "admins": "admins"}


class _Arguments(msgspec.Struct, forbid_unknown_fields=True):
    target: Annotated[str, Meta(min_length=1)]
    text: Annotated[str, Meta(min_length=1, max_length=MAX_CHARS)]


_SPEC: Final = ToolSpec(
    name="send_message",
    description=(
        "Send a message to another chat. Your answer to the person here needs no tool. A chat that "
        "is not the person's own is sent to only after somebody allowed it."
    ),
    parameters=msgspec.Raw(
        msgspec.json.encode(
            {
                "type": "object",
                "properties": {
                    "target": {
                        "type": "string",
                        "description": f"{FORMS}. A platform alone is its home channel, or the "
                        "person's own chat there; local is a file.",
                    },
                    "text": {"type": "string", "minLength": 1, "maxLength": MAX_CHARS},
                },
                "required": ["target", "text"],
                "additionalProperties": False,
            }
        )
    ),
)


class SendMessage:
    """The tool; implements the tool port and says for each call who must approve it."""

    # A repeated call finds the delivery of the first one.
    traits: Final = ToolTraits(idempotent=True, intents=(INTENT,), on_by_default=True)
    spec: Final = _SPEC

    def __init__(self, courier: Courier) -> None:
        self._courier = courier

    async def approver(self, arguments: msgspec.Raw, context: ToolContext) -> Approver:
        """Return who must approve; nobody if it goes to the person or cannot be sent at all."""
        asked = msgspec.json.decode(arguments, type=_Arguments)
        try:
            return _APPROVERS[(await self._find(asked, context)).reach]
        except ToolError:
            return "nobody"

    async def run(self, arguments: msgspec.Raw, context: ToolContext) -> str:
        """Queue the message for delivery, once."""
        asked = msgspec.json.decode(arguments, type=_Arguments)
        place = await self._find(asked, context)
        if place.reach != "own" and context.approved_by != _APPROVERS[place.reach]:
            raise ToolError(f"send_message: nobody has allowed {place.name} yet; call it again")
        parcel = Parcel(
            id=delivery_id(context),
            message_id=context.turn_id,
            person_id=context.person_id,
            text=asked.text,
        )
        sent = await self._courier.send(parcel, place)
        if sent.where:
            return f"written to the file {sent.where} in the home of this gateway"
        return f"the message is on its way to {place.name}"

    async def _find(self, asked: _Arguments, context: ToolContext) -> FoundTarget:
        try:
            return await self._courier.find(
                asked.target, message_id=context.turn_id, person_id=context.person_id
            )
        except Refused as error:
            raise ToolError(f"send_message: {error}") from error


def delivery_id(context: ToolContext) -> str:
    """Return the id of a call's delivery; it is the same if the call is repeated."""
    return f"o_{context.turn_id.partition('_')[2]}.{context.call}"
