"""`hermes why` of a call of /v1: its one line of the journal, told."""

from typing import Any, cast

import msgspec
import pytest

from hermes.control.why import WhyCandidate, WhyReport, WhyRoute, explain
from hermes.control.why_answer import clock_time
from hermes.control.why_call import CallTry, WhyKey, stored_text
from hermes.errors import NotFound
from hermes.message.reply import Usage
from hermes.ports.ids import IdKind
from hermes.ports.keys import CallerKey
from hermes.ports.steps import TimelineEvent
from hermes.ports.store import Store
from hermes.ports.timeline import Timeline

T = 1_700_000_000.0
KEY = CallerKey(
    id="k_1", label="build", user="ann", person_id="p_1", hint="x7Qz", created_at=T - 60
)
DATA = {
    "wanted": "auto",
    "user": "ann",
    "key": "k_1",
    "outcome": "answered",
    "attempts": [
        {"model": "a:one", "rule": "tier pro, 1 of 2", "problem": "provider_timeout"},
        {"model": "b:two", "rule": "tier pro, 2 of 2"},
    ],
    "tokens_in": 12,
    "tokens_out": 3,
    "cost_usd": 0.001,
    "unpriced": 0,
    "ms": 1_200,
}


class _Keys:
    async def list(self) -> tuple[CallerKey, ...]:
        return (KEY,)


class _Responses:
    def __init__(self, until: float | None) -> None:
        self._until = until

    async def stored_until(self, response_id: str, *, now: float) -> float | None:
        return self._until if response_id == "resp_v_1" and now == T + 5 else None


class TellingStore:
    """The part of the store that `why` reads of a call, holding its one line."""

    def __init__(self, event: TimelineEvent, *, stored_until: float | None = None) -> None:
        self._event = event
        self.keys = _Keys()
        self.responses = _Responses(stored_until)
        self.ids = self

    async def matching(self, kind: IdKind, part: str, *, limit: int) -> tuple[str, ...]:
        """No id is short for another here."""
        return ()

    async def timeline(self, name: str) -> Timeline | None:
        if name != "v_1":
            return None
        return Timeline(
            message=None,
            result=None,
            steps=(),
            events=(self._event,),
            deliveries=(),
            ledger=(),
            interaction=None,
        )


async def told(kind: str = "call", **changes: Any) -> WhyReport:
    event = TimelineEvent(kind, T, DATA | changes)
    return await explain(cast("Store", TellingStore(event)), "v_1", now=T + 5, include_text=True)


@pytest.mark.req("A20", "A23", "P7")
async def test_a_call_is_told_with_its_key_its_tries_and_what_it_took():
    report = await told()

    assert report.answer == (
        "Answered after 1.2 s by b:two; 1 try failed; $0.001000; "
        "key k_1 (build, user ann, ends in x7Qz)."
    )
    assert (report.kind, report.id, report.platform) == ("call", "v_1", "v1")
    assert (report.accepted_at, report.done_at, report.duration_s) == (T, T + 1.2, 1.2)
    assert (report.model, report.attempts) == ("b:two", 2)
    assert report.usage == Usage(12, 3, cost_usd=0.001)
    assert report.key == WhyKey(id="k_1", user="ann", label="build", hint="x7Qz")
    assert report.call is not None
    assert report.call.attempts == (
        CallTry(model="a:one", rule="tier pro, 1 of 2", problem="provider_timeout"),
        CallTry(model="b:two", rule="tier pro, 2 of 2"),
    )
    assert report.route == WhyRoute(
        wanted="auto",
        rule="tier pro, 2 of 2",
        candidates=(
            WhyCandidate("a:one", "tier pro, 1 of 2"),
            WhyCandidate("b:two", "tier pro, 2 of 2"),
        ),
    )


@pytest.mark.req("A8")
async def test_a_report_of_a_call_survives_the_way_to_the_command_line():
    report = await told()

    assert msgspec.json.decode(msgspec.json.encode(report), type=WhyReport) == report


