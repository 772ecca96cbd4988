"""Which invitations are accepted. Pure."""

import msgspec

from hermes.channels.matrix.settings import MatrixSettings
from hermes.channels.matrix.wire import InvitedRoom, read_event
from hermes.errors import BadRequest


class Invite(msgspec.Struct, frozen=True, kw_only=True):
    """An invitation of the bot into a room; `is_direct` as the inviter meant it."""

    room_id: str
    inviter: str
    is_direct: bool = False


def read_invite(room_id: str, room: InvitedRoom, *, own: str) -> Invite | None:
    """Return the invitation; None if its sender is not named."""
    for raw in room.invite_state.events:
        try:
            event = read_event(raw)
        except BadRequest:
            continue
        content = event.content
        is_ours = event.type == "m.room.member" and event.state_key == own
        if is_ours and content.get("membership") == "invite" and event.sender:
            return Invite(
                room_id=room_id,
                inviter=event.sender,
                is_direct=content.get("is_direct") is True,
            )
    return None


def accepts(invite: Invite, settings: MatrixSettings) -> bool:
    """Return whether the bot accepts; strangers can pair in a direct chat."""
    if settings.join != "allowed":
        return settings.join == "all"
    if settings.allowed_users:
        return invite.inviter in settings.allowed_users
    return invite.is_direct
