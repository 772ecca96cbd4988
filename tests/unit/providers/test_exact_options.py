"""Efforts and details that only some models have: sent as they are, or as the nearest."""

from typing import Any

import msgspec
import pytest

from hermes.message.chat import ChatMessage, user_text
from hermes.message.parts import ImageDetail, ImagePart, Media
from hermes.ports.options import ExactEffort, Extras
from hermes.ports.provider import ModelRequest, ToolChoice, ToolSpec
from hermes.providers.anthropic import wire as anthropic
from hermes.providers.anthropic.settings import AnthropicSettings
from hermes.providers.gemini import wire as gemini
from hermes.providers.gemini.settings import GeminiSettings
from hermes.providers.openai import wire as openai
from hermes.providers.openai.presets import presets
from hermes.providers.openai.settings import OpenAISettings
from hermes.providers.openai_responses import wire as responses
from hermes.providers.openai_responses.settings import ResponsesSettings

REASONING = {"reasoning_effort", "reasoning", "thinking"}
THINKING: dict[str, Any] = {"thinking": {"type": "enabled"}}
PIXEL = "data:image/png;base64,iVBORw0KGgo="


def asking(effort: ExactEffort) -> ModelRequest:
    nearest: Any = "low" if effort == "minimal" else "high"
    return ModelRequest(
        model="",
        messages=(user_text("hi"),),
        reasoning=nearest,
        max_output_tokens=9_000,
        extras=Extras(effort=effort),
    )


def chat_settings(service: str, model: str) -> OpenAISettings:
    return OpenAISettings(name=service, base_url=presets()[service].base_url, model=model)


@pytest.mark.req("M1")
@pytest.mark.parametrize(
    ("service", "model", "effort", "expected"),
    [
        ("openai", "gpt-5-mini", "minimal", {"reasoning_effort": "minimal"}),
        ("openai", "gpt-5.2", "minimal", {"reasoning_effort": "low"}),
        ("openai", "gpt-5.2", "xhigh", {"reasoning_effort": "xhigh"}),
        ("openai", "gpt-5.2", "max", {"reasoning_effort": "xhigh"}),
        ("openai", "gpt-5-mini", "max", {"reasoning_effort": "high"}),
        ("openai", "gpt-5.6-sol", "max", {"reasoning_effort": "max"}),
        ("deepseek", "deepseek-v4-pro", "max", THINKING | {"reasoning_effort": "max"}),
        ("moonshot", "kimi-k2.6", "max", THINKING),
        ("moonshot", "kimi-k3", "max", THINKING | {"reasoning_effort": "max"}),
        ("xai", "grok-4.6", "max", {"reasoning_effort": "xhigh"}),
        ("xai", "grok-4.5", "max", {"reasoning_effort": "high"}),
        ("perplexity", "sonar-deep-research", "minimal", {"reasoning_effort": "minimal"}),
        ("openai", "o3", "xhigh", {"reasoning_effort": "high"}),
        ("openrouter", "openai/gpt-5.2", "xhigh", {"reasoning": {"effort": "xhigh"}}),
        ("fireworks", "accounts/fireworks/models/glm-4p6", "xhigh", {"reasoning_effort": "high"}),
        ("vllm", "any", "minimal", {"reasoning_effort": "low"}),
    ],
)
def test_an_effort_in_chat_completions(
    service: str, model: str, effort: ExactEffort, expected: dict[str, Any]
) -> None:
    body = openai.build_body(asking(effort), chat_settings(service, model), images={})

    sent = msgspec.json.decode(body)
    assert {name: sent[name] for name in sent if name in REASONING} == expected


@pytest.mark.req("M1")
@pytest.mark.parametrize(
    ("model", "effort", "expected"),
    [
        ("gpt-5.1-codex-max", "xhigh", "xhigh"),
        ("gpt-5.1", "xhigh", "high"),
        ("gpt-5.6-sol", "max", "max"),
        ("gpt-5.5-pro", "max", "xhigh"),
        ("gpt-5.5-pro", "minimal", "medium"),
    ],
)
def test_an_effort_in_responses(model: str, effort: ExactEffort, expected: str) -> None:
    body = responses.build_body(asking(effort), ResponsesSettings(name="m", model=model), images={})

    assert msgspec.json.decode(body)["reasoning"]["effort"] == expected


