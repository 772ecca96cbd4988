"""A model request on the OpenAI wire: roles, blocks, tools and images as the service wants them."""

import msgspec
import pytest

from hermes.errors import ConfigurationError, ProviderRejected
from hermes.media.image_files import image_files
from hermes.message.chat import ChatMessage, user_text
from hermes.message.parts import (
    AudioPart,
    FilePart,
    ImagePart,
    Media,
    Part,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from hermes.ports.options import Extras
from hermes.ports.provider import ModelRequest, OutputSchema, ToolChoice, ToolSpec
from hermes.providers.openai.presets import Quirks, presets
from hermes.providers.openai.settings import OFFICIAL_URL, OpenAISettings, complete
from hermes.providers.openai.wire import build_body
from hermes.testing.openai_shape import read_request

SETTINGS = OpenAISettings(name="m", model="m-1", base_url="http://127.0.0.1:1/v1")
SCHEMA = msgspec.Raw(b'{"type":"object","properties":{"city":{"type":"string"}}}')


def sent(request: ModelRequest, settings: OpenAISettings = SETTINGS, **images: str) -> dict:
    body = build_body(request, settings, images={f"/{name}": url for name, url in images.items()})
    read_request(body)
    return msgspec.json.decode(body)


@pytest.mark.req("M1", "M3", "M4", "M5")
def test_turns_stay_turns_and_every_block_and_result_is_its_own_message():
    request = ModelRequest(
        model="m-2",
        system=("You are Hermes.", "", "Think first."),
        messages=(
            user_text("weather?"),
            ChatMessage(
                "assistant",
                (
                    TextPart("Looking."),
                    ToolCallPart("c1", "weather", '{"city":"Oslo"}'),
                    ToolCallPart("c2", "weather", '{"city":"Rome"}'),
                ),
            ),
            ChatMessage(
                "tool",
                (
                    ToolResultPart("c1", "weather", "cold"),
                    ToolResultPart("c2", "weather", "warm"),
                ),
            ),
            ChatMessage("assistant", (TextPart("Cold and warm."),)),
            user_text("thanks"),
        ),
        tools=(ToolSpec("weather", "Tells the weather.", SCHEMA),),
        max_output_tokens=50,
        temperature=0.5,
    )

    def call(id_: str, city: str) -> dict:
        function = {"name": "weather", "arguments": f'{{"city":"{city}"}}'}
        return {"id": id_, "type": "function", "function": function}

    assert sent(request) == {
        "model": "m-2",
        "messages": [
            {"role": "system", "content": "You are Hermes."},
            {"role": "system", "content": "Think first."},
            {"role": "user", "content": "weather?"},
            {
                "role": "assistant",
                "content": "Looking.",
                "tool_calls": [call("c1", "Oslo"), call("c2", "Rome")],
            },
            {"role": "tool", "tool_call_id": "c1", "content": "cold"},
            {"role": "tool", "tool_call_id": "c2", "content": "warm"},
            {"role": "assistant", "content": "Cold and warm."},
            {"role": "user", "content": "thanks"},
        ],
        "stream": True,
        "stream_options": {"include_usage": True},
        "tools": [
            {
                "type": "function",
                "function": {
                    "name": "weather",
                    "description": "Tells the weather.",
                    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
                },
            }
        ],
        "max_tokens": 50,
        "temperature": 0.5,
    }


@pytest.mark.req("M4")
def test_without_system_blocks_there_is_no_system_message():
    request = ModelRequest(model="m", system=("", ""), messages=(user_text("hi"),))

    assert sent(request)["messages"] == [{"role": "user", "content": "hi"}]


@pytest.mark.req("M7")
def test_images_go_by_bytes_first_then_by_address():
    parts = (
        TextPart("look"),
        ImagePart(Media("image/png", path="/a", url="https://cdn.test/a")),
        ImagePart(Media("image/png", url="https://cdn.test/b")),
        ImagePart(Media("image/png", path="/gone")),
    )
    request = ModelRequest(model="m", messages=(ChatMessage("user", parts),))

    body = sent(request, a="data:image/png;base64,AAAA")

    assert image_files(request) == {"/a": "image/png", "/gone": "image/png"}
    assert body["messages"][0]["content"] == [
        {"type": "text", "text": "look"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
        {"type": "image_url", "image_url": {"url": "https://cdn.test/b"}},
        {"type": "text", "text": "[an image was attached; it is no longer available or too large]"},
    ]


@pytest.mark.req("M7")
def test_what_the_model_cannot_take_becomes_words():
    parts = (
        ImagePart(Media("image/png", url="https://cdn.test/a")),
        AudioPart(Media("audio/ogg"), transcript="good morning"),
        FilePart(Media("application/pdf", name="menu.pdf")),
    )
    blind = msgspec.structs.replace(SETTINGS, vision=False)
    request = ModelRequest(model="m", messages=(ChatMessage("user", parts),))

    assert sent(request, blind)["messages"][0]["content"] == (
        "[an image was attached; this model cannot see images]\ngood morning\n"
        "[a file was attached: menu.pdf]"
    )


@pytest.mark.req("A20")
@pytest.mark.parametrize(
    ("base_url", "asked", "limit", "expected"),
    [
        (OFFICIAL_URL, 100, None, {"max_completion_tokens": 100}),
        ("http://localhost:1/v1", 100, 40, {"max_tokens": 40}),
        ("http://localhost:1/v1", None, 40, {"max_tokens": 40}),
        ("http://localhost:1/v1", None, None, {}),
    ],
)
def test_the_smaller_output_limit_is_sent_under_the_name_the_service_knows(
    base_url, asked, limit, expected
):
    settings = msgspec.structs.replace(SETTINGS, base_url=base_url, max_output_tokens=limit)
    request = ModelRequest(model="m", messages=(user_text("hi"),), max_output_tokens=asked)

    body = sent(request, settings)

    assert {key: value for key, value in body.items() if "tokens" in key} == expected


@pytest.mark.req("P6", "M2")
@pytest.mark.parametrize(
    ("base_url", "key", "enabled", "usable"),
    [
        (OFFICIAL_URL, None, True, False),
        (OFFICIAL_URL, "sk-1", True, True),
        (OFFICIAL_URL, "sk-1", False, False),
        ("https://openrouter.ai/api/v1", None, True, False),
        ("http://127.0.0.1:11434/v1", None, True, True),
    ],
)
def test_a_service_is_usable_with_a_key_or_at_an_address_of_ones_own(
    base_url, key, enabled, usable
):
    settings = OpenAISettings(name="m", model="m", base_url=base_url, api_key=key, enabled=enabled)

    assert settings.usable is usable


@pytest.mark.req("M2")
@pytest.mark.parametrize("key", ["sk-1\n", "sk 1", "sk-é"])
def test_a_key_that_cannot_be_one_is_refused_by_name_and_not_shown(key):
    with pytest.raises(ConfigurationError, match=r"providers\.m\.api_key") as caught:
        OpenAISettings(name="m", model="m", api_key=key).check()

    assert key not in str(caught.value)


TOOLS = (ToolSpec("weather", "Tells.", SCHEMA), ToolSpec("clock", "Tells.", SCHEMA))
ANSWER = msgspec.Raw(b'{"type":"object","additionalProperties":false}')


def asked(**fields) -> ModelRequest:
    return ModelRequest(model="m", messages=(user_text("hi"),), **fields)


def unchecked(request: ModelRequest, quirks: Quirks) -> dict:
    settings = msgspec.structs.replace(SETTINGS, quirks=quirks)
    return msgspec.json.decode(build_body(request, settings, images={}))


def called(*thoughts: ReasoningPart, id_: str = "call_1") -> ModelRequest:
    """Return a conversation in which the model thought and called a tool."""
    said: tuple[Part, ...] = (*thoughts, ToolCallPart(id_, "weather", "{}"))
    result = ToolResultPart(id_, "weather", "cold")
    return ModelRequest(
        model="m",
        messages=(user_text("?"), ChatMessage("assistant", said), ChatMessage("tool", (result,))),
    )


@pytest.mark.req("M5")
@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        (ToolChoice(), {}),
        (ToolChoice("none"), {"tool_choice": "none"}),
        (ToolChoice("required"), {"tool_choice": "required"}),
        (
            ToolChoice("required", "clock"),
            {"tool_choice": {"type": "function", "function": {"name": "clock"}}},
        ),
    ],
)
def test_the_choice_of_a_tool_is_sent_only_with_tools_and_only_if_it_is_one(choice, expected):
    with_tools = sent(asked(tools=TOOLS, tool_choice=choice))
    without = sent(asked(tool_choice=choice))

    assert {k: v for k, v in with_tools.items() if k == "tool_choice"} == expected
    assert "tool_choice" not in without


