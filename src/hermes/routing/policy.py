"""The routing policy: the settings in the form that a decision uses, built once at start."""

from collections.abc import Callable, Mapping
from functools import lru_cache

import msgspec

from hermes.config import ProviderSettings, Settings
from hermes.config.aliases import has_credential, provider_meant
from hermes.config.model_settings import ComplexitySettings
from hermes.config.presets import tiers_of_presets
from hermes.routing.keywords import WordFinder
from hermes.routing.model_facts import ModelFacts
from hermes.routing.tasks import Keywords, keywords_of

_REMEMBERED = 256


class ChainStep(msgspec.Struct, frozen=True):
    """A target of a chain, and the rule that puts it there."""

    target: str
    rule: str


class Policy(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a decision uses besides the call itself.

    `provider_of` returns the provider of a name or an alias.
    """

    offline: bool
    local_first: bool
    local_threshold: float
    cloud_summaries: bool
    cloud: tuple[ChainStep, ...]
    task_routes: Mapping[str, tuple[ChainStep, ...]]
    keywords: Keywords
    words: WordFinder
    complexity: ComplexitySettings
    tiers: Mapping[str, tuple[ChainStep, ...]]
    shown_tiers: tuple[str, ...]
    """Without those that only a preset brings."""
    models: Mapping[str, str]
    providers: Mapping[str, ProviderSettings]
    provider_of: Callable[[str], str]
    facts: ModelFacts

    def kind_of(self, provider: str) -> str:
        """Return the API kind of a provider; empty if no setting names it."""
        table = self.providers.get(provider)
        return "" if table is None else table.kind

    def told(self, name: str) -> str:
        """Return a target's name for rules: a short name or alias with what it refers to."""
        meant = self.models.get(name)
        return self._aliased(name) if meant is None else f"{name} -> {self._aliased(meant)}"

    def _aliased(self, name: str) -> str:
        asked, colon, model = name.partition(":")
        meant = self.provider_of(asked)
        if meant == asked:
            return name
        table = self.providers.get(meant)
        by = "" if table is None else _credential(table)
        return f"{name} -> {meant}{colon}{model}{by}"


def policy_of(settings: Settings, facts: ModelFacts | None = None) -> Policy:
    """Return the policy from the settings; without `facts` no service has listed its models."""
    routing = settings.routing
    keywords = keywords_of(routing.task_keywords)
    listed = set(routing.complexity.step_words).union(*(words for _, words in keywords))

    @lru_cache(maxsize=_REMEMBERED)
    def provider_of(name: str) -> str:
        return provider_meant(name, settings.providers, aliases=routing.aliases)

    policy = Policy(
        offline=settings.offline,
        # A threshold of 0 turns it off, also for a prompt whose complexity is 0.
        local_first=routing.local_first and routing.local_threshold > 0,
        local_threshold=routing.local_threshold,
        cloud_summaries=routing.cloud_summaries,
        cloud=(),
        task_routes={},
        keywords=keywords,
        words=WordFinder(listed),
        complexity=routing.complexity,
        tiers={},
        shown_tiers=tuple(routing.tiers),
        models=routing.models,
        providers=settings.providers,
        provider_of=provider_of,
        facts=facts or ModelFacts(settings.providers),
    )
    return _with_rules(policy, settings)


def _with_rules(policy: Policy, settings: Settings) -> Policy:
    """Return the policy with its chains and the texts of their rules."""
    routing = settings.routing
    return msgspec.structs.replace(
        policy,
        cloud=tuple(
            ChainStep(policy.provider_of(name), f"cloud priority {place}: {policy.told(name)}")
            for place, name in enumerate(routing.cloud_priority, start=1)
        ),
        task_routes={
            task: tuple(
                ChainStep(target, f"task route {task}, {word}: {policy.told(target)}")
                for word, target in (("primary", route.primary), ("fallback", route.fallback))
                if target is not None
            )
            for task, route in routing.task_routes.items()
        },
        tiers={
            tier: tuple(
                ChainStep(target, f"tier {tier}, {place} of {len(chain)}: {policy.told(target)}")
                for place, target in enumerate(chain, start=1)
            )
            for tier, chain in {**tiers_of_presets(), **routing.tiers}.items()
        },
    )


def _credential(table: ProviderSettings) -> str:
    """Return which credential a provider uses; a key is preferred to a token."""
    if has_credential(table, "api_key"):
        return " by its API key"
    return " by its OAuth token" if has_credential(table, "oauth_token") else ""
