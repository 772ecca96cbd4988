"""What a caller may ask of a model beside the usual, and which of it a model has.

Most calls ask for none of it, so `ModelRequest` holds these values in one `Extras` that is nearly
always None. Which service and model has which option is data: `provider_kit/capabilities.toml`.
"""

from collections.abc import Mapping
from fnmatch import fnmatchcase
from types import MappingProxyType
from typing import Literal

import msgspec

Option = Literal[
    "seed",
    "frequency_penalty",
    "presence_penalty",
    "logit_bias",
    "logprobs",
    "top_k",
    "min_p",
    "json_mode",
    "strict_tools",
    "parallel_tools",
    "forced_tools",
    "verbosity",
    "reasoning_summary",
    "reasoning",
    "reasoning_off",
    "reasons_only_if_asked",
    "reasoning_beside_tools",
    "reasoning_off_beside_tools",
    "reasoning_beside_forced_tools",
    "minimal_effort",
    "low_effort",
    "medium_effort",
    "xhigh_effort",
    "max_effort",
    "prediction",
    "prediction_beside_options",
    "image_address",
    "image_detail",
    "original_detail",
    "pdf",
    "pdf_address",
    "audio",
    "dimensions",
    "token_arrays",
    "stop",
    "blank_stop",
    "temperature",
    "high_temperature",
    "top_p",
    "top_p_beside_temperature",
    "sampling_beside_reasoning",
]
USUAL: frozenset[Option] = frozenset(
    {
        "reasoning",
        "reasons_only_if_asked",
        "reasoning_beside_tools",
        "reasoning_off_beside_tools",
        "reasoning_beside_forced_tools",
        "low_effort",
        "medium_effort",
        "prediction_beside_options",
        "forced_tools",
        "stop",
        "blank_stop",
        "temperature",
        "high_temperature",
        "top_p",
        "top_p_beside_temperature",
        "sampling_beside_reasoning",
    }
)
"""What every model has unless a rule says that it lacks it."""
ExactEffort = Literal["minimal", "xhigh", "max"]
EFFORT_OPTIONS: Mapping[str, Option] = MappingProxyType(
    {
        "minimal": "minimal_effort",
        "low": "low_effort",
        "medium": "medium_effort",
        "xhigh": "xhigh_effort",
        "max": "max_effort",
    }
)
"""The efforts that some models lack, and the option that says so; every model has "high"."""

Verbosity = Literal["low", "medium", "high"]
Summary = Literal["auto", "concise", "detailed"]


class Extras(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The rare options of one request.

    `top_logprobs` is how many alternatives come with the log probability of each token; 0 asks for
    the chosen tokens alone. `prediction` is text that much of the answer is expected to repeat.
    `effort` is the exact level of `ModelRequest.reasoning`, for the models that have it.
    """

    frequency_penalty: float | None = None
    presence_penalty: float | None = None
    logit_bias: Mapping[str, float] | None = None
    top_logprobs: int | None = None
    top_k: int | None = None
    min_p: float | None = None
    verbosity: Verbosity | None = None
    reasoning_summary: Summary | None = None
    prediction: str | None = None
    effort: ExactEffort | None = None


NO_EXTRAS = Extras()


def exact_effort(level: str | None) -> ExactEffort | None:
    """Return a level that is not a usual one; None for any other."""
    return level if level in ("minimal", "xhigh", "max") else None  # type: ignore[return-value]


class ModelRule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How some models of a service differ from its others.

    `models` are patterns of bare model names. Patterns that begin with `!` are about every model
    that none of them matches.
    """

    models: tuple[str, ...]
    lacks: frozenset[Option] = frozenset()
    adds: frozenset[Option] = frozenset()

    def applies_to(self, name: str) -> bool:
        """Return whether the rule is about a model."""
        others = [one[1:] for one in self.models if one.startswith("!")]
        if others and not any(fnmatchcase(name, one) for one in others):
            return True
        return any(fnmatchcase(name, one) for one in self.models)


class ServiceOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The options that a service has, and the models that differ; later rules win.

    `fields` are the names of those that the service calls differently than others do.
    """

    has: frozenset[Option] = frozenset()
    rules: tuple[ModelRule, ...] = ()
    fields: Mapping[Option, str] = {}

    def of(self, model: str) -> frozenset[Option]:
        """Return the options of one model, with the usual ones."""
        found = self.has | USUAL
        name = model.rpartition("/")[2].lower()
        for rule in self.rules:
            if rule.applies_to(name):
                found = (found | rule.adds) - rule.lacks
        return found


class AltToken(msgspec.Struct, frozen=True):
    """A token that the model could have written, and the logarithm of its probability."""

    token: str
    logprob: float
    bytes: tuple[int, ...] | None = None


class TokenLogprob(msgspec.Struct, frozen=True):
    """A token that the model wrote, with the likeliest ones at its place."""

    token: str
    logprob: float
    bytes: tuple[int, ...] | None = None
    top_logprobs: tuple[AltToken, ...] = ()
