"""A collector of OpenTelemetry traces that accepts OTLP over HTTP in JSON, strictly.

It rejects what the JSON of OTLP forbids: names in snake case, ids that are not hexadecimal, enums
by name, 64-bit numbers that are not integers, values of two kinds. Faults can be set before
answers.
"""

import json
import re
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

_TRACE = re.compile(r"[0-9a-f]{32}")
_SPAN = re.compile(r"[0-9a-f]{16}")
_UNSIGNED = re.compile(r"\d{1,20}")
_SIGNED = re.compile(r"-?\d{1,19}")
_SPAN_KEYS = {
    *("traceId", "spanId", "parentSpanId", "name", "kind", "startTimeUnixNano"),
    *("endTimeUnixNano", "attributes", "status", "flags", "events", "links", "traceState"),
}


class Rejected(Exception):
    """A request that a collector may reject."""


class OtlpCollector:
    """What arrived; `faults` are answered first, as statuses with headers."""

    def __init__(self) -> None:
        self.spans: list[dict[str, Any]] = []
        self.resources: list[dict[str, Any]] = []
        self.headers: list[Mapping[str, str]] = []
        self.rejections: list[str] = []
        self.faults: deque[tuple[int, dict[str, str]]] = deque()
        self.partial: dict[str, Any] | None = None
        self.url = ""

    async def handle(self, request: web.Request) -> web.Response:
        self.headers.append(dict(request.headers))
        if self.faults:
            status, headers = self.faults.popleft()
            return web.Response(status=status, headers=headers)
        try:
            if request.content_type != "application/json":
                raise Rejected(f"content type {request.content_type}")
            resource, spans = read_export(json.loads(await request.read()))
        except (Rejected, ValueError) as error:
            self.rejections.append(str(error))
            return web.json_response({"code": 3, "message": str(error)}, status=400)
        self.resources.append(resource)
        self.spans.extend(spans)
        answer = {} if self.partial is None else {"partialSuccess": self.partial}
        return web.json_response(answer)


@asynccontextmanager
async def otlp_collector() -> AsyncIterator[OtlpCollector]:
    """Run a collector on a free loopback port."""
    collector = OtlpCollector()
    app = web.Application(client_max_size=64 * 1024 * 1024)
    app.router.add_post("/v1/traces", collector.handle)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    host, port = runner.addresses[0][:2]
    collector.url = f"http://{host}:{port}"
    try:
        yield collector
    finally:
        await runner.cleanup()


def read_export(body: Any) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the attributes of the resource, and the spans with theirs as a plain table."""
    spans: list[dict[str, Any]] = []
    attributes: dict[str, Any] = {}
    _keys(body, {"resourceSpans"}, "request")
    for one in body["resourceSpans"]:
        _keys(one, {"resource", "scopeSpans", "schemaUrl"}, "resourceSpans")
        _keys(one["resource"], {"attributes"}, "resource")
        attributes |= _attributes(one["resource"]["attributes"])
        for scoped in one["scopeSpans"]:
            _keys(scoped, {"scope", "spans", "schemaUrl"}, "scopeSpans")
            _keys(scoped["scope"], {"name", "version", "attributes"}, "scope")
            spans.extend(_span(span) for span in scoped["spans"])
    _need("service.name" in attributes, "a resource without service.name")
    return attributes, spans


def _span(span: dict[str, Any]) -> dict[str, Any]:
    _keys(span, _SPAN_KEYS, "span")
    _need(_matches(_TRACE, span["traceId"]) and int(span["traceId"], 16), "traceId")
    _need(_matches(_SPAN, span["spanId"]) and int(span["spanId"], 16), "spanId")
    parent = span.get("parentSpanId", "")
    _need(parent == "" or _matches(_SPAN, parent), "parentSpanId")
    _need(isinstance(span["name"], str) and span["name"], "name")
    _need(type(span["kind"]) is int and 0 <= span["kind"] <= 5, f"kind {span['kind']!r}")
    for name in ("startTimeUnixNano", "endTimeUnixNano"):
        _need(_matches(_UNSIGNED, span[name]), f"{name} {span[name]!r}")
    _need(
        int(span["endTimeUnixNano"]) >= int(span["startTimeUnixNano"]), "it ends before it starts"
    )
    status = span.get("status", {})
    _keys(status, {"code", "message"}, "status")
    _need(status.get("code", 0) in {0, 1, 2}, f"status {status!r}")
    return {**span, "attributes": _attributes(span.get("attributes", []))}


def _attributes(pairs: list[dict[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for pair in pairs:
        _keys(pair, {"key", "value"}, "attribute")
        _need(isinstance(pair["key"], str) and pair["key"], "an attribute without a key")
        _need(pair["key"] not in found, f"{pair['key']} stands twice")
        found[pair["key"]] = _value(pair["value"])
    return found


def _value(value: dict[str, Any]) -> Any:
    _keys(value, set(_VALUES), "value")
    _need(len(value) == 1, f"a value of one kind, not {value!r}")
    ((kind, inner),) = value.items()
    return _VALUES[kind](inner)


def _text(inner: Any) -> str:
    _need(isinstance(inner, str), f"stringValue {inner!r}")
    return str(inner)


def _boolean(inner: Any) -> bool:
    _need(isinstance(inner, bool), f"boolValue {inner!r}")
    return bool(inner)


def _integer(inner: Any) -> int:
    is_number = type(inner) is int or (isinstance(inner, str) and _matches(_SIGNED, inner))
    _need(is_number and -(2**63) <= int(inner) < 2**63, f"intValue {inner!r}")
    return int(inner)


def _double(inner: Any) -> float:
    _need(type(inner) in {int, float}, f"doubleValue {inner!r}")
    return float(inner)


def _array(inner: Any) -> list[Any]:
    _keys(inner, {"values"}, "arrayValue")
    return [_value(one) for one in inner["values"]]


_VALUES: Mapping[str, Callable[[Any], Any]] = {
    "stringValue": _text,
    "boolValue": _boolean,
    "intValue": _integer,
    "doubleValue": _double,
    "arrayValue": _array,
}


def _keys(table: Any, known: set[str], where: str) -> None:
    _need(isinstance(table, dict), f"{where} is no table")
    _need(set(table) <= known, f"{where} has {sorted(set(table) - known)}")


def _matches(pattern: re.Pattern[str], value: Any) -> bool:
    return isinstance(value, str) and pattern.fullmatch(value) is not None


def _need(holds: object, problem: str) -> None:
    if not holds:
        raise Rejected(problem)