@pytest.mark.req("M1")
@pytest.mark.parametrize(
    ("model", "effort", "expected"),
    [
        ("claude-opus-4-7", "xhigh", "xhigh"),
        ("claude-opus-4-7", "max", "max"),
        ("claude-sonnet-4-6", "xhigh", "high"),
        ("claude-opus-4-7", "minimal", "low"),
    ],
)
def test_an_effort_in_messages(model: str, effort: ExactEffort, expected: str) -> None:
    settings = AnthropicSettings(name="m", model=model)
    body = anthropic.build_body(asking(effort), settings, images={})

    assert msgspec.json.decode(body)["output_config"]["effort"] == expected


@pytest.mark.req("M1")
@pytest.mark.parametrize(
    ("model", "effort", "expected"),
    [
        ("gemini-3-flash-preview", "minimal", "MINIMAL"),
        ("gemini-3-pro-preview", "minimal", "LOW"),
        ("gemini-3-flash-preview", "max", "HIGH"),
    ],
)
def test_an_effort_in_gemini(model: str, effort: ExactEffort, expected: str) -> None:
    settings = GeminiSettings(name="m", model=model)
    body = gemini.build_body(asking(effort), settings, images={})

    config = msgspec.json.decode(body)["generationConfig"]["thinkingConfig"]
    assert config == {"includeThoughts": True, "thinkingLevel": expected}


LOOKED_AT = ModelRequest(
    model="",
    messages=(ChatMessage("user", (ImagePart(Media("image/png", url=PIXEL), "low"),)),),
)


@pytest.mark.req("M7")
@pytest.mark.parametrize(
    ("service", "expected"),
    [
        ("openai", {"url": PIXEL, "detail": "low"}),
        ("mistral", {"url": PIXEL, "detail": "low"}),
        ("together", {"url": PIXEL}),
    ],
)
def test_the_detail_of_a_picture_goes_where_the_service_has_it(
    service: str, expected: dict[str, str]
) -> None:
    body = openai.build_body(LOOKED_AT, chat_settings(service, "m-1"), images={})

    (message,) = msgspec.json.decode(body)["messages"]
    assert message["content"][0]["image_url"] == expected


@pytest.mark.req("M7")
@pytest.mark.parametrize(
    ("model", "detail", "expected"),
    [
        ("gpt-4o", "low", "low"),
        ("gpt-4o", "original", "high"),
        ("gpt-5.4", "original", "original"),
    ],
)
def test_the_detail_of_a_picture_in_responses(
    model: str, detail: ImageDetail, expected: str
) -> None:
    picture = ImagePart(Media("image/png", url=PIXEL), detail)
    asked = msgspec.structs.replace(LOOKED_AT, messages=(ChatMessage("user", (picture,)),))
    body = responses.build_body(asked, ResponsesSettings(name="m", model=model), images={})

    assert msgspec.json.decode(body)["input"][0]["content"][0]["detail"] == expected


@pytest.mark.req("M7")
def test_chat_completions_know_no_original_detail() -> None:
    picture = ImagePart(Media("image/png", url=PIXEL), "original")
    asked = msgspec.structs.replace(LOOKED_AT, messages=(ChatMessage("user", (picture,)),))
    body = openai.build_body(asked, chat_settings("openai", "gpt-5.4"), images={})

    (message,) = msgspec.json.decode(body)["messages"]
    assert message["content"][0]["image_url"]["detail"] == "high"


@pytest.mark.req("M1")
def test_biases_are_whole_numbers_where_they_can_be() -> None:
    request = asking_for("gpt-4o", extras=Extras(logit_bias={"1": -100.0, "2": 0.5}))
    body = openai.build_body(request, chat_settings("openai", "gpt-4o"), images={})

    assert b'"logit_bias":{"1":-100,"2":0.5}' in body


