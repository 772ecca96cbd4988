"""`hermes why`: everything the journal knows of a message, a refusal or a call, as one report.

The command line and the server call `explain` and print what it returns. It reads the store port
only; bodies and plain user ids stay out unless they are asked for.
"""

from hashlib import sha256
from typing import Any, Literal

import msgspec

from hermes.control.branches import BranchLine, branch_of
from hermes.control.why_answer import (
    Hold,
    Holds,
    answer_of,
    delivered_how,
    is_pulled,
    no_hold,
    refusal_answer,
    sent_answer,
    waiting_for,
)
from hermes.control.why_call import (
    CALL,
    CallStory,
    WhyKey,
    call_answer,
    call_id_of,
    response_id_of,
    story_of,
    whose_key,
)
from hermes.control.why_delivery import DeliveryTry, attempts_of, tries_of
from hermes.control.why_lines import (
    WhyLine,
    WhyStepText,
    lines_of,
    lines_of_send,
    seconds,
    step_texts,
)
from hermes.control.why_pictures import WhyPictures, pictures_of
from hermes.control.why_tools import (
    WhyResult,
    WhyTools,
    recalled_lines,
    tools_given,
    whole_results,
)
from hermes.errors import NotFound
from hermes.message.outcome import DeliveryState, MessageState, Outcome
from hermes.message.parts import text_of
from hermes.message.reply import Usage
from hermes.ports.ids import IdKind, whole_id
from hermes.ports.inbox import RefusedMessage
from hermes.ports.outbox import DeliveryRecord
from hermes.ports.steps import PaidBy, TimelineEvent
from hermes.ports.store import Store
from hermes.ports.timeline import Timeline
from hermes.ports.turns import COMPACTED_HISTORY, MessageRecord

_ROUTED = "routed"
_KINDS: tuple[IdKind, ...] = ("message", "refusal", "call")


class WhyAsk(msgspec.Struct, frozen=True, kw_only=True):
    """A message, a refusal, a delivery or a call of `/v1`, by its id or its sender's id for it."""

    id: str


