"""A chat-completions body as a model request: what is honoured, listed and refused."""

import json
from typing import Any

import msgspec
import pytest

from hermes.errors import BadRequest
from hermes.message.chat import user_text
from hermes.ports.options import Extras
from hermes.ports.provider import ModelRequest, OutputSchema, ToolChoice, ToolSpec
from hermes.server.v1.chat_in import read_chat
from hermes.server.v1.dialect import WireCall

HELLO = [{"role": "user", "content": "Hello"}]
PLACE = {"type": "object", "properties": {"place": {"type": "string"}}}


def read(**fields: object) -> WireCall:
    return read_chat(json.dumps({"model": "auto", "messages": HELLO, **fields}).encode())


def tool(name: str, **more: object) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, **more}}


def raw(value: object) -> msgspec.Raw:
    return msgspec.Raw(json.dumps(value).encode())


@pytest.mark.req("M1")
def test_the_least_request_asks_for_nothing_special() -> None:
    request = ModelRequest(model="", messages=(user_text("Hello"),))
    assert read() == WireCall(model="auto", request=request, wants_usage=False)


@pytest.mark.req("M1", "M4", "M5", "M6")
def test_everything_that_a_model_can_be_asked_for_is_honoured() -> None:
    call = read(
        model="openai:gpt-4o-mini",
        messages=[{"role": "system", "content": "Be short."}, *HELLO],
        stream=True,
        stream_options={"include_usage": True},
        max_completion_tokens=100,
        temperature=0.5,
        top_p=0.9,
        stop=["END", "\n\n"],
        tools=[tool("weather", description="The weather.", parameters=PLACE)],
        tool_choice="required",
        response_format={
            "type": "json_schema",
            "json_schema": {"name": "place", "schema": PLACE, "strict": True},
        },
        reasoning_effort="medium",
    )
    assert call == WireCall(
        model="openai:gpt-4o-mini",
        stream=True,
        wants_usage=True,
        request=ModelRequest(
            model="",
            messages=(user_text("Hello"),),
            system=("Be short.",),
            tools=(ToolSpec("weather", "The weather.", raw(PLACE)),),
            max_output_tokens=100,
            temperature=0.5,
            top_p=0.9,
            stop=("END", "\n\n"),
            tool_choice=ToolChoice("required"),
            schema=OutputSchema(name="place", schema=raw(PLACE)),
            reasoning="medium",
        ),
        hints=(("reasoning", "reasoning_effort"),),
    )


@pytest.mark.req("M1")
@pytest.mark.parametrize(
    ("fields", "limit"),
    [
        ({"max_tokens": 7}, 7),
        ({"max_completion_tokens": 8}, 8),
        ({"max_tokens": 9, "max_completion_tokens": 8}, 8),
        ({"max_tokens": None}, None),
    ],
)
def test_the_output_limit_has_an_old_and_a_new_name(
    fields: dict[str, object], limit: int | None
) -> None:
    assert read(**fields).request.max_output_tokens == limit


@pytest.mark.req("M1")
@pytest.mark.parametrize(
    ("stop", "stops"), [("END", ("END",)), (["a", "b"], ("a", "b")), (None, ()), ("", ()), ([], ())]
)
def test_stop_is_one_or_several(stop: object, stops: tuple[str, ...]) -> None:
    assert read(stop=stop).request.stop == stops


@pytest.mark.req("M1")
@pytest.mark.parametrize(
    ("effort", "reasoning"),
    [("none", 0), ("minimal", "low"), ("low", "low"), ("high", "high"), ("xhigh", "high")],
)
def test_every_effort_has_its_nearest_one(effort: str, reasoning: object) -> None:
    assert read(reasoning_effort=effort).request.reasoning == reasoning


