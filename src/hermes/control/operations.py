"""The functions behind operator orders, bound to one store.

The running gateway has them behind `/control`; while none runs, a command opens the store itself.
"""

import asyncio
import secrets
from collections.abc import Collection, Mapping

from hermes.calls.days import Calendar
from hermes.config import CreditSettings, PairingSettings
from hermes.config.entries import TIERS
from hermes.control.agents import AgentOperations
from hermes.control.approvals import ApprovalOperations
from hermes.control.audit import AuditOperations
from hermes.control.branches import BranchAsk, BranchReport, branch_costs
from hermes.control.channels import ChannelOperations
from hermes.control.consent import ConsentOperations
from hermes.control.conversations import ConversationOperations
from hermes.control.credits import CreditOperations
from hermes.control.cron import CronOperations
from hermes.control.deadletters import DeadLetterOperations
from hermes.control.graph_access import GraphOperations
from hermes.control.home import HomeHandles, HomeOperations
from hermes.control.ids import IdOperations, ListAll
from hermes.control.interactions import InteractionOperations
from hermes.control.invitations import InvitationOperations
from hermes.control.keys import KeyOperations, RandomBytes
from hermes.control.live import LiveOperations
from hermes.control.memory import DreamNow, MemoryOperations
from hermes.control.messages import MessageOperations
from hermes.control.overview import OverviewOperations
from hermes.control.pairing import PairingOperations, Wake, wake_nobody
from hermes.control.ratings import RatingOperations
from hermes.control.replays import ReplayOperations
from hermes.control.runtime import GatewayOperations, ModelOperations, RuntimeHandles
from hermes.control.search import SearchOperations
from hermes.control.secrets import SecretOperations
from hermes.control.sends import SendOperations
from hermes.control.sessions import SessionOperations
from hermes.control.skills import SkillOperations
from hermes.control.spending import SpendingOperations
from hermes.control.tokens import TokenOperations
from hermes.control.users import Forget, UserOperations
from hermes.control.why import WhyAsk, WhyReport, explain
from hermes.memory.facts import PeoplesFacts
from hermes.memory.sanitiser import TextLimits
from hermes.memory.soul_cache import MemorySouls, SoulCache
from hermes.memory.structural import BUILT_IN, FactKeys
from hermes.message.ids import MakeId
from hermes.people.pairing import pairing_limits
from hermes.ports.access import AccessStore, Role, allows
from hermes.ports.clock import Clock
from hermes.ports.store import Store

_AS_REQUIRED = TextLimits()


def uncached_facts(
    store: Store,
    *,
    clock: Clock,
    make_id: MakeId,
    limits: TextLimits = _AS_REQUIRED,
    keys: FactKeys = BUILT_IN,
) -> PeoplesFacts:
    """Return what changes facts where no gateway runs, and so no soul is cached."""
    souls = SoulCache(store.facts, MemorySouls(clock), sleep=asyncio.sleep)
    return PeoplesFacts(
        store.facts, souls=souls, clock=clock, make_id=make_id, limits=limits, keys=keys
    )


