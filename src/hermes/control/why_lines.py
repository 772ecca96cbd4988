"""The timeline of a message: what happened when, how long it lasted and what it cost.

Beside `why.py`, which makes the report: the command line prints these lines, and the dashboard draws
them. They hold ids, names and numbers; what was said in a step is read here too, for those who ask.
"""

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final, Literal

import msgspec

from hermes.control.why_delivery import send_lines
from hermes.control.why_tools import step_data
from hermes.message.chat import ChatMessage
from hermes.message.outcome import DeliveryState
from hermes.message.parts import ReasoningPart, ToolCallPart, ToolResultPart
from hermes.message.reply import Usage
from hermes.ports.approvals import DENIED_APPROVAL, WAITS_FOR_APPROVAL
from hermes.ports.outbox import DeliveryRecord
from hermes.ports.steps import Step, StepKind, TimelineEvent
from hermes.ports.timeline import Timeline
from hermes.ports.turns import COMPACTED_HISTORY, WAITS_FOR_PLACE, MessageRecord

LineKind = Literal["message", "route", "context", "model", "tool", "wait", "delivery", "note"]
_EVENT_KINDS: Final[Mapping[str, LineKind]] = MappingProxyType(
    {
        "accepted": "message",
        "command": "message",
        "duplicate": "message",
        "ended": "message",
        "joined": "message",
        "mirrored": "message",
        "resumed": "message",
        "stopped": "message",
        "access": "route",
        "agent": "route",
        "gated": "route",
        "routed": "route",
        COMPACTED_HISTORY: "context",
        "images": "context",
        "left_out": "context",
        "media_missed": "context",
        "recall": "context",
        "skill": "context",
        "adapter_failed": "model",
        "described": "model",
        "empty_answer": "model",
        "from_memory": "model",
        "image_intent": "model",
        "look_failed": "model",
        "model_failed": "model",
        "model_refused": "model",
        "vision_answered": "model",
        "vision_failed": "model",
        "delegated": "tool",
        WAITS_FOR_APPROVAL: "wait",
        DENIED_APPROVAL: "wait",
        WAITS_FOR_PLACE: "wait",
        "parked": "wait",
        "question": "wait",
        "attached": "delivery",
        "returned": "delivery",
        "sent": "delivery",
    }
)
_STEP_KINDS: Final[Mapping[StepKind, LineKind]] = MappingProxyType(
    {
        "prepared": "context",
        "model": "model",
        "adapter": "model",
        "sight": "model",
        "look": "model",
        "tool": "tool",
        "approval": "wait",
        "steer": "message",
        "burst": "message",
    }
)
_APPROVAL_EVENTS = {
    WAITS_FOR_APPROVAL: "waited for approval",
    DENIED_APPROVAL: "denied approval",
}
_decode_message = msgspec.json.Decoder(ChatMessage).decode


