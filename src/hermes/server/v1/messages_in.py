"""Parses a Messages request: what is requested, what has no effect, what is refused by name.

Pure; `messages_history` reads the conversation itself.
"""

from collections.abc import Iterator, Mapping
from typing import Literal

import msgspec

from hermes.errors import BadRequest
from hermes.ports.effort import Effort
from hermes.ports.options import (
    EFFORT_OPTIONS,
    NO_EXTRAS,
    ExactEffort,
    Extras,
    Option,
    exact_effort,
)
from hermes.ports.provider import ModelRequest, OutputSchema, ToolChoice, ToolSpec
from hermes.server.v1.dialect import WireCall
from hermes.server.v1.messages_history import MessagesHistory
from hermes.server.v1.messages_shape import (
    MessagesBody,
    OutputConfig,
    ThinkingConfig,
    Tool,
    ToolName,
)
from hermes.server.v1.wire_body import WireBody, checked_object

_BODY = WireBody(MessagesBody, "Messages request")
_QUOTED = 80
_SCHEMA_NAME = "answer"
_CUSTOM = (None, "custom")
_MODES: dict[str, Literal["auto", "none", "required"]] = {
    "auto": "auto",
    "any": "required",
    "tool": "required",
    "none": "none",
}
_EFFORTS: dict[str, Effort] = {"low": "low", "medium": "medium"}
# The service's default if no effort is named.
_USUAL_EFFORT: Effort = "high"


def read_messages(body: bytes, headers: Mapping[str, str]) -> WireCall:
    """Return the request of a body; raises `BadRequest`."""
    asked, unknown = _BODY.decode(body)
    if asked.max_tokens is None:
        raise BadRequest(
            "max_tokens: missing; set how many tokens the answer may have, such as 1024."
        )
    ignored = [*unknown, *(["anthropic-beta"] if "anthropic-beta" in headers else [])]
    return _call(asked, ignored)


def read_for_counting(body: bytes) -> ModelRequest:
    """Return the request of a body for token counting, where `max_tokens` is optional."""
    asked, _ = _BODY.decode(body)
    return _call(asked, []).request


def _call(asked: MessagesBody, ignored: list[str]) -> WireCall:
    _refuse(asked)
    history = _history(asked)
    request = ModelRequest(
        model="",
        messages=tuple(history.messages),
        system=tuple(history.system),
        tools=_tools(asked),
        max_output_tokens=asked.max_tokens,
        temperature=asked.temperature,
        top_p=asked.top_p,
        stop=tuple(asked.stop_sequences or ()),
        tool_choice=_choice(asked),
        schema=_schema(asked),
        reasoning=_reasoning(asked.thinking, asked.output_config),
        cache_prefix=history.marked or _is_marked(asked),
        parallel_tools=not _wants_one_call(asked),
        extras=_extras(asked),
    )
    ignored += sorted(history.ignored) + list(_without_effect(asked))
    return WireCall(
        model=asked.model,
        request=request,
        stream=bool(asked.stream),
        ignored=tuple(ignored),
        hints=tuple(_hints(asked)),
    )


def _hints(asked: MessagesBody) -> Iterator[tuple[Option, str]]:
    """Yield the options that only some models heed, with their fields."""
    if any(tool.strict for tool in asked.tools or ()):
        yield "strict_tools", "tools.strict"
    if asked.thinking is not None:
        yield "reasoning_off" if asked.thinking.type == "disabled" else "reasoning", "thinking"
    elif asked.output_config is not None and asked.output_config.effort is not None:
        yield "reasoning", "output_config.effort"
    if (effort := _exact_effort(asked)) is not None:
        yield EFFORT_OPTIONS[effort], "output_config.effort"


def _extras(asked: MessagesBody) -> Extras | None:
    found = Extras(top_k=asked.top_k or None, effort=_exact_effort(asked))
    return None if found == NO_EXTRAS else found


def _exact_effort(asked: MessagesBody) -> ExactEffort | None:
    """Return an effort that only some models have; beside a budget it has no effect."""
    config, thinking = asked.output_config, asked.thinking
    if config is None or (thinking is not None and thinking.type in {"enabled", "disabled"}):
        return None
    return exact_effort(config.effort)


def _refuse(asked: MessagesBody) -> None:
    """Raise for options that change the answer and that not every model supports."""
    refused = {
        "container": (asked.container, "no code runs at the service here; leave it out"),
        "mcp_servers": (asked.mcp_servers, "connect to them and send their tools in `tools`"),
    }
    for name, (value, instead) in refused.items():
        if value is not None and value != []:
            raise BadRequest(f"{name}: cannot be honoured here; {instead}.")
    if asked.inference_geo not in {None, "global"}:
        raise BadRequest(
            "inference_geo: where a model runs cannot be chosen by request; leave it out, and name"
            " a model of a provider that runs there."
        )


