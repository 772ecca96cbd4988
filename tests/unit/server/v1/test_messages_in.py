"""What a Messages request asks for: options, tools, thinking, schema; what is refused or ignored."""

from typing import Any

import msgspec
import pytest

from hermes.errors import BadRequest
from hermes.message.chat import user_text
from hermes.ports.provider import ModelRequest, OutputSchema, ToolChoice, ToolSpec
from hermes.server.v1.dialect import WireCall
from hermes.server.v1.messages import MessagesDialect

HELLO = {"role": "user", "content": "hello"}
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}
RAW_SCHEMA = msgspec.Raw(msgspec.json.encode(SCHEMA))
WEATHER = {"name": "weather", "description": "Tells it.", "input_schema": SCHEMA}
EPHEMERAL = {"type": "ephemeral"}


# Any: JSON of every shape.
def body(**fields: Any) -> bytes:
    return msgspec.json.encode(
        {"model": "auto", "max_tokens": 100, "messages": [HELLO], **fields},
    )


def read(**fields: Any) -> WireCall:
    return MessagesDialect().read(body(**fields), {})


def asked(**fields: Any) -> ModelRequest:
    return read(**fields).request


@pytest.mark.req("M1")
def test_the_smallest_request():
    assert read() == WireCall(
        model="auto",
        request=ModelRequest(model="", messages=(user_text("hello"),), max_output_tokens=100),
    )


@pytest.mark.req("M1")
def test_everything_that_can_be_honoured_at_once():
    call = read(
        model="anthropic:claude-sonnet-4-6",
        system=[{"type": "text", "text": "a"}, {"type": "text", "text": "b"}],
        tools=[WEATHER, {"type": "custom", "name": "now", "input_schema": {"type": "object"}}],
        tool_choice={"type": "any"},
        temperature=0.5,
        top_p=0.9,
        stop_sequences=["END"],
        stream=True,
        output_config={"effort": "low", "format": {"type": "json_schema", "schema": SCHEMA}},
    )

    assert call == WireCall(
        model="anthropic:claude-sonnet-4-6",
        request=ModelRequest(
            model="",
            messages=(user_text("hello"),),
            system=("a", "b"),
            tools=(
                ToolSpec("weather", "Tells it.", RAW_SCHEMA),
                ToolSpec("now", "", msgspec.Raw(b'{"type":"object"}')),
            ),
            max_output_tokens=100,
            temperature=0.5,
            top_p=0.9,
            stop=("END",),
            tool_choice=ToolChoice("required"),
            schema=OutputSchema(name="answer", schema=RAW_SCHEMA),
            reasoning="low",
        ),
        stream=True,
        hints=(("reasoning", "output_config.effort"),),
    )


@pytest.mark.req("M4")
def test_a_system_text_is_one_block():
    assert asked(system="be brief").system == ("be brief",)


@pytest.mark.req("M5")
@pytest.mark.parametrize(
    ("choice", "meant"),
    [
        ({"type": "auto"}, ToolChoice()),
        ({"type": "none"}, ToolChoice("none")),
        ({"type": "any"}, ToolChoice("required")),
        ({"type": "tool", "name": "weather"}, ToolChoice("required", "weather")),
        (None, ToolChoice()),
    ],
)
def test_every_form_of_tool_choice(choice, meant):
    assert asked(tools=[WEATHER], tool_choice=choice).tool_choice == meant


@pytest.mark.req("M5")
@pytest.mark.parametrize("kind", ["auto", "none"])
def test_a_choice_among_no_tools_is_no_choice(kind):
    assert asked(tool_choice={"type": kind}).tool_choice == ToolChoice()


@pytest.mark.req("M1")
@pytest.mark.parametrize(
    ("thinking", "effort", "meant"),
    [
        ({"type": "enabled", "budget_tokens": 4096}, None, 4096),
        ({"type": "enabled", "budget_tokens": 4096}, "low", 4096),
        ({"type": "adaptive"}, None, "high"),
        ({"type": "adaptive", "display": "summarized"}, "medium", "medium"),
        ({"type": "adaptive"}, "max", "high"),
        ({"type": "between_tools"}, "low", "low"),
        ({"type": "disabled"}, "low", 0),
        (None, "xhigh", "high"),
        (None, None, None),
    ],
)
def test_thinking_is_a_budget_or_an_effort(thinking, effort, meant):
    assert asked(thinking=thinking, output_config={"effort": effort}).reasoning == meant


@pytest.mark.req("M6")
def test_the_older_name_of_the_output_format_is_understood():
    made = asked(output_format={"type": "json_schema", "schema": SCHEMA})

    assert made.schema == OutputSchema(name="answer", schema=RAW_SCHEMA)


@pytest.mark.req("M1")
@pytest.mark.parametrize(
    "fields",
    [
        {"cache_control": EPHEMERAL},
        {"system": [{"type": "text", "text": "a", "cache_control": EPHEMERAL}]},
        {"tools": [WEATHER | {"cache_control": {"type": "ephemeral", "ttl": "1h"}}]},
        {
            "messages": [
                {
                    "role": "user",
                    "content": [{"type": "text", "text": "a", "cache_control": EPHEMERAL}],
                }
            ]
        },
    ],
)
def test_a_cache_mark_anywhere_asks_for_the_prompt_cache(fields):
    assert asked(**fields).cache_prefix is True


@pytest.mark.req("M1")
def test_no_cache_mark_and_an_empty_one_ask_for_nothing():
    assert (
        asked(cache_control=None, tools=[WEATHER | {"cache_control": None}]).cache_prefix is False
    )


