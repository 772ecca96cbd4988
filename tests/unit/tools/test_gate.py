"""A17: a message is sent with the tools that it can need, and never without one that it does."""

from collections.abc import Sequence
from typing import Any

import pytest

from hermes.calls.token_estimate import input_tokens
from hermes.config import GateSettings
from hermes.message.chat import ChatMessage, user_text
from hermes.message.parts import ImagePart, Media, TextPart
from hermes.ports.provider import ModelRequest, ToolSpec
from hermes.ports.tool import Tool
from hermes.tools import tool
from hermes.tools.gate import GatedTools, allowed_tools, gate, only_small_talk, spec_tokens
from hermes.tools.gate_rules import gate_rules
from tests.unit.tools.concierge import TOOLS
from tests.unit.tools.gate_table import NEEDING, NOTHING, OFFERED, SUNNY, TRIVIAL, Said, said

RULES = gate_rules(GateSettings())
NAMES = tuple(one.spec.name for one in TOOLS)


@tool
def note_down(text: str) -> str:
    """Write something down."""
    return text


def gated(text: str, recent: Said = NOTHING, *, tools: Sequence[Tool] = TOOLS) -> GatedTools:
    return gate(text, recent, tools, rules=RULES, name="Hermes")


def names(found: GatedTools) -> set[str]:
    return {spec.name for spec in found.tools}


def tokens(text: str, recent: Sequence[ChatMessage], tools: tuple[ToolSpec, ...]) -> int:
    return input_tokens(ModelRequest(model="", messages=(*recent, user_text(text)), tools=tools))


@pytest.mark.req("A17")
@pytest.mark.parametrize(("text", "recent"), TRIVIAL, ids=[text for text, _ in TRIVIAL])
def test_small_talk_is_sent_without_tools(text: str, recent: Said) -> None:
    found = gated(text, recent)

    assert found.tools == ()
    assert found.left_out == NAMES
    assert found.rule == "a trivial message"
    assert found.saved_tokens == sum(spec_tokens(one.spec) for one in TOOLS)


@pytest.mark.req("A17")
@pytest.mark.parametrize(("text", "recent", "needed"), NEEDING, ids=[row[0] for row in NEEDING])
def test_a_message_always_has_the_tools_that_it_needs(
    text: str, recent: Said, needed: tuple[str, ...]
) -> None:
    found = gated(text, recent)

    assert set(needed) <= names(found), found.rule
    assert {*names(found), *found.left_out} == set(NAMES)


@pytest.mark.req("A17")
def test_over_the_table_of_sixty_messages_the_gate_saves_most_of_what_tools_cost() -> None:
    rows = [*TRIVIAL, *((text, recent) for text, recent, _ in NEEDING)]
    every = tuple(one.spec for one in TOOLS)
    without = [tokens(text, recent, every) for text, recent in rows]
    having = [tokens(text, recent, gated(text, recent).tools) for text, recent in rows]
    saved = [gated(text, recent).saved_tokens for text, recent in rows]

    assert len(rows) == 60
    assert len(TOOLS) == 17
    whole = sum(map(spec_tokens, every))
    assert 1_700 <= whole <= 2_500
    # What is told as saved is what is saved, up to rounding.
    gaps = [
        before - after - told for before, after, told in zip(without, having, saved, strict=True)
    ]
    assert max(map(abs, gaps)) <= len(TOOLS)
    assert max(having[: len(TRIVIAL)]) < 60
    assert sum(having) < 0.35 * sum(without)


@pytest.mark.req("A17")
def test_a_tool_that_is_for_no_intent_is_sent_with_every_message_but_small_talk() -> None:
    tools = (*TOOLS, note_down)

    assert "note_down" in names(gated("will it rain tomorrow?", tools=tools))
    assert "note_down" in names(gated("yes", OFFERED, tools=tools))
    assert "note_down" not in names(gated("hello", tools=tools))


@pytest.mark.req("A17")
def test_an_intent_that_nobody_defined_keeps_no_tool_away() -> None:
    @tool(intents=("astrology",))
    def horoscope(sign: str) -> str:
        """Read the stars."""
        return sign

    assert "horoscope" in names(gated("will it rain tomorrow?", tools=(*TOOLS, horoscope)))


@pytest.mark.req("A17")
def test_in_doubt_all_tools_are_sent() -> None:
    for text in ("what do you make of this", "?", "sing me something", "x" * 1_001):
        assert gated(text).left_out == (), text


