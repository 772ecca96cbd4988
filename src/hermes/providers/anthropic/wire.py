"""Converts a model request to Messages JSON: pure, no sockets, no files.

What the model's generation would refuse (a temperature, thinking beside a forced tool) is left out;
output limits are never exceeded for it.
"""

import re
from functools import lru_cache

import msgspec

from hermes.ports.effort import Effort, sent_effort
from hermes.ports.provider import ModelRequest, ToolSpec
from hermes.provider_kit.request_json import Images, Json, is_strict
from hermes.providers.anthropic.conversation import THINKING_KINDS, build_turns, text_block
from hermes.providers.anthropic.schema import DoesNotFit, fit
from hermes.providers.anthropic.settings import API_VERSION, AnthropicSettings
from hermes.providers.anthropic.traits import Traits, traits_of

_EPHEMERAL = {"type": "ephemeral"}
_OFF: Json = {"type": "disabled"}
_LEAST_BUDGET = 1024
_BUDGETS: dict[Effort, int] = {"low": 2048, "medium": 8192, "high": 16_384}
# If no limit is set: what every model can write, and more if thinking counts by default.
_OUTPUT = 4096
_OUTPUT_WITH_THINKING = 16_384
_LEAST_TOP_P_BESIDE_THINKING = 0.95
_BAD_IN_NAME = re.compile(r"[^a-zA-Z0-9_-]")
_LONGEST_NAME = 56
_WRAPPED = "value"


class AnswerTool(msgspec.Struct, frozen=True):
    """The tool whose call is the answer, for a schema that the model does not support natively.

    A tool's input is an object, so any other answer is `wrapped` in one.
    """

    name: str
    schema: msgspec.Raw
    wrapped: bool


def build_body(
    request: ModelRequest,
    settings: AnthropicSettings,
    *,
    images: Images,
    answer: AnswerTool | None = None,
) -> bytes:
    """Return the request's JSON; `answer` is the result of `answer_tool` for the same request."""
    traits = traits_of(request.model or settings.model)
    turns = build_turns(request.messages, images=images, vision=settings.vision)
    choice = _one_call(request, _choice(request, settings, answer=answer))
    limit = settings.output_limit(request)
    thinking = (
        _told_not_to(request, settings)
        if request.reasoning == 0 or _is_forced(choice)
        else _thinking(request, traits, turns=turns, limit=limit)
    )
    body: Json = {
        "model": request.model or settings.model,
        "max_tokens": limit or _default_limit(request, settings, thinking=thinking),
        "messages": turns,
        "stream": True,
        "system": _system(request, settings, answer=answer),
        "tools": _tools(request, settings, answer=answer),
        "tool_choice": choice,
        "stop_sequences": [text for text in request.stop if text.strip()],
        "thinking": thinking,
        "output_config": _output_config(
            request, settings, traits=traits, answer=answer, thinks=thinking != _OFF
        ),
        **_sampling(request, settings, traits=traits, thinking=thinking),
    }
    if request.cache_prefix:
        _mark(body)
    return msgspec.json.encode({k: v for k, v in body.items() if v not in (None, [], {})})


def answer_tool(request: ModelRequest, settings: AnthropicSettings) -> AnswerTool | None:
    """Return the tool that the answer must use, if no native format can express it."""
    asked = request.schema
    if asked is None:
        return None
    if traits_of(request.model or settings.model).schema and _fitted(bytes(asked.schema)):
        return None
    name = _BAD_IN_NAME.sub("_", asked.name[:_LONGEST_NAME]) or "answer"
    if name in {spec.name for spec in request.tools}:
        name += "_answer"
    schema = msgspec.json.decode(asked.schema)
    if isinstance(schema, dict) and schema.get("type") == "object":
        return AnswerTool(name, asked.schema, wrapped=False)
    hoisted = {}
    if isinstance(schema, dict):
        hoisted = {key: schema.pop(key) for key in ("$defs", "definitions") if key in schema}
    outer = {"type": "object", "properties": {_WRAPPED: schema}, "required": [_WRAPPED], **hoisted}
    return AnswerTool(name, msgspec.Raw(msgspec.json.encode(outer)), wrapped=True)


def unwrap(text: str) -> str:
    """Return the answer inside a wrapped tool call; anything else is returned unchanged."""
    try:
        found = msgspec.json.decode(text, type=dict[str, msgspec.Raw])
    except (msgspec.DecodeError, RecursionError):
        return text
    return bytes(found[_WRAPPED]).decode() if _WRAPPED in found else text


@lru_cache(maxsize=64)
def _fitted(schema: bytes) -> msgspec.Raw | None:
    try:
        return msgspec.Raw(msgspec.json.encode(fit(msgspec.json.decode(schema))))
    except DoesNotFit:
        return None


def _system(
    request: ModelRequest, settings: AnthropicSettings, *, answer: AnswerTool | None
) -> list[Json]:
    inside = (message.text for message in request.messages if message.role == "system")
    blocks = [text_block(text) for text in (*request.system, *inside) if text.strip()]
    if answer is not None and not settings.has_option("forced_tools", request):
        blocks.append(text_block(f"Give the final answer by calling the tool {answer.name}."))
    return blocks


def _tools(
    request: ModelRequest, settings: AnthropicSettings, *, answer: AnswerTool | None
) -> list[Json]:
    strict = is_strict(request, settings)
    tools = [_tool(spec, strict=strict) for spec in request.tools]
    if answer is not None:
        what = {"description": "Gives the final answer.", "input_schema": answer.schema}
        tools.append({"name": answer.name, **what})
    return tools