@pytest.mark.req("M6", "A20")
def test_sampling_schema_and_effort_are_sent_as_they_were_asked_for():
    body = sent(
        asked(
            temperature=0.0,
            top_p=0.9,
            stop=("END", "\n\n"),
            schema=OutputSchema(name="answer", schema=ANSWER),
            reasoning="high",
        )
    )

    assert {k: v for k, v in body.items() if k not in {"model", "messages"}} == {
        "stream": True,
        "stream_options": {"include_usage": True},
        "temperature": 0.0,
        "top_p": 0.9,
        "stop": ["END", "\n\n"],
        "response_format": {
            "type": "json_schema",
            "json_schema": {
                "name": "answer",
                "schema": {"type": "object", "additionalProperties": False},
                "strict": True,
            },
        },
        "reasoning_effort": "high",
    }


@pytest.mark.req("M1")
@pytest.mark.parametrize(
    ("way", "wanted", "expected"),
    [
        ("effort", 1024, {"reasoning_effort": "low"}),
        ("effort", 4096, {"reasoning_effort": "medium"}),
        ("effort", 32_000, {"reasoning_effort": "high"}),
        (
            "thinking_effort",
            "low",
            {"thinking": {"type": "enabled"}, "reasoning_effort": "low"},
        ),
        ("enable_thinking", "low", {"enable_thinking": True}),
        ("enable_thinking", 900, {"enable_thinking": True, "thinking_budget": 900}),
        ("reasoning_object", "medium", {"reasoning": {"effort": "medium"}}),
        ("reasoning_object", 900, {"reasoning": {"max_tokens": 900}}),
        ("none", "high", {}),
    ],
)
def test_effort_is_asked_for_in_the_services_own_way(way, wanted, expected):
    body = unchecked(asked(reasoning=wanted), Quirks(reasoning=way))

    plain = {"model", "messages", "stream", "stream_options"}
    assert {k: v for k, v in body.items() if k not in plain} == expected


