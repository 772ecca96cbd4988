"""Discord's gateway: where it is, and what a session of the bot begins with."""

from functools import partial
from typing import Final

from hermes.channel_kit.api import Api
from hermes.channel_kit.opcode_gateway import GatewayTicket, OpcodeGateway
from hermes.channel_kit.socket_wire import SocketMark
from hermes.channels.discord.wire import PLATFORM, WireGateway
from hermes.errors import ConnectFailed

_VERSION: Final = "/?v=10&encoding=json"
_CONTENT: Final = 1 << 15
# Servers and channels; messages and reactions, each in servers and in direct chats.
_INTENTS: Final = 1 << 0 | 1 << 9 | 1 << 10 | 1 << 12 | 1 << 13


def gateway_wire(
    api: Api, *, token: str, user_id: str, reads_content: bool, events: frozenset[str]
) -> OpcodeGateway:
    """Return the wire of one bot; `events` are the kinds of events that are of use."""
    return OpcodeGateway(
        partial(_ticket, api, token),
        platform=PLATFORM,
        account=user_id,
        intents=_INTENTS | (_CONTENT if reads_content else 0),
        identity={"properties": dict.fromkeys(("os", "browser", "device"), "hermes")},
        events=events,
    )


async def _ticket(api: Api, token: str, mark: SocketMark | None) -> GatewayTicket:
    if mark is not None:
        return GatewayTicket(api.own_address(mark.address.rstrip("/")) + _VERSION, token)
    found = await api.get("/gateway/bot", WireGateway)
    limit = found.session_start_limit
    if limit.remaining <= 0:
        hours = limit.reset_after / 3_600_000
        raise ConnectFailed(
            f"discord: no session can begin for {hours:.1f} h: this bot has begun too many today, "
            "and Discord would replace its token"
        )
    return GatewayTicket(api.own_address(found.url.rstrip("/")) + _VERSION, token)