def asking_for(model: str, **fields: Any) -> ModelRequest:
    return ModelRequest(model=model, messages=(user_text("hi"),), **fields)


@pytest.mark.req("M1")
@pytest.mark.parametrize(
    ("service", "model", "expected"),
    [
        ("openai", "gpt-4o-mini", {}),
        ("openai", "chatgpt-4o-latest", {}),
        ("openai", "gpt-5-chat-latest", {}),
        ("openai", "gpt-5-mini", {"reasoning_effort": "low"}),
        ("openai", "o3-mini", {"reasoning_effort": "low"}),
        ("groq", "llama-3.3-70b-versatile", {}),
        ("groq", "openai/gpt-oss-120b", {"reasoning_effort": "low"}),
        ("cerebras", "llama3.1-8b", {}),
        ("cerebras", "zai-glm-4.7", {"reasoning_effort": "low"}),
        ("xai", "grok-4-1-fast", {}),
        ("xai", "grok-4.3", {"reasoning_effort": "low"}),
        ("xai", "grok-4.20-0309-reasoning", {}),
        ("xai", "grok-4.20-multi-agent-0309", {"reasoning_effort": "low"}),
        ("xai", "grok-build-0.1", {}),
        ("openai", "o3-deep-research", {}),
        ("nvidia", "meta/llama-3.3-70b-instruct", {}),
        ("nvidia", "nvidia/nemotron-3-ultra-550b-a55b", {"reasoning_effort": "medium"}),
        ("copilot", "gpt-4.1", {}),
        ("moonshot", "kimi-k2.6", THINKING),
        ("moonshot", "kimi-k3", THINKING | {"reasoning_effort": "low"}),
        ("perplexity", "sonar", {}),
        ("perplexity", "sonar-reasoning-pro", {"reasoning_effort": "low"}),
        ("mistral", "mistral-large-latest", {}),
        ("mistral", "mistral-small-latest", {"reasoning_effort": "high"}),
        ("vllm", "any", {"reasoning_effort": "low"}),
    ],
)
def test_an_effort_is_left_out_for_models_that_would_refuse_it(
    service: str, model: str, expected: dict[str, Any]
) -> None:
    request = asking_for(model, reasoning="low")
    sent = msgspec.json.decode(openai.build_body(request, chat_settings(service, model), images={}))

    assert {name: sent[name] for name in sent if name in REASONING} == expected


@pytest.mark.req("M1")
@pytest.mark.parametrize(("model", "has_effort"), [("gpt-4.1", False), ("gpt-5.2", True)])
def test_an_effort_in_responses_is_left_out_with_what_belongs_to_it(
    model: str, has_effort: bool
) -> None:
    settings = ResponsesSettings(name="m", model=model)
    request = asking_for(model, reasoning="low")
    sent = msgspec.json.decode(responses.build_body(request, settings, images={}))

    assert ("reasoning" in sent, "include" in sent) == (has_effort, has_effort)


@pytest.mark.req("M1")
@pytest.mark.parametrize(
    ("model", "thinks"), [("gemini-2.0-flash", False), ("gemini-2.5-flash", True)]
)
def test_an_effort_for_gemini_is_left_out_where_the_model_does_not_think(
    model: str, thinks: bool
) -> None:
    settings = GeminiSettings(name="m", model=model)
    request = asking_for(model, reasoning="low", temperature=0.2)
    sent = msgspec.json.decode(gemini.build_body(request, settings, images={}))

    assert ("thinkingConfig" in sent["generationConfig"]) is thinks


SAMPLED: dict[str, Any] = {"temperature": 0.2, "top_p": 0.9}


