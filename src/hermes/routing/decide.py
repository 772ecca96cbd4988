"""The routing decision: from a call's needs and the providers' offers to a plan with reasons.

A named model comes first: named for the call, the session, or the agent. Otherwise a tier uses its
chain, and everyone else the decision tree. The demonstration model is the last resort. Pure:
availability was checked before.
"""

from collections.abc import Sequence

import msgspec

from hermes.config.model_settings import TASKS, ComplexitySettings
from hermes.config.variables import variable_for
from hermes.errors import ProviderUnavailable
from hermes.routing.draft import Found, PlanDraft
from hermes.routing.fitness import (
    AT_HOME,
    LACKS,
    ONLY_EMBEDS,
    has_ability,
    lacks_options,
    needs_of,
    prompt_room,
)
from hermes.routing.plan import CallNeeds, Candidate, DroppedProvider, Plan, ProviderOffer
from hermes.routing.policy import Policy
from hermes.routing.tasks import task_of

AUTO = "auto"
_AUTO_TASK = "auto:"
_CONFIGURED = "configured model"
_LAST_RESORT = "last resort: the demonstration model"


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """A plan with what decided it; `problem` says why there is no candidate.

    `is_unknown` says that no provider has the named model, or none has the key for it; `is_unfit` that
    it lacks what the call needs.
    """

    plan: Plan
    complexity: float | None = None
    task: str | None = None
    problem: str | None = None
    is_unknown: bool = False
    is_unfit: bool = False
    # The most that a model could hold of a call that none can hold; 0 for any other problem.
    most_tokens: int = 0


def make_plan(ask: CallNeeds, offers: Sequence[ProviderOffer], *, policy: Policy) -> Plan:
    """Return the plan for a call; raises `ProviderUnavailable` if no model can serve it."""
    decision = decide(ask, offers, policy=policy)
    if decision.problem is not None:
        raise ProviderUnavailable(decision.problem)
    return decision.plan


def decide(ask: CallNeeds, offers: Sequence[ProviderOffer], *, policy: Policy) -> Decision:
    """Return the decision for a call, even if it ends without a candidate."""
    named = _strongest(ask, policy)
    if named is not None and named[1].startswith(_AUTO_TASK):
        task = named[1].removeprefix(_AUTO_TASK)
        if task not in TASKS:
            return _unknown_task(task)
        ask, named = msgspec.structs.replace(ask, task=task), None
    draft = PlanDraft(ask, offers, policy=policy)
    if named is not None and _may_be_asked(draft, *named):
        return _named(draft, named[1], rule=named[0])
    if ask.tier is not None and ask.tier not in policy.tiers:
        return _unknown_tier(ask.tier, policy)
    if ask.tier is not None:
        _walk_chain(draft, ask.tier)
        return _finished(draft, f"not in the chain of tier {ask.tier}")
    _walk_tree(draft)
    return _finished(draft, "no rule names it")


def _strongest(ask: CallNeeds, policy: Policy) -> tuple[str, str] | None:
    """Return who named a model, and which; None if nobody did.

    A task that was asked for has a route of its own, which goes before the usual model.
    """
    if ask.model is not None and ask.model != AUTO:
        return "explicit model", ask.model
    if ask.session_model is not None and ask.session_model != AUTO:
        return "session override", ask.session_model
    if ask.default_model == AUTO or (ask.task is not None and ask.task in policy.task_routes):
        return None
    return _CONFIGURED, ask.default_model


def _may_be_asked(draft: PlanDraft, rule: str, model: str) -> bool:
    """Return whether a named model may serve the call; the usual one may not where it costs tokens
    elsewhere that the settings do not allow.
    """
    is_free = draft.ask.capability not in AT_HOME or draft.policy.cloud_summaries
    if is_free or rule != _CONFIGURED:
        return True
    found = draft.find_named(draft.policy.models.get(model, model)) or draft.find(model)
    return any(offer.info.local for offer, _ in found)


