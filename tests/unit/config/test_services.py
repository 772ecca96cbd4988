"""Keys of well-known services: each brings its provider, behind those that come first."""

import pytest

from hermes.config.entries import PROVIDERS
from hermes.config.variables import WELL_KNOWN

KEYS = {
    row.name: row.key[1]
    for row in WELL_KNOWN.values()
    if row.key[0] == "providers" and row.key[2] == "api_key"
}


@pytest.mark.req("M1")
@pytest.mark.parametrize(("variable", "name"), KEYS.items())
def test_one_key_in_the_environment_brings_its_provider(load_home, variable, name):
    loaded = load_home(**{variable: "key-1"})

    provider = loaded.settings.providers[name]
    key = provider.api_key
    assert key is not None
    assert key.get_secret_value() == "key-1"
    assert (provider.base_url, provider.model) == (
        PROVIDERS[name]["base_url"],
        PROVIDERS[name]["model"],
    )
    assert loaded.warnings == ()


@pytest.mark.req("M1")
def test_the_keys_of_other_services_come_after_those_of_the_first_and_before_the_last_resort(
    load_home,
):
    loaded = load_home(GROQ_API_KEY="k1", DASHSCOPE_API_KEY="k2", OPENROUTER_API_KEY="k3")

    assert list(loaded.settings.providers) == ["openrouter", "openai", "groq", "qwen", "local"]


@pytest.mark.req("M2")
@pytest.mark.parametrize(
    ("model", "warned"),
    [
        ("qwen:qwen-plus", ["set DASHSCOPE_API_KEY, or name another model"]),
        ("ollama:llama3.2", []),
        ("llamacpp:default", []),
    ],
)
def test_a_missing_key_is_named_and_a_server_of_ones_own_needs_none(
    write, load_home, model, warned
):
    name = model.partition(":")[0]
    write(yaml=f"models: {{default: '{model}'}}\nproviders: {{{name}: {{enabled: true}}}}\n")

    assert [warning.fix for warning in load_home().warnings] == warned
