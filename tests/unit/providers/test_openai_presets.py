"""The known services as data: complete, found by their address, and as the configuration says."""

import msgspec
import pytest

from hermes.config.entries import PROVIDERS
from hermes.config.variables import WELL_KNOWN
from hermes.providers.openai.presets import PLAIN, Quirks, preset_for, presets
from hermes.providers.openai.settings import OpenAISettings, complete

ASKED_FOR = {
    "openai",
    "openrouter",
    "groq",
    "mistral",
    "deepseek",
    "together",
    "fireworks",
    "xai",
    "perplexity",
    "cerebras",
    "nvidia",
    "moonshot",
    "qwen",
    "minimax",
    "copilot",
    "vllm",
    "llamacpp",
    "lmstudio",
}


@pytest.mark.req("M1")
def test_every_service_that_was_asked_for_is_there():
    assert set(presets()) >= ASKED_FOR


@pytest.mark.req("M1")
@pytest.mark.parametrize("name", presets())
def test_a_service_is_what_the_configuration_says_it_is(name):
    preset = presets()[name]
    entry = PROVIDERS[name]
    variable = preset.key_variable

    assert (entry["base_url"], entry.get("model", "")) == (preset.base_url, preset.model)
    assert entry.get("kind", "openai") == "openai"
    assert variable is None or WELL_KNOWN[variable].key == ("providers", name, "api_key")


@pytest.mark.req("M1", "P6")
@pytest.mark.parametrize("name", presets())
def test_a_cloud_is_usable_with_a_key_and_a_server_of_ones_own_without(name):
    preset = presets()[name]
    settings = OpenAISettings(name=name, model="", base_url=preset.base_url)
    keyed = msgspec.structs.replace(settings, api_key="key-1")

    assert complete(settings).usable is (preset.key_variable is None)
    assert complete(keyed).usable
    assert complete(settings).model == preset.model


@pytest.mark.req("M1")
@pytest.mark.parametrize(
    ("base_url", "name", "found"),
    [
        ("https://api.groq.com/openai/v1", "fast-one", "groq"),
        ("https://api.groq.com/openai/v1/", "vllm", "groq"),
        ("http://10.0.0.7:9000/v1", "vllm", "vllm"),
        ("http://10.0.0.7:9000/v1", "groq", None),
        ("http://127.0.0.1:1/v1", "openai", None),
        ("https://models.example.com/v1", "mine", None),
    ],
)
def test_a_cloud_is_known_by_its_host_and_a_server_of_ones_own_by_its_name(base_url, name, found):
    preset = preset_for(base_url, name)

    assert (preset.name if preset else None) == found


@pytest.mark.req("M1")
def test_settings_win_over_the_preset_and_an_unknown_address_has_no_quirks():
    own = Quirks(schema=False)
    given = OpenAISettings(
        name="copilot",
        model="m",
        base_url="https://api.githubcopilot.com",
        headers={"Editor-Version": "mine/2"},
        quirks=own,
    )
    unknown = OpenAISettings(name="mine", model="m", base_url="https://models.example.com/v1")

    settled = complete(given)

    assert (settled.model, settled.quirks) == ("m", own)
    assert settled.headers["Editor-Version"] == "mine/2"
    assert settled.headers["Copilot-Integration-Id"]
    assert complete(unknown) == msgspec.structs.replace(unknown, quirks=PLAIN)


@pytest.mark.req("M5", "M7")
def test_what_the_default_model_cannot_is_not_said_of_another_model():
    groq = OpenAISettings(name="g", model="", base_url="https://api.groq.com/openai/v1")
    other = msgspec.structs.replace(groq, model="another-model")
    perplexity = OpenAISettings(name="p", model="", base_url="https://api.perplexity.ai")

    assert (complete(groq).vision, complete(other).vision) == (False, True)
    assert complete(perplexity).tools is False
