"""The settings of routing: which model a call goes to when nobody names one.

Part of config; the policy that reads them is `hermes.routing`. The open tables (tiers, models,
aliases) have built-in entries, which an operator adds to or changes one by one.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any, Literal

from pydantic import Field

from hermes.config.section import Count, Name, Named, Section, Share, Whole, Word

LOCAL = "local"
TASKS = (
    "batch_processing",
    "code_generation",
    "automation_pipeline",
    "deep_reasoning",
    "large_reasoning",
)
"""The task types, the more specific first; `large_reasoning` is asked for by name only."""

Credential = Literal["any", "oauth_token", "api_key"]
Chain = Annotated[tuple[Word, ...], Field(min_length=1)]

TIERS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "free": ("claude-haiku",),
        "starter": ("claude-haiku", LOCAL),
        "pro": ("claude-sonnet",),
        "venue-growth": ("claude-sonnet", "claude-haiku"),
    }
)
MODELS: Mapping[str, str] = MappingProxyType(
    {"claude-haiku": "claude-haiku-4-5-20251001", "claude-sonnet": "claude-sonnet-4-6"}
)
OUTPUT_CAPS: Mapping[str, int] = MappingProxyType({"claude-haiku": 1024, "claude-sonnet": 2048})
ALIASES: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "claude": {"provider": "anthropic"},
        "claude_pro": {"provider": "claude", "credential": "oauth_token"},
        "claude_api": {"provider": "claude", "credential": "api_key"},
    }
)
# The order in which a key that is present is preferred.
CLOUD_PRIORITY = ("hermes", "openrouter", "anthropic", "gemini", "openai")


class AliasSettings(Section):
    """Another name for a provider."""

    provider: Name | None = Field(
        default=None, description="The provider, or another alias, that this name refers to."
    )
    credential: Credential = Field(
        default="any",
        description="Of several providers of one kind, the one with this credential is used.",
    )


class TaskRouteSettings(Section):
    """Where prompts of one task type go."""

    primary: Word | None = Field(
        default=None,
        description="Tried first: a provider, an alias, a name of routing.models, provider:model, "
        "or local for any model on this machine.",
    )
    fallback: Word | None = Field(default=None, description="Tried after it.")


class TaskKeywordSettings(Section):
    """The words by which a prompt's task type is told; each also matches as a word's beginning."""

    batch_processing: tuple[Word, ...] = Field(
        default=("batch processing", "batch job", "batch run", "bulk run", "bulk job"),
        description="Many items at once.",
    )
    code_generation: tuple[Word, ...] = Field(
        default=(
            "implement",
            "refactor",
            "fix bug",
            "fix the bug",
            "fix this bug",
            "write a function",
            "write a script",
            "write a test",
            "add endpoint",
            "add an endpoint",
        ),
        description="Writing and changing code.",
    )
    automation_pipeline: tuple[Word, ...] = Field(
        default=(
            "automat",
            "pipeline",
            "schedule",
            "workflow",
            "cron",
            "bulk",
            "batch process",
        ),
        description="Work that runs by itself.",
    )
    deep_reasoning: tuple[Word, ...] = Field(
        default=(
            "explain",
            "analyze",
            "analyse",
            "architect",
            "design a system",
            "compare",
            "evaluate",
        ),
        description="Thinking something through.",
    )


class ComplexitySettings(Section):
    """How hard a prompt looks, from 0 to 1: each sign adds its weight to what is left up to 1."""

    tokens_weight: Share = Field(default=0.5, description="The weight of the prompt's tokens.")
    tokens_full: Count = Field(
        default=2000,
        description="The number of tokens (a quarter of the characters) for the full weight.",
    )
    code_weight: Share = Field(default=0.35, description="The weight of a fenced block of code.")
    steps_weight: Share = Field(
        default=0.6, description="The weight of words that ask for several steps."
    )
    steps_full: Count = Field(
        default=2, description="The number of different such words for the full weight."
    )
    step_words: tuple[Word, ...] = Field(
        default=("explain", "architect", "design", "compare", "evaluate"),
        description="The words that ask for several steps.",
    )
    length_weight: Share = Field(
        default=0.35, description="The weight of the length between the two limits below."
    )
    short_chars: Whole = Field(default=400, description="Up to this length the weight is zero.")
    long_chars: Count = Field(default=4000, description="From this length on the weight is full.")


class RoutingSettings(Section):
    """Which model a call goes to when nobody names one; [routing](routing.md) tells the order."""

    local_first: bool = Field(
        default=True, description="Whether a model on this machine is preferred for easy prompts."
    )
    local_threshold: Share = Field(
        default=1.0,
        description="Prompts up to this complexity are easy: 1 is every prompt, 0 turns "
        "local_first off.",
    )
    cloud_priority: tuple[Name, ...] = Field(
        default=CLOUD_PRIORITY, description="The order of remote providers."
    )
    cloud_summaries: bool = Field(
        default=False,
        description="Whether summaries and embeddings may go to a remote provider.",
    )
    task_routes: Named[TaskRouteSettings] = Field(
        default_factory=lambda: MappingProxyType({}),
        description="Where prompts of a task type go, by its name.",
    )
    task_keywords: TaskKeywordSettings = Field(default_factory=TaskKeywordSettings)
    complexity: ComplexitySettings = Field(default_factory=ComplexitySettings)
    by_tier: bool = Field(
        default=False,
        description="Whether the sender's tier chooses the models; an agent's own tier always "
        "does.",
    )
    tiers: Named[Chain] = Field(
        default_factory=lambda: TIERS,
        description="The models of a tier, in order; built in are free, starter, pro and "
        "venue-growth.",
    )
    models: Named[Word] = Field(
        default_factory=lambda: MODELS,
        description="What a short name means: a model id or provider:model; built in are "
        "claude-haiku and claude-sonnet.",
    )
    output_caps: Named[Count] = Field(
        default_factory=lambda: OUTPUT_CAPS,
        description="How many tokens a model may write in one answer, by its name in "
        "routing.models; overrides max_output_tokens of the provider.",
    )
    continue_on_failure: bool = Field(
        default=False,
        description="Whether the next candidate continues an interrupted answer; otherwise the "
        "shown part is marked as incomplete.",
    )
    aliases: Named[AliasSettings] = Field(
        default_factory=lambda: MappingProxyType(
            {name: AliasSettings.model_validate(entry) for name, entry in ALIASES.items()}
        ),
        description="Other names of providers; built in are claude, claude_pro and claude_api.",
    )


# Any: a tree of plain values, which is validated afterwards.
def routing_tree() -> dict[str, Any]:
    """Return the built-in entries as plain data, for the files and variables to change."""
    return {
        "task_routes": {},
        "task_keywords": {},
        "complexity": {},
        "tiers": dict(TIERS),
        "models": dict(MODELS),
        "output_caps": dict(OUTPUT_CAPS),
        "aliases": {name: dict(entry) for name, entry in ALIASES.items()},
    }
