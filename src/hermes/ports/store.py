"""The store port: every durable change, each method one transaction.

A method that changes state returns after the change is on disk. Methods that carry a `Lease`
raise `LeaseLost` and write nothing when the lane has moved on. Callers never see SQL, keys or
ciphertext; a second backend adds a folder and passes the same contract suite.
"""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from hermes.message.event import MessageEvent
from hermes.message.outcome import MessageState, Outcome
from hermes.ports.access import AccessStore
from hermes.ports.audit import AuditStore
from hermes.ports.cron import CronStore
from hermes.ports.directory import DirectoryStore
from hermes.ports.dreams import DreamStore
from hermes.ports.interactions import InteractionStore
from hermes.ports.keys import KeptAnswer, KeyStore
from hermes.ports.memory import FactStore, JobStore, SoulStore, VectorStore
from hermes.ports.operations import DeadLetterStore, OpenSessionStore, PausedStore
from hermes.ports.people import PairingStore, UserStore
from hermes.ports.records import (
    AcceptResult,
    Approval,
    ApprovalState,
    Begin,
    Commit,
    DeliveryNote,
    DeliveryRecord,
    Event,
    LaneView,
    Lease,
    MessageRecord,
    NewApproval,
    NewDelivery,
    NewMessage,
    Person,
    RefusedMessage,
    StepWrite,
    Timeline,
    TurnResult,
    VisibleHistory,
)
from hermes.ports.sends import SendStore
from hermes.ports.session_history import ConversationPage, PastStore
from hermes.ports.sessions import PruningStore, SessionStore
from hermes.ports.shares import ShareCounts
from hermes.ports.spend import SpendStore
from hermes.ports.wallet import WalletStore


class InboxStore(Protocol):
    """Messages becoming ours, once each."""

    async def accept(
        self, message: NewMessage, *, kept: Callable[[AcceptResult], None]
    ) -> AcceptResult:
        """Keep the message; the same id with another body raises `Conflict`.

        `kept` is called once the message is on disk, whether or not the caller still waits.
        """
        ...

    def knows(self, event: MessageEvent) -> bool:
        """Return True if a message of this id was accepted before, the same way."""
        ...

    def waiting(self) -> int:
        """Return how many accepted messages have no outcome yet."""
        ...

    def shares(self) -> ShareCounts:
        """Return whose they are, as far as they came over a channel."""
        ...

    def came_by(self, lane: str) -> str:
        """Return the way that the first waiting message of a lane came; empty if over no channel."""
        ...

    def get(self, message_id: str) -> MessageRecord | None:
        """Return one message."""
        ...

    def state(self, message_id: str) -> MessageState | None:
        """Return where one message stands, without opening it."""
        ...

    def result(self, message_id: str) -> TurnResult | None:
        """Return what a finished message answered."""
        ...

    async def refuse(self, refusal: RefusedMessage, *, keep: int) -> None:
        """Note a refusal, keeping only the newest `keep`."""
        ...

    async def note(self, message_id: str, event: Event) -> None:
        """Add a line to a message's timeline."""
        ...


class TurnStore(Protocol):
    """Lanes, leases, steps and the commit."""

    def lanes_with_work(self) -> tuple[str, ...]:
        """Return every lane that has an unfinished message, oldest first."""
        ...

    def view(self, lane: str) -> LaneView:
        """Return the next message of a lane, and its steps if it had begun."""
        ...

    async def begin(self, begin: Begin) -> Lease:
        """Lease the lane and start the message's turn; raises `LeaseLost` if the lane moved.

        With a limited hold that the balance does not cover it raises `NoCredits`.
        """
        ...

    async def renew(self, leases: Sequence[Lease], *, expires: float) -> tuple[Lease, ...]:
        """Extend leases that have not expired; returns those that were lost."""
        ...

    async def step(self, lease: Lease, write: StepWrite) -> None:
        """Record steps of the turn."""
        ...

    async def commit(self, lease: Lease, commit: Commit) -> None:
        """End the turn and release the lane."""
        ...

    async def abandon(self, message_id: str, outcome: Outcome) -> None:
        """End a message that cannot be committed like any other, without words or charge."""
        ...

    def waiting(self, lane: str) -> tuple[MessageRecord, ...]:
        """Return messages that wait on a lane for their turn, the oldest first."""
        ...

    def below(self, lane: str) -> tuple[MessageRecord, ...]:
        """Return what has not ended on lanes below one, the oldest first."""
        ...

    def steering(self, lane: str, person_id: str) -> tuple[MessageRecord, ...]:
        """Return waiting messages of the person that want to join their running turn on the lane."""
        ...