@pytest.mark.req("M1")
@pytest.mark.parametrize(
    ("service", "model", "expected"),
    [
        ("openai", "gpt-5.2", {"reasoning_effort": "none"}),
        ("openai", "gpt-5.1-mini", {"reasoning_effort": "none"}),
        ("openai", "gpt-5-mini", {}),
        ("openai", "gpt-5.2-codex", {}),
        ("openai", "o3", {}),
        ("openai", "gpt-4o", {}),
        ("groq", "qwen/qwen3-32b", {"reasoning_effort": "none"}),
        ("groq", "openai/gpt-oss-120b", {}),
        ("deepseek", "deepseek-flash", {"thinking": {"type": "disabled"}}),
        ("moonshot", "kimi-k2.6", {"thinking": {"type": "disabled"}}),
        ("moonshot", "kimi-k2-thinking", {}),
        ("moonshot", "kimi-k2.7-code", {}),
        ("moonshot", "kimi-k3", {}),
        ("xai", "grok-4.3", {"reasoning_effort": "none"}),
        ("xai", "grok-4.5", {}),
        ("nvidia", "nvidia/nemotron-3-super-120b-a12b", {"reasoning_effort": "none"}),
        ("copilot", "gpt-5.6-terra", {"reasoning_effort": "none"}),
        ("qwen", "qwen-plus", {"enable_thinking": False}),
        ("openrouter", "openai/gpt-5.2", {"reasoning": {"enabled": False}}),
        ("openrouter", "openai/o3", {}),
        *(
            (name, "m-1", {})
            for name in ("hermes", "together", "fireworks", "xai", "cerebras", "nvidia", "copilot")
        ),
        ("cerebras", "zai-glm-4.7", {"reasoning_effort": "none"}),
        ("cerebras", "gpt-oss-120b", {}),
        ("mistral", "mistral-small-latest", {"reasoning_effort": "none"}),
        ("mistral", "mistral-large-latest", {}),
        *((name, "m-1", {}) for name in ("mistral", "perplexity", "minimax", "vllm", "llamacpp")),
    ],
)
def test_a_budget_of_zero_turns_reasoning_off_or_is_left_out(service, model, expected):
    settings = OpenAISettings(name=service, base_url=presets()[service].base_url, model=model)
    request = msgspec.structs.replace(asked(reasoning=0), model=model)
    body = msgspec.json.decode(build_body(request, settings, images={}))

    ways = {"reasoning_effort", "thinking", "enable_thinking", "thinking_budget", "reasoning"}
    assert {k: v for k, v in body.items() if k in ways} == expected


@pytest.mark.req("M1")
@pytest.mark.parametrize(("model", "sent_"), [("o3", None), ("o3-mini", ["END"]), ("m", ["END"])])
def test_a_model_without_stop_sequences_gets_none(model, sent_):
    settings = OpenAISettings(name="openai", model=model)
    request = msgspec.structs.replace(asked(stop=("END",)), model=model)

    assert sent(request, settings).get("stop") == sent_


