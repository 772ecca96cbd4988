"""Converts a turn to OpenTelemetry spans, in the JSON of OTLP, following the GenAI conventions.

One span for the turn, and one below it for each model call and each tool. Pure. Ids of people and
chats are hashed with the digest that is passed in; message texts are included only if configured.
"""

from collections.abc import Callable, Iterable, Mapping
from hashlib import sha256
from typing import Any, Literal

import msgspec

from hermes.message.outcome import Outcome
from hermes.message.reply import Reply
from hermes.pipeline.observer import Trace
from hermes.pipeline.turn import Turn
from hermes.ports.steps import Step
from hermes.ports.turns import TurnResult

# Any: OTLP JSON.
Span = dict[str, Any]
Value = str | int | float | bool | tuple[str, ...]
Digest = Callable[[bytes], bytes]

_INTERNAL, _CLIENT = 1, 3
_OK, _ERROR = 1, 2
_PROVIDERS: Mapping[str, str] = {
    "gemini": "gcp.gemini",
    "openai-responses": "openai",
}
_ERRORS = (Outcome.FAILED, Outcome.EXPIRED)
_NAMES: Mapping[str, Literal["chat", "execute_tool"]] = {"model": "chat", "tool": "execute_tool"}


class EndedTurn(msgspec.Struct, frozen=True, kw_only=True):
    """A turn that is waiting to be traced."""

    turn: Turn
    reply: Reply
    result: TurnResult
    trace: Trace
    ended_at: float


class SpanMaker:
    """Makes spans; `kinds` maps a provider's name to the API that it uses."""

    def __init__(self, digest: Digest, *, kinds: Mapping[str, str], content: bool) -> None:
        self._digest = digest
        self._kinds = kinds
        self._content = content

    def spans(self, ended: EndedTurn) -> list[Span]:
        """Return the span of a turn, and those below it."""
        trace_id = sha256(b"trace " + ended.turn.id.encode()).hexdigest()[:32]
        root_id = _span_id(ended.turn.id, "turn")
        spans = [self._turn(ended, trace_id=trace_id, span_id=root_id)]
        for began, step in ended.trace:
            if began.kind not in _NAMES:
                continue
            shared = {
                "traceId": trace_id,
                "spanId": _span_id(ended.turn.id, str(step.ordinal)),
                "parentSpanId": root_id,
                "startTimeUnixNano": _nanoseconds(began.at),
                "endTimeUnixNano": _nanoseconds(max(began.at, step.at)),
            }
            spans.append({**shared, **(self._call(step) if began.kind == "model" else _tool(step))})
        return spans

    def _turn(self, ended: EndedTurn, *, trace_id: str, span_id: str) -> Span:
        turn, result = ended.turn, ended.result
        outcome = ended.reply.outcome
        attributes: dict[str, Value | None] = {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": turn.agent.key,
            "gen_ai.conversation.id": self._hashed(turn.lane),
            "gen_ai.usage.input_tokens": result.usage.tokens_in,
            "gen_ai.usage.output_tokens": result.usage.tokens_out,
            "gen_ai.response.model": result.model,
            "hermes.message.id": turn.id,
            "hermes.platform": turn.event.source.platform,
            "hermes.person": self._hashed(turn.person_id),
            "hermes.outcome": outcome.value,
            "hermes.cost_usd": None if result.usage.unpriced else result.usage.cost_usd,
            "error.type": (ended.reply.code or outcome.value) if outcome in _ERRORS else None,
        }
        if self._content:
            attributes |= _said(turn, ended.reply)
        return {
            "traceId": trace_id,
            "spanId": span_id,
            "name": f"invoke_agent {turn.agent.key}",
            "kind": _INTERNAL,
            "startTimeUnixNano": _nanoseconds(turn.received_at),
            "endTimeUnixNano": _nanoseconds(max(turn.received_at, ended.ended_at)),
            "attributes": attributes_of(attributes),
            "status": {"code": _ERROR} if outcome in _ERRORS else {"code": _OK},
        }

    def _call(self, step: Step) -> Span:
        provider, _, model = step.name.partition(":")
        kind = self._kinds.get(provider, provider)
        facts = step.facts
        sampling = {} if facts is None else facts.sampling
        has_failed = step.state == "failed"
        attributes: dict[str, Value | None] = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": _PROVIDERS.get(kind, kind),
            "gen_ai.request.model": model,
            "gen_ai.request.max_tokens": sampling.get("max_output_tokens"),
            "gen_ai.request.temperature": sampling.get("temperature"),
            "gen_ai.request.top_p": sampling.get("top_p"),
            "gen_ai.request.seed": sampling.get("seed"),
            "gen_ai.response.model": (facts.model or "").partition(":")[2] or None
            if facts
            else None,
            "gen_ai.usage.input_tokens": None if has_failed else step.usage.tokens_in,
            "gen_ai.usage.output_tokens": None if has_failed else step.usage.tokens_out,
            "hermes.cached": True if facts is not None and facts.cached_from else None,
            "error.type": "_OTHER" if has_failed else None,
        }
        return {
            "name": f"chat {model}",
            "kind": _CLIENT,
            "attributes": attributes_of(attributes),
            "status": {"code": _ERROR} if has_failed else {},
        }

    def _hashed(self, name: str) -> str:
        return self._digest(name.encode())[:16].hex()


def _tool(step: Step) -> Span:
    has_failed = step.state != "done"
    attributes: dict[str, Value | None] = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": step.name,
        "gen_ai.tool.type": "function",
        "gen_ai.tool.call.id": None if step.facts is None else step.facts.call_id or None,
        "error.type": "_OTHER" if has_failed else None,
    }
    return {
        "name": f"execute_tool {step.name}",
        "kind": _INTERNAL,
        "attributes": attributes_of(attributes),
        "status": {"code": _ERROR} if has_failed else {},
    }


def _said(turn: Turn, reply: Reply) -> dict[str, Value | None]:
    """Return the messages, in the format of the conventions."""
    asked = "" if turn.user is None else turn.user.text
    shown = {"role": "assistant", "parts": _parts(reply.text), "finish_reason": "stop"}
    return {
        "gen_ai.system_instructions": _json([part for one in turn.system for part in _parts(one)]),
        "gen_ai.input.messages": _json([{"role": "user", "parts": _parts(asked)}]),
        "gen_ai.output.messages": _json([shown]),
    }


def _parts(text: str) -> list[dict[str, str]]:
    return [{"type": "text", "content": text}]


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()


def attributes_of(values: Mapping[str, Value | None]) -> list[dict[str, Any]]:
    """Return attributes in OTLP format; values of None are left out."""
    return [
        {"key": name, "value": _value(value)} for name, value in values.items() if value is not None
    ]


def _value(value: Value) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        # 64 bits do not fit into a JSON number.
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    if isinstance(value, str):
        # A lone surrogate cannot be encoded.
        return {"stringValue": value.encode("utf-8", "replace").decode()}
    return {"arrayValue": {"values": [_value(one) for one in value]}}


def payload(spans: Iterable[Span], *, resource: Mapping[str, Value], version: str) -> bytes:
    """Return the body of one export."""
    scope = {"name": "hermes", "version": version}
    return msgspec.json.encode(
        {
            "resourceSpans": [
                {
                    "resource": {"attributes": attributes_of(resource)},
                    "scopeSpans": [{"scope": scope, "spans": list(spans)}],
                }
            ]
        }
    )


def _span_id(turn_id: str, part: str) -> str:
    return sha256(f"span {turn_id} {part}".encode()).hexdigest()[:16]


def _nanoseconds(at: float) -> str:
    return str(int(at * 1_000_000) * 1_000)
