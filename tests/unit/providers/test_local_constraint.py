"""What the demonstration model may write: the grammar of tools, choices and schemas."""

import json
from typing import Literal

import msgspec
import pytest

from hermes.errors import ProviderRejected
from hermes.message.chat import user_text
from hermes.ports.provider import ModelRequest, OutputSchema, ToolChoice, ToolSpec
from hermes.providers.local.constraint import Constraint, constraint_of

COMPACT = '"x-guidance":{"whitespace_flexible":false,"item_separator":",","key_separator":":","lenient":true}'
EXACT = '"minimum":-9007199254740991,"maximum":9007199254740991'
TEXT = '%json {"type":"string","minLength":1,' + COMPACT + "}"


def raw(form: object) -> msgspec.Raw:
    return msgspec.Raw(json.dumps(form).encode())


CLOCK = ToolSpec("clock", "Tells the time.", raw({"type": "object"}))
MAIL = ToolSpec(
    'ma"il', "Sends mail.", raw({"properties": {"to": {"type": "string"}}, "required": ["to"]})
)
NUMBER = OutputSchema(name="number", schema=raw({"type": "integer"}))


def asking(
    *tools: ToolSpec,
    mode: Literal["auto", "none", "required"] = "auto",
    name: str | None = None,
    schema=None,
):
    return ModelRequest(
        model="m",
        messages=(user_text("hi"),),
        tools=tools,
        tool_choice=ToolChoice(mode, name),
        schema=schema,
    )


def held(request: ModelRequest) -> Constraint:
    found = constraint_of(request, name="local")
    assert found is not None
    return found


@pytest.mark.req("M5")
def test_without_tools_and_schema_nothing_is_held():
    assert constraint_of(asking(), name="local") is None
    assert constraint_of(asking(CLOCK, mode="none"), name="local") is None


@pytest.mark.req("M5")
def test_with_tools_the_model_may_answer_or_call_some_of_them():
    assert held(asking(CLOCK, MAIL)).grammar.split("\n") == [
        "%llguidance {}",
        r'answer: "{\"answer\":" text "}"',
        f"text: {TEXT}",
        r'calls: "{\"tool_calls\":[" call ("," call){0,3} "]}"',
        "call: call_0 | call_1",
        r'call_0: "{\"name\":\"clock\",\"arguments\":" arguments_0 "}"',
        'arguments_0: %json {"type":"object","additionalProperties":false,' + COMPACT + "}",
        r'call_1: "{\"name\":\"ma\\\"il\",\"arguments\":" arguments_1 "}"',
        'arguments_1: %json {"properties":{"to":{"type":"string"}},"required":["to"],'
        '"type":"object","additionalProperties":false,' + COMPACT + "}",
        "start: answer | calls",
    ]


@pytest.mark.req("M5")
def test_a_choice_leaves_only_what_was_chosen():
    required = held(asking(CLOCK, MAIL, mode="required")).grammar
    named = held(asking(CLOCK, MAIL, mode="required", name="clock")).grammar

    assert required.endswith("\nstart: calls")
    assert "call: call_0 | call_1" in required
    assert named.split("\n")[1:4] == [
        r'calls: "{\"tool_calls\":[" call "]}"',
        "call: call_0",
        r'call_0: "{\"name\":\"clock\",\"arguments\":" arguments_0 "}"',
    ]
    assert "call_1" not in named


@pytest.mark.req("M6")
def test_a_schema_is_the_form_of_the_answer_with_tools_or_without():
    alone, beside = held(asking(schema=NUMBER)), held(asking(CLOCK, schema=NUMBER))

    assert alone.grammar.split("\n") == [
        "%llguidance {}",
        r'answer: "{\"answer\":" text "}"',
        'text: %json {"type":"integer",' + EXACT + "," + COMPACT + "}",
        "start: answer",
    ]
    assert beside.grammar.endswith("start: answer | calls")
    assert (alone.json_answer, beside.json_answer) == (True, True)


@pytest.mark.req("M5")
def test_the_model_is_told_in_few_words():
    told = held(asking(CLOCK, MAIL)).told.split("\n")

    assert told[:4] == [
        "Tools:",
        "- clock(): Tells the time.",
        '- ma"il(to): Sends mail.',
        'Use a tool only for a question about it: {"tool_calls":[{"name":"...","arguments":{}}]}',
    ]
    assert held(asking(schema=NUMBER)).told == (
        'JSON is a value of this schema: {"type": "integer"}\nAnswer with {"answer":JSON}.'
    )


@pytest.mark.req("M5")
def test_parameters_that_are_open_on_purpose_stay_open():
    form = {"type": "object", "additionalProperties": {"type": "boolean"}}
    free = ToolSpec("free", "", raw(form))

    assert (
        f"%json {json.dumps(form, separators=(',', ':'))[:-1]},{COMPACT}"
        in held(asking(free)).grammar
    )


@pytest.mark.req("M5", "M6")
@pytest.mark.parametrize(
    ("request_", "says"),
    [
        (asking(CLOCK, mode="required", name="mail"), "the tool mail must be called"),
        (asking(mode="required"), "not among the offered tools .none."),
        (
            asking(ToolSpec("t", "", raw({"type": "string"}))),
            "of the tool t must be .* type object",
        ),
        (asking(ToolSpec("t", "", msgspec.Raw(b"[1]"))), "of the tool t must be a JSON schema"),
        (asking(schema=OutputSchema(name="s", schema=msgspec.Raw(b"{"))), "the schema s must be"),
        (asking(ToolSpec("t", "", raw({"enum": ["x" * 70_000]}))), "supports at most 65536"),
    ],
)
def test_what_no_grammar_can_hold_is_refused(request_, says):
    with pytest.raises(ProviderRejected, match=f"^local: .*{says}"):
        constraint_of(request_, name="local")


@pytest.mark.req("M5", "M6")
def test_an_integer_without_bounds_gets_some_wherever_it_stands_and_nothing_else_changes():
    form = {
        "properties": {
            "open": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
            "small": {"type": "integer", "maximum": 9},
            "chosen": {"enum": [{"type": "integer"}]},
        }
    }

    grammar = held(asking(schema=OutputSchema(name="form", schema=raw(form)))).grammar

    assert '"open":{"anyOf":[{"type":"integer",' + EXACT + '},{"type":"null"}]}' in grammar
    assert '"small":{"type":"integer","maximum":9}' in grammar
    assert '"chosen":{"enum":[{"type":"integer"}]}' in grammar
