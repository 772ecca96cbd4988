"""Checks of the routing settings: names that lead nowhere, each with its fix.

Part of config, called by `checks`; pure. A model id cannot be checked here: services have more
models than any list.
"""

from collections.abc import Iterator

from hermes.config.aliases import alias_path, is_cycle, provider_meant
from hermes.config.entries import LOCAL, PROVIDERS
from hermes.config.model_settings import TASKS
from hermes.config.presets import tiers_of_presets
from hermes.config.settings import Key, Settings
from hermes.config.variables import variable_for
from hermes.similar_words import nearest

Fault = tuple[Key, object, str, str]
"""The key, its value, what is the matter, and the fix."""

_TARGETS = "a provider, an alias, a name of routing.models, provider:model or local"


def routing_problems(settings: Settings) -> Iterator[Fault]:
    """Yield everything in the routing settings that cannot work."""
    yield from _aliases(settings)
    yield from _priority(settings)
    yield from _task_routes(settings)
    yield from _tiers(settings)
    yield from _tiers_of_agents(settings)
    yield from _short_names(settings)
    yield from _tiers_of_budgets(settings)
    yield from _band(settings)


def target_problem(settings: Settings, target: str) -> tuple[str, str] | None:
    """Return the problem of a target and its fix, or None if the target is valid."""
    routing = settings.routing
    if target == LOCAL or target in routing.models:
        return None
    name = target.partition(":")[0]
    meant = provider_meant(name, settings.providers, aliases=routing.aliases)
    provider = settings.providers.get(meant)
    if provider is None:
        return _missing(settings, target, name=name, meant=meant)
    if not provider.enabled:
        return f"but providers.{meant}.enabled is false", f"enable providers.{meant}"
    return None


def _missing(settings: Settings, target: str, *, name: str, meant: str) -> tuple[str, str]:
    known = [*settings.providers, *settings.routing.aliases, *settings.routing.models, LOCAL]
    text = f"expected {_TARGETS}; providers.{meant} does not exist"
    if meant in PROVIDERS:
        variable = variable_for(("providers", meant, "api_key"))
        fix = f"set {variable}" if variable else f"add providers.{meant}"
        return text, f"{fix}, or name one of: {', '.join(settings.providers)}"
    likely = nearest(name, [one for one in known if one != name])
    guess = f"did you mean {target.replace(name, likely, 1)}? Otherwise " if likely else ""
    return text, f"{guess}add providers.{meant}"


def _aliases(settings: Settings) -> Iterator[Fault]:
    aliases = settings.routing.aliases
    told: set[str] = set()
    for name, alias in aliases.items():
        key: Key = ("routing", "aliases", name, "provider")
        path = alias_path(name, settings.providers, aliases=aliases)
        end = path[-1]
        if is_cycle(path):
            if not told.intersection(path):
                text = f"which is a cycle: {' -> '.join(path)}"
                yield key, alias.provider, text, "let one of them name a provider"
            told.update(path)
        elif end in aliases and end not in settings.providers and end == name:
            yield key, None, "expected a provider or another alias", f"set it, or remove {name}"
        elif end not in settings.providers and end not in PROVIDERS and end not in aliases:
            text = f"expected a provider or another alias; providers.{end} does not exist"
            likely = nearest(end, [*settings.providers, *PROVIDERS])
            guess = f"did you mean {likely}? Otherwise " if likely else ""
            yield key, alias.provider, text, f"{guess}add providers.{end}"


def _priority(settings: Settings) -> Iterator[Fault]:
    """Check the order; a built-in name without its key is fine: the order applies once there is
    one."""
    aliases = settings.routing.aliases
    for name in settings.routing.cloud_priority:
        meant = provider_meant(name, settings.providers, aliases=aliases)
        if meant not in settings.providers and meant not in PROVIDERS:
            text = f"and there is no provider {meant}"
            likely = nearest(name, [*settings.providers, *PROVIDERS, *aliases])
            fix = f"did you mean {likely}?" if likely else f"add providers.{meant}, or remove it"
            yield ("routing", "cloud_priority"), settings.routing.cloud_priority, text, fix


def _task_routes(settings: Settings) -> Iterator[Fault]:
    for task, route in settings.routing.task_routes.items():
        key: Key = ("routing", "task_routes", task)
        if task not in TASKS:
            text = f"but {task} is not a task type; expected one of {', '.join(TASKS)}"
            likely = nearest(task, list(TASKS))
            fix = f"did you mean {likely}?" if likely else f"rename or remove {task}"
            yield (*key, "primary"), route.primary, text, fix
            continue
        if route.primary is None:
            yield (*key, "primary"), None, f"expected {_TARGETS}", f"set it, or remove {task}"
        for field, target in (("primary", route.primary), ("fallback", route.fallback)):
            problem = None if target is None else target_problem(settings, target)
            if problem is not None:
                yield (*key, field), target, *problem


def _tiers(settings: Settings) -> Iterator[Fault]:
    for tier, chain in settings.routing.tiers.items():
        for target in chain:
            problem = target_problem(settings, target)
            if problem is not None:
                text, fix = problem
                yield ("routing", "tiers", tier), chain, f"where {target} is wrong: {text}", fix


def _tiers_of_agents(settings: Settings) -> Iterator[Fault]:
    known = settings.routing.tiers
    for name, agent in settings.agents.items():
        is_known = agent.tier in known or agent.tier in tiers_of_presets()
        if agent.tier is not None and not is_known:
            likely = nearest(agent.tier, list(known))
            guess = f"did you mean {likely}? Otherwise " if likely else ""
            text = f"expected one of the tiers: {', '.join(known)}"
            yield (
                ("agents", name, "tier"),
                agent.tier,
                text,
                f"{guess}add routing.tiers.{agent.tier}",
            )


def _band(settings: Settings) -> Iterator[Fault]:
    band = settings.routing.complexity
    if band.short_chars >= band.long_chars:
        key: Key = ("routing", "complexity", "short_chars")
        text = f"expected less than routing.complexity.long_chars, {band.long_chars}"
        yield key, band.short_chars, text, "lower it"


def _short_names(settings: Settings) -> Iterator[Fault]:
    """Check that a short name of the form `provider:model` names an existing provider."""
    for name, target in settings.routing.models.items():
        provider, colon, _ = target.partition(":")
        if not colon:
            continue
        meant = provider_meant(provider, settings.providers, aliases=settings.routing.aliases)
        if meant not in settings.providers:
            found = _missing(settings, target, name=provider, meant=meant)
            yield (("routing", "models", name), target, *found)


def _tiers_of_budgets(settings: Settings) -> Iterator[Fault]:
    tiers = settings.routing.tiers
    for tier, tokens in settings.budgets.person_day_tokens.items():
        if tier not in tiers and tier not in tiers_of_presets():
            known = ", ".join(tiers)
            yield (
                ("budgets", "person_day_tokens", tier),
                tokens,
                f"but routing.tiers has no tier {tier!r}; known are: {known}",
                f"add routing.tiers.{tier}, or name one of them",
            )
