"""`resolve_user` alone: who is let in, what the others are told, and what the timeline says."""

from dataclasses import dataclass, field

import pytest

from hermes.agents.roster import AgentRule
from hermes.message.event import MessageEvent
from hermes.message.outcome import Outcome
from hermes.message.reply import Reply
from hermes.message.source import Source
from hermes.people.access import Admission
from hermes.people.reception import AccessNotice
from hermes.pipeline.stages.resolve_user import resolve_user
from hermes.pipeline.turn import Turn
from hermes.ports.people import Person
from hermes.sessions.commands import CommandBook
from tests.unit.pipeline.stage_parts import Context, Table, make_event, make_turn

ANN = Person(id="p_ann", created_at=1.0, tier="gold")
LETS_IN = Admission("in", "allow")


class Door:
    """Admits by one verdict; a code is good or it is not."""

    def __init__(
        self,
        admission: Admission = LETS_IN,
        *,
        text: str | None = "Who are you?",
        linked: AccessNotice | None = None,
    ) -> None:
        self._admission = admission
        self._text = text
        self._linked = linked
        self.turned_away: list[str] = []
        self.codes: list[str] = []

    async def admit(self, event: MessageEvent) -> Admission:
        return self._admission

    async def turn_away(
        self, event: MessageEvent, admission: Admission, *, person_id: str, message_id: str
    ) -> AccessNotice:
        self.turned_away.append(message_id)
        return AccessNotice(self._text, f"told by {admission.rule}")

    async def link(
        self, source: Source, argument: str, *, person_id: str, message_id: str
    ) -> AccessNotice:
        self.codes.append(argument)
        assert self._linked is not None
        return self._linked


@dataclass(frozen=True)
class Rules:
    rule: AgentRule | None = None

    def rule_for(self, source: Source, *, person_id: str | None = None) -> AgentRule | None:
        return self.rule if person_id == "p_ann" else None


@dataclass(frozen=True)
class Store:
    people: Table[Person] = field(default_factory=lambda: Table({"p_ann": ANN}))


@dataclass(frozen=True)
class Services:
    reception: Door = field(default_factory=Door)
    commands: CommandBook = field(default_factory=CommandBook)
    roster: Rules = field(default_factory=Rules)
    store: Store = field(default_factory=Store)


@pytest.mark.req("A3")
async def test_a3_whoever_is_let_in_goes_on_as_their_person() -> None:
    ctx = Context(Services())

    turn = await resolve_user(make_turn(), ctx)

    assert isinstance(turn, Turn)
    assert turn.person == ANN
    assert (ctx.services.reception.turned_away, ctx.journal.notes) == ([], [])


@pytest.mark.req("A3")
async def test_a3_a_person_who_was_erased_meanwhile_is_nobody() -> None:
    turn = await resolve_user(make_turn(), Context(Services(store=Store(Table()))))

    assert isinstance(turn, Turn)
    assert turn.person is None


@pytest.mark.req("A3")
async def test_a3_a_stranger_is_refused_in_words_and_nobody_looks_them_up() -> None:
    services = Services(reception=Door(Admission("pair", "unknown")))
    ctx = Context(services)

    reply = await resolve_user(make_turn(), ctx)

    assert isinstance(reply, Reply)
    assert (reply.text, reply.outcome, reply.code) == (
        "Who are you?",
        Outcome.REFUSED,
        "forbidden",
    )
    assert reply.reason == "told by unknown"
    assert ctx.journal.notes == [("access", {"verdict": "pair", "rule": "unknown"})]
    assert services.store.people.asked == []


@pytest.mark.req("A3")
async def test_a3_who_is_ignored_gets_silence_and_why_says_so() -> None:
    ctx = Context(Services(reception=Door(Admission("ignore", "policy"), text=None)))

    reply = await resolve_user(make_turn(), ctx)

    assert isinstance(reply, Reply)
    assert (reply.silent, reply.parts, reply.reason) == (True, (), "told by policy")


LINKED = AccessNotice("You are Ann.", "linked", joined=True)
WRONG = AccessNotice("That code is wrong.", "wrong_code")


@pytest.mark.req("A3")
async def test_a3_a_strangers_good_code_lets_them_in_at_once() -> None:
    door = Door(Admission("pair", "unknown"), linked=LINKED)

    reply = await resolve_user(make_turn(make_event("/link 1234")), Context(Services(door)))

    assert isinstance(reply, Reply)
    assert (reply.text, reply.outcome) == ("You are Ann.", Outcome.ANSWERED)
    assert (door.codes, door.turned_away) == (["1234"], [])


@pytest.mark.req("A3")
@pytest.mark.parametrize(
    ("admission", "event", "told"),
    [
        (Admission("pair", "r"), make_event("/link 1234"), "That code is wrong."),
        (Admission("ignore", "r"), make_event("/link 1234"), "Who are you?"),
        (Admission("blocked", "r"), make_event("/link 1234"), "Who are you?"),
        (Admission("pair", "r"), make_event("/link 1234", chat_type="group"), "Who are you?"),
        (Admission("pair", "r"), make_event("/link"), "Who are you?"),
    ],
    ids=["wrong", "ignored", "blocked", "in-a-group", "without-a-code"],
)
async def test_a3_a_strangers_code_that_is_not_taken(
    admission: Admission, event: MessageEvent, told: str
) -> None:
    door = Door(admission, linked=WRONG)

    reply = await resolve_user(make_turn(event), Context(Services(door)))

    assert isinstance(reply, Reply)
    assert (reply.text, reply.outcome) == (told, Outcome.REFUSED)


@pytest.mark.req("A3")
@pytest.mark.parametrize(
    ("agent", "notes"),
    [("main", [("agent", {"agent": "main", "rule": "agent_rules.vip"})]), ("other", [])],
)
async def test_a3_the_timeline_names_the_rule_that_chose_the_agent(
    agent: str, notes: list[object]
) -> None:
    rule = AgentRule(place="agent_rules.vip", agent=agent, asks=(("person", "p_ann"),))
    ctx = Context(Services(roster=Rules(rule)))

    await resolve_user(make_turn(), ctx)

    assert ctx.journal.notes == notes