@pytest.mark.req("M1")
@pytest.mark.parametrize(
    ("model", "reasoning", "expected"),
    [
        ("gpt-4o-mini", None, SAMPLED),
        ("gpt-4o-mini", "high", SAMPLED),
        ("gpt-5-mini", None, {}),
        ("o3", None, {}),
        ("gpt-5.2", None, SAMPLED),
        ("gpt-5.2", 0, SAMPLED),
        ("gpt-5.2", "high", {}),
        ("gpt-5-chat-latest", None, SAMPLED),
        ("gpt-5.6-sol", None, {}),
        ("gpt-5.6-sol", 0, SAMPLED),
    ],
)
def test_sampling_is_left_out_for_models_that_would_refuse_it(
    model: str, reasoning: Any, expected: dict[str, Any]
) -> None:
    request = asking_for(model, reasoning=reasoning, **SAMPLED)
    chat = openai.build_body(request, chat_settings("openai", model), images={})
    response = responses.build_body(request, ResponsesSettings(name="m", model=model), images={})

    for sent in (msgspec.json.decode(chat), msgspec.json.decode(response)):
        assert {name: sent[name] for name in SAMPLED if name in sent} == expected


@pytest.mark.req("M1")
@pytest.mark.parametrize(
    ("service", "expected"),
    [("openai", 1.3), ("mistral", 1.3), ("minimax", 1.0), ("nvidia", 1.0), ("vllm", 1.3)],
)
def test_a_temperature_is_one_that_the_service_takes(service: str, expected: float) -> None:
    request = asking_for("m-1", temperature=1.3)
    sent = msgspec.json.decode(openai.build_body(request, chat_settings(service, "m-1"), images={}))

    assert sent["temperature"] == expected


TOOL = ToolSpec("look", "Looks.", msgspec.Raw(b'{"type":"object"}'))
ONE: dict[str, Any] = {"tool_choice": ToolChoice("required", "look")}
ANY: dict[str, Any] = {"tool_choice": ToolChoice("required")}


@pytest.mark.req("M5", "M8")
@pytest.mark.parametrize(
    ("service", "model", "reasoning", "choice", "expected"),
    [
        # OpenAI refuses an effort beside tools in chat completions since gpt-5.4, and since
        # gpt-5.6 tools without the effort "none".
        ("openai", "gpt-5.2", "high", {}, {"reasoning_effort": "high"}),
        ("openai", "gpt-5.4", "high", {}, {}),
        ("openai", "gpt-5.4", 0, {}, {}),
        ("openai", "gpt-5.4", None, {}, {}),
        ("openai", "gpt-5.6-terra", "high", {}, {"reasoning_effort": "none"}),
        ("openai", "gpt-5.6-terra", None, {}, {"reasoning_effort": "none"}),
        ("openai", "gpt-4o-mini", None, {}, {}),
        ("copilot", "gpt-5.6-terra", None, {}, {"reasoning_effort": "none"}),
        ("openrouter", "openai/gpt-5.6-terra", "high", {}, {"reasoning": {"effort": "high"}}),
        # These refuse a tool that the model must call while it thinks, which it does by itself.
        ("deepseek", "deepseek-v4-pro", None, {}, {}),
        ("deepseek", "deepseek-v4-pro", None, ONE, {"thinking": {"type": "disabled"}}),
        ("deepseek", "deepseek-v4-pro", "high", ANY, {"thinking": {"type": "disabled"}}),
        ("moonshot", "kimi-k2.6", None, ONE, {"thinking": {"type": "disabled"}}),
        ("qwen", "qwen3.7-plus", None, ONE, {"enable_thinking": False}),
        ("groq", "openai/gpt-oss-120b", "low", ONE, {"reasoning_effort": "low"}),
    ],
)
def test_an_effort_beside_tools_is_one_that_the_service_takes(
    service: str, model: str, reasoning: Any, choice: dict[str, Any], expected: dict[str, Any]
) -> None:
    request = asking_for(model, reasoning=reasoning, tools=(TOOL,), **choice)
    sent = msgspec.json.decode(openai.build_body(request, chat_settings(service, model), images={}))

    ways = REASONING | {"enable_thinking"}
    assert {name: sent[name] for name in sent if name in ways} == expected


