"""What is read from services' own lists of models, in the shapes they have, and what is not believed."""

from collections.abc import AsyncIterator

import msgspec
import pytest

from hermes.app.adapters import make_anthropic, make_gemini, make_ollama, make_openai
from hermes.config import ProviderSettings
from hermes.errors import ProviderError, ProviderUnavailable
from hermes.net.client import HttpClient, HttpSettings
from hermes.ports.model_lists import ModelLister, ServedModel
from hermes.provider_kit.model_list import read_list
from hermes.testing.scripted_http import Out, ReceivedRequest, ScriptedHttp

# Shortened from what these services publish.
OPENROUTER = {
    "data": [
        {
            "id": "vendor/large-1",
            "context_length": 200_000,
            "top_provider": {"context_length": 200_000, "max_completion_tokens": 64_000},
            "pricing": {
                "prompt": "0.0000003",
                "completion": "0.0000025",
                "input_cache_read": "0.00000003",
            },
        },
        {"id": "openrouter/auto", "context_length": 2_000_000, "pricing": {"prompt": "-1"}},
    ]
}
GROQ = {"data": [{"id": "l-8b", "context_window": 131_072, "max_completion_tokens": 8192}]}
TOGETHER = [{"id": "t-1", "context_length": 8192, "pricing": {"input": 0.2, "output": 0.6}}]
VLLM = {"object": "list", "data": [{"id": "mine", "max_model_len": 4096}]}
GEMINI = {
    "models": [{"name": "models/g-1", "inputTokenLimit": 1_048_576, "outputTokenLimit": 65_536}]
}
ANTHROPIC = {"data": [{"type": "model", "id": "c-1", "max_input_tokens": 200_000}]}
OLLAMA = {"models": [{"name": "llama3.2:3b", "model": "llama3.2:3b", "size": 2_019_393_189}]}


def read(found: object) -> dict[str, ServedModel]:
    return dict(read_list(msgspec.json.encode(found), "m"))


@pytest.mark.req("M1", "A20")
@pytest.mark.parametrize(
    ("found", "models"),
    [
        (
            OPENROUTER,
            {
                "vendor/large-1": ServedModel(
                    context=200_000,
                    max_output=64_000,
                    price_in=0.3,
                    price_out=2.5,
                    price_cached=0.03,
                ),
                "openrouter/auto": ServedModel(context=2_000_000),
            },
        ),
        (GROQ, {"l-8b": ServedModel(context=131_072, max_output=8192)}),
        (TOGETHER, {"t-1": ServedModel(context=8192, price_in=0.2, price_out=0.6)}),
        (VLLM, {"mine": ServedModel(context=4096)}),
        (GEMINI, {"g-1": ServedModel(context=1_048_576, max_output=65_536)}),
        (ANTHROPIC, {"c-1": ServedModel(context=200_000)}),
        (OLLAMA, {"llama3.2:3b": ServedModel()}),
    ],
    ids=["openrouter", "groq", "together", "vllm", "gemini", "anthropic", "ollama"],
)
def test_each_services_list_is_read_with_what_it_says(found, models):
    assert read(found) == models


@pytest.mark.req("M1", "A20")
@pytest.mark.parametrize(
    "row",
    [
        {"context_length": -5},
        {"context_length": 10**15},
        {"context_length": True},
        {"context_length": "128000"},
        {"pricing": {"prompt": "NaN", "completion": "1e300"}},
        {"pricing": {"prompt": "0.000001"}},
        {"pricing": {"input": 1e9, "output": 1}},
        {"pricing": {"input": [], "output": {}}},
        {"pricing": "free"},
        {"top_provider": 7},
    ],
)
def test_what_cannot_be_true_is_left_out(row):
    assert read({"data": [{"id": "a", **row}]}) == {"a": ServedModel()}


@pytest.mark.req("M1")
def test_names_that_cannot_be_names_are_left_out_and_the_rest_counts():
    names: list[object] = ["", "a b", "a\x1b[31m", "x" * 201, 7, None, "fine"]

    assert list(read([*({"id": name} for name in names), "text", None])) == ["fine"]
    assert len(read([{"id": f"m{number}"} for number in range(12_000)])) == 10_000


@pytest.mark.req("M1")
@pytest.mark.parametrize("body", [b"", b"<html>", b"{}", b'{"data": {}}', b"[" * 100_000])
def test_a_page_that_is_no_list_is_an_error_that_names_the_setting(body):
    with pytest.raises(ProviderUnavailable, match=r"check providers\.m\.base_url"):
        read_list(body, "m")


@pytest.fixture
async def client() -> AsyncIterator[HttpClient]:
    made = HttpClient(HttpSettings())
    yield made
    await made.close()


@pytest.mark.req("M1")
@pytest.mark.parametrize(
    ("make", "path", "header"),
    [
        (make_openai, "/models", "authorization"),
        (make_anthropic, "/v1/models?limit=1000", "x-api-key"),
        (make_gemini, "/v1beta/models?pageSize=1000", "x-goog-api-key"),
        (make_ollama, "/api/tags", "authorization"),
    ],
    ids=["openai", "anthropic", "gemini", "ollama"],
)
async def test_every_wire_asks_its_service_with_its_key(client, make, path, header):
    async def answer(_received: ReceivedRequest, out: Out) -> None:
        out.whole(200, msgspec.json.encode(VLLM))

    async with ScriptedHttp(answer) as server:
        table = ProviderSettings.model_validate({"base_url": server.origin, "api_key": "k-1"})
        provider = make("house", table, client)
        assert isinstance(provider, ModelLister)
        models = await provider.list_models()

    (request,) = server.requests
    assert dict(models) == {"mine": ServedModel(context=4096)}
    assert (request.method, request.path) == ("GET", path)
    assert request.headers[header].endswith("k-1")


@pytest.mark.req("M1")
async def test_a_service_that_refuses_says_why_and_never_the_key(client):
    async def refuse(_received: ReceivedRequest, out: Out) -> None:
        out.whole(401, b'{"error": {"message": "wrong key sk-secret-1"}}')

    async with ScriptedHttp(refuse) as server:
        table = ProviderSettings.model_validate(
            {"base_url": server.origin, "api_key": "sk-secret-1"}
        )
        provider = make_openai("house", table, client)
        assert isinstance(provider, ModelLister)
        with pytest.raises(ProviderError, match=r"house: .* 401: wrong key") as refused:
            await provider.list_models()

    assert "sk-secret-1" not in str(refused.value)