def _history(asked: MessagesBody) -> MessagesHistory:
    history = MessagesHistory()
    if isinstance(asked.system, str):
        history.system.append(asked.system)
    else:
        history.system.extend(block.text for block in asked.system or ())
    for number, message in enumerate(asked.messages):
        history.add(message, path=f"messages[{number}]")
    return history


def _tools(asked: MessagesBody) -> tuple[ToolSpec, ...]:
    found: dict[str, ToolSpec] = {}
    for number, tool in enumerate(asked.tools or ()):
        spec = _tool(tool, f"tools[{number}]")
        if spec.name in found:
            raise BadRequest(f"tools[{number}].name: {spec.name!r} appears twice; rename one.")
        found[spec.name] = spec
    return tuple(found.values())


def _tool(tool: Tool, path: str) -> ToolSpec:
    if tool.type not in _CUSTOM:
        raise BadRequest(
            f"{path}.type: {str(tool.type)[:_QUOTED]!r} is a tool of one service, which other models"
            " do not have; send a tool of your own, with a name and an input_schema."
        )
    if not bytes(tool.input_schema):
        raise BadRequest(f'{path}.input_schema: missing; {{"type": "object"}} accepts anything.')
    try:
        msgspec.convert(tool.name, ToolName)
    except msgspec.ValidationError:
        raise BadRequest(
            f"{path}.name: expected 1 to 128 letters, digits, '_' or '-', found"
            f" {tool.name[:_QUOTED]!r}."
        ) from None
    schema = checked_object(tool.input_schema, f"{path}.input_schema")
    return ToolSpec(tool.name, tool.description or "", schema.copy(), tool.strict is True)


def _choice(asked: MessagesBody) -> ToolChoice:
    choice, names = asked.tool_choice, [tool.name for tool in asked.tools or ()]
    if choice is None or (not names and choice.type in {"auto", "none"}):
        return ToolChoice()
    if not names:
        raise BadRequest("tool_choice: a tool must be used, and `tools` has none; send them.")
    if choice.type != "tool":
        return ToolChoice(_MODES[choice.type])
    if choice.name not in names:
        raise BadRequest(
            f"tool_choice.name: expected the name of one of the tools, found"
            f" {(choice.name or '')[:_QUOTED]!r}."
        )
    return ToolChoice("required", choice.name)


def _schema(asked: MessagesBody) -> OutputSchema | None:
    inside = asked.output_config.format if asked.output_config is not None else None
    wanted = inside or asked.output_format
    if wanted is None:
        return None
    field = "output_format.schema" if inside is None else "output_config.format.schema"
    schema = checked_object(wanted.schema, field)
    return OutputSchema(name=_SCHEMA_NAME, schema=schema.copy())


def _reasoning(thinking: ThinkingConfig | None, config: OutputConfig | None) -> Effort | int | None:
    effort = config.effort if config is not None else None
    if thinking is None:
        return _EFFORTS.get(effort, "high") if effort else None
    if thinking.type == "disabled":
        return 0
    if thinking.type == "enabled":
        if thinking.budget_tokens is None:
            raise BadRequest("thinking.budget_tokens: missing; set a number, such as 4096.")
        return thinking.budget_tokens
    return _EFFORTS.get(effort or "", _USUAL_EFFORT)


def _is_marked(asked: MessagesBody) -> bool:
    blocks = [] if asked.system is None or isinstance(asked.system, str) else asked.system
    return (
        asked.cache_control is not None
        or any(block.cache_control is not None for block in blocks)
        or any(tool.cache_control is not None for tool in asked.tools or ())
    )


def _wants_one_call(asked: MessagesBody) -> bool:
    choice = asked.tool_choice
    return bool(asked.tools and choice is not None and choice.disable_parallel_tool_use)


def _without_effect(asked: MessagesBody) -> Iterator[str]:
    """Yield the names of known fields that were sent and have no effect."""
    tools, thinking, config = asked.tools, asked.thinking, asked.output_config
    for name in ("defer_loading", "allowed_callers", "input_examples"):
        if any(getattr(tool, name) for tool in tools or ()):
            yield f"tools.{name}"
    if thinking is not None:
        if thinking.type == "between_tools":
            yield "thinking.type"
        if thinking.display is not None:
            yield "thinking.display"
    if config is not None:
        if config.task_budget is not None:
            yield "output_config.task_budget"
        if (
            config.effort is not None
            and thinking is not None
            and thinking.type in {"enabled", "disabled"}
        ):
            yield "output_config.effort"
