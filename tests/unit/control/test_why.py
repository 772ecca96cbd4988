from typing import Any, cast

import msgspec
import pytest

from hermes.control.why import WhyCandidate, WhyDroppedProvider, WhyRoute, explain
from hermes.control.why_answer import span
from hermes.errors import NotFound
from hermes.message.event import MessageEvent
from hermes.message.outcome import BusyPolicy, DeliveryState, MessageState, Outcome
from hermes.message.parts import TextPart
from hermes.message.reply import Usage
from hermes.message.source import Source
from hermes.ports.approvals import Approval
from hermes.ports.channel import Target
from hermes.ports.ids import IdKind
from hermes.ports.inbox import RefusedMessage
from hermes.ports.outbox import DeliveryRecord
from hermes.ports.steps import Step, TimelineEvent
from hermes.ports.store import Store
from hermes.ports.timeline import Timeline
from hermes.ports.turns import BranchTurn, LaneView, MessageRecord, TurnResult

T = 1_700_000_000.0
LANE = "agent:main:rest:dm:c1"


def a_message(**changes: Any) -> MessageRecord:
    event = MessageEvent(
        account="default",
        route="api",
        external_id="my-id",
        source=Source(platform="rest", chat_id="c1", user_id="+4915112345"),
        parts=(TextPart("what is my balance"),),
        at=T,
    )
    record = MessageRecord(
        id="m_1",
        seq=1,
        lane=LANE,
        person_id="p_1",
        event=event,
        state=MessageState.DONE,
        busy=BusyPolicy.QUEUE,
        control=False,
        received_at=T,
        attempts=1,
        external_id="my-id",
        platform="rest",
        outcome=Outcome.ANSWERED,
        done_at=T + 1.2,
    )
    return msgspec.structs.replace(record, **changes)


def a_delivery(**changes: Any) -> DeliveryRecord:
    record = DeliveryRecord(
        id="o_1",
        seq=1,
        message_id="m_1",
        person_id="p_1",
        target=Target(platform="rest", account="default", chat_id="c1"),
        parts=(TextPart("42"),),
        state=DeliveryState.SENT,
        purpose="reply",
        platform_message_id=None,
        chunk=0,
        attempts=0,
        next_at=0.0,
        created_at=T + 1.2,
    )
    return msgspec.structs.replace(record, **changes)


ROUTED = TimelineEvent(
    "routed",
    T + 0.01,
    {
        "wanted": "auto",
        "candidates": [{"model": "local:smollm2", "rule": "the last resort"}],
        "dropped": [{"provider": "openai", "reason": "no key"}],
    },
)
MODEL_STEP = Step(
    ordinal=1, kind="model", state="done", name="local:smollm2", at=T + 0.1, usage=Usage(12, 3)
)
ANSWERED = Timeline(
    message=a_message(),
    result=TurnResult(text="42", usage=Usage(12, 3, cost_usd=0.001), model="local:smollm2"),
    steps=(MODEL_STEP,),
    events=(ROUTED, TimelineEvent("ended", T + 1.2, {"outcome": "answered"})),
    deliveries=(a_delivery(),),
    ledger=({"kind": "capture", "amount": -1, "at": T + 1.2},),
    interaction=None,
)
OPEN = msgspec.structs.replace(ANSWERED, result=None, deliveries=(), ledger=())


class _Turns:
    def __init__(self, head: MessageRecord | None) -> None:
        self._head = head

    async def view(self, lane: str) -> LaneView:
        return LaneView(lane=lane, fence=1, epoch=0, head=0, message=self._head)

    async def branch(self, lane: str, message_id: str, *, limit: int) -> tuple[BranchTurn, ...]:
        return ()

    async def used(self, message: MessageRecord) -> BranchTurn:
        return BranchTurn(message=message)


class _Approvals:
    def __init__(self, approval: Approval | None) -> None:
        self._approval = approval

    async def waiting(self, lane: str) -> Approval | None:
        return self._approval


class TellingStore:
    """The part of the store that `why` reads, holding one given timeline."""

    def __init__(
        self,
        timeline: Timeline | None,
        *,
        head: MessageRecord | None = None,
        approval: Approval | None = None,
    ) -> None:
        self._timeline = timeline
        self.turns = _Turns(head)
        self.approvals = _Approvals(approval)

    @property
    def ids(self) -> "TellingStore":
        return self

    async def matching(self, kind: IdKind, part: str, *, limit: int) -> tuple[str, ...]:
        """No id is short for another here."""
        return ()

    async def timeline(self, name: str) -> Timeline | None:
        return self._timeline


async def told(timeline: Timeline | None, name: str = "m_1", *, text: bool = False, **more: Any):
    store = cast("Store", TellingStore(timeline, **more))
    return await explain(store, name, now=T + 5, include_text=text)


def changed(message: dict[str, Any], **timeline: Any) -> Timeline:
    return msgspec.structs.replace(ANSWERED, message=a_message(**message), **timeline)


def unfinished(state: MessageState, **more: Any) -> Timeline:
    message = a_message(state=state, outcome=None, done_at=None)
    return msgspec.structs.replace(OPEN, message=message, events=(), **more)