@pytest.mark.req("M1")
def test_what_has_no_effect_is_named():
    call = MessagesDialect().read(
        body(
            metadata={"user_id": "u"},
            service_tier="auto",
            context_management={"edits": []},
            a_new_field=1,
            absent=None,
            tools=[WEATHER | {"strict": True, "defer_loading": False, "input_examples": [{}]}],
            tool_choice={"type": "auto", "disable_parallel_tool_use": True},
            thinking={"type": "disabled"},
            output_config={"effort": "low", "task_budget": {"total": 1}},
        ),
        {"anthropic-beta": "a-2026-01-01"},
    )

    assert set(call.ignored) == {
        "metadata",
        "service_tier",
        "context_management",
        "a_new_field",
        "anthropic-beta",
        "tools.input_examples",
        "output_config.effort",
        "output_config.task_budget",
    }
    assert call.hints == (("strict_tools", "tools.strict"), ("reasoning_off", "thinking"))
    assert call.request.tools[0].strict


@pytest.mark.req("M1")
def test_parallel_calls_cannot_be_missed_where_there_are_no_tools():
    call = read(tool_choice={"type": "auto", "disable_parallel_tool_use": True})

    assert (call.ignored, call.request.parallel_tools) == ((), True)


@pytest.mark.req("M1", "M5")
@pytest.mark.parametrize("type_", ["auto", "any"])
def test_one_call_at_a_time_is_a_wish_of_the_request(type_):
    choice = {"type": type_, "disable_parallel_tool_use": True}

    call = read(tools=[WEATHER], tool_choice=choice)

    assert (call.ignored, call.request.parallel_tools) == ((), False)


@pytest.mark.req("M2")
@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"max_tokens": None}, "max_tokens: missing"),
        ({"max_tokens": 0}, "$.max_tokens"),
        ({"max_tokens": "9"}, "$.max_tokens"),
        ({"messages": []}, "$.messages"),
        ({"messages": [HELLO] * 10_001}, "$.messages"),
        ({"messages": [{"role": "tool", "content": "x"}]}, "$.messages[0].role"),
        ({"messages": [{"role": "user", "content": 5}]}, "$.messages[0].content"),
        ({"model": ""}, "$.model"),
        ({"temperature": 1.5}, "$.temperature"),
        ({"top_k": -1}, "$.top_k"),
        ({"container": "c_1"}, "container: cannot be honoured"),
        ({"mcp_servers": [{"url": "x"}]}, "mcp_servers: cannot be honoured"),
        ({"inference_geo": "eu"}, "inference_geo: where a model runs"),
        ({"tools": [WEATHER] * 2}, "tools[1].name: 'weather' appears twice"),
        ({"tools": [WEATHER] * 129}, "$.tools"),
        ({"tools": [{"name": "x y", "input_schema": {}}]}, "tools[0].name: expected 1 to 128"),
        ({"tools": [{"name": "x"}]}, "tools[0].input_schema: missing"),
        ({"tools": [{"name": "x", "input_schema": []}]}, "tools[0].input_schema: expected"),
        ({"tools": [{"type": "web_search_20250305", "name": "w"}]}, "'web_search_20250305' is a"),
        ({"tool_choice": {"type": "any"}}, "tool_choice: a tool must be used"),
        ({"tools": [WEATHER], "tool_choice": {"type": "tool", "name": "x"}}, "found 'x'"),
        ({"thinking": {"type": "enabled"}}, "thinking.budget_tokens: missing"),
        ({"output_config": {"format": {"type": "text"}}}, "$.output_config.format.type"),
        ({"output_format": {"type": "json_schema", "schema": 1}}, "output_format.schema: expected"),
    ],
)
def test_what_cannot_be_done_is_refused_by_name(fields, told):
    with pytest.raises(BadRequest) as refused:
        read(**fields)

    assert told in str(refused.value)


@pytest.mark.req("M2")
@pytest.mark.parametrize(
    "fields", [{"top_k": None}, {"top_k": 0}, {"mcp_servers": []}, {"inference_geo": "global"}]
)
def test_defaults_are_no_wishes(fields):
    assert read(**fields).ignored == ()


@pytest.mark.req("M2")
@pytest.mark.parametrize(
    "hostile",
    [
        b"",
        b"[]",
        b'{"model": "a"',
        b'{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"\xff"}]}',
        b'{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"\\ud800"}]}',
        body(tools=[WEATHER]).replace(b"city", b"\xff\xfe"),
        body(tools=[{"name": "x", "input_schema": "SCHEMA"}]).replace(
            b'"SCHEMA"', b'{"a":' * 5000 + b"1" + b"}" * 5000
        ),
    ],
)
def test_hostile_bodies_are_bad_requests(hostile):
    with pytest.raises(BadRequest):
        MessagesDialect().read(hostile, {})


@pytest.mark.req("M2")
@pytest.mark.parametrize(
    "fields",
    [
        {"tools": [{"type": "t" * 5000, "name": "x"}]},
        {"tools": [{"name": "t" * 5000, "input_schema": {}}]},
        {"messages": [{"role": "user", "content": [{"type": "t" * 5000}]}]},
        {"tools": [WEATHER], "tool_choice": {"type": "tool", "name": "t" * 5000}},
    ],
)
def test_errors_quote_little_of_the_input(fields):
    with pytest.raises(BadRequest) as refused:
        read(**fields)

    assert "t" * 70 in str(refused.value)
    assert "t" * 81 not in str(refused.value)
