"""A message's turn over HTTP: its state as JSON, and its progress as frames.

Shared by the channels that serve HTTP themselves (REST, web), so that both report the same. It asks
the gateway API and formats; it decides nothing.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping

import msgspec
from msgspec import UNSET, UnsetType

from hermes.errors import HermesError, Refused
from hermes.http.message_files import FileView, file_views
from hermes.http.sse import frame
from hermes.message.outcome import MessageState, Outcome
from hermes.message.reply import Usage
from hermes.ports.approvals import OpenApproval
from hermes.ports.channel import DeniedApproval
from hermes.ports.gateway_api import GatewayApi, MessageStatus
from hermes.ports.turns import CutReason, ToolUse, TurnResult
from hermes.ports.upward import Progress

_EMPTY = TurnResult(text="")
_NONE = Usage()
# The state of a message for each last progress event.
_STATES = {
    "done": MessageState.DONE,
    "parked": MessageState.PARKED,
    "question": MessageState.RUNNING,
}


async def is_still_known(gateway_api: GatewayApi, headers: Mapping[str, str]) -> bool:
    """Return whether the credential that opened a stream is still valid."""
    try:
        await gateway_api.authenticate(headers)
    except Refused:
        return False
    return True


class ToolView(msgspec.Struct, frozen=True):
    """One tool call as callers see it; `arguments` is the JSON text that the model wrote.

    `result` is the beginning of what the tool returned.
    """

    name: str
    arguments: str
    failed: bool
    result: str | UnsetType = UNSET


class TurnView(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a message; the reply and its price are final once `outcome` is set.

    A `cost_usd` of None is unknown, which is not free. `platform_cost_usd` is what the platform paid
    beside it, `stop_reason` why the model did not end its answer by itself. `waits` says what the
    `approval` is about; `denied` names the approval that this message has denied. A
    failed turn whose reply is `partial` has given a part of an answer. `files` are those of the reply,
    `thoughts` what the model thought before it.
    """

    id: str
    state: MessageState
    outcome: Outcome | None
    conversation: str | None
    reply: str | None
    tokens_in: int
    tokens_out: int
    cost_usd: float | None
    model: str | None
    tool_calls: tuple[ToolView, ...]
    duplicate: bool
    approval: str | UnsetType = UNSET
    waits: OpenApproval | UnsetType = UNSET
    denied: DeniedApproval | UnsetType = UNSET
    question: str | UnsetType = UNSET
    reason: str | UnsetType = UNSET
    notices: tuple[str, ...] | UnsetType = UNSET
    stop_reason: CutReason | UnsetType = UNSET
    platform_cost_usd: float | UnsetType | None = UNSET
    partial: bool | UnsetType = UNSET
    files: tuple[FileView, ...] | UnsetType = UNSET
    thoughts: str | UnsetType = UNSET


class Ticket(msgspec.Struct, frozen=True, kw_only=True):
    """An accepted message whose caller waits."""

    id: str
    conversation: str
    duplicate: bool
    is_new: bool = False
    denied: DeniedApproval | None = None


async def last_progress(
    gateway_api: GatewayApi, ticket: Ticket, *, wait_s: float
) -> Progress | None:
    """Return the end of a turn, or a question that it waits for; None if `wait_s` was too short."""
    try:
        async with asyncio.timeout(wait_s):
            last = await gateway_api.end(ticket.id, is_new=ticket.is_new)
    except TimeoutError:
        return None
    return last if last.kind in _STATES else None


async def turn_frames(gateway_api: GatewayApi, ticket: Ticket) -> AsyncGenerator[bytes, None]:
    """Yield the events of a turn until it is done or parked."""
    yield frame("accepted", accepted_view(ticket))
    is_first = True
    try:
        async for progress in gateway_api.watch(ticket.id):
            async for event in _frames_of(
                gateway_api, ticket, progress=progress, is_first=is_first
            ):
                yield event
            is_first = False
    except HermesError as error:
        yield frame("error", {"code": error.code, "message": str(error)})


def accepted_view(ticket: Ticket) -> dict[str, object]:
    """Return what the sender of a message is told once it is stored."""
    view: dict[str, object] = {"id": ticket.id, "duplicate": ticket.duplicate}
    return view if ticket.denied is None else {**view, "denied": ticket.denied}


async def _frames_of(
    gateway_api: GatewayApi, ticket: Ticket, *, progress: Progress, is_first: bool
) -> AsyncIterator[bytes]:
    kind = progress.kind
    if kind == "delta":
        yield frame("delta", {"text": progress.text})
    elif kind == "snapshot":
        # A client that has seen nothing yet may append the complete text like any other piece.
        if progress.text:
            yield frame("delta" if is_first else "snapshot", {"text": progress.text})
    elif kind == "restart":
        yield frame("snapshot", {"text": ""})
    elif kind == "tool":
        yield frame("tool", {"name": progress.text})
    elif kind == "status":
        yield frame("status", {"text": progress.text})
    elif kind in {"question", "settled"} and progress.result is not None:
        yield frame(kind, {"id": progress.result.question, "text": progress.text})
    elif kind in {"done", "parked"}:
        yield frame(kind, await ended_view(gateway_api, ticket, progress=progress))


async def ended_view(gateway_api: GatewayApi, ticket: Ticket, *, progress: Progress) -> TurnView:
    """Return how a turn ended, from its last progress or, without one, from the journal.

    If it waits for the answer to a question, the question is its reply.
    """
    result = progress.result
    outcome = progress.outcome
    is_done = progress.kind == "done"
    if is_done and (result is None or outcome is None):
        status = await gateway_api.message(ticket.id)
        if status is not None:
            result = result or status.result
            outcome = outcome or status.record.outcome
    if result is None and progress.text:
        result = TurnResult(text=progress.text)
    return _view(ticket, state=_STATES[progress.kind], outcome=outcome, result=result)


def status_view(status: MessageStatus) -> TurnView:
    """Return the state of a message from the journal."""
    record = status.record
    chat_id = record.event.source.chat_id if record.event is not None else None
    ticket = Ticket(id=record.id, conversation=chat_id or "", duplicate=False)
    view = _view(ticket, state=record.state, outcome=record.outcome, result=status.result)
    return msgspec.structs.replace(view, conversation=chat_id)


def _view(
    ticket: Ticket, *, state: MessageState, outcome: Outcome | None, result: TurnResult | None
) -> TurnView:
    known = result or _EMPTY
    return TurnView(
        id=ticket.id,
        state=state,
        outcome=outcome,
        conversation=ticket.conversation,
        reply=None if result is None else result.text,
        tokens_in=known.usage.tokens_in,
        tokens_out=known.usage.tokens_out,
        cost_usd=_cost_of(known.usage),
        model=known.model,
        tool_calls=tuple(map(_tool_view, known.tool_calls)),
        duplicate=ticket.duplicate,
        approval=known.approval or UNSET,
        waits=known.waits or UNSET,
        denied=ticket.denied or UNSET,
        question=known.question or UNSET,
        reason=known.reason or UNSET,
        notices=known.notices or UNSET,
        stop_reason=known.stop_reason or UNSET,
        partial=known.is_partial or UNSET,
        files=file_views(known.files) or UNSET,
        thoughts=known.thoughts or UNSET,
        platform_cost_usd=_cost_of(beside) if (beside := known.platform_usage) != _NONE else UNSET,
    )


def _cost_of(usage: Usage) -> float | None:
    return None if usage.unpriced else usage.cost_usd


def _tool_view(tool: ToolUse) -> ToolView:
    return ToolView(tool.name, tool.arguments, tool.failed, tool.result or UNSET)
