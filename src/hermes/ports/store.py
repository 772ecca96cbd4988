"""The store port: every durable change, each method one transaction.

A method that changes state returns after the change is on disk. Methods that carry a `Lease`
raise `LeaseLost` and write nothing when the lane has moved on. Callers never see SQL, keys or
ciphertext; a second backend adds a folder and passes the same contract suite.
"""

from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from hermes.ports.access import AccessStore
from hermes.ports.activity import ActivityStore
from hermes.ports.agents import AgentStore
from hermes.ports.approvals import ApprovalStore
from hermes.ports.audit import AuditStore
from hermes.ports.channel_state import ChannelState
from hermes.ports.compaction import CompactionStore
from hermes.ports.cron import CronStore
from hermes.ports.directory import DirectoryStore
from hermes.ports.dreams import DreamStore
from hermes.ports.feed import ChangeFeed
from hermes.ports.fleet import Fleet
from hermes.ports.ids import IdStore
from hermes.ports.inbox import InboxStore
from hermes.ports.interactions import InteractionStore
from hermes.ports.keys import AnswerStore, KeyStore
from hermes.ports.memory import FactStore, JobStore, SoulStore, VectorStore
from hermes.ports.messages import MessageLister
from hermes.ports.offers import OfferStore
from hermes.ports.operations import (
    DeadLetterStore,
    ModelSwapStore,
    OpenSessionStore,
    PausedStore,
)
from hermes.ports.outbox import OutboxStore
from hermes.ports.pairing import PairingStore
from hermes.ports.people import OwnerStore, PeopleStore, UserStore
from hermes.ports.person_rows import HomeReader
from hermes.ports.replays import ReplayStore
from hermes.ports.responses import ResponseStore
from hermes.ports.secrets import SecretStore
from hermes.ports.sends import SendStore
from hermes.ports.session_history import TranscriptStore
from hermes.ports.sessions import PruningStore, SessionStore
from hermes.ports.spend import SpendStore
from hermes.ports.tasks import TaskStore
from hermes.ports.timeline import Timeline
from hermes.ports.turns import TurnStore
from hermes.ports.wallet import WalletStore

Result = TypeVar("Result")


