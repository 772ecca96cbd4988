"""Checks a request's options as the Messages API does: limits, tools, sampling, thinking, formats.

The lists of models come from the service's documentation; they say which generation refuses which
form.
"""

import re
from collections.abc import Iterator
from typing import Any, Protocol

_TOOL_NAME = re.compile(r"^[a-zA-Z0-9_-]{1,128}$")
_ADAPTIVE_ONLY = re.compile(r"^claude-(opus-4-[78]|(opus|sonnet|haiku|fable|mythos)-5|mythos-pre)")
_BUDGET_ONLY = re.compile(r"^claude-(3-7|(opus|sonnet)-4-(2025|[015]$|[015]-)|haiku-4-5)")
_UNTHINKING = re.compile(r"^claude-(3-5|3-(opus|haiku|sonnet))")
_UNFORCED = re.compile(r"^claude-((fable|mythos)-5-[12]|(opus|sonnet|haiku)-5-5)")
_FORMATLESS = re.compile(r"^claude-(3|(opus|sonnet)-4-(2025|0|1))")
_ONE_SAMPLER = re.compile(r"^claude-(opus-4-[1-9]|(sonnet|haiku)-4-[5-9])")
_UNKNOWN_WORDS = frozenset(
    {"minimum", "maximum", "minLength", "maxLength", "pattern", "maxItems", "multipleOf", "oneOf"}
)
_LEAST_BUDGET = 1024


class Options(Protocol):
    """The part of a request that is checked here."""

    # Any: small JSON objects.
    model: str
    max_tokens: int
    stop_sequences: list[str]
    temperature: float | None
    top_p: float | None
    top_k: int | None
    tools: list[Any]
    tool_choice: dict[str, Any] | None
    thinking: dict[str, Any] | None
    output_config: dict[str, Any] | None


def check_options(request: Options) -> str | None:
    """Return the service's refusal of the options, or None."""
    checks = (_limits, _tools, _choice, _sampling, _thinking, _output)
    return next((words for check in checks for words in check(request)), None)


def _limits(request: Options) -> Iterator[str]:
    if not request.model:
        yield "model: String should have at least 1 character"
    if request.max_tokens < 1:
        yield "max_tokens: Input should be greater than or equal to 1"
    if any(not text.strip() for text in request.stop_sequences):
        yield "stop_sequences: each stop sequence must contain non-whitespace"


def _tools(request: Options) -> Iterator[str]:
    names = [tool.name for tool in request.tools]
    for index, tool in enumerate(request.tools):
        if not _TOOL_NAME.match(tool.name):
            yield f"tools.{index}.custom.name: String should match pattern '{_TOOL_NAME.pattern}'"
        if "type" not in tool.input_schema:
            yield f"tools.{index}.custom.input_schema.type: Field required"
        elif tool.input_schema["type"] != "object":
            yield f"tools.{index}.custom.input_schema.type: Input should be 'object'"
        elif tool.strict:
            if _FORMATLESS.match(request.model):
                yield f"tools.{index}.custom.strict: not supported on this model"
            yield from _format(tool.input_schema)
    if len(set(names)) != len(names):
        yield "tools: Tool names must be unique."


def _choice(request: Options) -> Iterator[str]:
    choice = request.tool_choice
    if choice is None:
        return
    kind, name = choice.get("type"), choice.get("name")
    if kind not in {"auto", "any", "tool", "none"}:
        yield f"tool_choice: Input tag '{kind}' found using 'type' does not match"
    if not request.tools:
        yield "tool_choice may only be specified while providing tools."
    if kind == "tool" and name not in {tool.name for tool in request.tools}:
        yield f"Tool '{name}' not found in provided tools"
    if kind in {"any", "tool"}:
        if _UNFORCED.match(request.model):
            yield "tool_choice: forced tool use is not supported on this model."
        if request.thinking is not None and request.thinking.get("type") != "disabled":
            yield "Thinking may not be enabled when tool_choice forces tool use."


def _sampling(request: Options) -> Iterator[str]:
    if request.top_k is not None:
        if _ADAPTIVE_ONLY.match(request.model):
            yield "`top_k` is deprecated for this model."
        if request.thinking is not None:
            yield "`top_k` must be unset when thinking is enabled."
    told = {"temperature": request.temperature, "top_p": request.top_p}
    given = {name: value for name, value in told.items() if value is not None}
    for name, value in given.items():
        if _ADAPTIVE_ONLY.match(request.model):
            yield f"`{name}` is deprecated for this model."
        if not 0 <= value <= 1:
            yield f"{name}: range: 0..1"
    if len(given) == 2 and _ONE_SAMPLER.match(request.model):
        yield "`temperature` and `top_p` cannot both be specified for this model."
    if request.thinking is not None and request.temperature not in {None, 1.0}:
        yield "`temperature` may only be set to 1 when thinking is enabled."


def _thinking(request: Options) -> Iterator[str]:
    thinking = request.thinking
    if thinking is None:
        return
    kind = thinking.get("type")
    if kind not in {"enabled", "adaptive", "disabled"}:
        yield f"thinking: Input tag '{kind}' found using 'type' does not match"
    if kind == "enabled":
        budget = thinking.get("budget_tokens")
        if _ADAPTIVE_ONLY.match(request.model) or _UNTHINKING.match(request.model):
            yield '"thinking.type.enabled" is not supported for this model.'
        if not isinstance(budget, int) or budget < _LEAST_BUDGET:
            yield "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024"
        elif budget >= request.max_tokens:
            yield "`max_tokens` must be greater than `thinking.budget_tokens`."
    elif kind == "adaptive" and (
        _BUDGET_ONLY.match(request.model) or _UNTHINKING.match(request.model)
    ):
        yield "adaptive thinking is not supported on this model"


def _output(request: Options) -> Iterator[str]:
    config = request.output_config
    if config is None:
        return
    if config.keys() - {"format", "effort"}:
        yield "output_config: Extra inputs are not permitted"
    if config.get("effort", "low") not in {"low", "medium", "high", "xhigh", "max"}:
        yield "output_config.effort: Input should be 'low', 'medium', 'high', 'xhigh' or 'max'"
    form = config.get("format")
    if form is None:
        return
    if _FORMATLESS.match(request.model):
        yield "output_config.format: structured outputs are not supported on this model"
    if form.keys() != {"type", "schema"} or form["type"] != "json_schema":
        yield "output_config.format: Input should be a json_schema with its schema"
    else:
        yield from _format(form["schema"])


# Any: any place of a JSON schema.
def _format(schema: Any) -> Iterator[str]:
    if isinstance(schema, list):
        for inner in schema:
            yield from _format(inner)
    if not isinstance(schema, dict):
        return
    if schema.get("type") == "object" and schema.get("additionalProperties") is not False:
        yield "output_config.format.schema: For 'object' type, 'additionalProperties' must be false"
    for word in sorted(_UNKNOWN_WORDS & schema.keys()):
        yield f"output_config.format.schema: property '{word}' is not supported"
    for word in ("items", "anyOf", "allOf"):
        yield from _format(schema.get(word))
    for word in ("properties", "$defs"):
        for inner in schema.get(word, {}).values():
            yield from _format(inner)
