"""The courier that sends to named targets, for tools, schedules and operators; with and without a
gateway.
"""

from collections.abc import Callable, Mapping
from pathlib import Path

from hermes.agents.roster import Roster
from hermes.config import Settings
from hermes.control.sends import AdoptFile, DeliverNow, SendOperations
from hermes.errors import NotFound
from hermes.message.ids import MakeId
from hermes.message.owner import OWNER_CHAT, WEB_OWNER
from hermes.message.source import Source
from hermes.outbox.courier import OutboxCourier, OwnChat, Platforms
from hermes.outbox.local_file import LocalFiles
from hermes.ports.channel import Channel
from hermes.ports.clock import Clock
from hermes.ports.sends import Courier, FoundTarget, Parcel, SendResult
from hermes.ports.signals import Signals
from hermes.ports.store import Store
from hermes.sessions.keys import session_key

_OWN = ("rest", "web", "v1", "a2a")
Wake = Callable[[str], None]


def wake_nobody(_name: str) -> None:
    """Without a gateway nothing is sent now; the next gateway sends it."""


def make_send_operations(
    store: Store,
    settings: Settings,
    *,
    home: Path,
    clock: Clock,
    make_id: MakeId,
    wake_lane: Wake = wake_nobody,
    wake_outbox: Wake = wake_nobody,
    deliver: DeliverNow | None = None,
    adopt: AdoptFile | None = None,
) -> SendOperations:
    """Return the functions for operators' messages; the running gateway sends what is stored."""
    pushed = [name for name, chosen in settings.channels.items() if chosen.enabled]
    homes = {
        name: platform.home_channel
        for name, platform in settings.channels.items()
        if platform.home_channel is not None and name in pushed
    }
    agents = tuple(settings.agents)
    courier = OutboxCourier(
        store,
        platforms=Platforms(
            names=(*_OWN, *pushed), pushed=pushed, homes=homes, own_chats=own_chats(settings)
        ),
        agents=agents,
        has_admins=bool(settings.approvals.admins),
        files=LocalFiles(home),
        wake_lane=wake_lane,
        wake_outbox=wake_outbox,
        clock=clock,
        is_operators=True,
    )
    return SendOperations(
        store,
        courier,
        agents=agents,
        pushed=pushed,
        clock=clock,
        make_id=make_id,
        deliver=deliver,
        adopt=adopt,
    )


def own_chats(settings: Settings) -> tuple[OwnChat, ...]:
    """Return the chats that begin when something is sent there: the owner's, in the web chat."""
    platform, user_id = WEB_OWNER
    source = Source(platform=platform, chat_id=OWNER_CHAT, user_id=user_id)
    agent = Roster(
        settings.agents, default=settings.default_agent, rules=settings.agent_rules
    ).for_source(source)
    lane = str(session_key(source, agent.key))
    return (OwnChat(platform=platform, chat_id=OWNER_CHAT, user_id=user_id, lane=lane),)


class NoCourier:
    """Fits `ports.sends.Courier` in a core that can only reply."""

    async def find(
        self, target: str, *, message_id: str, person_id: str, is_operators: bool = False
    ) -> FoundTarget:
        """Find nothing: raise `NotFound`."""
        del target, message_id, person_id, is_operators
        raise NotFound("nothing can be sent to other chats here")

    async def send(self, parcel: Parcel, place: FoundTarget) -> SendResult:
        """Send nothing: raise `NotFound`."""
        del parcel, place
        raise NotFound("nothing can be sent to other chats here")


def make_courier(
    store: Store,
    settings: Settings,
    *,
    channels: Mapping[str, Channel],
    home: Path | None,
    signals: Signals,
    clock: Clock,
) -> Courier:
    """Return the courier for tools and schedules; without a home it sends nothing."""
    if home is None:
        return NoCourier()
    pushed = [name for name, item in channels.items() if item.capabilities.delivery == "push"]
    homes = {
        name: platform.home_channel
        for name, platform in settings.channels.items()
        if platform.home_channel is not None and name in channels
    }
    return OutboxCourier(
        store,
        platforms=Platforms(
            names=tuple(channels), pushed=pushed, homes=homes, own_chats=own_chats(settings)
        ),
        agents=tuple(settings.agents),
        has_admins=bool(settings.approvals.admins),
        files=LocalFiles(home),
        wake_lane=signals.wake_lane,
        wake_outbox=signals.wake_outbox,
        clock=clock,
    )
