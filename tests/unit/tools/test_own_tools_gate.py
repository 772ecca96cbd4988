"""A17 for the built-in tools: sent when they are asked for, and in nobody's way."""

import msgspec
import pytest

from hermes.config import GateSettings
from hermes.message.chat import ChatMessage, user_text
from hermes.message.parts import TextPart, ToolCallPart
from hermes.ports.provider import ToolSpec
from hermes.tools.builtin.delegate import INTENT as DELEGATION
from hermes.tools.builtin.delegate import Delegate
from hermes.tools.builtin.memory import INTENT as MEMORY
from hermes.tools.builtin.memory import Memory
from hermes.tools.builtin.send_message import INTENT as MESSAGING
from hermes.tools.builtin.send_message import SendMessage
from hermes.tools.function_tool import FunctionTool, tool
from hermes.tools.gate import GatedTools, gate, spec_tokens
from hermes.tools.gate_rules import GateRules, built_in_table, gate_rules
from tests.unit.tools.concierge import TOOLS
from tests.unit.tools.gate_table import NEEDING, NOTHING, TRIVIAL, Said

RULES = gate_rules(GateSettings())


def stand_in(name: str, intent: str) -> FunctionTool:
    """Return a tool with the name and the intent of a built-in one."""

    @tool(name=name, intents=(intent,))
    def run(text: str) -> str:
        """Do it."""
        return text

    return run


OWN = (
    stand_in("delegate", DELEGATION),
    stand_in("memory", MEMORY),
    stand_in("send_message", MESSAGING),
)
OWN_NAMES = frozenset(one.spec.name for one in OWN)
ASKING = [
    ("Remember that I am allergic to nuts", "memory"),
    ("please forget my old address", "memory"),
    ("What do you know about me?", "memory"),
    ("my favourite colour is green", "memory"),
    ("Merk dir bitte, dass ich vegan bin", "memory"),
    ("Was weißt du über mich?", "memory"),
    ("Recuerda que prefiero las mañanas", "memory"),
    ("Souviens-toi que je suis végétarien", "memory"),
    ("Send Bob a note that dinner is at eight", "send_message"),
    ("tell the team on slack that the build is green", "send_message"),
    ("post this to the announcements channel", "send_message"),
    ("let him know that I am late", "send_message"),
    ("Schick das bitte auf mein Telegram", "send_message"),
    ("Sag dem Team Bescheid", "send_message"),
    ("Envía un mensaje a Juan", "send_message"),
    ("Envoie ça à Marie", "send_message"),
    ("delegate this to another agent", "delegate"),
    ("Research these three companies in parallel", "delegate"),
    ("Compare the two offers thoroughly", "delegate"),
    ("Recherchiere das bitte gründlich", "delegate"),
    ("Investiga a fondo este tema", "delegate"),
    ("Fais une recherche en profondeur", "delegate"),
]
OTHERS = [
    "What is the capital of Norway?",
    "How tall is the Eiffel tower?",
    "Write me a haiku",
    "Why is the sky blue?",
    "Wie spät ist es in Tokio?",
    "¿Quién pintó el Guernica?",
]


def gated(text: str, recent: Said = NOTHING) -> GatedTools:
    return gate(text, recent, (*TOOLS, *OWN), rules=RULES, name="Hermes")


def before_them(text: str, recent: Said) -> GatedTools:
    """Return what the gate chose when there were neither these tools nor their intents."""
    table = built_in_table()
    others = {name: intent for name, intent in table.intents.items() if not intent.aside}
    rules = GateRules(msgspec.structs.replace(table, intents=others), GateSettings())
    return gate(text, recent, TOOLS, rules=rules, name="Hermes")


def names(found: GatedTools) -> set[str]:
    return {spec.name for spec in found.tools}


@pytest.mark.req("A17")
@pytest.mark.parametrize(("text", "needed"), ASKING, ids=[text for text, _ in ASKING])
def test_who_asks_for_it_has_the_tool(text: str, needed: str) -> None:
    assert needed in names(gated(text))
    assert needed in names(gate(text, (), OWN, rules=RULES))


@pytest.mark.req("A17")
@pytest.mark.parametrize("text", OTHERS)
def test_in_doubt_they_stay_out_and_everything_else_is_sent(text: str) -> None:
    found = gated(text)

    assert names(found) == {one.spec.name for one in TOOLS}
    assert set(found.left_out) == OWN_NAMES
    assert found.saved_tokens == sum(spec_tokens(one.spec) for one in OWN)


@pytest.mark.req("A17")
def test_small_talk_is_sent_without_them() -> None:
    assert [text for text, recent in TRIVIAL if gated(text, recent).tools] == []


@pytest.mark.req("A17")
def test_they_leave_the_choice_of_every_other_tool_as_it_is() -> None:
    rows = [*((text, recent) for text, recent, _ in NEEDING), *((one, ()) for one, _ in ASKING)]

    changed = [
        text
        for text, recent in rows
        if names(gated(text, recent)) - OWN_NAMES != names(before_them(text, recent))
    ]
    assert changed == []


@pytest.mark.req("A17")
def test_a_long_message_that_asks_for_one_has_it() -> None:
    found = gated("Please send this to Bob: " + "word " * 400)

    assert "send_message" in names(found)
    assert not {"memory", "delegate"} & names(found)


@pytest.mark.req("A17")
def test_a_follow_up_keeps_the_one_that_was_used() -> None:
    used = ChatMessage("assistant", (ToolCallPart("1", "send_message", "{}"),))
    asked = ChatMessage("assistant", (TextPart("It is sent. Shall I add the address?"),))
    found = gated("yes, do that", (user_text("give Bob a sign"), used, asked))

    assert "send_message" in names(found)


@pytest.mark.req("A17")
def test_three_tools_cost_little_where_they_are_sent_all_the_time() -> None:
    specs: list[ToolSpec] = [Memory.spec, SendMessage.spec, Delegate({}).spec]

    assert sum(map(spec_tokens, specs)) < 500