class ApprovalStore(Protocol):
    """Turns that wait for a person."""

    async def park(
        self,
        lease: Lease,
        approval: NewApproval,
        *,
        question: NewDelivery | None,
        write: StepWrite,
    ) -> None:
        """Write the question, release the lease and leave the hold standing."""
        ...

    async def ask(
        self,
        lease: Lease,
        approval: NewApproval,
        *,
        question: NewDelivery | None,
        write: StepWrite,
    ) -> None:
        """Write the question of a tool that waits for its answer while it runs; the turn goes on."""
        ...

    async def settle(self, approval_id: str, state: ApprovalState, *, by: str, at: float) -> bool:
        """Settle a question as `decide` does, and tell whether it still waited."""
        ...

    def was_asked(self, who: str) -> bool:
        """Tell whether somebody was ever asked something by a running tool."""
        ...

    def is_standing(self, what: str, who: str) -> bool:
        """Tell whether somebody has said "always" to something."""
        ...

    async def stand(self, what: str, who: str, *, is_standing: bool) -> None:
        """Keep somebody's "always", or forget it."""
        ...

    async def decide(
        self, approval_id: str, state: ApprovalState, *, by: str, at: float
    ) -> Approval:
        """Settle a waiting approval; raises `GuardFailed` when it is no longer waiting."""
        ...

    def get(self, approval_id: str) -> Approval | None:
        """Return one approval."""
        ...

    def waiting(self, lane: str) -> Approval | None:
        """Return the approval that a lane waits on."""
        ...

    def waiting_around(self, lane: str) -> tuple[Approval, ...]:
        """Return what waits on a lane or below it, in background tasks and subagents."""
        ...

    def overdue(self, now: float) -> tuple[str, ...]:
        """Return waiting approvals whose time is up."""
        ...


class OutboxStore(Protocol):
    """Replies on their way out."""

    async def open_preview(
        self, lease: Lease, delivery: NewDelivery, *, message_id: str, person_id: str
    ) -> DeliveryRecord:
        """Write a preview row before its first send; returns the standing row on resume."""
        ...

    async def preview_sent(
        self, lease: Lease, delivery_id: str, *, platform_message_id: str, number: int = 0
    ) -> None:
        """Keep the platform's id of a preview's message before any edit."""
        ...

    async def preview_opens(
        self, lease: Lease, delivery_id: str, *, number: int, is_sent: bool = True
    ) -> None:
        """Write that a preview's message `number` (from 1) may stand, or certainly does not."""
        ...

    async def fresh(self, delivery_id: str) -> None:
        """Send the whole reply anew; the messages that showed it are taken back afterwards."""
        ...

    def is_shown(self, delivery_id: str) -> bool:
        """Tell whether a preview is known to stand on its platform."""
        ...

    def due(
        self, platform: str, now: float, *, limit: int, at_most_s: float = 1e9
    ) -> tuple[DeliveryRecord, ...]:
        """Return in order what may be sent; more than `at_most_s` away the clock was set back."""
        ...

    def next_due_at(self, platform: str) -> float | None:
        """Return when the next waiting delivery of a platform becomes due."""
        ...

    async def sending(self, delivery_id: str, *, chunk: int, at: float) -> None:
        """Mark a chunk as being on the wire, before the wire call."""
        ...

    async def chunk_sent(
        self,
        delivery_id: str,
        *,
        chunk: int,
        platform_message_id: str,
        last: bool,
        at: float,
        note: DeliveryNote | None = None,
    ) -> None:
        """Mark a chunk as delivered; a `note` is kept in the delivery's story."""
        ...

    async def retry(
        self,
        delivery_id: str,
        *,
        at: float,
        failure: str,
        counts: bool,
        note: DeliveryNote | None = None,
    ) -> None:
        """Put a delivery back to be sent at `at`; `counts` uses up an attempt."""
        ...

    async def unknown(
        self, delivery_id: str, *, at: float, note: DeliveryNote | None = None
    ) -> None:
        """Say that nobody knows whether the delivery arrived."""
        ...

    async def hold(self, delivery_id: str, *, at: float, note: DeliveryNote | None = None) -> None:
        """Leave an `unknown` delivery to the operator."""
        ...

    async def dead(
        self, delivery_id: str, *, failure: str, at: float, note: DeliveryNote | None = None
    ) -> None:
        """Move a delivery to the dead letters."""
        ...

    async def returned(
        self, delivery_id: str, *, platform: str, chunk: int, failure: str, status: str, at: float
    ) -> str | None:
        """Move what came back after it was sent to the dead letters; returns the message's id.

        Sent again, it begins with the chunk that came back. None if the platform has no such delivery, or it is among the dead letters already.
        """
        ...

    def unsettled(self, platform: str) -> tuple[DeliveryRecord, ...]:
        """Return the `unknown` deliveries that policy has not settled."""
        ...

    async def expire(self, before: float, *, served: Sequence[str], at: float) -> int:
        """Let replies older than `before` die on platforms that no sender serves."""
        ...

    def waiting(self, platform: str | None = None) -> int:
        """Return how many deliveries are not sent, dead or settled."""
        ...