@pytest.mark.req("A17")
def test_what_is_attached_is_no_small_talk_and_brings_its_tools() -> None:
    def found(text: str) -> GatedTools:
        return gate(text, NOTHING, TOOLS, rules=RULES, attached=True)

    assert {"scan_calories", "find_similar"} <= names(found(""))
    assert {"scan_calories", "find_similar"} <= names(found("hi"))
    assert {"scan_calories", "set_reminder"} <= names(found("remind me of this"))
    assert "get_directions" not in names(found("remind me of this"))


@pytest.mark.req("A17")
def test_an_ok_is_small_talk_only_when_nothing_was_asked() -> None:
    assert gated("ok", SUNNY).rule == "a trivial message"
    assert gated("ok", OFFERED).rule == "a follow-up: booking, venues"
    assert gated("yes", SUNNY).rule == "a follow-up: weather"


@pytest.mark.req("A17")
def test_a_message_that_goes_on_does_not_begin_a_topic_whatever_it_names() -> None:
    recent = said(
        *("book a table at Luna for friday", "For how many people?"),
        *("and what's the weather in Porto tomorrow", "Sunny, 24 degrees. Shall I go ahead?"),
    )

    assert gated("yes", recent).rule == "a follow-up: booking, weather"


@pytest.mark.req("A17")
def test_a_short_message_without_a_topic_does_not_begin_one() -> None:
    recent = said(
        *("book a table at Luna for friday", "For how many people?"),
        *("four", "Anything else?"),
    )

    assert gated("yes", recent).rule == "a follow-up: booking"


@pytest.mark.req("A17")
def test_a_follow_up_of_something_unknown_gets_all_tools() -> None:
    before = (user_text("tell me a story"),)

    assert gated("do that again", before).left_out == ()
    assert gated("please book it", before).left_out == ()
    assert gated("please book it").rule == "intent: booking"


@pytest.mark.req("A17")
def test_the_settings_add_intents_words_and_small_talk() -> None:
    settings = GateSettings.model_validate(
        {
            "trivial": ["wazzup"],
            "follow_ups": ["aye"],
            "intents": {
                "notes": {"words": ["scribble"], "patterns": [r"\bnb\b"], "tools": ["note_*"]},
                "weather": {"words": ["drizzle"]},
            },
        }
    )
    rules = gate_rules(settings)
    tools = (*TOOLS, note_down)

    def found(text: str, recent: Said = NOTHING) -> GatedTools:
        return gate(text, recent, tools, rules=rules)

    assert found("Wazzup!").tools == ()
    assert names(found("scribble this")) == names(found("NB: this")) == {"note_down"}
    assert "note_down" not in names(found("some drizzle?"))
    assert found("some drizzle?").rule == "intent: weather"
    assert found("is there rain").rule == "no intent was recognised"
    assert found("aye captain", OFFERED).rule == "a follow-up: booking, venues"


@pytest.mark.req("A17")
def test_an_agents_list_is_the_outer_bound() -> None:
    known = {one.spec.name: one for one in TOOLS}

    listed = allowed_tools(known, ("get_weather", "book_table", "gone"))

    assert [one.spec.name for one in listed] == ["book_table", "get_weather"]
    assert names(gated("book a table", tools=listed)) == {"book_table"}
    assert len(allowed_tools(known, ("*",))) == 17


PICTURE = ChatMessage(
    "user", (TextPart("hi"), ImagePart(Media("image/png", url="https://a.test/a.png")))
)


@pytest.mark.req("A17")
@pytest.mark.parametrize(
    ("text", "recent", "more", "is_small"),
    [
        ("hi", (), {}, True),
        ("hi", (), {"attached": True}, False),
        ("hi", (PICTURE,), {}, False),
        ("hi", (user_text("book a table for two"),), {}, False),
        ("hi", (user_text("hi"), ChatMessage("assistant", (TextPart("Hello!"),))), {}, True),
        ("book a table for two", (), {}, False),
        ("hi", (), {"chars_before": 1_000_000}, False),
    ],
)
def test_a_session_needs_no_tools_while_it_is_small_talk_alone(
    text: str, recent: Said, more: dict[str, Any], is_small: bool
) -> None:
    assert only_small_talk(text, recent, rules=gate_rules(GateSettings()), **more) is is_small