@pytest.mark.req("A8", "A30", "J11", "J15")
async def test_an_answered_message_is_one_sentence_and_its_facts():
    report = await told(ANSWERED)

    assert report.answer == (
        "Answered after 1.2 s by local:smollm2; 1 credit captured; delivered to rest (pulled)."
    )
    assert (report.id, report.external_id, report.lane) == ("m_1", "my-id", LANE)
    assert report.usage == Usage(12, 3, cost_usd=0.001)
    assert [(one.kind, one.amount) for one in report.credits] == [("capture", 1)]
    assert report.duration_s == 1.2


@pytest.mark.req("P7", "A32")
async def test_the_route_names_the_rule_behind_the_model_and_what_was_left_out():
    assert (await told(ANSWERED)).route == WhyRoute(
        wanted="auto",
        rule="the last resort",
        candidates=(WhyCandidate("local:smollm2", "the last resort"),),
        dropped=(WhyDroppedProvider("openai", "no key"),),
    )


@pytest.mark.req("P7")
async def test_after_a_failover_the_rule_is_that_of_the_model_that_answered():
    both = [
        {"model": "openai:gpt", "rule": "wanted"},
        {"model": "local:smollm2", "rule": "the last resort"},
    ]
    events = (TimelineEvent("routed", T, {"candidates": both}),)

    route = (await told(msgspec.structs.replace(ANSWERED, events=events))).route

    assert route is not None
    assert route.rule == "the last resort"


@pytest.mark.req("A32")
async def test_the_timeline_is_in_order_with_times_and_durations():
    lines = (await told(ANSWERED)).lines

    assert [(line.what, line.after_s, line.took_s) for line in lines] == [
        ("accepted", 0.0, 0.01),
        ("routed", 0.01, 0.09),
        ("model local:smollm2", 0.1, 1.1),
        ("ended", 1.2, None),
    ]
    assert lines[2].data == {"step": 1, "state": "done", "tokens_in": 12, "tokens_out": 3}


@pytest.mark.req("W26", "W35")
async def test_bodies_and_user_ids_are_told_only_when_asked_for():
    closed, opened = await told(ANSWERED), await told(ANSWERED, text=True)

    told_anyway = msgspec.json.encode(closed).decode()
    assert "balance" not in told_anyway
    assert "+49" not in told_anyway
    assert closed.user is not None
    assert len(closed.user) == 13
    assert opened.user == "+4915112345"
    assert opened.text is not None
    assert (opened.text.message, opened.text.reply) == ("what is my balance", "42")


@pytest.mark.req("J24")
async def test_an_erased_person_has_no_text_and_no_name():
    report = await told(changed({"event": None}, result=None), text=True)

    assert report.user is None
    assert report.text is not None
    assert report.text.message is None


@pytest.mark.req("A8", "J10")
@pytest.mark.parametrize(
    ("message", "result", "answer"),
    [
        (
            {"outcome": Outcome.FAILED},
            TurnResult(text="sorry", reason="no model is available."),
            "Failed after 1.2 s; because no model is available; nothing was charged; "
            "delivered to rest (pulled).",
        ),
        (
            {"outcome": Outcome.INTERRUPTED},
            TurnResult(text="par"),
            "Stopped by the person after 1.2 s; nothing was charged; delivered to rest (pulled).",
        ),
        (
            {"outcome": Outcome.EXPIRED, "done_at": T + 4000},
            TurnResult(text="again"),
            "Expired unanswered after 1 h 6 min; nothing was charged; delivered to rest (pulled).",
        ),
        (
            {"outcome": Outcome.MERGED, "merged_into": "m_0"},
            None,
            "Merged into m_0, whose reply answers both; not charged.",
        ),
    ],
)
async def test_every_outcome_has_its_sentence(message, result, answer):
    assert (await told(changed(message, result=result, ledger=()))).answer == answer


@pytest.mark.req("J1")
async def test_a_message_that_arrived_again_says_so():
    events = (ROUTED, TimelineEvent("duplicate", T + 2), TimelineEvent("duplicate", T + 3))

    report = await told(msgspec.structs.replace(ANSWERED, events=events))

    assert report.duplicates == 2
    assert "it arrived 2 more times and got the same reply." in report.answer


@pytest.mark.req("A28", "J17", "J18")
@pytest.mark.parametrize(
    ("delivery", "how"),
    [
        ({"state": DeliveryState.PENDING}, "waiting to be sent"),
        ({"state": DeliveryState.SENDING, "sending_at": T}, "being sent"),
        (
            {
                "state": DeliveryState.RETRY,
                "failed": 2,
                "next_at": T + 65,
                "failure": "rate_limited",
            },
            "retried in 1 min after 2 attempts (rate_limited)",
        ),
        (
            {"state": DeliveryState.RETRY, "failed": 1, "next_at": T},
            "retried now after 1 attempt (no reason given)",
        ),
        (
            {"state": DeliveryState.UNKNOWN, "sending_at": T},
            "unknown: it was sent, but the platform's answer was lost",
        ),
    ],
)
async def test_a_reply_that_is_not_out_yet_says_what_it_waits_for(delivery, how):
    row = a_delivery(**delivery)

    report = await told(msgspec.structs.replace(ANSWERED, deliveries=(row,)))

    assert report.waiting_for == f"its reply to rest is {how}"
    assert report.answer.endswith(f"the reply to rest is {how}.")
    assert report.deliveries[0].how == how