class TranscriptStore(PastStore, Protocol):
    """What was said in a session: the message graph, as a turn needs it."""

    def history(
        self, lane: str, *, epoch: int, head: int, limit: int, cut: int = 0
    ) -> VisibleHistory:
        """Return what a turn sees of an epoch: at most `limit` of its newest messages.

        `head` is where the lane stands; the last `cut` messages are left out. A long conversation is cut in steps, so that what is sent
        begins alike for many turns.
        """
        ...

    def sessions(self, *, platform: str | None, limit: int) -> tuple[dict[str, Any], ...]:
        """Return sessions, the most recently used first."""
        ...

    def conversation(
        self,
        lane: str,
        *,
        limit: int,
        person_id: str | None = None,
        before: str | None = None,
    ) -> ConversationPage:
        """Return the newest messages of a session over all its epochs, oldest first.

        What was said stays, also when the rows of its messages have been forgotten. Of epochs that
        have ended only what `person_id` said is there: a session can be handed to another person.
        `before` is the `earlier` of another page; raises `BadRequest` if it is none.
        """
        ...


class PeopleStore(Protocol):
    """Who is who, and what they may spend."""

    def find(self, platform: str, user_id: str) -> Person | None:
        """Return the person behind a channel id."""
        ...

    def get(self, person_id: str) -> Person | None:
        """Return one person."""
        ...

    def balance(self, person_id: str) -> int:
        """Return the ledger's sum minus open holds."""
        ...

    async def set_consent(self, person_id: str, *, may_train: bool, at: float) -> bool:
        """Say whether a person's conversations may be trained on; false if nobody has this id."""
        ...

    async def erase(self, person_id: str, *, at: float) -> None:
        """Destroy the person's data key: every body of theirs is unreadable from then on."""
        ...


class AnswerStore(Protocol):
    """Remembered answers, sealed with the key of the person they were given to."""

    async def put(self, answer: KeptAnswer, *, keep: int) -> None:
        """Remember an answer, forgetting the oldest beyond `keep`."""
        ...

    def get(self, digest: bytes, *, person_id: str, now: float) -> KeptAnswer | None:
        """Return a remembered answer of this person that has not expired."""
        ...

    async def forget(self, *, before: float) -> int:
        """Drop answers that expired before then; returns how many."""
        ...


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
    def dead_letters(self) -> DeadLetterStore:
        """Replies that were given up."""
        ...

    @property
    def paused(self) -> PausedStore:
        """Platforms that rest."""
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
        """Where facts stand among meanings."""
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
    def answers(self) -> AnswerStore:
        """Remembered answers."""
        ...

    @property
    def interactions(self) -> InteractionStore:
        """What turns took."""
        ...

    @property
    def access(self) -> AccessStore:
        """Credentials as hashes."""
        ...

    async def recover(self) -> tuple[str, ...]:
        """Void the leases of dead incarnations, mark what they left half done; returns their lanes."""
        ...

    def digest(self, content: bytes) -> bytes:
        """Return a keyed hash: equal for equal content, and telling nothing without the key."""
        ...

    def timeline(self, name: str) -> Timeline | None:
        """Return everything known of a message, a refusal or a call, by its id.

        A message is found by its external id too; of a call there are only events.
        """
        ...

    async def purge(self, before: float, *, limit: int) -> int:
        """Forget finished messages and calls older than `before`, at most `limit`; how many."""
        ...

    def status(self) -> dict[str, Any]:
        """Return counts and sizes for `hermes status`."""
        ...

    def writable(self) -> str | None:
        """Return None while new messages can be kept, otherwise the reason why not."""
        ...

    async def close(self) -> None:
        """Finish the running commit and close the files."""
        ...