class WhyLine(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One thing that happened; `after_s` counts from acceptance, `took_s` until the next line.

    `lasted_s` is how long it lasted itself, if it has an end of its own. `usage` is what it took. The
    `call` is the id of a model call in the graph of the conversation.
    """

    at: float
    after_s: float
    what: str
    kind: LineKind = "note"
    took_s: float | None = None
    lasted_s: float | None = None
    usage: Usage = Usage()
    call: str | None = None
    # Any: each kind of event has its own fields; they are only ever printed.
    data: dict[str, Any] = {}


class WhyCallText(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A tool that a model called, with the arguments as the model wrote them."""

    tool: str
    arguments: str


class WhyStepText(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What was said in a step: what a model wrote and thought, or what a tool was given and returned."""

    step: int
    text: str = ""
    thoughts: str = ""
    arguments: str | None = None
    calls: tuple[WhyCallText, ...] = ()


def lines_of(message: MessageRecord, timeline: Timeline) -> tuple[WhyLine, ...]:
    """Return the timeline of a message, oldest first."""
    return _in_order(_all_lines(message, timeline), start=message.received_at)


def lines_of_send(row: DeliveryRecord) -> tuple[WhyLine, ...]:
    """Return the timeline of what an operator or a job has sent, oldest first."""
    written = WhyLine(
        at=row.created_at,
        after_s=0.0,
        what="written",
        kind="delivery",
        data={"purpose": row.purpose},
    )
    return _in_order((written, *_sends(row)), start=row.created_at)


def _in_order(lines: Iterable[WhyLine], *, start: float) -> tuple[WhyLine, ...]:
    """Return lines in the order of time, with the time since the start and until the next one."""
    found = sorted(lines, key=lambda line: line.at)
    ends: list[float | None] = [line.at for line in found[1:]]
    return tuple(
        msgspec.structs.replace(
            line,
            after_s=seconds(line.at - start),
            took_s=None if end is None else seconds(end - line.at),
        )
        for line, end in zip(found, [*ends, None], strict=True)
    )


def step_texts(steps: Iterable[Step]) -> tuple[WhyStepText, ...]:
    """Return what was said in the steps of models and tools, as far as it can still be read."""
    asked: dict[str, str] = {}
    found = []
    for step in steps:
        if step.kind not in ("model", "adapter", "tool"):
            continue
        said = _message_of(step)
        if said is not None:
            asked |= {
                part.id: part.arguments for part in said.parts if isinstance(part, ToolCallPart)
            }
        arguments = None if step.facts is None else asked.get(step.facts.call_id)
        text = WhyStepText(step=step.ordinal) if said is None else _said(step.ordinal, said)
        text = msgspec.structs.replace(text, arguments=arguments)
        if text != WhyStepText(step=step.ordinal):
            found.append(text)
    return tuple(found)


def seconds(value: float) -> float:
    """Rounded to milliseconds; a clock that was set back shows as no time, not as negative."""
    return round(max(0.0, value), 3)


def _all_lines(message: MessageRecord, timeline: Timeline) -> Iterator[WhyLine]:
    kinds = {event.kind for event in timeline.events}
    if "accepted" not in kinds:
        told = {"platform": message.platform}
        yield WhyLine(
            at=message.received_at, after_s=0.0, what="accepted", kind="message", data=told
        )
    yield from map(_event_line, timeline.events)
    for step in timeline.steps:
        if step.at and step.kind != "output":
            yield _step_line(step, message, timeline)
    for row in timeline.deliveries:
        yield from _delivery_lines(row, message)
    if message.done_at is not None and "ended" not in kinds:
        what = str(message.outcome or "done")
        yield WhyLine(at=message.done_at, after_s=0.0, what=what, kind="message")


def _event_line(event: TimelineEvent) -> WhyLine:
    words = _APPROVAL_EVENTS.get(event.kind)
    what = event.kind if words is None else f"{words} {event.data.get('approval', '')}".strip()
    kind = _EVENT_KINDS.get(event.kind, "note")
    return WhyLine(at=event.at, after_s=0.0, what=what, kind=kind, data=event.data)


def _step_line(step: Step, message: MessageRecord, timeline: Timeline) -> WhyLine:
    data = step_data(step, message.id)
    if step.kind == "prepared" and timeline.interaction is not None:
        data["soul_ms"] = round(float(timeline.interaction["soul_load_ms"]), 1)
    return WhyLine(
        at=step.at,
        after_s=0.0,
        what=f"{step.kind} {step.name}".strip(),
        kind=_STEP_KINDS.get(step.kind, "note"),
        lasted_s=None if step.ended_at is None else seconds(step.ended_at - step.at),
        usage=step.usage,
        call=f"{message.id}.{step.ordinal}" if _is_kept(step, message) else None,
        data=data,
    )


def _is_kept(step: Step, message: MessageRecord) -> bool:
    """Return whether a step is a call that the graph has: it gets them with the end of the turn."""
    is_call = step.kind in ("model", "adapter") and step.state == "done"
    return is_call and message.done_at is not None


def _delivery_lines(row: DeliveryRecord, message: MessageRecord) -> Iterator[WhyLine]:
    about = {"delivery": row.id, "platform": row.target.platform}
    # A reply gets its row with the end of its turn, unless people saw it being written before.
    end = message.done_at
    is_shown_early = row.purpose == "reply" and (end is None or row.created_at < end)
    if is_shown_early or row.state is DeliveryState.PREVIEW:
        yield WhyLine(at=row.created_at, after_s=0.0, what="preview", kind="delivery", data=about)
    if row.sending_at is not None and row.ended_at is not None and row.ended_at > row.sending_at:
        lasted = seconds(row.ended_at - row.sending_at)
        yield WhyLine(
            at=row.sending_at,
            after_s=0.0,
            what="sending",
            kind="delivery",
            lasted_s=lasted,
            data=about,
        )
    yield from _sends(row)


def _sends(row: DeliveryRecord) -> Iterator[WhyLine]:
    for at, what, data in send_lines(row):
        yield WhyLine(at=at, after_s=0.0, what=what, kind="delivery", data=data)


def _message_of(step: Step) -> ChatMessage | None:
    try:
        return None if step.body is None else _decode_message(step.body)
    except msgspec.DecodeError:
        # Written by another version, or by an adapter whose steps are no messages.
        return None


def _said(ordinal: int, said: ChatMessage) -> WhyStepText:
    results = [part.text for part in said.parts if isinstance(part, ToolResultPart)]
    return WhyStepText(
        step=ordinal,
        text="\n".join(one for one in (said.text, *results) if one),
        thoughts="\n".join(
            part.text for part in said.parts if isinstance(part, ReasoningPart) and part.text
        ),
        calls=tuple(
            WhyCallText(tool=part.name, arguments=part.arguments)
            for part in said.parts
            if isinstance(part, ToolCallPart)
        ),
    )