class Store(Protocol):
    """All of it, as one value."""

    @property
    def inbox(self) -> InboxStore:
        """Messages becoming ours."""
        ...

    @property
    def turns(self) -> TurnStore:
        """Lanes, steps and commits."""
        ...

    @property
    def sessions(self) -> SessionStore:
        """Ends of sessions."""
        ...

    @property
    def pruning(self) -> PruningStore:
        """Conversations that ended long ago."""
        ...

    @property
    def approvals(self) -> ApprovalStore:
        """Turns that wait for a person."""
        ...

    @property
    def outbox(self) -> OutboxStore:
        """Replies on their way out."""
        ...

    @property
    def offers(self) -> OfferStore:
        """Answers that are shown as buttons."""
        ...

    @property
    def feed(self) -> ChangeFeed:
        """Rare changes, as caches hear of them."""
        ...

    @property
    def fleet(self) -> Fleet:
        """The processes that work on it."""
        ...

    @property
    def dead_letters(self) -> DeadLetterStore:
        """Replies that were given up."""
        ...

    @property
    def paused(self) -> PausedStore:
        """Paused platforms."""
        ...

    @property
    def model_swap(self) -> ModelSwapStore:
        """The default model that an operator chose."""
        ...

    @property
    def open_sessions(self) -> OpenSessionStore:
        """Sessions that have not ended."""
        ...

    @property
    def audit(self) -> AuditStore:
        """Orders of operators."""
        ...

    @property
    def directory(self) -> DirectoryStore:
        """Chats by name."""
        ...

    @property
    def channel_state(self) -> ChannelState:
        """What channels remember."""
        ...

    @property
    def sends(self) -> SendStore:
        """Deliveries that are no replies."""
        ...

    @property
    def transcripts(self) -> TranscriptStore:
        """What was said."""
        ...

    @property
    def people(self) -> PeopleStore:
        """Who is who."""
        ...

    @property
    def users(self) -> UserStore:
        """People and their channels."""
        ...

    @property
    def owners(self) -> OwnerStore:
        """The person who owns the gateway."""
        ...

    @property
    def pairing(self) -> PairingStore:
        """One-time codes."""
        ...

    @property
    def wallets(self) -> WalletStore:
        """What people have left."""
        ...

    @property
    def facts(self) -> FactStore:
        """What is known of people."""
        ...

    @property
    def vectors(self) -> VectorStore:
        """The vectors of facts."""
        ...

    @property
    def souls(self) -> SoulStore:
        """The system blocks of sessions."""
        ...

    @property
    def jobs(self) -> JobStore:
        """Work after the reply."""
        ...

    @property
    def cron(self) -> CronStore:
        """Jobs that time starts."""
        ...

    @property
    def compactions(self) -> CompactionStore:
        """Conversations that are summed up."""
        ...

    @property
    def dreams(self) -> DreamStore:
        """What weekly looks at people added up to."""
        ...

    @property
    def spend(self) -> SpendStore:
        """What model calls took."""
        ...

    @property
    def keys(self) -> KeyStore:
        """Keys of callers."""
        ...

    @property
    def secrets(self) -> SecretStore:
        """API keys and passwords that operators store."""
        ...

    @property
    def answers(self) -> AnswerStore:
        """Remembered answers."""
        ...

    @property
    def responses(self) -> ResponseStore:
        """Stored responses."""
        ...

    @property
    def interactions(self) -> InteractionStore:
        """What turns took."""
        ...

    @property
    def messages(self) -> MessageLister:
        """Messages as operators list them."""
        ...

    @property
    def activity(self) -> ActivityStore:
        """Counts of turns, and those that run."""
        ...

    @property
    def ids(self) -> IdStore:
        """Ids by a part of them."""
        ...

    @property
    def agents(self) -> AgentStore:
        """Agents that are made while the gateway runs."""
        ...

    @property
    def tasks(self) -> TaskStore:
        """Tasks of callers over A2A."""
        ...

    @property
    def replays(self) -> ReplayStore:
        """Answers that operators had made again."""
        ...

    @property
    def access(self) -> AccessStore:
        """Credentials as hashes."""
        ...

    @property
    def graphs(self) -> HomeReader:
        """The message graphs, for plain reading."""
        ...

    async def read_graphs(self, work: Callable[[HomeReader], Result]) -> Result:
        """Run plain code over the message graphs in a thread, as they are when it begins.

        It is for long readings; the code may keep nothing of the reader.
        """
        ...

    async def rotate_keys(
        self, key_file: bytes | None = None, *, tell: Callable[[int], None] | None = None
    ) -> int:
        """Wrap every data key with the newest key of a key file; return how many.

        It works in small transactions, so that messages continue meanwhile; an interrupted rotation
        can be repeated. `tell` hears how many are done.
        """
        ...

    def digest(self, content: bytes) -> bytes:
        """Return a keyed hash: equal for equal content, and telling nothing without the key."""
        ...

    async def timeline(self, name: str) -> Timeline | None:
        """Return everything known of a message, a refusal, a delivery or a call, by its id.

        A message is found by its external id and by that of a reply, too; of a call there are only
        events, and of what was sent without a message only its delivery.
        """
        ...

    async def purge(self, before: float, *, limit: int) -> int:
        """Forget finished messages and calls older than `before`, at most `limit`; how many."""
        ...

    async def status(self) -> dict[str, Any]:
        """Return counts and sizes for `hermes status`."""
        ...

    def writable(self) -> str | None:
        """Return None while new messages can be kept, otherwise the reason why not."""
        ...

    async def close(self) -> None:
        """Finish the running commit and close the files."""
        ...