@pytest.mark.req("M6")
def test_any_object_is_a_schema_that_is_not_strict() -> None:
    schema = read(response_format={"type": "json_object"}).request.schema
    anything = msgspec.Raw(b'{"type":"object"}')
    assert schema == OutputSchema(
        name="json_object", schema=anything, strict=False, is_json_mode=True
    )
    assert read(response_format={"type": "text"}).request.schema is None


@pytest.mark.req("M6")
def test_a_schema_is_strict_only_when_it_says_so() -> None:
    wanted = {"name": "place", "schema": PLACE, "description": "Where."}
    call = read(response_format={"type": "json_schema", "json_schema": wanted})
    assert call.request.schema == OutputSchema(name="place", schema=raw(PLACE), strict=False)
    assert call.ignored == ("response_format.json_schema.description",)


@pytest.mark.req("M5")
@pytest.mark.parametrize(
    ("choice", "names", "expected"),
    [
        ("auto", ["a", "b"], ToolChoice()),
        ("none", ["a", "b"], ToolChoice("none")),
        ("required", ["a", "b"], ToolChoice("required")),
        (tool("b"), ["a", "b"], ToolChoice("required", "b")),
        (
            {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [tool("b")]}},
            ["b"],
            ToolChoice("auto"),
        ),
        (
            {"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": [tool("a")]}},
            ["a"],
            ToolChoice("required"),
        ),
    ],
)
def test_a_tool_choice_has_many_forms(
    choice: object, names: list[str], expected: ToolChoice
) -> None:
    request = read(tools=[tool("a"), tool("b")], tool_choice=choice).request
    assert ([spec.name for spec in request.tools], request.tool_choice) == (names, expected)


@pytest.mark.req("M5")
def test_a_tool_without_parameters_takes_none() -> None:
    nothing = msgspec.Raw(b'{"type":"object","properties":{}}')
    assert read(tools=[tool("now")]).request.tools == (ToolSpec("now", "", nothing),)


@pytest.mark.req("M1")
def test_what_has_no_effect_is_listed() -> None:
    call = read(
        user="ann",
        metadata={"a": "b"},
        store=True,
        service_tier="flex",
        prompt_cache_key=None,
        brand_new=1,
    )
    assert call.ignored == ("user", "metadata", "store", "service_tier", "brand_new")


@pytest.mark.req("M1")
def test_rare_options_are_passed_on_and_hints_are_named() -> None:
    call = read(
        n=3,
        seed=7,
        frequency_penalty=0.5,
        presence_penalty=-0.5,
        logit_bias={"50256": -100},
        logprobs=True,
        top_logprobs=2,
        top_k=20,
        min_p=0.05,
        verbosity="low",
        prediction={"type": "content", "content": [{"type": "text", "text": "once"}]},
        tools=[tool("a", strict=True)],
        parallel_tool_calls=False,
    )
    request = call.request
    assert request.extras == Extras(
        frequency_penalty=0.5,
        presence_penalty=-0.5,
        logit_bias={"50256": -100.0},
        top_logprobs=2,
        top_k=20,
        min_p=0.05,
        verbosity="low",
        prediction="once",
    )
    assert (request.seed, request.tools[0].strict, request.parallel_tools) == (7, True, False)
    assert (call.ignored, call.choices) == ((), 3)
    assert [field for _, field in call.hints] == [
        "tools.function.strict",
        "verbosity",
        "prediction",
    ]


@pytest.mark.req("M1")
@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"n": 9}, r"<= 8 - at `\$.n`"),
        ({"n": 0}, r">= 1 - at `\$.n`"),
        ({"logprobs": True, "top_logprobs": 21}, r"at `\$.top_logprobs`"),
        ({"frequency_penalty": 3}, r"at `\$.frequency_penalty`"),
        ({"logit_bias": {"1": 101}}, r"at `\$.logit_bias"),
        ({"logit_bias": {str(n): 1 for n in range(1025)}}, r"at `\$.logit_bias`"),
        ({"seed": 2**64}, r"at `\$.seed`"),
    ],
)
def test_rare_options_have_limits(fields: dict[str, object], said: str) -> None:
    with pytest.raises(BadRequest, match=said):
        read(**fields)


