"""Every number that a caller can send has bounds in its shape: none overflows what comes after it."""

import ast
import pkgutil
from collections.abc import Iterator
from importlib import import_module
from inspect import getsource
from types import ModuleType

import msgspec
import pytest
from msgspec import inspect

import hermes.channels.rest
import hermes.channels.web
import hermes.channels.webhook
import hermes.http
import hermes.server
from hermes.control.orders import ORDERS

PACKAGES = (
    hermes.server,
    hermes.http,
    hermes.channels.rest,
    hermes.channels.web,
    hermes.channels.webhook,
)
# What makes a decoder of a type out of its first argument.
READERS = frozenset({"Decoder", "JsonBody", "WireBody"})
# What the gateway itself wrote: no caller can send it.
STORED = {
    "hermes.server.gateway_api: TurnResult": "what a parked turn asked, as the store kept it",
}
KEPT_AS_JSON = "passed on as JSON or ignored; nothing here counts with it"
CHECKED_LATER = "checked like the settings of an agent in config.yaml, in size and depth too"
EXEMPT = {
    "AgentChange.adapter": CHECKED_LATER,
    "AgentChange.approvals": CHECKED_LATER,
    "AgentChange.response_schema": CHECKED_LATER,
    "AssistantMessage.reasoning_details": KEPT_AS_JSON,
    "Image.transformations": KEPT_AS_JSON,
    "MessagesBody.container": KEPT_AS_JSON,
    "MessagesBody.mcp_servers": KEPT_AS_JSON,
    "NewAgent.adapter": CHECKED_LATER,
    "NewAgent.approvals": CHECKED_LATER,
    "NewAgent.response_schema": CHECKED_LATER,
    "OutputConfig.task_budget": KEPT_AS_JSON,
    "Tool.allowed_callers": KEPT_AS_JSON,
    "Tool.input_examples": KEPT_AS_JSON,
    "hermes.server.v1.input_items: Json": KEPT_AS_JSON,
}


def modules() -> Iterator[ModuleType]:
    """Return every module that reads what a caller sent."""
    for package in PACKAGES:
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            yield import_module(found.name)


def read_types() -> dict[str, object]:
    """Return every type that a request is decoded into, by where it stands."""
    found: dict[str, object] = {f"order {one.name}": one.request for one in ORDERS}
    for module in modules():
        for call in ast.walk(ast.parse(getsource(module))):
            name = getattr(call, "func", None)
            is_reader = getattr(name, "attr", getattr(name, "id", None)) in READERS
            if isinstance(call, ast.Call) and is_reader and call.args:
                text = ast.unparse(call.args[0])
                if text != "model":
                    found[f"{module.__name__}: {text}"] = eval(text, vars(module))
    return found


def unbounded(kind: inspect.Type, place: str, seen: set[object]) -> Iterator[str]:
    """Return the places of numbers without both bounds, and of values of any type."""
    if isinstance(kind, inspect.IntType | inspect.FloatType):
        has_most = kind.le is not None or kind.lt is not None
        has_least = kind.ge is not None or kind.gt is not None
        if not (has_most and has_least):
            yield place
    elif isinstance(kind, inspect.AnyType):
        yield place
    for inner, its_place in parts(kind, place):
        name = getattr(inner, "cls", None)
        if name is None or name not in seen:
            seen.add(name)
            yield from unbounded(inner, its_place, seen)


def parts(kind: inspect.Type, place: str) -> Iterator[tuple[inspect.Type, str]]:
    """Return the types inside a type, each with its place."""
    if isinstance(kind, inspect.StructType):
        for field in kind.fields:
            yield field.type, f"{kind.cls.__name__}.{field.name}"
    for name in ("types", "item_types"):
        yield from ((one, place) for one in getattr(kind, name, ()))
    for name in ("item_type", "value_type"):
        if hasattr(kind, name):
            yield getattr(kind, name), place


@pytest.mark.req("W6")
def test_every_number_of_every_request_has_an_upper_and_a_lower_bound() -> None:
    types = read_types()
    seen: set[object] = set()
    found = {
        place
        for name, kind in types.items()
        if name not in STORED
        for place in unbounded(inspect.type_info(kind), name, seen)
    }

    assert {one for one in found if one not in EXEMPT} == set()
    assert {one for one in EXEMPT if one not in found} == set()
    assert {one for one in STORED if one not in types} == set()


@pytest.mark.req("W6")
def test_the_walk_sees_the_requests_of_every_door() -> None:
    named = " ".join(read_types())

    for body in (
        *("ChatBody", "CompletionsBody", "EmbeddingsBody", "MessagesBody", "ResponsesBody"),
        *("RestMessage", "WebMessage", "StopRequest", "order credits.grant", "ShellCall"),
    ):
        assert body in named
    assert list(unbounded(inspect.type_info(dict[str, list[int] | None]), "here", set())) == [
        "here"
    ]
    assert msgspec.json.decode(b"1" * 400) == int("1" * 400)
