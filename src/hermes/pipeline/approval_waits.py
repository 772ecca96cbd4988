"""Waiting for a person: a turn that needs an approval leaves its lane and resumes later."""

from collections.abc import Mapping
from datetime import datetime
from typing import Protocol
from zoneinfo import ZoneInfo

import msgspec

from hermes.message.outcome import DeliveryState
from hermes.message.parts import ToolCallPart
from hermes.message.session_key import root_lane, root_turn
from hermes.message.visible import shown_arguments
from hermes.pipeline.choice_offers import (
    OfferedQuestion,
    OfferServices,
    OfferTerms,
    Option,
    offer_answers,
)
from hermes.pipeline.needs import (
    HasDigest,
    HasOutbox,
    HasSettings,
    HasWatch,
    Lookup,
    StageContext,
    ToolJournal,
)
from hermes.pipeline.session_context import HasZone
from hermes.pipeline.targets import target_of
from hermes.pipeline.turn import Turn
from hermes.ports.approvals import Approval, NewApproval, OpenApproval
from hermes.ports.outbox import NewDelivery
from hermes.ports.steps import Step
from hermes.ports.tool import Tool
from hermes.ports.turns import TurnResult
from hermes.ports.upward import Progress
from hermes.texts.say import say, words
from hermes.tools.approvers import ELSEWHERE

_encode = msgspec.json.Encoder().encode


class ApprovalRecords(HasDigest, Protocol):
    """A store that knows approvals."""

    @property
    def approvals(self) -> Lookup[Approval]: ...


class AskServices(OfferServices, HasOutbox, HasWatch, Protocol):
    """What every question to a person needs: an id, a way to the chat with its buttons, and the time."""


class ApprovalServices(AskServices, HasSettings, Protocol):
    """What a turn needs that asks for approval: the tools, and what was decided before."""

    @property
    def store(self) -> ApprovalRecords: ...
    @property
    def tools(self) -> Mapping[str, Tool]: ...
    @property
    def resets(self) -> HasZone: ...


_Context = StageContext[ApprovalServices, ToolJournal]


class ApprovalWait(Exception):
    """The turn waits for the approval `approval_id`."""

    def __init__(self, approval_id: str) -> None:
        super().__init__(approval_id)
        self.approval_id = approval_id


def question_text(approval_id: str, waits: OpenApproval, *, zone: ZoneInfo) -> str:
    """Return what is asked in the chat: what may run, who decides, and until when."""
    asked = words(
        "May I run {tool} with {arguments}? I wait for you until {time}. Answer /approve {id} or "
        "/deny {id}."
    )
    by_admins = words(
        "May I run {tool} with {arguments}? I wait for an admin until {time}. Answer /approve {id} "
        "or /deny {id}."
    )
    return say(
        by_admins if waits.by_admins else asked,
        tool=waits.tool,
        arguments=waits.arguments,
        time=time_of_day(waits.expires_at, zone),
        id=approval_id,
    )


def waiting_text(approval: Approval, *, zone: ZoneInfo) -> str:
    """Return what the sender of a message that waits behind an approval is told.

    The arguments are left out: others may read along.
    """
    yours = words(
        "Your message waits for your answer: may I run {tool}? Answer /approve {id} or /deny {id}; "
        "at {time} it counts as denied."
    )
    an_admins = words(
        "Your message waits for an admin's answer: may I run {tool}? Answer /approve {id} or "
        "/deny {id}; at {time} it counts as denied."
    )
    return say(
        yours if approval.chat_type == "dm" else an_admins,
        tool=approval.tool,
        id=approval.id,
        time=time_of_day(approval.expires_at, zone),
    )


def time_of_day(at: float, zone: ZoneInfo) -> str:
    """Return a time of the day as people read it in a chat."""
    return f"{datetime.fromtimestamp(at, zone):%H:%M} ({zone.key})"


def binding(call: ToolCallPart) -> bytes:
    """Return what an approval is bound to: the tool and its raw arguments."""
    return f"{call.name}\n{call.arguments}".encode()


async def find_decision(
    steps: tuple[Step, ...], call: ToolCallPart, ctx: _Context
) -> Approval | None:
    """Return the approval that was asked for exactly this call and has not been used."""
    wanted = ctx.services.store.digest(binding(call))
    for step in reversed(steps):
        if step.arguments_hash != wanted:
            continue
        if step.kind == "tool" and not _is_run_again(step, ctx):
            return None
        if step.kind == "approval" and step.name not in ctx.journal.spent:
            approval = await ctx.services.store.approvals.get(step.name)
            if approval is not None and approval.arguments_hash == wanted:
                return approval
    return None


def _is_run_again(step: Step, ctx: _Context) -> bool:
    """Return whether a call's result was lost with an earlier process, so that it is run once more.

    What was allowed then is allowed still: a person is asked once.
    """
    if step.state != "started":
        return step.state == "lost"
    tool = ctx.services.tools.get(step.name)
    return tool is not None and tool.traits.idempotent


async def park(turn: Turn, ctx: _Context, call: ToolCallPart, *, by_admins: bool = False) -> None:
    """Ask for approval and leave the lane; raises `ApprovalWait`.

    With `by_admins` only they decide, also in the person's own chat.
    """
    services = ctx.services
    now = services.clock.now()
    source = turn.event.source
    approval_id = services.make_id("a")
    chat_type = ELSEWHERE if by_admins else source.chat_type
    waits = OpenApproval(
        tool=call.name,
        arguments=shown_arguments(
            call.arguments, most=services.tools[call.name].traits.shown_chars
        ),
        expires_at=now + services.settings.approvals.expire_after_s,
        by_admins=chat_type != "dm",
    )
    question = question_text(approval_id, waits, zone=services.resets.zone)
    parked = TurnResult(text=question, approval=approval_id, waits=waits)
    ordinal = await ctx.journal.start(turn, "approval", name=approval_id, arguments=binding(call))
    approval = NewApproval(
        id=approval_id,
        message_id=turn.id,
        ordinal=ordinal,
        tool=call.name,
        arguments_hash=services.store.digest(binding(call)),
        requester=source.sender_name,
        chat_type=chat_type,
        asked_at=now,
        expires_at=waits.expires_at,
        question=_encode(parked),
    )
    ctx.journal.note("parked", approval=approval_id, tool=call.name)
    shown = _with_buttons(turn, ctx, question, approval_id=approval_id)
    delivery = NewDelivery(
        id="o_" + approval_id.partition("_")[2],
        target=target_of(turn.event),
        parts=shown.parts,
        state=services.first_state(source.platform),
        purpose="notice",
        offer=shown.offer,
    )
    await ctx.journal.park(turn, approval, question=delivery)
    if delivery.state is DeliveryState.PENDING:
        services.wake_outbox(source.platform)
    services.watch.publish(turn.id, Progress(kind="parked", text=question, result=parked))
    root = root_turn(turn.lane, turn.id)
    if root != turn.id:
        services.watch.publish(root, Progress(kind="status", text=question))
    raise ApprovalWait(approval_id)


def _with_buttons(turn: Turn, ctx: _Context, question: str, *, approval_id: str) -> OfferedQuestion:
    """Return what is asked, with buttons that say what the person may write instead."""
    services = ctx.services
    terms = OfferTerms(
        platform=turn.event.source.platform,
        lane=root_lane(turn.lane),
        who="",
        valid_s=services.settings.approvals.expire_after_s,
        subject=approval_id,
    )
    options = (
        Option("Approve", f"/approve {approval_id}", "good"),
        Option("Deny", f"/deny {approval_id}", "bad"),
    )
    return offer_answers(question, options, terms=terms, services=services)
