"""The OpenAPI 3.1 document: operator orders from their table, and the endpoints of channels.

Imported and built at the first request for it.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any, Final

import msgspec

from hermes import __version__
from hermes.control.order import AnyOrder
from hermes.control.order_fields import FIELD_HELP, help_key
from hermes.control.orders import ORDERS
from hermes.ports.gateway_api import ApiEndpoint
from hermes.server.auth import COOKIE

# Any: JSON of the document.
Json = dict[str, Any]
_ROOT: Final = "#/components/schemas/"
_TEMPLATE: Final = _ROOT + "{name}"
# The field with the actor of an order; only this machine's command line sends it.
_BY = "by"
_ORDERS = "Operator orders"
_ERROR: Final[Json] = {
    "description": "The request was refused or failed; `message` says why and what to do.",
    "content": {"application/json": {"schema": {"$ref": _ROOT + "ErrorBody"}}},
}


_FAILED: Final[Json] = {"$ref": "#/components/responses/Error"}
_IN_PATH: Final = re.compile(r"\{([a-z_]+)\}")


class ErrorFields(msgspec.Struct, frozen=True, kw_only=True):
    """Why a request was refused; `hermes why` explains the id `refusal`, if there is one."""

    code: str
    message: str
    refusal: str | None = None


class ErrorBody(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to a request that was refused or failed."""

    error: ErrorFields


def openapi_document(
    endpoints: Iterable[ApiEndpoint] = (), *, orders: Sequence[AnyOrder] = ORDERS
) -> Json:
    """Return the description of the whole public API."""
    described = tuple(endpoints)
    kinds = _kinds(described, orders)
    schemas, components = msgspec.json.schema_components(kinds, ref_template=_TEMPLATE)
    by_kind = dict(zip(map(_key, kinds), schemas, strict=True))
    paths: dict[str, Json] = {}
    for endpoint in described:
        paths.setdefault(_path(endpoint.path), {})[endpoint.method.lower()] = _endpoint(
            endpoint, by_kind
        )
    for order in sorted(orders, key=lambda one: bool(one.variant)):
        methods = paths.setdefault(_path(order.route), {})
        if order.variant:
            _add_variant(methods[order.method.lower()], order)
        else:
            methods[order.method.lower()] = _order(order, by_kind)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Hermes",
            "version": __version__,
            "description": "Messages to agents, model APIs, and the orders of operators.",
        },
        "security": [{"token": []}, {"session": []}],
        "paths": paths,
        "components": {
            "schemas": components,
            "responses": {"Error": _ERROR},
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer"},
                "session": {"type": "apiKey", "in": "cookie", "name": COOKIE},
            },
        },
    }


def plain_page(document: Json) -> bytes:
    """Return the document as a list in plain HTML, for use without the browser code."""
    rows = "".join(
        f"<h2><code>{method.upper()} {escape(path)}</code></h2>"
        f"<p>{escape(one['summary'])} {escape(one.get('description', ''))}</p>"
        for path, methods in document["paths"].items()
        for method, one in methods.items()
    )
    text = (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>Hermes API</title>'
        f'<h1>Hermes API</h1><p><a href="/api/openapi.json">OpenAPI 3.1</a></p>{rows}</html>'
    )
    return text.encode()


# Any: types of bodies and answers.
def _kinds(endpoints: Sequence[ApiEndpoint], orders: Sequence[AnyOrder]) -> list[Any]:
    """Return every type that needs a schema, once."""
    found = [order.report for order in orders]
    for one in endpoints:
        found += [kind for kind in (one.request, one.report, one.refusal) if kind is not None]
    return list({_key(kind): kind for kind in (*found, ErrorBody)}.values())


def _key(kind: Any) -> str:
    return f"{getattr(kind, '__module__', '')}.{kind}"


def _path(path: str) -> str:
    return path.replace(":path}", "}")


def _order(order: AnyOrder, by_kind: Mapping[str, Json]) -> Json:
    properties, required = _fields(order)
    operation: Json = {
        "operationId": _operation_id(order),
        "tags": [_ORDERS],
        "summary": order.summary,
        "description": _rules(order),
        "responses": _responses(by_kind[_key(order.report)]),
        "x-least-role": order.least,
        "x-audited": order.is_audited,
    }
    outside = set(order.parameters) if order.takes_body else set(properties)
    if order.method == "GET" or outside:
        operation["parameters"] = [
            {
                "name": name,
                "in": "path" if name in order.parameters else "query",
                "required": name in required,
                "schema": {key: one for key, one in schema.items() if key != "description"},
                **({"description": schema["description"]} if "description" in schema else {}),
            }
            for name, schema in properties.items()
            if name in outside
        ]
    inside = {name: one for name, one in properties.items() if name not in outside}
    if inside:
        operation["requestBody"] = _body(inside, [one for one in required if one in inside])
    return operation