def _tool(spec: ToolSpec, *, strict: bool) -> Json:
    what: Json = {"description": spec.description} if spec.description else {}
    # A strict tool has the same limits as an output format; one that does not fit stays lenient.
    fitted = _fitted(bytes(spec.parameters)) if strict and spec.strict else None
    if fitted is not None:
        return {"name": spec.name, **what, "input_schema": fitted, "strict": True}
    return {"name": spec.name, **what, "input_schema": _input_schema(bytes(spec.parameters))}


@lru_cache(maxsize=512)
def _input_schema(parameters: bytes) -> msgspec.Raw:
    """Return a tool's schema with the type that the service requires."""
    schema = msgspec.json.decode(parameters)
    if isinstance(schema, dict) and "type" not in schema:
        return msgspec.Raw(msgspec.json.encode({"type": "object", **schema}))
    return msgspec.Raw(parameters)


def _choice(
    request: ModelRequest, settings: AnthropicSettings, *, answer: AnswerTool | None
) -> Json | None:
    asked = request.tool_choice
    if request.tools and asked.name is not None:
        return {"type": "tool", "name": asked.name}
    if answer is not None:
        if not settings.has_option("forced_tools", request):
            return None
        if request.tools and asked.mode != "none":
            return {"type": "any"}
        return {"type": "tool", "name": answer.name, "disable_parallel_tool_use": True}
    if not request.tools or asked.mode == "auto":
        return None
    return {"type": "any" if asked.mode == "required" else "none"}


def _one_call(request: ModelRequest, choice: Json | None) -> Json | None:
    """Return the tool choice with the option for one call at a time, which this wire puts inside
    it."""
    if request.parallel_tools or not request.tools or (choice and choice["type"] == "none"):
        return choice
    return {**(choice or {"type": "auto"}), "disable_parallel_tool_use": True}


def _is_forced(choice: Json | None) -> bool:
    return choice is not None and choice["type"] in {"any", "tool"}


def _default_limit(
    request: ModelRequest, settings: AnthropicSettings, *, thinking: Json | None
) -> int:
    """Return the model's own limit, or a usual one if it is unknown."""
    model = request.model or settings.model
    budget: int = (thinking or {}).get("budget_tokens", 0)
    own = settings.own_limit(model)
    if own is not None and own > budget:
        return own
    return budget + (_OUTPUT_WITH_THINKING if traits_of(model).adaptive else _OUTPUT)


def _told_not_to(request: ModelRequest, settings: AnthropicSettings) -> Json | None:
    """Return how a model that would otherwise think is told not to."""
    if settings.has_option("reasons_only_if_asked", request):
        return None
    return _OFF if settings.has_option("reasoning_off", request) else None


def _thinking(
    request: ModelRequest, traits: Traits, *, turns: list[Json], limit: int | None
) -> Json | None:
    """Return how to think: by effort if the model can, or by a budget within the limit."""
    asked = request.reasoning
    if not asked or not (traits.adaptive or traits.budget):
        return None
    if traits.adaptive and (isinstance(asked, str) or not traits.budget):
        return {"type": "adaptive"}
    if isinstance(asked, str):
        budget = min(_BUDGETS[asked], limit // 2) if limit else _BUDGETS[asked]
    else:
        budget = max(asked, _LEAST_BUDGET)
        budget = min(budget, limit - 1) if limit else budget
    if budget < _LEAST_BUDGET or _goes_on_without_thinking(turns):
        return None
    return {"type": "enabled", "budget_tokens": budget}


def _goes_on_without_thinking(turns: list[Json]) -> bool:
    """Return whether a tool turn began without thinking: then it must end without it, too."""
    if turns[-1]["content"][0]["type"] != "tool_result":
        return False
    return turns[-2]["content"][0]["type"] not in THINKING_KINDS


def _output_config(
    request: ModelRequest,
    settings: AnthropicSettings,
    *,
    traits: Traits,
    answer: AnswerTool | None,
    thinks: bool,
) -> Json:
    """Return the effort and the format; the highest efforts are refused without thoughts."""
    config: Json = {}
    asked = request.reasoning if thinks else None
    if asked and traits.adaptive and (isinstance(asked, str) or not traits.budget):
        has = settings.options.of(request.model or settings.model)
        config["effort"] = sent_effort(asked, request.extras, has=has)
    if request.schema is not None and answer is None:
        schema = _fitted(bytes(request.schema.schema))
        config["format"] = {"type": "json_schema", "schema": schema}
    return config


def _sampling(
    request: ModelRequest, settings: AnthropicSettings, *, traits: Traits, thinking: Json | None
) -> Json:
    """Return temperature or top_p, which newer models refuse together, and top_k.

    The newest models refuse all of them, and thinking leaves only a high top_p.
    """
    if not traits.sampling or settings.api_version != API_VERSION:
        return {}
    temperature, top_p = request.temperature, request.top_p
    if thinking is not None:
        return {"top_p": top_p} if (top_p or 0) >= _LEAST_TOP_P_BESIDE_THINKING else {}
    top_k = None if request.extras is None else request.extras.top_k
    found: Json = {} if top_k is None else {"top_k": top_k}
    if temperature is not None:
        return found | {"temperature": min(max(temperature, 0.0), 1.0)}
    return found if top_p is None else found | {"top_p": top_p}


def _mark(body: Json) -> None:
    """Mark the ends of tools, system, history and the last turn; the service allows four marks."""
    for blocks in (body["tools"], body["system"]):
        if blocks:
            blocks[-1] = blocks[-1] | {"cache_control": _EPHEMERAL}
    for turn in body["messages"][-2:]:
        blocks = turn["content"]
        ends = [n for n, block in enumerate(blocks) if block["type"] not in THINKING_KINDS]
        if ends:
            blocks[ends[-1]] = blocks[ends[-1]] | {"cache_control": _EPHEMERAL}
