"""The routing plan: ordered candidates, each with the rule that put it there.

An explicit model comes first, then every configured provider, and the built-in demonstration
model only when nothing else is configured. What was dropped is kept with its reason.
"""

from collections.abc import Sequence

import msgspec

from hermes.errors import ProviderUnavailable
from hermes.ports.provider import ProviderInfo


class Candidate(msgspec.Struct, frozen=True):
    """A provider and model to try, and why."""

    provider: str
    model: str
    rule: str


class Dropped(msgspec.Struct, frozen=True):
    """A provider that is not tried, and why not."""

    provider: str
    reason: str


class Plan(msgspec.Struct, frozen=True):
    """What to try, in order."""

    candidates: tuple[Candidate, ...]
    dropped: tuple[Dropped, ...] = ()


class Offer(msgspec.Struct, frozen=True):
    """A provider as routing sees it: what it can do, and whether it can be called now."""

    info: ProviderInfo
    available: bool


def make_plan(wanted: str, offers: Sequence[Offer], *, offline: bool = False) -> Plan:
    """Return the plan for `wanted` (`auto`, `provider` or `provider:model`)."""
    if wanted != "auto":
        return _explicit(wanted, offers)
    real = [offer for offer in offers if not offer.info.demonstration]
    usable = any(offer.available for offer in real)
    candidates: list[Candidate] = []
    dropped: list[Dropped] = []
    for offer in offers:
        reason = _reason_to_drop(offer, real_model=usable, offline=offline)
        if reason is not None:
            dropped.append(Dropped(offer.info.name, reason))
            continue
        rule = "last resort: the demonstration model" if offer.info.demonstration else "configured"
        candidates.append(Candidate(offer.info.name, offer.info.model, rule))
    if not candidates:
        reasons = "; ".join(f"{drop.provider}: {drop.reason}" for drop in dropped)
        raise ProviderUnavailable(
            f"no model can answer ({reasons or 'none is configured'}); "
            "set OPENAI_API_KEY or install the demonstration model"
        )
    return Plan(tuple(candidates), tuple(dropped))


def _reason_to_drop(offer: Offer, *, real_model: bool, offline: bool) -> str | None:
    if not offer.available:
        return "not available"
    if offer.info.demonstration:
        return "a configured model comes first" if real_model else None
    return "offline mode" if offline and not offer.info.local else None


def _explicit(wanted: str, offers: Sequence[Offer]) -> Plan:
    name, _, model = wanted.partition(":")
    for offer in offers:
        if offer.info.name == name:
            candidate = Candidate(name, model or offer.info.model, f"explicit model {wanted}")
            return Plan((candidate,))
    known = ", ".join(offer.info.name for offer in offers)
    raise ProviderUnavailable(f"there is no provider {name!r} for model {wanted!r}; known: {known}")