@pytest.mark.req("M1")
def test_a_service_gets_only_the_fields_that_it_knows():
    quirks = Quirks(
        output_limit="max_completion_tokens", stream_options=False, extra={"split": True}
    )

    body = unchecked(asked(max_output_tokens=9), quirks)

    assert body == {
        "model": "m",
        "messages": [{"role": "user", "content": "hi"}],
        "stream": True,
        "split": True,
        "max_completion_tokens": 9,
    }


@pytest.mark.req("M5", "M6")
def test_what_a_service_has_no_way_for_is_refused_and_never_left_out():
    schema = asked(schema=OutputSchema(name="answer", schema=ANSWER))
    several = asked(tools=TOOLS, tool_choice=ToolChoice("required"))

    with pytest.raises(ProviderRejected, match="JSON schema"):
        unchecked(schema, Quirks(schema=False))
    with pytest.raises(ProviderRejected, match="one of 2 tools"):
        unchecked(several, Quirks(required_tools=False))


@pytest.mark.req("M5")
def test_requiring_the_only_tool_is_the_same_as_naming_it():
    request = asked(tools=TOOLS[:1], tool_choice=ToolChoice("required"))

    body = unchecked(request, Quirks(required_tools=False))

    assert body["tool_choice"] == {"type": "function", "function": {"name": "weather"}}


@pytest.mark.req("M3")
@pytest.mark.parametrize(
    ("field", "thoughts", "expected"),
    [
        (None, [ReasoningPart("hm", "openai", sealed="[1]")], {}),
        ("reasoning_content", [ReasoningPart("hm", "openai")], {"reasoning_content": "hm"}),
        ("reasoning_content", [], {"reasoning_content": ""}),
        ("reasoning_content", [ReasoningPart("hm", "anthropic")], {"reasoning_content": ""}),
        (
            "reasoning_details",
            [ReasoningPart("hm", "openai", sealed='[{"type":"reasoning.text","text":"hm"}]')],
            {"reasoning_details": [{"type": "reasoning.text", "text": "hm"}]},
        ),
        ("reasoning_details", [ReasoningPart("hm", "openai")], {}),
        ("reasoning_details", [ReasoningPart("", "openai", sealed='[],"role":"user","x":[]')], {}),
    ],
)
def test_reasoning_goes_back_with_tool_calls_in_the_field_the_service_wants(
    field, thoughts, expected
):
    body = unchecked(called(*thoughts), Quirks(reasoning_back=field))

    assistant = body["messages"][1]
    known = {"role", "content", "tool_calls"}
    assert {k: v for k, v in assistant.items() if k not in known} == expected


@pytest.mark.req("M3", "M5")
@pytest.mark.parametrize(("id_", "kept"), [("call_of_another_service", False), ("Abc123xyZ", True)])
def test_ids_of_another_service_become_nine_letters_and_stay_the_same(id_, kept):
    body = unchecked(called(id_=id_), Quirks(tool_ids="nine"))

    asked_id = body["messages"][1]["tool_calls"][0]["id"]
    assert body["messages"][2]["tool_call_id"] == asked_id
    assert (len(asked_id), asked_id.isalnum(), asked_id == id_) == (9, True, kept)


@pytest.mark.req("M4")
def test_blocks_stay_apart_also_where_only_one_system_message_may_be():
    request = ModelRequest(model="m", system=("a", "", "b"), messages=(user_text("hi"),))

    body = unchecked(request, Quirks(one_system_message=True))

    assert body["messages"][0] == {
        "role": "system",
        "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}],
    }


@pytest.mark.req("M4")
def test_the_stable_prefix_is_marked_where_the_service_has_marks():
    request = ModelRequest(
        model="m", system=("a", "b"), messages=(user_text("hi"),), cache_prefix=True
    )
    mark = {"cache_control": {"type": "ephemeral"}}

    marked = unchecked(request, Quirks(cache_marks=True))["messages"]
    unmarked = unchecked(request, Quirks())["messages"]

    assert marked == [
        {"role": "system", "content": "a"},
        {"role": "system", "content": [{"type": "text", "text": "b", **mark}]},
        {"role": "user", "content": [{"type": "text", "text": "hi", **mark}]},
    ]
    assert all(isinstance(message["content"], str) for message in unmarked)


