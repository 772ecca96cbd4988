"""The functions behind operator orders, bound to one store.

The running gateway has them behind `/control`; while none runs, a command opens the store itself.
"""

import asyncio
import secrets
from collections.abc import Collection

from hermes.calls.days import Calendar
from hermes.config import CreditSettings
from hermes.config.entries import TIERS
from hermes.control.audit import AuditOperations
from hermes.control.channels import ChannelOperations
from hermes.control.consent import (
    ConsentAsk,
    ConsentOrder,
    ConsentReport,
    consent,
    set_consent,
)
from hermes.control.credits import CreditOperations
from hermes.control.cron import CronOperations
from hermes.control.deadletters import DeadLetterOperations
from hermes.control.graph_access import GraphOperations
from hermes.control.interactions import InteractionAsk, InteractionsReport, interactions
from hermes.control.keys import (
    EndedKey,
    KeyEnd,
    KeysReport,
    MadeKey,
    NewKey,
    RandomBytes,
    create_key,
    key_line,
    revoke_key,
)
from hermes.control.memory import DreamNow, MemoryOperations
from hermes.control.pairing import PairingOperations, Wake, wake_nobody
from hermes.control.runtime import GatewayOperations, ModelOperations, RuntimeHandles
from hermes.control.search import SearchOperations
from hermes.control.sends import SendOperations
from hermes.control.sessions import SessionOperations
from hermes.control.spending import (
    CostAsk,
    CostsReport,
    SwitchOrder,
    SwitchReport,
    costs,
    kill_switch,
    set_kill_switch,
)
from hermes.control.tokens import TokenOperations
from hermes.control.users import Forget, UserOperations
from hermes.control.why import WhyAsk, WhyReport, explain
from hermes.memory.facts import PeoplesFacts
from hermes.memory.soul_cache import MemorySouls, SoulCache
from hermes.message.ids import MakeId
from hermes.ports.clock import Clock
from hermes.ports.store import Store


def _facts(store: Store, *, clock: Clock, make_id: MakeId) -> PeoplesFacts:
    """Return what changes facts where no gateway runs, and so no soul is cached."""
    souls = SoulCache(store.facts, MemorySouls(clock), sleep=asyncio.sleep)
    return PeoplesFacts(store.facts, souls=souls, clock=clock, make_id=make_id)


class Operations:
    """Runs operator orders; `address` is where callers of `/v1` reach the gateway."""

    def __init__(
        self,
        store: Store,
        *,
        calendar: Calendar,
        clock: Clock,
        make_id: MakeId,
        address: str,
        facts: PeoplesFacts | None = None,
        dream_now: DreamNow | None = None,
        wake: Wake = wake_nobody,
        tiers: Collection[str] = tuple(TIERS),
        credit_settings: CreditSettings | None = None,
        random_bytes: RandomBytes = secrets.token_bytes,
        search: SearchOperations | None = None,
        forget_files: Forget | None = None,
        cron: CronOperations | None = None,
        handles: RuntimeHandles | None = None,
        sends: SendOperations | None = None,
    ) -> None:
        self._store = store
        self._sends = sends
        self._cron = cron
        self.search = search or SearchOperations(store, None)
        self._calendar = calendar
        self._clock = clock
        self._make_id = make_id
        self._address = address
        self._random_bytes = random_bytes
        facts = facts or _facts(store, clock=clock, make_id=make_id)
        self.memory = MemoryOperations(store, facts, dream_now=dream_now)

        handles = handles or RuntimeHandles()

        async def forget(person_id: str) -> None:
            handles.person_erased(person_id)
            await facts.changed(person_id)
            await self.search.erased(person_id)
            if forget_files is not None:
                await forget_files(person_id)

        self.users = UserOperations(store, clock=clock, forget=forget, tiers=tiers)
        self.pairing = PairingOperations(store, clock=clock, wake=wake)
        self.credits = CreditOperations(
            store, credit_settings or CreditSettings(), clock=clock, make_id=make_id
        )

        self.audit = AuditOperations(store)
        self.tokens = TokenOperations(store.access, clock=clock, random_bytes=random_bytes)
        self.sessions = SessionOperations(store, clock=clock, ended=handles.session_ended)
        self.channels = ChannelOperations(store, handles, clock=clock)
        self._hold = self.channels.hold_of
        self.deadletters = DeadLetterOperations(store, clock=clock, wake=wake, hold=self._hold)
        self.models = ModelOperations(handles)
        self.gateway = GatewayOperations(handles)
        self.graphs = GraphOperations()

    @property
    def cron(self) -> CronOperations:
        """Orders about scheduled jobs."""
        assert self._cron is not None
        return self._cron

    @property
    def sends(self) -> SendOperations:
        """Orders to send messages."""
        assert self._sends is not None
        return self._sends

    async def why(self, ask: WhyAsk) -> WhyReport:
        """Return the story of a message, without what was said."""
        return explain(self._store, ask.id, now=self._clock.now(), hold=self._hold)

    async def why_in_full(self, ask: WhyAsk) -> WhyReport:
        """Return the story of a message with what was said."""
        now = self._clock.now()
        return explain(self._store, ask.id, now=now, include_text=True, hold=self._hold)

    async def create_key(self, new: NewKey) -> MadeKey:
        """Make a key for a caller; only now its secret is told."""
        at = self._clock.now()
        secret, key = await create_key(
            self._store.keys,
            new,
            key_id=self._make_id("k"),
            at=at,
            random_bytes=self._random_bytes,
        )
        line = key_line(self._store.spend, key, calendar=self._calendar, now=at)
        return MadeKey(secret=secret, address=self._address, key=line)

    async def keys(self) -> KeysReport:
        """Return every key with what it used."""
        store, now = self._store, self._clock.now()
        return KeysReport(
            keys=tuple(
                key_line(store.spend, key, calendar=self._calendar, now=now)
                for key in store.keys.list()
            )
        )

    async def revoke_key(self, end: KeyEnd) -> EndedKey:
        """End a key at once."""
        at = self._clock.now()
        key, changed = await revoke_key(self._store.keys, end, at=at)
        line = key_line(self._store.spend, key, calendar=self._calendar, now=at)
        return EndedKey(key=line, changed=changed)

    async def kill_switch(self) -> SwitchReport:
        """Return how the kill switch stands."""
        return kill_switch(self._store.spend)

    async def set_kill_switch(self, order: SwitchOrder) -> SwitchReport:
        """Stop every model call at once, or release them."""
        return await set_kill_switch(self._store.spend, order, at=self._clock.now())

    async def costs(self, ask: CostAsk) -> CostsReport:
        """Return what model calls cost."""
        store, today = self._store, self._calendar.day(self._clock.now())
        return costs(store.spend, ask, today=today, keys=store.keys.list())

    async def interactions(self, ask: InteractionAsk) -> InteractionsReport:
        """Return the provenance of turns."""
        return await interactions(self._store, ask)

    async def consent(self, ask: ConsentAsk) -> ConsentReport:
        """Return whether a person's conversations may be trained on."""
        return consent(self._store.people, ask)

    async def set_consent(self, order: ConsentOrder) -> ConsentReport:
        """Keep that a person agreed to training, or took it back."""
        return await set_consent(self._store.people, order, at=self._clock.now())
