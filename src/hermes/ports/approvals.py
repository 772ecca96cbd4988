"""Approvals over the store port: turns that wait for a person, and the decision."""

from collections.abc import Mapping
from typing import Any, Literal, Protocol

import msgspec

from hermes.ports.outbox import NewDelivery
from hermes.ports.steps import Lease, StepWrite, TimelineEvent
from hermes.ports.tool import Deciders

ApprovalState = Literal["waiting", "approved", "denied", "expired"]
# The events in the timeline of a message that waits for an approval, and of one that denied it.
WAITS_FOR_APPROVAL = "waits_for_approval"
DENIED_APPROVAL = "denied_approval"


class OpenApproval(msgspec.Struct, frozen=True, kw_only=True):
    """What a person has to know of an approval that waits: what for, for whom, and until when."""

    tool: str
    arguments: str
    expires_at: float
    by_admins: bool = False


class NewApproval(msgspec.Struct, frozen=True, kw_only=True):
    """A question to a person before a tool may run, bound to the tool and its raw arguments."""

    id: str
    message_id: str
    ordinal: int
    tool: str
    arguments_hash: bytes
    requester: str
    chat_type: str
    asked_at: float
    expires_at: float
    question: bytes | None = None
    """What is asked, kept sealed so that the question outlives the process."""


class Approval(msgspec.Struct, frozen=True, kw_only=True):
    """An approval and how it stands."""

    id: str
    message_id: str
    lane: str
    ordinal: int
    tool: str
    arguments_hash: bytes
    requester: str
    chat_type: str
    expires_at: float
    state: ApprovalState
    decided_by: str | None = None


class WaitingApproval(msgspec.Struct, frozen=True):
    """An approval that waits: since when, and whose message caused it."""

    row: Approval
    asked_at: float
    person_id: str


class AskedQuestion(msgspec.Struct, frozen=True):
    """A question of a tool with what is kept of it: what it asks, and what was answered.

    Each is None if it was not kept, or its person was erased.
    """

    row: Approval
    question: bytes | None
    answer: bytes | None


class SavedAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """What was answered to a question, as it is kept: messages by id, and the answer at the end."""

    heard: tuple[tuple[str, str], ...] = ()
    # Any: JSON values by name.
    answer: Mapping[str, Any] | None = None


_encode = msgspec.json.Encoder().encode
# What is kept of a yes (or a no) to a question that has no other answers.
YES = _encode(SavedAnswer(answer={}))
NO = _encode(SavedAnswer())


class KeptQuestion(msgspec.Struct, frozen=True):
    """What every kept question has, whether a turn asks it or a running tool: its text, and who decides."""

    text: str
    deciders: Deciders = "person"


read_question = msgspec.json.Decoder(KeptQuestion).decode


def is_question(approval_id: str) -> bool:
    """Return whether an id is that of a running tool's question: its turn goes on, and is not parked."""
    return approval_id.startswith("q_")


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
        """Settle a question as `decide` does; return whether it was still waiting."""
        ...

    async def answer(
        self, question_id: str, body: bytes, *, state: ApprovalState, by: str, at: float
    ) -> bool:
        """Keep what a person has answered, and settle the question unless `state` is waiting.

        Returns False, and keeps nothing, if it no longer waits.
        """
        ...

    async def answered_by(self, message_id: str) -> ApprovalState | None:
        """Return how a message has settled the question of a tool, if it has."""
        ...

    async def questions_of(self, message_id: str) -> tuple[AskedQuestion, ...]:
        """Return what the tools of a message have asked, the oldest first."""
        ...

    async def left_open(self) -> tuple[AskedQuestion, ...]:
        """Return the questions that still wait and whose node is gone."""
        ...

    async def adopt(self, lease: Lease, question_id: str) -> None:
        """Take over a question for a tool that runs again."""
        ...

    async def was_asked(self, who: str) -> bool:
        """Return whether a running tool ever asked a person something."""
        ...

    async def is_standing(self, what: str, who: str) -> bool:
        """Return whether a person has answered "always" to something."""
        ...

    async def stand(self, what: str, who: str, *, is_standing: bool) -> None:
        """Store a person's "always", or delete it."""
        ...

    async def decide(
        self, approval_id: str, state: ApprovalState, *, by: str, at: float
    ) -> Approval:
        """Settle a waiting approval; raises `GuardFailed` when it is no longer waiting."""
        ...

    async def get(self, approval_id: str) -> Approval | None:
        """Return one approval."""
        ...

    async def waiting(self, lane: str) -> Approval | None:
        """Return the approval that a lane waits on."""
        ...

    async def question(self, approval_id: str) -> bytes | None:
        """Return what was asked, if it was kept."""
        ...

    async def untold(self, lane: str, *, event: TimelineEvent) -> tuple[str, ...]:
        """Return the messages that wait on a lane and whose timeline lacks an event."""
        ...

    async def waiting_around(self, lane: str) -> tuple[Approval, ...]:
        """Return what waits on a lane or below it, in background tasks and subagents."""
        ...

    async def open(self, now: float, *, limit: int) -> tuple[WaitingApproval, ...]:
        """Return what waits in any conversation and is not overdue, the oldest first."""
        ...

    async def overdue(self, now: float) -> tuple[str, ...]:
        """Return waiting approvals whose time is up."""
        ...