def _body(properties: dict[str, Json], required: list[str]) -> Json:
    body: Json = {"type": "object", "properties": properties, "additionalProperties": False}
    body |= {"required": required} if required else {}
    return {"required": bool(required), "content": {"application/json": {"schema": body}}}


def _operation_id(order: AnyOrder) -> str:
    """Return a unique name, because one order may have a second path."""
    first = next((one for one in ORDERS if one.name == order.name), order)
    return order.name if first.path == order.path else f"{order.name}:{order.path}"


def _rules(order: AnyOrder) -> str:
    audited = " Every use is in the audit log." if order.is_audited else ""
    return f"Order `{order.name}`. Lowest role: {order.least}.{audited}"


def _fields(order: AnyOrder) -> tuple[dict[str, Json], list[str]]:
    """Return the fields that a caller can send, each with its meaning."""
    schema = msgspec.json.schema(order.request)
    own = schema["$defs"][schema["$ref"].rpartition("/")[2]]
    hidden = set() if order.method == "GET" else {_BY}
    properties = {
        name: {**one, **_meaning(order, name)}
        for name, one in own["properties"].items()
        if name not in hidden
    }
    return properties, [name for name in own.get("required", ()) if name not in hidden]


def _meaning(order: AnyOrder, field: str) -> Json:
    text = FIELD_HELP.get(help_key(order, field))
    return {} if text is None else {"description": text}


def _add_variant(operation: Json, order: AnyOrder) -> None:
    """Describe a second order at the same path; a query parameter distinguishes them."""
    operation["description"] += (
        f" With `{order.path.partition('?')[2]}`: {order.summary} {_rules(order)}"
    )
    operation["parameters"] += [
        {"name": name, "in": "query", "schema": {"type": "string", "enum": [value]}}
        for name, value in order.variant.items()
    ]


def _endpoint(endpoint: ApiEndpoint, by_kind: Mapping[str, Json]) -> Json:
    operation: Json = {
        "operationId": endpoint.name,
        "tags": [endpoint.group],
        "summary": endpoint.summary,
        "responses": _answers(endpoint, by_kind),
    }
    if endpoint.is_bearer_only:
        operation["security"] = [{"token": []}]
    if endpoint.streams:
        events = {"text/event-stream": {"schema": {"type": "string"}}}
        operation["responses"]["200"]["content"] |= events
    parameters: list[Json] = [
        {"name": name, "in": "query", "description": text, "schema": {"type": "string"}}
        for name, text in endpoint.query.items()
    ]
    parameters += [
        {"name": name, "in": "header", "description": text, "schema": {"type": "string"}}
        for name, text in endpoint.headers.items()
    ]
    for name in _IN_PATH.findall(_path(endpoint.path)):
        schema = {"type": "string"}
        parameters.append({"name": name, "in": "path", "required": True, "schema": schema})
    if parameters:
        operation["parameters"] = parameters
    if endpoint.request is not None:
        content = _content(endpoint.request, by_kind)
        operation["requestBody"] = {"required": True, "content": content}
    return operation


def _answers(endpoint: ApiEndpoint, by_kind: Mapping[str, Json]) -> Json:
    if endpoint.report is None:
        return {"204": {"description": "Done."}, "default": _FAILED}
    answers: Json = {"200": {"description": "Done.", "content": _content(endpoint.report, by_kind)}}
    if endpoint.accepted:
        answers["202"] = {"description": endpoint.accepted}
    body = _content(endpoint.refusal or ErrorBody, by_kind)
    for status, why in endpoint.refusals.items():
        answers[str(status)] = {"description": why, "content": body}
    return {**answers, "default": _FAILED}


# Any: the type of a body; `bytes` is a file.
def _content(kind: Any, by_kind: Mapping[str, Json]) -> Json:
    if kind is bytes:
        return {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}
    return {"application/json": {"schema": by_kind[_key(kind)]}}


def _responses(schema: Json) -> Json:
    answer = {"description": "Done.", "content": {"application/json": {"schema": schema}}}
    return {"200": answer, "default": _FAILED}
