"""The ways to an answer in JSON: the model's own, a forced tool, or words and a second try."""

import json

import msgspec
import pytest

from hermes.calls.request_fit import fit
from hermes.calls.schema_ways import (
    as_json,
    as_tool,
    from_tool,
    in_words,
    repair,
    tool_name,
    way_of,
)
from hermes.message.chat import ChatMessage, user_text
from hermes.message.parts import ReasoningPart, TextPart, ToolCallPart
from hermes.message.reply import Usage
from hermes.ports.provider import (
    CallEnd,
    ModelRequest,
    OutputSchema,
    ProviderInfo,
    StopReason,
    ToolChoice,
    ToolSpec,
)
from hermes.provider_kit.capabilities import service_options

REQUIRED = ToolChoice("required")
CLOCK = ToolSpec("clock", "Tells the time.", msgspec.Raw(b'{"type":"object"}'))
RAW = msgspec.Raw(b'{"type":"object","properties":{"n":{"type":"integer"}}}')
ASKED = ModelRequest(
    model="m",
    system=("Be brief.",),
    messages=(user_text("How many?"),),
    schema=OutputSchema(name="Number of things!", schema=RAW),
)


def info(*, tools: bool, schema: bool) -> ProviderInfo:
    return ProviderInfo(
        name="p", model="m", tools=tools, vision=False, schema=schema, context_tokens=1000
    )


def asking(root: object) -> ModelRequest:
    raw = msgspec.Raw(json.dumps(root).encode())
    return msgspec.structs.replace(ASKED, schema=OutputSchema(name="n", schema=raw))


def end(*parts: TextPart | ToolCallPart | ReasoningPart, why: StopReason = "tool_calls") -> CallEnd:
    return CallEnd(parts, why, Usage(1, 2), "m")


@pytest.mark.req("M6", "P6")
def test_the_way_follows_from_what_the_model_can_do():
    plain, tools_only, own = (
        info(tools=False, schema=False),
        info(tools=True, schema=False),
        info(tools=True, schema=True),
    )
    with_tools = msgspec.structs.replace(ASKED, tools=(CLOCK,))
    free = msgspec.structs.replace(ASKED, schema=None)

    assert [way_of(one, "m", ASKED) for one in (plain, tools_only, own)] == [
        "words",
        "tool",
        "native",
    ]
    assert way_of(tools_only, "m", with_tools) == "words"
    assert way_of(own, "m", with_tools) == "native"
    assert way_of(tools_only, "m", asking({"type": "array"})) == "words"
    assert way_of(tools_only, "m", asking({"anyOf": []})) == "words"
    assert way_of(plain, "m", free) == "native"


@pytest.mark.req("M5", "M6")
def test_a_model_that_nothing_forces_to_call_a_tool_is_asked_in_words():
    options = service_options("anthropic")
    one = msgspec.structs.replace(info(tools=True, schema=False), options=options)
    must = msgspec.structs.replace(ASKED, schema=None, tools=(CLOCK,), tool_choice=REQUIRED)
    forced = msgspec.structs.replace(must, model="claude-opus-5")
    free = msgspec.structs.replace(must, model="claude-fable-5")

    assert way_of(one, "claude-opus-5", ASKED) == "tool"
    assert way_of(one, "claude-fable-5", ASKED) == "words"
    assert fit(forced, one, whole=False).request is forced
    spoken = fit(free, one, whole=False)
    assert (spoken.speaks_tools, spoken.request.tools) == (True, ())


@pytest.mark.req("M6", "M4")
def test_in_words_the_schema_is_one_more_system_block():
    told = in_words(ASKED)

    assert told == msgspec.structs.replace(ASKED, schema=None, system=("Be brief.", told.system[1]))
    assert told.system[1] == (
        "Answer with JSON only: one value that fits the JSON schema below. Write no other words"
        " before or after it, no explanation and no code fence.\n\nJSON schema:\n"
        '{"type":"object","properties":{"n":{"type":"integer"}}}'
    )
    assert (
        in_words(msgspec.structs.replace(ASKED, tools=(CLOCK,)))
        .system[1]
        .startswith("If you call no tool, answer with JSON only")
    )


@pytest.mark.req("M6", "M5")
def test_a_forced_tool_takes_the_schema_and_its_arguments_become_the_answer():
    asked = as_tool(ASKED)
    thought = ReasoningPart("hm", "d")
    call = ToolCallPart("c", "Number_of_things", '{"n":3}')

    assert asked == msgspec.structs.replace(
        ASKED,
        schema=None,
        tools=(ToolSpec("Number_of_things", asked.tools[0].description, RAW),),
        tool_choice=ToolChoice("required", "Number_of_things"),
    )
    assert from_tool(end(thought, TextPart("Here:"), call), ASKED) == end(
        thought, TextPart('{"n":3}'), why="end"
    )
    assert from_tool(end(call, why="length"), ASKED) == end(TextPart('{"n":3}'), why="length")
    assert from_tool(end(TextPart("no"), why="end"), ASKED) == end(TextPart("no"), why="end")


@pytest.mark.req("M6")
def test_a_tool_has_a_name_that_services_take():
    names = [
        tool_name(OutputSchema(name=name, schema=RAW)) for name in ("a-b_1", "é", "", "x" * 99)
    ]

    assert names == ["a-b_1", "answer", "answer", "x" * 64]


@pytest.mark.req("M6", "M3")
def test_the_repair_round_shows_the_answer_and_names_the_problem():
    mended = repair(ASKED, '{"n":"x"}', "the answer does not fit at $.n")
    silent = repair(ASKED, " ", "the answer is not JSON")

    assert mended.schema == ASKED.schema
    assert mended.messages == (
        ASKED.messages[0],
        ChatMessage("assistant", (TextPart('{"n":"x"}'),)),
        user_text(
            "Your answer cannot be used: the answer does not fit at $.n. Answer again with the whole"
            " JSON that fits the schema, and nothing else."
        ),
    )
    assert [message.role for message in silent.messages] == ["user", "user"]


@pytest.mark.req("M6")
@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"a":1}', '{"a":1}'),
        (' "x" ', '"x"'),
        ('```json\n{"a":1}\n```', '{"a":1}'),
        ("Here it is:\n```\n[1, 2]\n```\nAnything else?", "[1, 2]"),
        ('```python\nprint()\n```\nand\n```json\n{"a":"`"}\n```', '{"a":"`"}'),
        ('Sure [1]: {"a":{"b":[]}} as {you} wished', '{"a":{"b":[]}}'),
        ('See [1, 2, 3, 4]:\n```json\n"x"\n```', '"x"'),
        ("no JSON {here", "no JSON {here"),
        ("[" * 100_000, "[" * 100_000),
        ("", ""),
    ],
)
def test_json_is_found_inside_a_fence_or_a_sentence(text, found):
    assert as_json(text) == found