@pytest.mark.req("M1")
def test_values_that_are_the_default_are_no_wishes() -> None:
    call = read(
        n=1,
        logprobs=False,
        top_logprobs=0,
        logit_bias={},
        frequency_penalty=0,
        presence_penalty=0.0,
        top_k=-1,
        min_p=0,
        seed=None,
        modalities=["text"],
        audio=None,
        functions=[],
        tools=None,
        tool_choice=None,
        parallel_tool_calls=False,
        stream=None,
        stream_options=None,
    )
    assert call == read()


@pytest.mark.req("M1")
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("top_logprobs", 3),
        ("modalities", ["text", "audio"]),
        ("audio", {"voice": "alloy", "format": "wav"}),
        ("web_search_options", {}),
        ("moderation", {"model": "m"}),
        ("functions", [{"name": "f"}]),
        ("function_call", "auto"),
    ],
)
def test_a_wish_that_cannot_be_met_is_refused_by_its_name(field: str, value: object) -> None:
    with pytest.raises(BadRequest, match=f"^{field} cannot be honoured here: .+") as caught:
        read(**{field: value})
    assert len(str(caught.value)) < 200


@pytest.mark.req("M1", "M5")
@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"tool_choice": "required"}, "tool_choice is 'required' and there are no tools"),
        ({"tool_choice": tool("a")}, "tool_choice names the tool 'a'"),
        ({"tools": [tool("a")], "tool_choice": tool("b")}, "tool_choice names the tool 'b'"),
        (
            {
                "tool_choice": {
                    "type": "allowed_tools",
                    "allowed_tools": {"mode": "auto", "tools": []},
                }
            },
            "tool_choice allows no tools",
        ),
        ({"tool_choice": {"type": "custom", "custom": {"name": "x"}}}, "tool_choice: custom tools"),
        ({"tools": [tool("a"), {"type": "custom"}]}, r"tools\[1\]: custom tools"),
        (
            {"tools": [tool("a", parameters=[1])]},
            r"tools\[0\].function.parameters: expected a JSON",
        ),
        ({"tools": [tool("")]}, r"length >= 1 - at `\$.tools\[0\].function.name`"),
        ({"tools": [tool("a")] * 129}, r"length <= 128 - at `\$.tools`"),
        ({"messages": []}, r"length >= 1 - at `\$.messages`"),
        ({"messages": HELLO * 10_001}, r"length <= 10000 - at `\$.messages`"),
        (
            {"messages": [{"role": "robot", "content": "x"}]},
            r"'robot' - at `\$.messages\[0\].role`",
        ),
        ({"model": ""}, r"at `\$.model`"),
        ({"temperature": 2.5}, r"at `\$.temperature`"),
        ({"temperature": "hot"}, r"got `str` - at `\$.temperature`"),
        ({"max_tokens": 0}, r"at `\$.max_tokens`"),
        ({"max_tokens": 10**400}, r"at `\$.max_tokens`"),
        ({"max_completion_tokens": 2**62}, r"at `\$.max_completion_tokens`"),
        ({"reasoning_effort": "utmost"}, r"'utmost' - at `\$.reasoning_effort`"),
        ({"response_format": {"type": "grammar"}}, r"'grammar' - at `\$.response_format.type`"),
        (
            {"response_format": {"type": "json_schema", "json_schema": {"name": "x"}}},
            "response_format.json_schema.schema is missing",
        ),
        (
            {"response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": 1}}},
            "response_format.json_schema.schema: expected a JSON object",
        ),
    ],
)
def test_a_request_that_makes_no_sense_is_refused_with_the_place(
    fields: dict[str, object], said: str
) -> None:
    with pytest.raises(BadRequest, match=said):
        read(**fields)
