"""What a Responses request asks for, what is refused by name, what is named as without effect."""

from typing import Any

import msgspec
import pytest

from hermes.errors import BadRequest
from hermes.message.chat import user_text
from hermes.ports.options import Extras
from hermes.ports.provider import JSON_MODE, ModelRequest
from hermes.server.v1.responses import ResponsesDialect
from tests.unit.server.v1.responses_calls import WEATHER, read


def refused(given: Any = "Hello", **more: Any) -> str:
    with pytest.raises(BadRequest) as caught:
        read(given, **more)
    return str(caught.value)


@pytest.mark.req("M1", "M4")
def test_a_plain_request():
    call = read("Hello", instructions="Be kind.", temperature=0.5, top_p=0.9, max_output_tokens=99)

    assert (call.model, call.stream, call.ignored) == ("auto", False, ())
    assert call.request == ModelRequest(
        model="",
        messages=(user_text("Hello"),),
        system=("Be kind.",),
        temperature=0.5,
        top_p=0.9,
        max_output_tokens=99,
    )


@pytest.mark.req("M1")
def test_what_equals_the_default_is_neither_refused_nor_named():
    call = read(
        stream=True,
        store=False,
        background=False,
        top_logprobs=0,
        previous_response_id=None,
        conversation=None,
        prompt=None,
        truncation="disabled",
        tool_choice="auto",
        parallel_tool_calls=False,
        include=["reasoning.encrypted_content"],
        text={"format": {"type": "text"}, "verbosity": "medium"},
        reasoning={"effort": None, "summary": None},
        metadata={},
        user=None,
    )
    assert (call.stream, call.ignored) == (True, ())


@pytest.mark.req("M1")
def test_what_has_no_effect_is_named():
    call = read(
        store=True,
        metadata={"a": "b"},
        truncation="auto",
        tools=[{**WEATHER, "strict": True}],
        parallel_tool_calls=False,
        include=["reasoning.encrypted_content", "file_search_call.results", "a\r\nx: y"],
        text={"verbosity": "low"},
        reasoning={"effort": "none", "summary": "auto", "context": "all_turns", "mode": "pro"},
        user="u",
        service_tier="flex",
        client_metadata={"x": "y"},
    )
    assert sorted(call.ignored) == [
        "client_metadata",
        "include",
        "include.file_search_call.results",
        "metadata",
        "reasoning.context",
        "reasoning.mode",
        "service_tier",
        "store",
        "truncation",
        "user",
    ]
    assert not call.request.parallel_tools
    assert [field for _, field in call.hints] == [
        "tools.strict",
        "text.verbosity",
        "reasoning.summary",
        "reasoning.effort",
    ]
    assert call.request.extras == Extras(verbosity="low", reasoning_summary="auto")


@pytest.mark.req("M1")
@pytest.mark.parametrize(
    ("fields", "count"),
    [
        ({"top_logprobs": 3}, 3),
        ({"include": ["message.output_text.logprobs"]}, 0),
        ({"include": ["message.output_text.logprobs"], "top_logprobs": 2}, 2),
    ],
)
def test_log_probabilities_are_asked_for_in_two_ways(fields, count):
    call = read(**fields)
    assert call.request.extras == Extras(top_logprobs=count)
    assert call.ignored == ()


@pytest.mark.req("M1")
@pytest.mark.parametrize(
    ("field", "value", "advice"),
    [
        ("previous_response_id", "resp_1", "send the whole conversation as `input`"),
        ("conversation", "conv_1", "send the whole conversation as `input`"),
        ("conversation", {"id": "conv_1"}, "send the whole conversation as `input`"),
        ("prompt", {"id": "pmpt_1"}, "send their text"),
        ("background", True, "use `stream`"),
        ("moderation", {"model": "m"}, "leave it out"),
        ("messages", [], "send them as `input`"),
        ("max_tokens", 5, "`max_output_tokens`"),
        ("stop", ["x"], "/v1/chat/completions"),
        ("n", 2, "several times"),
    ],
)
def test_what_cannot_be_honoured_is_refused_by_its_name(field, value, advice):
    told = refused(**{field: value})
    assert f"`{field}`" in told
    assert advice in told


@pytest.mark.req("M1")
@pytest.mark.parametrize(
    ("more", "place"),
    [
        ({"model": ""}, "$.model"),
        ({"temperature": 3}, "$.temperature"),
        ({"max_output_tokens": 0}, "$.max_output_tokens"),
        ({"reasoning": {"effort": "huge"}}, "$.reasoning.effort"),
        ({"text": {"format": {"type": "xml"}}}, "$.text.format.type"),
        ({"text": {"format": {"type": "json_schema", "name": "a", "schema": []}}}, "text.format"),
        ({"input": None}, "`input` is missing"),
        ({"input": []}, "`input` is missing"),
        ({"input": [{"role": "user"}] * 10_001}, "$.input"),
    ],
)
def test_faults_say_where_they_are(more, place):
    assert place in refused(**({"given": more["input"]} if "input" in more else more))


@pytest.mark.req("M1")
@pytest.mark.parametrize("body", [b"", b"[]", b'{"model":', b"\xff", b'{"model":"\xff"}'])
def test_a_body_that_is_no_request(body):
    with pytest.raises(BadRequest):
        ResponsesDialect().read(body, {})


@pytest.mark.req("M6")
def test_schemas():
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    named = {"type": "json_schema", "name": "thing", "schema": schema, "description": "A thing."}

    strict = read(text={"format": {**named, "strict": True}})
    loose = read(text={"format": named})
    any_object = read(text={"format": {"type": "json_object"}}).request.schema

    assert strict.request.schema is not None
    assert msgspec.json.decode(strict.request.schema.schema) == schema
    assert (strict.request.schema.name, strict.request.schema.strict) == ("thing", True)
    assert loose.request.schema is not None
    assert loose.request.schema.strict is False
    assert strict.ignored == ("text.format.description",)
    assert any_object == JSON_MODE


@pytest.mark.req("M3")
@pytest.mark.parametrize(
    ("effort", "expected"),
    [
        ("none", 0),
        ("minimal", "low"),
        ("low", "low"),
        ("medium", "medium"),
        ("high", "high"),
        ("xhigh", "high"),
    ],
)
def test_efforts(effort, expected):
    assert read(reasoning={"effort": effort}).request.reasoning == expected


@pytest.mark.req("M1")
def test_a_cache_key_asks_for_the_prefix_to_be_cached():
    call = read(prompt_cache_key="session-1")
    assert (call.request.cache_prefix, call.ignored) == (True, ())
    assert read().request.cache_prefix is False