async def _no_names() -> tuple[str, ...]:
    return ()


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
        day_cap_usd: float | None = None,
        pairing_settings: PairingSettings | None = None,
        random_bytes: RandomBytes = secrets.token_bytes,
        search: SearchOperations | None = None,
        forget_files: Forget | None = None,
        cron: CronOperations | None = None,
        handles: RuntimeHandles | None = None,
        home: HomeHandles | None = None,
        sends: SendOperations | None = None,
        agents: AgentOperations | None = None,
        skills: SkillOperations | None = None,
        secret_operations: SecretOperations | None = None,
    ) -> None:
        self._store = store
        self._sends = sends
        self._agents, self._skills = agents, skills
        self._secrets = secret_operations
        self._cron = cron
        self.search = search or SearchOperations(store, None)
        self._clock = clock
        facts = facts or uncached_facts(store, clock=clock, make_id=make_id)
        self.memory = MemoryOperations(store, facts, dream_now=dream_now)

        handles = handles or RuntimeHandles()

        forget = self._forgetting(facts, handles, forget_files)
        self.users = UserOperations(store, clock=clock, forget=forget, tiers=tiers)
        limits = pairing_limits(pairing_settings or PairingSettings())
        self.pairing = PairingOperations(store, clock=clock, wake=wake, limits=limits)
        self.approvals = ApprovalOperations(store, handles, clock=clock)
        self.credits = CreditOperations(
            store, credit_settings or CreditSettings(), clock=clock, make_id=make_id
        )

        self.keys = KeyOperations(
            store.keys,
            store.spend,
            calendar=calendar,
            clock=clock,
            make_id=make_id,
            address=address,
            random_bytes=random_bytes,
        )
        self.spending = SpendingOperations(store.spend, store.keys, calendar=calendar, clock=clock)
        self.consent = ConsentOperations(store.people, clock=clock)
        self._add_sign_ins(store.access, random_bytes, address=address)
        self.sessions = SessionOperations(store, clock=clock, ended=handles.session_ended)
        self._add_readers()
        self.channels = ChannelOperations(store, handles, clock=clock)
        self._hold = self.channels.hold_of
        self.deadletters = DeadLetterOperations(store, clock=clock, wake=wake, hold=self._hold)
        self.models = ModelOperations(handles)
        self.gateway = GatewayOperations(handles)
        self.live = LiveOperations(store, handles)
        self.home = HomeOperations(home)
        self.overview = OverviewOperations(
            store, handles, calendar=calendar, clock=clock, day_cap_usd=day_cap_usd
        )
        self.replays = ReplayOperations(store, handles.replay)
        self.ids = IdOperations(store, others=self._names())

    def _add_readers(self) -> None:
        """Add the parts that only look at what the store holds, and those that rate it."""
        store = self._store
        self.interactions = InteractionOperations(store)
        self.messages = MessageOperations(store)
        self.conversations = ConversationOperations(store, self.sessions, clock=self._clock)
        self.audit = AuditOperations(store)
        self.graphs = GraphOperations()
        self.ratings = RatingOperations(store.transcripts, store.ids, clock=self._clock)

    def _forgetting(
        self, facts: PeoplesFacts, handles: RuntimeHandles, forget_files: Forget | None
    ) -> Forget:
        """Return what drops everything that is kept of a person beside the store."""

        async def forget(person_id: str) -> None:
            handles.person_erased(person_id)
            await facts.changed(person_id)
            await self.search.erased(person_id)
            if forget_files is not None:
                await forget_files(person_id)

        return forget

    def _add_sign_ins(
        self, access: AccessStore, random_bytes: RandomBytes, *, address: str
    ) -> None:
        clock = self._clock
        self.tokens = TokenOperations(access, clock=clock, random_bytes=random_bytes)
        self.invitations = InvitationOperations(
            access, clock=clock, random_bytes=random_bytes, address=address
        )

    def _names(self) -> Mapping[str, ListAll]:
        """Return what lists the ids and names that no table has."""
        return {
            "session": self.sessions.ids,
            "token": self.tokens.ids,
            "approval": self.approvals.ids,
            "agent": _no_names if self._agents is None else self._agents.names,
            "model": self.models.names,
        }

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

    async def branch_costs(self, ask: BranchAsk) -> BranchReport:
        """Return what a message cost, with everything that it has delegated."""
        return await branch_costs(self._store, ask)

    async def why(self, ask: WhyAsk, *, role: Role = "viewer") -> WhyReport:
        """Return the story of a message, without what was said."""
        return await explain(
            self._store,
            ask.id,
            now=self._clock.now(),
            hold=self._hold,
            lists_ids=allows(role, "operator"),
        )

    async def why_in_full(self, ask: WhyAsk) -> WhyReport:
        """Return the story of a message with what was said."""
        now = self._clock.now()
        return await explain(
            self._store, ask.id, now=now, include_text=True, hold=self._hold, lists_ids=True
        )

    def part(self, class_name: str, *, wanted_by: str) -> object:
        """Return the part of a class, which an order runs; raises `LookupError` if it is missing."""
        for part in (self, *vars(self).values()):
            if any(one.__name__ == class_name for one in type(part).__mro__):
                return part
        raise LookupError(
            f"{wanted_by} needs {class_name}, which these operations were built without: "
            "hand it to Operations, or make it in there"
        )
