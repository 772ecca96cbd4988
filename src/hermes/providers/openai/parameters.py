"""The parameters of a chat-completions body: limits, tools, schema, reasoning; pure.

What a service does not support is refused by name here, never dropped silently.
"""

from collections.abc import Mapping

from hermes.errors import ProviderRejected
from hermes.ports.effort import sent_effort
from hermes.ports.options import NO_EXTRAS
from hermes.ports.provider import ModelRequest, ToolChoice
from hermes.provider_kit.request_json import (
    Json,
    function_tool,
    is_strict,
    sent_reasoning,
    usual_sampling,
)
from hermes.providers.openai.settings import OpenAISettings

_STREAM_OPTIONS = {"include_usage": True}
_THINKING_ON: Json = {"thinking": {"type": "enabled"}}
_THINKING_OFF: Json = {"thinking": {"type": "disabled"}}
# What no prediction goes beside, where that is refused; nor do tools and an output limit.
_NOT_PREDICTED = frozenset({"frequency_penalty", "presence_penalty", "logprobs"})
# How a model is told not to reason, by the service's way to ask for reasoning.
_OFF: dict[str, Json] = {
    "effort": {"reasoning_effort": "none"},
    "thinking_effort": _THINKING_OFF,
    "enable_thinking": {"enable_thinking": False},
    "reasoning_object": {"reasoning": {"enabled": False}},
}


def build_parameters(request: ModelRequest, settings: OpenAISettings) -> Json:
    """Return everything of the body except the model and the messages."""
    quirks = settings.rules
    body: Json = {"stream": True, **quirks.extra}
    if quirks.stream_options:
        body["stream_options"] = _STREAM_OPTIONS
    limit = settings.output_limit(request)
    if limit is not None:
        body[quirks.output_limit] = limit
    body.update(usual_sampling(request, settings))
    if request.stop and settings.has_option("stop", request):
        body["stop"] = request.stop
    if request.tools:
        body.update(_tools(request, settings))
    if request.schema is not None:
        body["response_format"] = _format(request, settings)
    if request.reasoning is not None or request.tools:
        body.update(_reasoning(request, settings))
    if request.seed is not None or request.extras is not None:
        body.update(_options(request, settings))
    return body


def _options(request: ModelRequest, settings: OpenAISettings) -> Json:
    """Return the rare options that the model has, under the service's names for them."""
    extras, known = request.extras or NO_EXTRAS, settings.options
    has = known.of(request.model or settings.model)
    wanted: Json = {
        "seed": request.seed,
        "frequency_penalty": extras.frequency_penalty,
        "presence_penalty": extras.presence_penalty,
        "logit_bias": None if extras.logit_bias is None else _whole(extras.logit_bias),
        "logprobs": None if extras.top_logprobs is None else True,
        "top_k": extras.top_k,
        "min_p": extras.min_p,
        "verbosity": extras.verbosity,
    }
    body: Json = {
        known.fields.get(name, name): value
        for name, value in wanted.items()
        if value is not None and name in has
    }
    if "logprobs" in body and extras.top_logprobs:
        body["top_logprobs"] = extras.top_logprobs
    if extras.prediction is not None and "prediction" in has:
        is_alone = not (request.tools or request.max_output_tokens or body.keys() & _NOT_PREDICTED)
        if is_alone or "prediction_beside_options" in has:
            body["prediction"] = {"type": "content", "content": extras.prediction}
    return body


def _whole(biases: Mapping[str, float]) -> dict[str, float]:
    """Return biases with whole numbers where they are: OpenAI's are integers."""
    return {token: int(one) if one == int(one) else one for token, one in biases.items()}


def _tools(request: ModelRequest, settings: OpenAISettings) -> Json:
    strict = is_strict(request, settings)
    body: Json = {"tools": [function_tool(spec, strict=strict) for spec in request.tools]}
    choice = request.tool_choice
    if choice.name is not None:
        body["tool_choice"] = _named(choice.name)
    elif choice.mode == "required" and not settings.rules.required_tools:
        body["tool_choice"] = _only_tool(request, settings)
    elif choice != ToolChoice():
        body["tool_choice"] = choice.mode
    if not request.parallel_tools and settings.has_option("parallel_tools", request):
        body["parallel_tool_calls"] = False
    return body


def _named(name: str) -> Json:
    return {"type": "function", "function": {"name": name}}


def _only_tool(request: ModelRequest, settings: OpenAISettings) -> Json:
    """Return the choice of the only tool, which is the same as requiring one."""
    if len(request.tools) == 1:
        return _named(request.tools[0].name)
    raise ProviderRejected(
        f"{settings.name}: the service cannot be made to use one of {len(request.tools)} tools;"
        " name one, or leave the choice to the model"
    )


def _format(request: ModelRequest, settings: OpenAISettings) -> Json:
    schema = request.schema
    if schema is not None and schema.is_json_mode:
        return {"type": "json_object"}
    if schema is None or not settings.rules.schema:
        raise ProviderRejected(
            f"{settings.name}: the service does not enforce a JSON schema; ask in words or with a "
            "tool, and check the answer"
        )
    inner = {"name": schema.name, "schema": schema.schema, "strict": schema.strict}
    return {"type": "json_schema", "json_schema": inner}


def _reasoning(request: ModelRequest, settings: OpenAISettings) -> Json:
    wanted, way = sent_reasoning(request, settings), settings.rules.reasoning
    if wanted is None or way == "none":
        # A preference, not a requirement: a service without an option for it decides itself how
        # much to think.
        return {}
    if wanted == 0:
        return dict(_OFF[way]) if settings.has_option("reasoning_off", request) else {}
    if not settings.has_option("reasoning", request):
        return {}
    if way == "reasoning_object":
        budget = isinstance(wanted, int)
        told = {"max_tokens": wanted} if budget else {"effort": _effort(request, settings)}
        return {"reasoning": told}
    if way == "enable_thinking":
        found: Json = {"enable_thinking": True}
        return found | ({"thinking_budget": wanted} if isinstance(wanted, int) else {})
    effort: Json = {"reasoning_effort": _effort(request, settings)}
    if way == "thinking_effort":
        # Models that can only be switched on and off have no lower levels.
        return _THINKING_ON | (effort if settings.has_option("low_effort", request) else {})
    return effort


def _effort(request: ModelRequest, settings: OpenAISettings) -> str:
    has = settings.options.of(request.model or settings.model)
    return sent_effort(request.reasoning or "low", request.extras, has=has)
