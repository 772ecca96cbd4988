"""A3: which agent answers, by rules over platform, chat, thread, guild and person."""

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from hermes.agents.roster import Roster
from hermes.config import Settings, load
from hermes.errors import ConfigurationError
from hermes.message.event import MessageEvent
from hermes.message.parts import TextPart
from hermes.message.source import Source

AGENTS = "agents: {a: {}, b: {}, c: {}, d: {}, e: {}, f: {}}\n"
RULES = """
agent_rules:
  everywhere: {platform: discord, agent: a}
  groups: {platform: discord, chat_type: group, agent: b}
  guild: {guild: 55, agent: c}
  chat: {chat: "66", agent: d}
  thread: {thread: t, chat: "66", agent: e}
  person: {person: "discord:7", agent: f}
"""
Load = Callable[[str], Settings]


@pytest.fixture
def loaded(tmp_path: Path) -> Load:
    def read(yaml: str) -> Settings:
        (tmp_path / "config.yaml").write_text(yaml)
        return load({}, tmp_path).settings

    return read


def roster_of(settings: Settings) -> Roster:
    return Roster(settings.agents, default=settings.default_agent, rules=settings.agent_rules)


def source(**fields: object) -> Source:
    return msgspec.convert(
        {"platform": "discord", "chat_id": "1", "user_id": "2", **fields}, Source
    )


@pytest.mark.req("A3")
def test_the_closest_rule_wins_in_whatever_order_they_stand(loaded: Load) -> None:
    first, *rest = RULES.strip().splitlines()
    for lines in (rest, rest[::-1]):
        roster = roster_of(loaded(AGENTS + "\n".join((first, *lines))))

        found = [
            roster.for_source(place).key
            for place in (
                source(platform="telegram"),
                source(),
                source(chat_type="group"),
                source(chat_type="group", guild_id="55"),
                source(chat_type="group", guild_id="55", chat_id="66"),
                source(chat_id="9", parent_chat_id="66"),
                source(chat_id="66", thread_id="t"),
                source(chat_id="66", thread_id="t", user_id="7"),
                source(platform="telegram", user_id="7"),
            )
        ]

        assert found == ["main", "a", "b", "c", "d", "d", "e", "f", "main"]


@pytest.mark.req("A3")
async def test_the_agent_that_a_message_names_comes_before_every_rule(loaded: Load) -> None:
    roster = roster_of(loaded(AGENTS + RULES))
    event = MessageEvent(
        account="a", route="r", external_id="x", source=source(), parts=(TextPart("hi"),), at=1.0
    )

    named = msgspec.structs.replace(event, agent="f")

    assert [(await roster.for_event(one)).key for one in (event, named)] == ["a", "f"]


@pytest.mark.req("A3")
def test_a_rule_may_be_about_a_person_on_all_channels(loaded: Load) -> None:
    roster = roster_of(loaded(AGENTS + "agent_rules: {vip: {person: p_1, agent: b}}"))

    found = [roster.for_source(source(), person_id=who).key for who in ("p_1", "p_2", None)]

    assert found == ["b", "main", "main"]
    assert roster.asks_for_people
    assert not roster_of(loaded(AGENTS + RULES)).asks_for_people


@pytest.mark.req("A3")
def test_threads_are_a_kind_of_chat(loaded: Load) -> None:
    roster = roster_of(loaded(AGENTS + "agent_rules: {t: {chat_type: thread, agent: b}}"))

    found = [
        roster.for_source(place).key
        for place in (source(thread_id="t"), source(chat_type="thread"), source())
    ]

    assert found == ["b", "b", "main"]


@pytest.mark.req("A3")
@pytest.mark.parametrize(
    ("rules", "told"),
    [
        ("{x: {platform: discord, agent: nobody}}", "expected one of the agents"),
        ("{x: {platform: discord}}", "expected one of the agents"),
        ("{x: {agent: a}}", "but the rule has no condition"),
        (
            "{x: {chat: 1, agent: a}, y: {chat: '1', agent: b}}",
            "agent_rules.x matches the same messages",
        ),
        ("{x: {person: Ann Smith, agent: a}}", '"platform:user_id"'),
    ],
)
def test_a_rule_that_cannot_be_meant_is_refused_at_the_start(
    loaded: Load, rules: str, told: str
) -> None:
    with pytest.raises(ConfigurationError, match=told):
        loaded(f"{AGENTS}agent_rules: {rules}")