@pytest.mark.req("A28")
async def test_a_dead_letter_waits_for_nothing_and_names_its_reason():
    row = a_delivery(state=DeliveryState.DEAD, failure="invalid_recipient", failed=3)

    report = await told(msgspec.structs.replace(ANSWERED, deliveries=(row,)))

    assert report.waiting_for is None
    assert report.answer.endswith(
        "the reply to rest is a dead letter after 3 attempts (invalid_recipient)."
    )


@pytest.mark.req("J15")
@pytest.mark.parametrize("trace", [{"platform_message_id": "77"}, {"sending_at": T + 1.3}])
async def test_a_reply_that_was_sent_over_a_wire_is_not_called_pulled(trace):
    row = a_delivery(**trace)

    report = await told(msgspec.structs.replace(ANSWERED, deliveries=(row,)))

    assert report.answer.endswith("delivered to rest.")
    assert not report.deliveries[0].is_pulled


@pytest.mark.req("A8")
async def test_a_waiting_message_says_which_one_is_before_it():
    report = await told(unfinished(MessageState.NEW, steps=()), head=a_message(id="m_0"))

    assert report.answer == (
        "Not finished yet, 5.0 s after it was accepted: waiting for m_0, which is before it in the "
        "same conversation."
    )


@pytest.mark.req("A8")
async def test_a_running_message_says_which_step_it_is_in():
    step = msgspec.structs.replace(MODEL_STEP, state="started", at=T + 2)

    report = await told(unfinished(MessageState.RUNNING, steps=(step,)))

    assert report.waiting_for == "model local:smollm2 (started 3.0 s ago)"


@pytest.mark.req("J9")
async def test_a_parked_message_names_its_approval():
    approval = Approval(
        id="a_1",
        message_id="m_1",
        lane=LANE,
        ordinal=2,
        tool="send_mail",
        arguments_hash=b"",
        requester="p_1",
        chat_type="dm",
        expires_at=T + 65,
        state="waiting",
    )

    report = await told(unfinished(MessageState.PARKED), approval=approval)

    assert report.waiting_for == "approval a_1 of the tool send_mail, which expires in 1 min"


@pytest.mark.req("J13")
async def test_a_message_that_was_taken_in_names_its_host():
    message = a_message(state=MessageState.MERGING, outcome=None, done_at=None, merged_into="m_0")

    report = await told(msgspec.structs.replace(OPEN, message=message))

    assert report.waiting_for == "the running turn of m_0, which has taken it in"


REFUSAL = RefusedMessage(
    id="r_1", at=T, platform="rest", code="overloaded", text="5000 messages wait.", external_id="x"
)
REFUSED = Timeline(
    message=None,
    result=None,
    steps=(),
    events=(),
    deliveries=(),
    ledger=(),
    interaction=None,
    refusal=REFUSAL,
)


@pytest.mark.req("J2", "A8")
async def test_a_refused_message_can_be_asked_for_too():
    report = await told(REFUSED, "r_1")

    assert (report.kind, report.id, report.external_id) == ("refusal", "r_1", "x")
    assert report.answer == (
        "Refused at 2023-11-14 22:13:20 UTC (overloaded): 5000 messages wait. Nothing was kept "
        "and nothing was charged."
    )


@pytest.mark.req("J1")
async def test_a_conflict_names_the_message_that_has_the_id_and_the_message_names_the_conflict():
    refusal = msgspec.structs.replace(REFUSAL, code="conflict", message_id="m_1")
    both = msgspec.structs.replace(ANSWERED, refusal=refusal)

    by_refusal, by_message = await told(both, "r_1"), await told(both, "m_1")

    assert by_refusal.kind == "refusal"
    assert by_refusal.answer.endswith("Nothing was kept; the message under that id is m_1.")
    assert by_message.kind == "message"
    assert by_message.refusal is not None
    assert by_message.refusal.id == "r_1"


@pytest.mark.req("A8")
async def test_an_unknown_id_says_which_ids_there_are():
    with pytest.raises(NotFound, match=r"'m_9'.*m_\.\.\..*r_\.\.\..*retention_days"):
        await told(None, "m_9")


@pytest.mark.req("A8")
async def test_the_report_survives_json():
    report = await told(ANSWERED, text=True)

    assert msgspec.json.decode(msgspec.json.encode(report), type=type(report)) == report


@pytest.mark.req("A8")
@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (-1, "0 ms"),
        (0.05, "50 ms"),
        (1.24, "1.2 s"),
        (60, "1 min"),
        (61.4, "1 min 1 s"),
        (3600, "1 h"),
        (3660, "1 h 1 min"),
        (200_000, "2 days"),
    ],
)
def test_a_span_is_said_as_people_say_it(seconds, words):
    assert span(seconds) == words
