"""What `hermes why` tells of tools: which were sent to the model, and results that were too long.

Beside `why.py`, which makes the report.
"""

from typing import Any

import msgspec

from hermes.memory.soul import fact_line
from hermes.message.reply import Usage
from hermes.ports.steps import Step, TimelineEvent
from hermes.ports.store import Store
from hermes.ports.timeline import Timeline

GATED = "gated"
_decode_text = msgspec.json.Decoder(str).decode


class WhyTools(msgspec.Struct, frozen=True, kw_only=True):
    """Which tools the model was given, which not, and by which rule; tokens are an estimate."""

    rule: str
    sent: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    saved_tokens: int = 0


class WhyResult(msgspec.Struct, frozen=True, kw_only=True):
    """A tool's result that the model saw only a part of, whole; `step` is the tool's."""

    tool: str
    step: int
    text: str


def tools_given(events: tuple[TimelineEvent, ...]) -> WhyTools | None:
    """Return what the gate decided, if there were tools at all."""
    decided = next((event for event in reversed(events) if event.kind == GATED), None)
    if decided is None:
        return None
    try:
        return msgspec.convert(decided.data, WhyTools)
    except msgspec.ValidationError:
        # Written by another version: the timeline still shows the event as it is.
        return None


def tools_text(tools: WhyTools) -> str:
    """Return the decision in one line."""
    count = len(tools.sent) + len(tools.left_out)
    saved = f", about {tools.saved_tokens} tokens saved" if tools.saved_tokens else ""
    return f"{len(tools.sent)} of {count} sent ({tools.rule}){saved}"


def whole_results(steps: tuple[Step, ...]) -> tuple[WhyResult, ...]:
    """Return the results that were too long for the model, as far as they can still be read."""
    bodies = {step.ordinal: step.body for step in steps if step.kind == "output"}
    found = []
    for step in steps:
        place = None if step.facts is None else step.facts.kept_in
        body = None if place is None else bodies.get(place)
        if body is not None:
            found.append(WhyResult(tool=step.name, step=step.ordinal, text=_decode_text(body)))
    return tuple(found)


def step_data(step: Step, message_id: str) -> dict[str, Any]:
    """Return the timeline's data of a step."""
    data: dict[str, Any] = {"step": step.ordinal, "state": step.state}
    if step.usage != Usage():
        data |= {"tokens_in": step.usage.tokens_in, "tokens_out": step.usage.tokens_out}
    if step.payer != "person":
        data["payer"] = step.payer
    if step.facts is not None and step.facts.deployment:
        data["deployment"] = step.facts.deployment
    if step.facts is not None and step.facts.stop_reason:
        data["stopped"] = step.facts.stop_reason
    if step.facts is not None and step.facts.kept_in is not None:
        data |= {"chars": step.facts.chars, "whole": f"hermes why {message_id} --text"}
    return data


_RECALL = "recall"


async def recalled_lines(store: Store, timeline: Timeline) -> tuple[str, ...]:
    """Return the facts that a message was answered with, as far as they are still known."""
    event = next((one for one in reversed(timeline.events) if one.kind == _RECALL), None)
    if event is None or timeline.message is None:
        return ()
    ids = event.data.get("facts")
    names = [one for one in ids if isinstance(one, str)] if isinstance(ids, list | tuple) else []
    facts = await store.facts.some(timeline.message.person_id, names)
    return tuple(fact_line(fact.key, fact.value) for fact in facts)
