"""What the demonstration model may write if there are tools or a schema: pure.

The engine enforces a grammar, so that even a small model calls tools in the one form that
`answer.py` reads: `{"answer":...}`, or `{"tool_calls":[{"name":...,"arguments":{...}}]}`, without
whitespace. The engine reports nothing if it cannot enforce a grammar; the reader detects it.
"""

import json
from typing import Any

import msgspec

from hermes.errors import ProviderRejected
from hermes.ports.provider import ModelRequest, ToolSpec

MAX_GRAMMAR_CHARS = 65_536
MAX_CALLS = 4
ANSWER = '{"answer":'
CALLS = '{"tool_calls":['
CALL = '{"name":'
ARGUMENTS = ',"arguments":'
_TEXT = {"type": "string", "minLength": 1}
_COMPACT = {
    "whitespace_flexible": False,
    "item_separator": ",",
    "key_separator": ":",
    "lenient": True,  # a keyword that the engine does not know only loosens the form
}
_OPEN_WORDS = frozenset(
    {"additionalProperties", "patternProperties", "unevaluatedProperties", "propertyNames"}
    | {"$ref", "anyOf", "oneOf", "allOf", "not", "if"}
)
# Without these examples the small model calls a tool for every message.
_EXAMPLES = (
    '\nHello -> {"answer":"Hello! How can I help?"}'
    '\nWho wrote Faust? -> {"answer":"Goethe wrote it."}'
)
# Without a bound, a small model may keep writing digits; every JSON reader keeps this many exactly.
_EXACT = {"minimum": -(2**53 - 1), "maximum": 2**53 - 1}
_BOUNDS = frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"})
_VALUES = frozenset({"enum", "const", "default", "examples"})
_MAX_TOLD_SCHEMA = 800
_MAX_TOLD_DESCRIPTION = 200

# Any: JSON schemas.
Json = dict[str, Any]


class Constraint(msgspec.Struct, frozen=True):
    """The grammar of one call, its description for the model, and whether the answer is JSON."""

    grammar: str
    told: str
    json_answer: bool = False


def constraint_of(request: ModelRequest, *, name: str) -> Constraint | None:
    """Return the constraint for the request's tools and schema, or None without either.

    `name` is the provider's. A request that no grammar can express is refused.
    """
    tools = _offered(request, name)
    if not tools and request.schema is None:
        return None
    answers = not tools or request.tool_choice.mode != "required"
    rules = ["%llguidance {}"]
    starts = []
    if answers:
        starts.append("answer")
        rules += _answer_rules(request, name)
    if tools:
        starts.append("calls")
        rules += _call_rules(tools, name, most=1 if request.tool_choice.name else MAX_CALLS)
    rules.append(f"start: {' | '.join(starts)}")
    grammar = "\n".join(rules)
    if len(grammar) > MAX_GRAMMAR_CHARS:
        raise ProviderRejected(
            f"{name}: the schemas of the tools and of the answer have {len(grammar)} "
            f"characters; the demonstration model supports at most {MAX_GRAMMAR_CHARS}: offer "
            "fewer tools, or configure a larger model"
        )
    told = _told(tools, request, answers=answers)
    return Constraint(grammar, told, json_answer=request.schema is not None)


def _offered(request: ModelRequest, name: str) -> tuple[ToolSpec, ...]:
    choice = request.tool_choice
    if choice.mode == "none":
        return ()
    if choice.name is None:
        found = request.tools
    else:
        found = tuple(tool for tool in request.tools if tool.name == choice.name)
    if choice.mode == "required" and not found:
        raise ProviderRejected(
            f"{name}: the tool {choice.name or ''} must be called, but it is not among the "
            f"offered tools ({', '.join(tool.name for tool in request.tools) or 'none'})"
        )
    return found


def _answer_rules(request: ModelRequest, name: str) -> list[str]:
    form: Json = _TEXT
    if request.schema is not None:
        form = _decoded(request.schema.schema, f"{name}: the schema {request.schema.name}")
    return [f'answer: {json.dumps(ANSWER)} text "}}"', f"text: %json {_json(form)}"]


def _call_rules(tools: tuple[ToolSpec, ...], name: str, *, most: int) -> list[str]:
    more = f' ("," call){{0,{most - 1}}}' if most > 1 else ""
    rules = [
        f'calls: {json.dumps(CALLS)} call{more} "]}}"',
        "call: " + " | ".join(f"call_{number}" for number in range(len(tools))),
    ]
    for number, tool in enumerate(tools):
        head = json.dumps(f"{CALL}{json.dumps(tool.name)}{ARGUMENTS}")
        form = _parameters(tool, name)
        rules += [
            f'call_{number}: {head} arguments_{number} "}}"',
            f"arguments_{number}: %json {_json(form)}",
        ]
    return rules


def _parameters(tool: ToolSpec, name: str) -> Json:
    form = _decoded(tool.parameters, f"{name}: the parameters of the tool {tool.name}")
    if form.get("type", "object") != "object":
        raise ProviderRejected(
            f"{name}: the parameters of the tool {tool.name} must be a JSON schema of type "
            f"object, but it has the type {form['type']}"
        )
    if _OPEN_WORDS.isdisjoint(form):
        # Without a bound, a small model invents parameters until it runs out of tokens.
        return {**form, "type": "object", "additionalProperties": False}
    return form


def _decoded(raw: msgspec.Raw, what: str) -> Json:
    try:
        form: Json = _bounded(msgspec.json.decode(raw, type=dict[str, Any]))
    except (msgspec.DecodeError, RecursionError) as error:
        raise ProviderRejected(f"{what} must be a JSON schema, but is not a JSON object") from error
    return form


def _json(form: Json) -> str:
    return msgspec.json.encode({**form, "x-guidance": _COMPACT}).decode()


# Any: a JSON schema or a part of one.
def _bounded(form: Any) -> Any:
    """Return the schema with bounds on the integers that have none."""
    if isinstance(form, list):
        return [_bounded(part) for part in form]
    if not isinstance(form, dict):
        return form
    inside = {key: part if key in _VALUES else _bounded(part) for key, part in form.items()}
    is_open = form.get("type") == "integer" and _BOUNDS.isdisjoint(form)
    return {**inside, **_EXACT} if is_open else inside


def _told(tools: tuple[ToolSpec, ...], request: ModelRequest, *, answers: bool) -> str:
    """Return the instructions for the model, short: it reads slowly and forgets early."""
    lines = [f"- {_signature(tool)}: {tool.description[:_MAX_TOLD_DESCRIPTION]}" for tool in tools]
    form = '{"answer":"..."}'
    if request.schema is not None:
        schema = bytes(request.schema.schema).decode()
        form = '{"answer":JSON}'
        if len(schema) <= _MAX_TOLD_SCHEMA:
            lines.append(f"JSON is a value of this schema: {schema}")
    call = '{"tool_calls":[{"name":"...","arguments":{}}]}'
    if not tools:
        rule = f"Answer with {form}."
    elif answers:
        rule = f"Use a tool only for a question about it: {call}\nOtherwise answer: {form}"
        if request.schema is None:
            rule += _EXAMPLES
    else:
        rule = f"Call a tool with {call}."
    return "\n".join((["Tools:"] if tools else []) + [*lines, rule])


def _signature(tool: ToolSpec) -> str:
    parameters = msgspec.json.decode(tool.parameters, type=dict[str, Any]).get("properties")
    names = ", ".join(parameters) if isinstance(parameters, dict) else ""
    return f"{tool.name}({names})"
