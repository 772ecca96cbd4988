"""How a model chooses its words: what a call leaves open is filled in from the settings. Pure.

The nearest value wins: that of the call, then of the agent, then of the provider. What a call was
really made with is kept with it in the graph.
"""

from typing import Any

import msgspec

from hermes.calls.demands import conflict_hints, sampling_hints
from hermes.ports.effort import Effort
from hermes.ports.options import Option, ServiceOptions
from hermes.ports.provider import ModelRequest


class Sampling(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The values of a provider or an agent; None and () leave it to the next one, or to the model."""

    max_output_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    stop: tuple[str, ...] = ()
    seed: int | None = None
    reasoning: Effort | None = None


NO_SAMPLING = Sampling()
_BESIDE: frozenset[Option] = frozenset({"reasoning_beside_tools", "reasoning_beside_forced_tools"})
# Every model takes these that the table of options does not exclude.
_USUAL_FIELDS = frozenset({"temperature", "top_p", "stop", "reasoning"})


def with_sampling(request: ModelRequest, sampling: Sampling) -> ModelRequest:
    """Return the request with the values that it leaves open."""
    if sampling == NO_SAMPLING:
        return request
    # Any: the fields of a request, by name.
    changes: dict[str, Any] = {}
    for name in ("temperature", "top_p", "stop", "seed", "reasoning"):
        own, given = getattr(request, name), getattr(sampling, name)
        if own in (None, ()) and given not in (None, ()):
            changes[name] = given
    if request.prefill:
        # A thought would have to come before the text that is already there.
        changes.pop("reasoning", None)
    if request.max_output_tokens is None and sampling.max_output_tokens is not None:
        changes |= {"max_output_tokens": sampling.max_output_tokens, "is_capped": True}
    return msgspec.structs.replace(request, **changes) if changes else request


def sampling_of(request: ModelRequest) -> dict[str, Any]:  # Any: JSON, as the request has it
    """Return what a call is made with, without what is left to the model."""
    found = {
        "max_output_tokens": request.max_output_tokens,
        "temperature": request.temperature,
        "top_p": request.top_p,
        "stop": list(request.stop) or None,
        "seed": request.seed,
        "reasoning": request.reasoning,
    }
    return {name: value for name, value in found.items() if value is not None}


# Any: JSON, as the request has it
def sent_sampling(request: ModelRequest, options: ServiceOptions) -> dict[str, Any]:
    """Return `sampling_of` a request as its model is sent it: without what it does not take."""
    found = sampling_of(request)
    if found.keys().isdisjoint(_USUAL_FIELDS):
        return found
    unsent = _unsent(request, options.of(request.model))
    return {name: value for name, value in found.items() if name not in unsent}


def _unsent(request: ModelRequest, has: frozenset[Option]) -> set[str]:
    """Return the fields that a model without some of the usual options is not sent."""
    told = msgspec.structs.replace(
        request, reasoning=request.reasoning if "reasoning" in has else None
    )
    unsent = {
        field
        for option, field in sampling_hints(told)
        if option not in has and option != "high_temperature"
    }
    unsent |= {"stop"} - has
    is_unsent = False
    if request.reasoning:
        conflicts = {option for option, _ in conflict_hints(request)} & _BESIDE
        is_unsent = not {"reasoning", *conflicts} <= has
    return unsent | ({"reasoning"} if is_unsent else set())