class WhyDelivery(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One reply and its state; `attempts` are all its sends, `tries` what went wrong with them."""

    id: str
    platform: str
    state: DeliveryState
    how: str
    attempts: int
    is_pulled: bool = False
    purpose: str = "reply"
    created_at: float = 0.0
    next_at: float | None = None
    failure: str | None = None
    platform_message_id: str | None = None
    tries: tuple[DeliveryTry, ...] = ()


class WhyCredit(msgspec.Struct, frozen=True, kw_only=True):
    """One move of credits: hold, capture, release, grant or refund."""

    kind: str
    amount: int
    at: float


class WhyCandidate(msgspec.Struct, frozen=True):
    """A model that could have answered, and the rule that put it in its place."""

    model: str
    rule: str


class WhyDroppedProvider(msgspec.Struct, frozen=True):
    """A provider that could not answer, and why not."""

    provider: str
    reason: str


class WhyRoute(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Which model was wanted, which were tried in which order, and the rule of the one used."""

    wanted: str | None = None
    rule: str | None = None
    candidates: tuple[WhyCandidate, ...] = ()
    dropped: tuple[WhyDroppedProvider, ...] = ()


class WhyRefusal(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Why a message was not accepted."""

    id: str
    code: str
    text: str
    at: float
    message_id: str | None = None


class WhySummary(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the model saw in the place of `messages` older ones: a summary, or a note that they are
    left out.
    """

    messages: int
    is_summary: bool = False


class WhyText(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What was said and recalled; only there when the operator asked for it."""

    message: str | None
    reply: str | None
    recalled: tuple[str, ...] = ()
    results: tuple[WhyResult, ...] = ()
    steps: tuple[WhyStepText, ...] = ()


class WhyReport(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The whole story of one message, refusal, delivery or call; `answer` is the short one.

    `deployment` names the key or address that answered, if the provider has several. `usage` is what
    the person's answer took, `platform_usage` what the platform paid beside it. `branch` is what the
    message has delegated, and `branch_usage` what all of it took with the message itself.
    """

    asked: str
    kind: Literal["message", "refusal", "delivery", "call"]
    id: str
    answer: str
    platform: str
    external_id: str | None = None
    user: str | None = None
    person_id: str | None = None
    lane: str | None = None
    accepted_at: float | None = None
    done_at: float | None = None
    duration_s: float | None = None
    state: MessageState | None = None
    outcome: Outcome | None = None
    waiting_for: str | None = None
    merged_into: str | None = None
    attempts: int = 0
    duplicates: int = 0
    route: WhyRoute | None = None
    tools: WhyTools | None = None
    pictures: WhyPictures | None = None
    model: str | None = None
    deployment: str | None = None
    summary: WhySummary | None = None
    reason: str | None = None
    stop_reason: str | None = None
    usage: Usage = Usage()
    platform_usage: Usage = Usage()
    branch: tuple[BranchLine, ...] = ()
    branch_usage: Usage = Usage()
    credits: tuple[WhyCredit, ...] = ()
    deliveries: tuple[WhyDelivery, ...] = ()
    lines: tuple[WhyLine, ...] = ()
    # Any: the provenance row as the store keeps it; only ever printed.
    interaction: dict[str, Any] | None = None
    refusal: WhyRefusal | None = None
    key: WhyKey | None = None
    call: CallStory | None = None
    stored_until: float | None = None
    text: WhyText | None = None


async def explain(
    store: Store,
    name: str,
    *,
    now: float,
    include_text: bool = False,
    hold: Hold = no_hold,
    lists_ids: bool = False,
) -> WhyReport:
    """Return the story of a message by its id or its sender's id for it, of a refusal, delivery or call.

    `hold` says how the channels of a running gateway stand. Where a part of an id fits several, the
    error names them only if it `lists_ids`: viewers cannot list messages.
    """
    timeline = await store.timeline(name) or await store.timeline(call_id_of(name))
    if timeline is None:
        # The id of a reply ends like that of its message, which is the one that is meant.
        whole = await whole_id(store.ids, name, *_KINDS, is_listed=lists_ids)
        whole = whole or await whole_id(store.ids, name, "delivery", is_listed=lists_ids)
        timeline = None if whole is None else await store.timeline(whole)
        name = whole or name
    if timeline is None:
        raise NotFound(
            f"No message is known as {name!r}. Expected a message id (m_...), a refusal id (r_...), "
            "a delivery id (o_..., as `hermes send` prints it), the id of a call of /v1 (v_..., "
            "resp_v_..., chatcmpl-v_..., cmpl-v_..., msg_v_...), at least four letters of the beginning "
            "or end of one, or the sender's own id of a message. Finished messages and calls are kept for store.retention_days, refusals up to inbox.refusals_kept; input "
            "without a valid credential leaves no trace here."
        )
    by_refusal = timeline.refusal is not None and timeline.refusal.id == name
    if timeline.message is not None and not by_refusal:
        return await _of_message(
            store,
            timeline,
            message=timeline.message,
            asked=name,
            now=now,
            show=include_text,
            holds=await _holds(timeline, hold),
        )
    if timeline.refusal is not None:
        return _of_refusal(timeline.refusal, asked=name, include_text=include_text)
    if timeline.deliveries:
        holds = await _holds(timeline, hold)
        return _of_send(timeline, asked=name, now=now, show=include_text, holds=holds)
    call = next((event for event in timeline.events if event.kind == CALL), None)
    if call is not None:
        return await _of_call(store, call, asked=name, now=now)
    raise NotFound(
        f"The journal names {name!r} but holds nothing of it: the message was forgotten meanwhile. "
        "Ask again with another id."
    )


async def _of_message(
    store: Store,
    timeline: Timeline,
    *,
    message: MessageRecord,
    asked: str,
    now: float,
    show: bool,
    holds: Holds,
) -> WhyReport:
    result = timeline.result
    model = result.model if result else None
    waiting = await waiting_for(store, timeline, now=now, holds=holds)
    ended = message.done_at if message.done_at is not None else now
    top, *below = await branch_of(store, message)
    return WhyReport(
        asked=asked,
        kind="message",
        id=message.id,
        answer=answer_of(timeline, model=model, waiting=waiting, now=now, holds=holds),
        platform=message.platform,
        external_id=message.external_id,
        user=_user(message, show=show),
        person_id=message.person_id,
        lane=message.lane,
        accepted_at=message.received_at,
        done_at=message.done_at,
        duration_s=seconds(ended - message.received_at),
        state=message.state,
        outcome=message.outcome,
        waiting_for=waiting,
        merged_into=message.merged_into,
        attempts=message.attempts,
        duplicates=sum(event.kind == "duplicate" for event in timeline.events),
        route=_route(timeline.events, model),
        tools=tools_given(timeline.events),
        pictures=pictures_of(timeline.events),
        model=model,
        deployment=_deployment(timeline),
        summary=_summary(timeline.events),
        reason=result.reason if result else None,
        stop_reason=result.stop_reason if result else None,
        usage=_usage(timeline, "person"),
        platform_usage=_usage(timeline, "platform"),
        branch=tuple(below),
        branch_usage=top.whole if below else Usage(),
        credits=_credits(timeline),
        deliveries=tuple(_delivery(row, now=now, holds=holds) for row in timeline.deliveries),
        lines=lines_of(message, timeline),
        interaction=timeline.interaction,
        refusal=_refusal(timeline.refusal) if timeline.refusal else None,
        text=await _text(store, timeline) if show else None,
    )


def _of_refusal(refusal: RefusedMessage, *, asked: str, include_text: bool) -> WhyReport:
    return WhyReport(
        asked=asked,
        kind="refusal",
        id=refusal.id,
        answer=refusal_answer(refusal),
        platform=refusal.platform,
        external_id=refusal.external_id,
        lines=(WhyLine(at=refusal.at, after_s=0.0, what="refused", data={"code": refusal.code}),),
        refusal=_refusal(refusal),
        text=WhyText(message=None, reply=None) if include_text else None,
    )


async def _holds(timeline: Timeline, hold: Hold) -> Holds:
    platforms = {row.target.platform for row in timeline.deliveries}
    return {name: await hold(name) for name in platforms}


def _of_send(timeline: Timeline, *, asked: str, now: float, show: bool, holds: Holds) -> WhyReport:
    """Return the story of what an operator or a job has sent, in answer to no message."""
    row = timeline.deliveries[0]
    return WhyReport(
        asked=asked,
        kind="delivery",
        id=row.id,
        answer=sent_answer(timeline, now=now, holds=holds),
        platform=row.target.platform,
        person_id=row.person_id or None,
        accepted_at=row.created_at,
        done_at=row.ended_at,
        deliveries=tuple(_delivery(one, now=now, holds=holds) for one in timeline.deliveries),
        lines=lines_of_send(row),
        text=WhyText(message=None, reply=text_of(row.parts or ())) if show else None,
    )


async def _of_call(store: Store, call: TimelineEvent, *, asked: str, now: float) -> WhyReport:
    story = story_of(call)
    key = whose_key(story, await store.keys.list()) if story else None
    took = story.ms / 1000 if story else 0.0
    call_id = call_id_of(asked)
    return WhyReport(
        asked=asked,
        kind="call",
        id=call_id,
        answer=call_answer(story, key, at=call.at),
        platform="v1",
        accepted_at=call.at,
        done_at=call.at + took,
        duration_s=seconds(took),
        attempts=len(story.attempts) if story else 0,
        route=_call_route(story) if story else None,
        model=story.model if story else None,
        deployment=story.deployment if story else None,
        usage=story.usage if story else Usage(),
        lines=(WhyLine(at=call.at, after_s=0.0, what=CALL, data=call.data),),
        key=key,
        call=story,
        stored_until=await store.responses.stored_until(response_id_of(call_id), now=now),
    )


def _call_route(story: CallStory) -> WhyRoute:
    rules = {one.model: one.rule for one in story.attempts}
    return WhyRoute(
        wanted=story.wanted or None,
        rule=rules.get(story.model or ""),
        candidates=tuple(WhyCandidate(model, rule) for model, rule in rules.items()),
    )


def _refusal(refusal: RefusedMessage) -> WhyRefusal:
    return WhyRefusal(
        id=refusal.id,
        code=refusal.code,
        text=refusal.text,
        at=refusal.at,
        message_id=refusal.message_id,
    )


def _user(message: MessageRecord, *, show: bool) -> str | None:
    if message.event is None:
        return None
    user_id = message.event.source.user_id
    return user_id if show else f"#{sha256(user_id.encode()).hexdigest()[:12]}"


async def _text(store: Store, timeline: Timeline) -> WhyText:
    event = timeline.message.event if timeline.message else None
    return WhyText(
        message=event.text if event else None,
        reply=timeline.result.text if timeline.result else None,
        recalled=await recalled_lines(store, timeline),
        results=whole_results(timeline.steps),
        steps=step_texts(timeline.steps),
    )


def _route(events: tuple[TimelineEvent, ...], used: str | None) -> WhyRoute | None:
    """The last decision counts: a resumed turn may have decided again."""
    decided = next((event for event in reversed(events) if event.kind == _ROUTED), None)
    if decided is None:
        return None
    try:
        route = msgspec.convert(decided.data, WhyRoute)
    except msgspec.ValidationError:
        # Written by another version: the timeline still shows the event as it is.
        return None
    rules = {one.model: one.rule for one in reversed(route.candidates)}
    first = route.candidates[0].rule if route.candidates else None
    return msgspec.structs.replace(route, rule=rules.get(used or "", first))


def _deployment(timeline: Timeline) -> str | None:
    """Return the deployment of the last call that was answered."""
    calls = [step for step in timeline.steps if (step.kind, step.state) == ("model", "done")]
    facts = calls[-1].facts if calls else None
    return None if facts is None else facts.deployment or None


def _summary(events: tuple[TimelineEvent, ...]) -> WhySummary | None:
    """Return what the message was answered on, if older messages were not shown word for word."""
    found = next((event for event in reversed(events) if event.kind == COMPACTED_HISTORY), None)
    try:
        return None if found is None else msgspec.convert(found.data, WhySummary)
    except msgspec.ValidationError:
        return None


def _usage(timeline: Timeline, payer: PaidBy) -> Usage:
    result = timeline.result
    if result is not None:
        return result.usage if payer == "person" else result.platform_usage
    usage = Usage()
    for step in timeline.steps:
        if step.payer == payer:
            usage = usage.plus(step.usage)
    return usage


def _credits(timeline: Timeline) -> tuple[WhyCredit, ...]:
    found = [
        WhyCredit(kind=str(row["kind"]), amount=abs(int(row["amount"])), at=float(row["at"]))
        for row in timeline.ledger
    ]
    return tuple(sorted(found, key=lambda credit: credit.at))


def _delivery(row: DeliveryRecord, *, now: float, holds: Holds) -> WhyDelivery:
    return WhyDelivery(
        id=row.id,
        platform=row.target.platform,
        state=row.state,
        how=delivered_how(row, now=now, holds=holds),
        attempts=attempts_of(row),
        is_pulled=is_pulled(row),
        purpose=row.purpose,
        created_at=row.created_at,
        next_at=row.next_at if row.state is DeliveryState.RETRY else None,
        failure=row.failure,
        platform_message_id=row.platform_message_id,
        tries=tries_of(row),
    )