def _named(draft: PlanDraft, model: str, *, rule: str) -> Decision:
    """Make a named model the only candidate: nobody gets another model unasked."""
    found = draft.find_named(draft.policy.models.get(model, model)) or draft.find(model)
    if not found:
        known = ", ".join(draft.by_name) or "none"
        text = f"there is no provider for the {rule} {model!r}; known providers: {known}"
        fix = f"{text}; name one of them as provider:model"
        return Decision(plan=Plan(()), problem=fix, is_unknown=True)
    usable: Found = []
    cooling: Found = []
    refused: list[tuple[str, str]] = []
    for offer, named in found:
        reason = _away(draft, offer) or _cannot(draft.ask, offer, named)
        if reason is not None:
            refused.append((offer.info.name, reason))
        elif (named or offer.info.model) in offer.cooling:
            cooling.append((offer, named))
        else:
            usable.append((offer, named))
    # Better a service that failed lately than none: the call waits for it, or says until when.
    usable = usable or cooling
    if not usable:
        dropped = tuple(DroppedProvider(name, reason) for name, reason in refused)
        told = "; ".join(f"{name}: {reason}" for name, reason in refused)
        text = f"the {rule} {model!r} cannot be used now ({told}); name another model, or auto"
        unfit = all(_away(draft, offer) is None for offer, _ in found)
        keyless = all(_is_keyless(offer) for offer, _ in found)
        return Decision(plan=Plan((), dropped), problem=text, is_unfit=unfit, is_unknown=keyless)
    for offer, named in cooling if usable is not cooling else ():
        draft.drop(offer.info.name, offer.cooling[named or offer.info.model].words)
    return Decision(plan=_only(draft, usable, rule=f"{rule} {draft.policy.told(model)}"))


def _only(draft: PlanDraft, usable: Found, *, rule: str) -> Plan:
    """Ignore what the model lacks: tools and schemas are then described in text."""
    candidates = tuple(
        [Candidate(offer.info.name, model or offer.info.model, rule) for offer, model in usable]
    )
    named = {candidate.provider for candidate in candidates}
    # A provider that only embeds was never a candidate.
    others = [
        offer
        for name, offer in draft.by_name.items()
        if name not in named and (offer.info.chat or draft.ask.capability == "embeddings")
    ]
    if not others:
        return Plan(candidates)
    for offer in others:
        draft.drop(offer.info.name, "another was named")
    return Plan(candidates, draft.dropped)


def _away(draft: PlanDraft, offer: ProviderOffer) -> str | None:
    if not offer.available:
        return offer.problem or _without_key(offer)
    return "offline mode" if draft.policy.offline and not offer.info.local else None


def _is_keyless(offer: ProviderOffer) -> bool:
    """Return whether a service is away for good: it is not asked, so it lacks its key."""
    return not offer.available and not offer.info.probed


def _without_key(offer: ProviderOffer) -> str:
    if not _is_keyless(offer):
        return "not available"
    variable = variable_for(("providers", offer.info.name, "api_key"))
    return "has no key" + (f"; set {variable}" if variable else "")


def _cannot(ask: CallNeeds, offer: ProviderOffer, model: str | None) -> str | None:
    """Return what a model named by the call lacks and text cannot replace."""
    if not offer.info.chat and ask.capability != "embeddings":
        return ONLY_EMBEDS
    if ask.model is None:
        return None
    name = model or offer.info.model
    if offer.info.demonstration and name != offer.info.model:
        return f"has one model, {offer.info.model}"
    if ask.images and not has_ability(offer.info, name, "vision"):
        return LACKS["vision"]
    if ask.capability == "embeddings" and not has_ability(offer.info, name, "embeddings"):
        return LACKS["embeddings"]
    return lacks_options(offer.info, name, ask.options) if ask.options else None


def _unknown_task(task: str) -> Decision:
    text = f"there is no task type {task!r}; auto:TASK takes one of {', '.join(TASKS)}"
    return Decision(plan=Plan(()), problem=text, is_unknown=True)


def _unknown_tier(tier: str, policy: Policy) -> Decision:
    known = ", ".join(policy.shown_tiers)
    text = f"the tier {tier!r} is not one of routing.tiers: {known}; add routing.tiers.{tier}"
    return Decision(plan=Plan(()), problem=f"{text}, or change the person's tier")


def _walk_chain(draft: PlanDraft, tier: str) -> None:
    for step in draft.policy.tiers[tier]:
        draft.add_target(step.target, step.rule)


