"""The official SDK as the oracle of the Anthropic wire: the same requests out, the same answers in."""

from collections.abc import AsyncIterator, Callable
from typing import Any

import anthropic
import msgspec
import pytest
import pytest_asyncio

from hermes.ports.provider import ModelRequest
from hermes.providers.anthropic.schema import fit
from hermes.providers.anthropic.settings import AnthropicSettings, build_headers
from hermes.providers.anthropic.wire import answer_tool, build_body
from hermes.testing.anthropic_server import AnthropicServer
from hermes.testing.anthropic_shape import read_request
from tests.oracle.anthropic_rows import HAIKU, ROWS, Row

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

# Any: parsed JSON bodies.
Json = dict[str, Any]
KEY = "sk-ant-api-oracle"


def blocks_for_strings(body: Json) -> Json:
    """Write every string that stands for one text block as that block."""
    messages = [message | {"content": _blocks(message["content"])} for message in body["messages"]]
    system = {"system": _blocks(body["system"])} if "system" in body else {}
    return body | {"messages": messages} | system


def one_turn_for_many(body: Json) -> Json:
    """Put messages of one role in a row together."""
    turns: list[Json] = []
    for message in body["messages"]:
        if turns and turns[-1]["role"] == message["role"]:
            turns[-1] = turns[-1] | {"content": turns[-1]["content"] + message["content"]}
        else:
            turns.append(message)
    return body | {"messages": turns}


# Every accepted difference: what is done to the SDK's side before both are compared, and why.
BODY_DIFFERENCES: dict[Callable[[Json], Json], str] = {
    blocks_for_strings: "a string is documented as the short form of one text block; Hermes always"
    " writes the block, so that the prefix stays the same when a block is added or marked",
    one_turn_for_many: "the service puts messages of one role in a row together itself; Hermes"
    " does it before, since tool results have to stand first in their turn",
}
HEADER_DIFFERENCES = {
    "anthropic-version": "the SDK's 2026-10-21 takes no temperature, also for models that have one",
    "x-api-key": "the SDK shows an API key as a bearer token; the API takes both",
    "authorization": "the other half of the same difference",
}


def _blocks(content: str | list[Json]) -> list[Json]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def settings_for(row: Row) -> AnthropicSettings:
    return AnthropicSettings(**{"name": "oracle", "model": HAIKU, "api_key": KEY, **row.settings})


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def sdk() -> AsyncIterator["Sdk"]:
    async with AnthropicServer() as server:
        client = anthropic.AsyncAnthropic(
            api_key=KEY, auth_token=None, base_url=server.base_url, max_retries=0
        )
        yield Sdk(server, client)
        await client.close()


class Sdk:
    """The SDK with a server behind it that keeps what arrives and refuses what the API refuses."""

    def __init__(self, server: AnthropicServer, client: anthropic.AsyncAnthropic) -> None:
        self._server = server
        self._client = client

    async def send(self, **arguments: Any) -> tuple[Json, dict[str, str]]:
        async with self._client.messages.stream(**arguments):
            pass  # the request has left; its answer is not asked for here
        made = self._server.invocations[-1]
        return msgspec.json.decode(made.body), made.headers


def test_there_are_enough_rows_and_few_differences():
    assert len(ROWS) >= 40
    assert len({row.name for row in ROWS}) == len(ROWS)
    assert len(BODY_DIFFERENCES) + len(HEADER_DIFFERENCES) <= 10


@pytest.mark.req("M1", "M3", "M4", "M5", "M6", "M7", "A20")
@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("row", ROWS, ids=[row.name for row in ROWS])
async def test_the_body_is_what_the_sdk_sends(row, sdk):
    settings = settings_for(row)
    request = ModelRequest(**row.asked)

    body = build_body(request, settings, images=row.files, answer=answer_tool(request, settings))
    expected, _headers = await sdk.send(**row.sdk)

    for change in BODY_DIFFERENCES:
        expected = change(expected)
    read_request(body)
    assert msgspec.json.decode(body) == expected


@pytest.mark.req("M1")
@pytest.mark.asyncio(loop_scope="module")
async def test_the_headers_are_those_of_the_sdk(sdk):
    _body, theirs = await sdk.send(
        model=HAIKU, max_tokens=1, messages=[{"role": "user", "content": "hi"}]
    )
    ours = build_headers(AnthropicSettings(name="oracle", model=HAIKU, api_key=KEY))

    compared = [name for name in ours if name not in HEADER_DIFFERENCES and name != "accept"]
    assert {name: ours[name] for name in compared} == {name: theirs[name] for name in compared}
    assert ours["x-api-key"] == theirs["authorization"].removeprefix("Bearer ") == KEY
    assert (ours["anthropic-version"], theirs["anthropic-version"]) == ("2023-06-01", "2026-10-21")


@pytest.mark.req("M1", "P4")
@pytest.mark.asyncio(loop_scope="module")
async def test_an_oauth_token_is_shown_as_the_sdk_shows_it():
    async with (
        AnthropicServer(key="token") as server,
        anthropic.AsyncAnthropic(
            api_key=None,
            auth_token="token",
            base_url=server.base_url,
            default_headers={"anthropic-beta": "oauth-2025-04-20,context-1m-2025-08-07"},
        ) as client,
    ):
        _body, theirs = await Sdk(server, client).send(
            model=HAIKU, max_tokens=1, messages=[{"role": "user", "content": "hi"}]
        )
    ours = build_headers(
        AnthropicSettings(
            name="oracle",
            model=HAIKU,
            api_key=KEY,
            oauth_token="token",
            headers={"Anthropic-Beta": "context-1m-2025-08-07"},
        )
    )

    names = ("authorization", "anthropic-beta")
    assert [ours[name] for name in names] == [theirs[name] for name in names]
    assert "x-api-key" not in ours
    assert "x-api-key" not in theirs


@pytest.mark.req("M6")
@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]},
        {
            "type": "object",
            "properties": {
                "mail": {"type": "string", "format": "email", "title": "Mail"},
                "code": {"type": "string", "pattern": "^x", "description": "A code."},
                "odd": {"type": "string", "format": "odd"},
                "n": {"type": "integer", "minimum": 1, "maximum": 9},
                "one": {"const": 1},
                "some": {"type": "string", "enum": ["a", "b"]},
                "list": {"type": "array", "items": {"type": "number"}, "minItems": 1},
                "long": {"type": "array", "items": {"type": "number"}, "minItems": 3},
                "any": {"oneOf": [{"type": "null"}, {"type": "boolean"}]},
                "all": {"allOf": [{"type": "object", "properties": {"x": {"type": "null"}}}]},
            },
            "additionalProperties": True,
        },
        {"$ref": "#/$defs/A", "$defs": {"A": {"type": "integer", "multipleOf": 2}}},
    ],
)
def test_a_schema_is_fitted_as_the_sdk_fits_it(schema):
    assert fit(schema) == anthropic.transform_schema(schema)