@pytest.mark.req("A22", "A23")
@pytest.mark.parametrize(
    ("changes", "beginning"),
    [
        ({"outcome": "over_budget", "attempts": []}, "Refused after 1.2 s (over_budget); "),
        ({"outcome": "kill_switch", "attempts": []}, "Refused after 1.2 s (kill_switch); "),
        (
            {"outcome": "provider_timeout", "attempts": DATA["attempts"][:1]},  # type: ignore[index]
            "Failed after 1.2 s (provider_timeout); 1 try failed; ",
        ),
        (
            {"outcome": "provider_unavailable", "attempts": []},
            "Failed after 1.2 s (provider_unavailable); ",
        ),
        ({"outcome": "left"}, "Left by the caller after 1.2 s, before its end; "),
        (
            {"cached_from": "v_0", "attempts": [{"model": "b:two", "rule": ""}]},
            "Answered after 1.2 s by b:two, from memory: the answer of v_0; ",
        ),
    ],
)
async def test_how_a_call_ended_is_said_first(changes, beginning):
    assert (await told(**changes)).answer.startswith(beginning)


@pytest.mark.req("A20")
@pytest.mark.parametrize(
    ("changes", "cost"),
    [
        ({"cost_usd": 0.0, "unpriced": 1_500}, "; price unknown for 1,500 tokens; "),
        ({"unpriced": 15}, "; $0.001000, price unknown for 15 tokens; "),
        ({"cost_usd": 0.0}, "; no cost; "),
    ],
)
async def test_an_unknown_price_is_never_nothing(changes, cost):
    assert cost in (await told(**changes)).answer


@pytest.mark.req("A8")
async def test_without_a_key_it_was_the_operators_token_and_a_lost_key_keeps_its_user():
    own = await told(key="", user="operator")
    lost = await told(key="k_gone")

    assert own.key is None
    assert own.answer.endswith("by the operator's token.")
    assert lost.key == WhyKey(id="k_gone", user="ann")
    assert lost.answer.endswith("key k_gone (user ann).")


@pytest.mark.req("A8")
async def test_a_line_of_another_version_is_shown_as_it_is():
    report = await told(outcome=None)

    assert "another version" in report.answer
    assert report.call is None
    assert report.lines[0].data["wanted"] == "auto"


@pytest.mark.req("A8")
async def test_a_stray_event_is_no_call():
    with pytest.raises(NotFound):
        await told("duplicate")


@pytest.mark.req("A8")
async def test_a_stored_response_is_told_with_its_end():
    event = TimelineEvent("call", T, DATA)
    store = cast("Store", TellingStore(event, stored_until=T + 86_400))

    report = await explain(store, "v_1", now=T + 5)

    assert report.stored_until == T + 86_400
    assert stored_text(report.stored_until) == (
        f"The response is stored for its key until {clock_time(T + 86_400)}."
    )
    assert (await told()).stored_until is None
    assert stored_text(None) == "The messages of this call are not stored."


@pytest.mark.req("A8")
@pytest.mark.parametrize("name", ["resp_v_1", "chatcmpl-v_1", "cmpl-v_1", "msg_v_1", "msg_v_1_0"])
async def test_the_id_that_a_client_has_is_understood(name):
    store = cast("Store", TellingStore(TimelineEvent("call", T, DATA)))

    report = await explain(store, name, now=T + 5)

    assert (report.asked, report.id, report.kind) == (name, "v_1", "call")


@pytest.mark.req("A8")
@pytest.mark.parametrize("name", ["resp_v_2", "resp_1", "msg_", "v_1_0"])
async def test_an_id_of_no_call_is_named_as_it_was_asked(name):
    store = cast("Store", TellingStore(TimelineEvent("call", T, DATA)))

    with pytest.raises(NotFound, match=f"No message is known as '{name}'"):
        await explain(store, name, now=T + 5)