def _walk_tree(draft: PlanDraft) -> None:
    """Add candidates in the order of the decision tree."""
    ask, policy = draft.ask, draft.policy
    if policy.offline:
        for offer in draft.local:
            draft.add(offer, "offline mode: a model on this machine")
        for offer in draft.offers:
            draft.drop(offer.info.name, "offline mode")
        return
    is_read = bool(draft.local or policy.task_routes)
    words = policy.words.find(ask.prompt) if is_read else frozenset[str]()
    if ask.task is not None:
        # Asked for, not guessed from words: its route goes before local models.
        _follow_task(draft, words)
    _prefer_local(draft, words)
    _follow_task(draft, words)
    for step in policy.cloud:
        ranked = draft.by_name.get(step.target)
        if ranked is not None and not (ranked.info.local or ranked.info.demonstration):
            draft.add(ranked, step.rule)
    for offer in draft.unnamed():
        draft.add(offer, f"any available provider that can do {ask.capability}")


def _prefer_local(draft: PlanDraft, words: frozenset[str]) -> None:
    ask, policy = draft.ask, draft.policy
    if not draft.local:
        return
    if policy.local_first:
        draft.complexity = complexity_of(ask.prompt, words, settings=policy.complexity)
        if draft.complexity <= policy.local_threshold:
            rule = f"local first: complexity {draft.complexity:.2f} <= {policy.local_threshold}"
            for offer in draft.local:
                draft.add(offer, rule)
    if ask.capability in AT_HOME:
        for offer in draft.local:
            draft.add(offer, f"{ask.capability} stays on this machine")


def _follow_task(draft: PlanDraft, words: frozenset[str]) -> None:
    routes = draft.policy.task_routes
    if not routes:
        return
    draft.task = draft.ask.task or task_of(words, draft.policy.keywords)
    for step in routes.get(draft.task, ()) if draft.task is not None else ():
        draft.add_target(step.target, step.rule)


def _finished(draft: PlanDraft, otherwise: str) -> Decision:
    may_help = draft.ask.capability not in AT_HOME or not any(one.available for one in draft.offers)
    for offer in draft.demonstrations:
        if draft.is_empty and may_help:
            draft.add(offer, _LAST_RESORT)
        else:
            reason = None if offer.available else offer.problem or "not available"
            draft.drop(offer.info.name, reason or "a configured model comes first")
    plan = draft.finish(otherwise)
    return Decision(
        plan=plan,
        complexity=draft.complexity,
        task=draft.task,
        problem=None if plan.candidates else _nobody(draft.ask, plan),
        most_tokens=0 if plan.candidates else _most_tokens(draft),
    )


def _most_tokens(draft: PlanDraft) -> int:
    """Return what the largest model holds that was refused for its size alone; 0 if none was."""
    if not draft.ask.tokens:
        return 0
    facts = draft.policy.facts
    there = [one.info for one in (*draft.offers, *draft.demonstrations) if one.available]
    rooms = [prompt_room(facts.context_of(info, info.model)) for info in there]
    return max(rooms, default=0) if draft.ask.tokens > max(rooms, default=0) else 0


def _nobody(ask: CallNeeds, plan: Plan) -> str:
    reasons = "; ".join(f"{drop.provider}: {drop.reason}" for drop in plan.dropped)
    fixes = {
        "embeddings": "configure a local model that makes embeddings, or set "
        "routing.cloud_summaries",
        "summarization": "configure a local model, or set routing.cloud_summaries",
    }
    fix = fixes.get(ask.capability, "set OPENAI_API_KEY or install the demonstration model")
    if ask.capability not in fixes and needs_of(ask):
        fix = f"add a provider that has {' and '.join(needs_of(ask))}, such as by OPENAI_API_KEY"
    verb = "answer" if ask.capability == "chat" else f"do {ask.capability}"
    return f"no model can {verb} ({reasons or 'none is configured'}); {fix}"


_TICK = "`"
_FENCE = "```"
_CHARS_PER_TOKEN = 4


def complexity_of(prompt: str, words: frozenset[str], *, settings: ComplexitySettings) -> float:
    """Return the complexity of a prompt in which `words` were found."""
    length = len(prompt)
    tokens = min(1.0, length / _CHARS_PER_TOKEN / settings.tokens_full)
    # Most prompts contain no backtick, which is checked faster.
    code = settings.code_weight if _TICK in prompt and _FENCE in prompt else 0.0
    asked = len(words.intersection(settings.step_words)) if words else 0
    steps = min(1.0, asked / settings.steps_full)
    within = (length - settings.short_chars) / (settings.long_chars - settings.short_chars)
    rest = (
        (1 - settings.tokens_weight * tokens)
        * (1 - code)
        * (1 - settings.steps_weight * steps)
        * (1 - settings.length_weight * min(1.0, max(0.0, within)))
    )
    return 1 - rest