@pytest.mark.req("M5")
@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"tools": TOOLS, "parallel_tools": False}, False),
        ({"tools": TOOLS}, None),
        ({"parallel_tools": False}, None),
    ],
)
def test_one_call_at_a_time_is_asked_for_only_with_tools(fields, expected):
    settings = msgspec.structs.replace(SETTINGS, name="vllm")

    assert sent(asked(**fields), settings).get("parallel_tool_calls") is expected


@pytest.mark.req("M5")
@pytest.mark.parametrize(
    ("name", "base_url", "model", "expected"),
    [
        ("openai", OFFICIAL_URL, "gpt-4o", False),
        ("openai", OFFICIAL_URL, "o3-mini", None),
        ("openrouter", "https://openrouter.ai/api/v1", "openai/gpt-5", False),
        ("openrouter", "https://openrouter.ai/api/v1", "openai/o4-mini", None),
        ("copilot", "https://api.githubcopilot.com", "gpt-4.1", None),
        ("cerebras", "https://api.cerebras.ai/v1", "gpt-oss-120b", False),
        ("together", "https://api.together.xyz/v1", "gpt-oss-120b", None),
        ("azure", "https://mine.openai.azure.com/openai/v1", "gpt-4o", None),
        ("openai", "http://127.0.0.1:4000/v1", "o3-mini", None),
        ("openai", "http://127.0.0.1:4000/v1", "m-1", None),
    ],
)
def test_one_call_at_a_time_is_asked_for_only_where_the_field_is_known(
    name, base_url, model, expected
):
    settings = OpenAISettings(name=name, model=model, base_url=base_url, api_key="k")
    request = msgspec.structs.replace(asked(tools=TOOLS, parallel_tools=False), model=model)

    body = msgspec.json.decode(build_body(request, complete(settings), images={}))

    assert body.get("parallel_tool_calls") is expected


@pytest.mark.req("P5")
@pytest.mark.parametrize(
    ("way", "last", "fields"),
    [
        ("last", {}, {}),
        ("prefix", {"prefix": True}, {}),
        (
            "continue_final_message",
            {},
            {"continue_final_message": True, "add_generation_prompt": False},
        ),
    ],
)
def test_a_prefill_is_marked_in_the_services_own_way(way, last, fields):
    begun = ChatMessage("assistant", (TextPart("Once"),))
    request = ModelRequest(model="m", messages=(user_text("tell"), begun), prefill=True)

    body = unchecked(request, Quirks(prefill=way))

    assert body["messages"][-1] == {"role": "assistant", "content": "Once", **last}
    marks = {"continue_final_message", "add_generation_prompt"}
    assert {key: value for key, value in body.items() if key in marks} == fields


@pytest.mark.req("M3")
def test_details_that_came_in_several_thoughts_go_back_as_one_list():
    def thought(**detail: object) -> ReasoningPart:
        return ReasoningPart("", "openai", sealed=msgspec.json.encode([detail]).decode())

    body = unchecked(
        called(
            thought(type="reasoning.text", index=0, text="a"),
            thought(type="reasoning.text", index=0, text="b"),
            thought(type="reasoning.encrypted", index=1, data="c"),
        ),
        Quirks(reasoning_back="reasoning_details"),
    )

    assert body["messages"][-2]["reasoning_details"] == [
        {"type": "reasoning.text", "index": 0, "text": "ab"},
        {"type": "reasoning.encrypted", "index": 1, "data": "c"},
    ]


@pytest.mark.req("M1", "P1")
@pytest.mark.parametrize(
    ("service", "expected"),
    [
        (
            "mistral",
            {
                "random_seed": 7,
                "prediction": {"type": "content", "content": "x"},
                "logprobs": True,
                "top_logprobs": 2,
                "top_k": 5,
            },
        ),
        ("groq", {"seed": 7}),
        ("deepseek", {"logprobs": True, "top_logprobs": 2}),
        ("minimax", {}),
        ("vllm", {"seed": 7, "logprobs": True, "top_logprobs": 2, "top_k": 5, "min_p": 0.1}),
    ],
)
def test_a_service_gets_the_options_that_it_has_by_its_own_names(service, expected):
    extras = Extras(top_logprobs=2, top_k=5, min_p=0.1, verbosity="low", prediction="x")
    request = ModelRequest(model="m-1", messages=(user_text("hi"),), seed=7, extras=extras)
    settings = msgspec.structs.replace(SETTINGS, quirks=presets()[service].quirks)
    plain = msgspec.structs.replace(request, seed=None, extras=None)

    rare = msgspec.json.decode(build_body(request, settings, images={}))
    usual = msgspec.json.decode(build_body(plain, settings, images={}))

    assert {name: rare[name] for name in rare.keys() - usual.keys()} == expected
