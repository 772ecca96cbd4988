"""A turn told as a model call: what was shown, what it came to, and who may see whose."""

from collections.abc import AsyncIterator
from typing import cast

import pytest

from hermes.calls.events import FullAnswer
from hermes.errors import (
    BadRequest,
    ModelsStopped,
    NoCredits,
    OverBudget,
    PromptTooLong,
    ProviderUnavailable,
    StreamTruncated,
)
from hermes.message.chat import ChatMessage, user_text
from hermes.message.event import MessageEvent
from hermes.message.outcome import Outcome
from hermes.message.parts import FilePart, Media, text_of
from hermes.ports.channel import Acceptance
from hermes.ports.gateway_api import GatewayApi
from hermes.ports.keys import CallerKey
from hermes.ports.options import Extras
from hermes.ports.provider import ModelRequest, TextDelta
from hermes.ports.turns import TurnResult
from hermes.ports.upward import Progress
from hermes.server.v1.agent_turns import AgentTurns, ignored_by_agents, refuse_for_agents
from hermes.server.v1.callers import ApiCaller
from hermes.server.v1.dialect import WireCall
from hermes.testing.manual_time import ManualClock

KEY = CallerKey(id="k_1", label="", user="ann", person_id="p", hint="", created_at=0.0)


class ToldDoor:
    """A door behind which one turn happens as told."""

    def __init__(self, *progress: Progress) -> None:
        self._progress = progress
        self.events: list[MessageEvent] = []

    async def accept(self, event: MessageEvent) -> Acceptance:
        self.events.append(event)
        return Acceptance(message_id="m_1")

    async def watch(self, _message_id: str) -> AsyncIterator[Progress]:
        for one in self._progress:
            yield one


def delta(text: str) -> Progress:
    return Progress(kind="delta", text=text)


def done(text: str, outcome: Outcome = Outcome.ANSWERED, **more: str) -> Progress:
    return Progress(kind="done", outcome=outcome, result=TurnResult(text=text, **more))  # type: ignore[arg-type]


async def tell(
    *progress: Progress, stream: bool = True, user: str = "ann", **headers: str
) -> tuple[str, str, MessageEvent]:
    """Run a turn; returns what was shown, what it came to, and the event that was accepted."""
    gateway_api = ToldDoor(*progress)
    turns = AgentTurns(
        cast(GatewayApi, gateway_api), clock=ManualClock(), make_id=lambda kind: f"{kind}_new"
    )
    request = ModelRequest(model="", messages=(user_text("hi"),))
    call = WireCall(model="agent:main", request=request, stream=stream)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    shown, final = "", ""
    async for event in turns.run(call, ApiCaller(user=user, key=KEY), headers=named):
        if isinstance(event, TextDelta):
            shown += event.text
        elif isinstance(event, FullAnswer):
            final = text_of(event.end.parts)
    return shown, final, gateway_api.events[0]


@pytest.mark.req("M7")
@pytest.mark.parametrize(
    ("progress", "shown"),
    [
        ((delta("It is "), delta("cold."), done("It is cold.")), "It is cold."),
        ((delta("It is"), done("It is cold.")), "It is cold."),
        ((done("It is cold."),), "It is cold."),
        (
            (delta("Let me look."), Progress(kind="restart"), delta("Cold."), done("Cold.")),
            "Let me look.\n\nCold.",
        ),
        ((delta("Let me look."), done("My tools found: 2")), "Let me look.\n\nMy tools found: 2"),
        (
            (delta("I will."), Progress(kind="parked", result=TurnResult(text="", approval="a_1"))),
            "I will.\n\nThis needs an approval (a_1). Ask again once it is given.",
        ),
    ],
    ids=["whole", "rest", "at once", "two rounds", "another text", "parked"],
)
async def test_a_stream_shows_everything_once_and_ends_with_what_it_showed(
    progress: tuple[Progress, ...], shown: str
) -> None:
    told, final, _ = await tell(*progress)

    assert told == final == shown


@pytest.mark.req("M7")
async def test_a_whole_answer_is_the_last_word_alone() -> None:
    progress = (delta("Let me look."), Progress(kind="restart"), delta("Cold."), done("Cold."))

    assert (await tell(*progress, stream=False))[:2] == ("", "Cold.")


@pytest.mark.req("A22", "A23")
@pytest.mark.parametrize(
    ("end", "error"),
    [
        (done("no", Outcome.FAILED, reason="x"), ProviderUnavailable),
        (done("no", Outcome.FAILED, reason="x", code="over_budget"), OverBudget),
        (done("no", Outcome.REFUSED, reason="x", code="no_credits"), NoCredits),
        (done("no", Outcome.FAILED, reason="x", code="prompt_too_long"), PromptTooLong),
        (done("no", Outcome.FAILED, reason="x", code="kill_switch"), ModelsStopped),
        (done("half", Outcome.INTERRUPTED, reason="stopped"), StreamTruncated),
        (Progress(kind="stopping"), StreamTruncated),
    ],
    ids=[
        "failed",
        "over budget",
        "no credits",
        "too long",
        "kill switch",
        "interrupted",
        "gateway stops",
    ],
)
async def test_a_turn_without_an_answer_is_an_error(end: Progress, error: type[Exception]) -> None:
    with pytest.raises(error):
        await tell(delta("half"), end)


@pytest.mark.req("J1", "W9")
async def test_no_name_reaches_into_another_users_conversations() -> None:
    end = done("x")
    _, _, victim = await tell(end, user="acme:bob", x_hermes_conversation="x")
    _, _, thief = await tell(end, user="acme", x_hermes_conversation="bob:x")
    _, _, named = await tell(end, user="ann", x_hermes_conversation="foo")
    _, _, once = await tell(end, user="ann", idempotency_key="foo")
    _, _, other = await tell(end, user="eve", idempotency_key="foo")

    chats = [event.source.chat_id for event in (victim, thief, named, once, other)]
    assert len(set(chats)) == len(chats)
    assert once.external_id != other.external_id
    assert (once.key, once.source.user_id) == ("k_1", "ann")


@pytest.mark.req("M5")
async def test_what_an_agent_decides_by_itself_is_refused_or_named() -> None:
    request = ModelRequest(model="", messages=(), temperature=0.5, max_output_tokens=5)

    assert ignored_by_agents(request) == ("max_tokens", "temperature")
    rare = ModelRequest(model="", messages=(), seed=7, extras=Extras(top_k=5, verbosity="low"))
    assert ignored_by_agents(rare) == ("seed", "top_k", "verbosity")
    turns = AgentTurns(cast(GatewayApi, ToldDoor()), clock=ManualClock(), make_id=str)
    with pytest.raises(BadRequest, match="last message"):
        await anext(
            turns.run(
                WireCall(model="agent:main", request=request), ApiCaller(user="ann"), headers={}
            )
        )


@pytest.mark.req("M5")
def test_an_agent_takes_no_files_and_gives_one_answer() -> None:
    paper = ChatMessage("user", (FilePart(Media("application/pdf", url="https://a.test/a")),))
    several = WireCall(model="agent:main", request=ModelRequest(model="", messages=()), choices=2)
    with pytest.raises(BadRequest, match="documents or sounds"):
        refuse_for_agents(
            WireCall(model="agent:main", request=ModelRequest(model="", messages=(paper,)))
        )
    with pytest.raises(BadRequest, match="n is 2: an agent gives one answer"):
        refuse_for_agents(several)
