"""The OpenAPI document describes every order and endpoint, and a validator of others agrees."""

import msgspec
import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator

from hermes.channels.rest.channel import RestChannel, RestSettings
from hermes.control.orders import ORDERS
from hermes.http.same_origin import Origins
from hermes.ports.channel import Capabilities
from hermes.ports.clock import SystemClock
from hermes.ports.gateway_api import GatewayApi
from hermes.server.a2a.channel import A2aChannel, A2aParts
from hermes.server.mcp.endpoint import PATH as MCP
from hermes.server.mcp.endpoints import mcp_endpoints
from hermes.server.openapi import Json, openapi_document, plain_page
from hermes.server.v1.endpoints import ENDPOINTS


def never(_gateway_api: GatewayApi) -> A2aParts:
    """Stand where a channel without requests makes its parts."""
    raise AssertionError


@pytest.fixture(scope="module")
def document() -> Json:
    rest = RestChannel(
        RestSettings(),
        capabilities=Capabilities(delivery="pull"),
        origins=Origins(bound_host="127.0.0.1"),
        clock=SystemClock(),
        make_id=str,
    )
    made = openapi_document(
        [*rest.endpoints(), *A2aChannel(never).endpoints(), *ENDPOINTS, *mcp_endpoints()]
    )
    # As it is sent, and not as it was made.
    return dict(msgspec.json.decode(msgspec.json.encode(made)))


def test_the_document_is_openapi_3_1(document: Json) -> None:
    OpenAPIV31SpecValidator(document).validate()


def test_every_order_is_described_with_its_role_and_its_line_of_help(document: Json) -> None:
    shown = {
        (method.upper(), path): (one["summary"], one.get("x-least-role"))
        for path, methods in document["paths"].items()
        for method, one in methods.items()
    }

    missing = [
        order.name
        for order in ORDERS
        if not order.variant
        and shown.get((order.method, order.path.replace(":path}", "}")))
        != (order.summary, order.least)
    ]
    assert missing == []


def test_messages_and_the_model_apis_are_described_too(document: Json) -> None:
    paths = document["paths"]

    assert {"/api/messages", "/api/messages/{id}", "/workspaces/{id}/a2a"} <= paths.keys()
    assert {path for path in paths if path.startswith("/v1/")} == {
        "/v1/chat/completions",
        "/v1/completions",
        "/v1/responses",
        "/v1/responses/{id}",
        "/v1/responses/{id}/input_items",
        "/v1/messages",
        "/v1/messages/count_tokens",
        "/v1/embeddings",
        "/v1/models",
        "/v1/models/{id}",
    }
    body = paths["/v1/chat/completions"]["post"]["requestBody"]["content"]["application/json"]
    assert body["schema"] == {"$ref": "#/components/schemas/ChatBody"}


def test_fields_have_their_meaning_and_who_orders_is_not_asked(document: Json) -> None:
    block = document["paths"]["/control/users/block"]["post"]
    found = document["paths"]["/control/costs"]["get"]["parameters"]

    schema = block["requestBody"]["content"]["application/json"]["schema"]
    assert schema["properties"].keys() == {"user", "name"}
    assert schema["required"] == ["user"]
    assert schema["properties"]["user"]["description"] == "a person"
    assert {"by", "days", "month"} <= {one["name"] for one in found}


def test_a_second_order_at_the_same_path_is_a_value_of_the_query(document: Json) -> None:
    why = document["paths"]["/control/why/{id}"]["get"]

    assert [(one["name"], one["in"]) for one in why["parameters"]] == [
        ("id", "path"),
        ("text", "query"),
    ]
    assert "messages.read" in why["description"]


def test_without_browser_code_a_plain_page_lists_every_path(document: Json) -> None:
    page = plain_page(document).decode()

    assert [path for path in document["paths"] if f" {path}</code>" not in page] == []
    assert "<script" not in page


def test_a_browser_session_is_not_offered_for_model_apis(document: Json) -> None:
    assert document["paths"]["/v1/models"]["get"]["security"] == [{"token": []}]
    assert {"session": []} in document["security"]


@pytest.mark.req("W43")
def test_mcp_is_described_with_its_key_its_errors_and_what_it_may_answer(document: Json) -> None:
    call = document["paths"][MCP]["post"]
    shapes = document["components"]["schemas"]
    refusals = {
        status: one["content"]["application/json"]["schema"]
        for status, one in call["responses"].items()
        if status not in ("200", "202", "default")
    }

    assert document["paths"][MCP].keys() == {"post"}
    assert call["security"] == [{"token": []}]
    assert call["requestBody"]["content"]["application/json"]["schema"] == {
        "$ref": "#/components/schemas/McpRequest"
    }
    assert call["responses"]["200"]["content"].keys() == {"application/json", "text/event-stream"}
    assert "content" not in call["responses"]["202"]
    assert refusals.keys() == {"400", "401", "403", "404", "406", "413", "429", "503"}
    assert refusals["401"] == {"$ref": "#/components/schemas/McpRefusal"}
    assert shapes["McpError"]["properties"].keys() == {"code", "message", "data"}


def test_a_cookie_calls_no_agent_over_a2a(document: Json) -> None:
    assert document["paths"]["/workspaces/{id}/a2a"]["post"]["security"] == [{"token": []}]
