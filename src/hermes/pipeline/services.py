"""What the stages may use: the parts that `app.py` hands in, and the one turn's own state."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping

import msgspec

from hermes.agents.roster import Roster
from hermes.calls.planning import Planner
from hermes.calls.walk import Calls
from hermes.config import Settings
from hermes.memory.facts import PeoplesFacts
from hermes.memory.recall import Recall
from hermes.memory.soul_cache import SoulCache
from hermes.message.event import MessageEvent
from hermes.message.ids import MakeId
from hermes.message.outcome import DeliveryState
from hermes.people.reception import Reception
from hermes.pipeline.interrupts import Interrupt
from hermes.pipeline.journal import Journal
from hermes.ports.channel import Accepted
from hermes.ports.clock import Clock
from hermes.ports.store import Store
from hermes.ports.tool import Tool
from hermes.ports.upward import Previewer, Progress, Watch
from hermes.tools.gate_rules import GateRules

Sleep = Callable[[float], Awaitable[None]]
Follow = Callable[[str], AsyncIterator[Progress]]
PutChild = Callable[[MessageEvent, str], Awaitable[Accepted]]


class Services(msgspec.Struct, frozen=True, kw_only=True):
    """What every turn shares."""

    store: Store
    settings: Settings
    roster: Roster
    reception: Reception
    planner: Planner
    calls: Calls
    tools: Mapping[str, Tool]
    gate_rules: GateRules
    souls: SoulCache
    facts: PeoplesFacts
    recall: Recall
    watch: Watch
    previewer: Previewer
    clock: Clock
    make_id: MakeId
    sleep: Sleep
    put_child: PutChild
    follow: Follow
    wake_outbox: Callable[[str], None]
    first_state: Callable[[str], DeliveryState]
    owner: str


class TurnContext(msgspec.Struct, frozen=True):
    """What a stage gets beside the turn: the shared services, its journal and its stop switch."""

    services: Services
    journal: Journal
    interrupt: Interrupt