@pytest.mark.req("M5", "M8")
def test_responses_reason_beside_tools() -> None:
    settings = ResponsesSettings(name="m", model="gpt-5.6-terra")
    request = asking_for("gpt-5.6-terra", reasoning="high", tools=(TOOL,))
    sent = msgspec.json.decode(responses.build_body(request, settings, images={}))

    assert sent["reasoning"] == {"effort": "high"}


FORCED: dict[str, Any] = {"tool_choice": {"type": "tool", "name": "look"}}
OFF: dict[str, Any] = {"thinking": {"type": "disabled"}}
ADAPTIVE: dict[str, Any] = {"thinking": {"type": "adaptive"}}


@pytest.mark.req("M1", "M5")
@pytest.mark.parametrize(
    ("model", "asked", "expected"),
    [
        ("claude-sonnet-4-6", {"reasoning": 0}, {}),
        ("claude-sonnet-5", {}, {}),
        ("claude-sonnet-5", {"reasoning": 0}, OFF),
        ("claude-sonnet-5", ONE, OFF | FORCED),
        ("claude-sonnet-4-6", ONE, FORCED),
        # Opus refuses its highest efforts without thoughts.
        (
            "claude-opus-5",
            ONE | {"reasoning": "high", "extras": Extras(effort="max")},
            OFF | FORCED,
        ),
        ("claude-opus-5", {"reasoning": "high"}, ADAPTIVE | {"output_config": {"effort": "high"}}),
        ("claude-fable-5", {"reasoning": 0}, {}),
    ],
)
def test_a_claude_that_thinks_by_itself_is_told_not_to(
    model: str, asked: dict[str, Any], expected: dict[str, Any]
) -> None:
    request = asking_for(model, tools=(TOOL,), **asked)
    settings = AnthropicSettings(name="m", model=model)
    sent = msgspec.json.decode(anthropic.build_body(request, settings, images={}))

    told = {"thinking", "output_config", "tool_choice"}
    assert {name: sent[name] for name in sent if name in told} == expected


@pytest.mark.req("M1")
@pytest.mark.parametrize(
    ("service", "model", "asked", "is_sent"),
    [
        ("openai", "gpt-4o", {}, True),
        ("openai", "gpt-4o", {"tools": (TOOL,)}, False),
        ("openai", "gpt-4o", {"max_output_tokens": 9}, False),
        ("openai", "gpt-4o", {"extras": Extras(prediction="a", top_logprobs=0)}, False),
        ("openai", "gpt-4o", {"extras": Extras(prediction="a", presence_penalty=1.0)}, False),
        ("openai", "gpt-4o", {"extras": Extras(prediction="a", logit_bias={"1": 2})}, True),
        ("cerebras", "gpt-oss-120b", {"tools": (TOOL,)}, False),
        ("fireworks", "m-1", {"tools": (TOOL,)}, True),
    ],
)
def test_a_prediction_is_left_out_beside_what_the_service_refuses_with_it(
    service: str, model: str, asked: dict[str, Any], is_sent: bool
) -> None:
    request = asking_for(model, **({"extras": Extras(prediction="a")} | asked))
    sent = msgspec.json.decode(openai.build_body(request, chat_settings(service, model), images={}))

    assert ("prediction" in sent) is is_sent


@pytest.mark.req("M1")
@pytest.mark.parametrize(
    ("model", "is_sent"),
    [("gpt-5.2", True), ("gpt-5-codex", False), ("gpt-5.1-codex-mini", False), ("gpt-4o", False)],
)
def test_a_verbosity_is_left_out_for_models_that_know_one(model: str, is_sent: bool) -> None:
    request = asking_for(model, extras=Extras(verbosity="low"))
    chat = openai.build_body(request, chat_settings("openai", model), images={})
    response = responses.build_body(request, ResponsesSettings(name="m", model=model), images={})

    assert ("verbosity" in msgspec.json.decode(chat)) is is_sent
    assert ("text" in msgspec.json.decode(response)) is is_sent
