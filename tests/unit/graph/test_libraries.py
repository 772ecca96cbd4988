"""Messages of a graph pass as plain dicts wherever dicts are taken."""

import json
from typing import Any

import msgspec
import pytest
from pydantic import BaseModel, TypeAdapter
from typing_extensions import TypedDict

from hermes.graph import MessageGraph
from tests.unit.graph.said import pictured, tool_call, tool_result, user

TALK = [user("hi"), pictured("look"), tool_call("c1"), tool_result("c1")]


class Function(BaseModel):
    name: str
    arguments: str


class ToolCall(BaseModel):
    id: str
    function: Function


class Spoken(BaseModel):
    role: str
    content: str | list[dict[str, Any]] | None = None
    tool_calls: list[ToolCall] = []


class Typed(TypedDict, total=False):
    role: str
    content: Any


@pytest.mark.req("G2")
def test_json_takes_them() -> None:
    graph = MessageGraph(TALK)

    assert json.loads(json.dumps(list(graph))) == TALK
    assert [json.dumps(m, sort_keys=True) for m in graph] == [
        json.dumps(m, sort_keys=True) for m in TALK
    ]
    assert json.dumps(graph[1]["content"]) == json.dumps(TALK[1]["content"])


@pytest.mark.req("G2")
def test_msgspec_takes_them() -> None:
    graph = MessageGraph(TALK)

    assert msgspec.json.decode(msgspec.json.encode(list(graph))) == TALK
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(graph[2])) == TALK[2]
    assert msgspec.convert(graph[1], dict[str, Any]) == TALK[1]


@pytest.mark.req("G2")
def test_pydantic_takes_them() -> None:
    graph = MessageGraph(TALK)

    spoken = [Spoken.model_validate(message) for message in graph]

    assert spoken == [Spoken.model_validate(message) for message in TALK]
    assert TypeAdapter(list[dict[str, Any]]).validate_python(list(graph)) == TALK
    assert TypeAdapter(Typed).validate_python(graph[1])["content"] == TALK[1]["content"]
    assert TypeAdapter(list[dict[str, Any]]).dump_json(list(graph)) == TypeAdapter(
        list[dict[str, Any]]
    ).dump_json(graph.to_list())


@pytest.mark.req("G2")
def test_orjson_takes_them() -> None:
    orjson = pytest.importorskip("orjson")
    graph = MessageGraph(TALK)

    assert orjson.loads(orjson.dumps(list(graph))) == TALK
    assert orjson.dumps(graph[1]["content"]) == orjson.dumps(TALK[1]["content"])


@pytest.mark.req("G2")
def test_they_behave_as_dicts_and_lists() -> None:
    message = MessageGraph(TALK)[1]

    assert isinstance(message, dict)
    assert isinstance(message["content"], list)
    assert {**message} == dict(message) == message | {} == TALK[1]
    assert [*message["content"]] == message["content"][:] == TALK[1]["content"]
    match message:
        case {"role": "user", "content": [{"text": text}, *_]}:
            assert text == "look"
        case _:
            pytest.fail("it did not match like a dict")
