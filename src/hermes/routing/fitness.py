"""Why a provider cannot serve a call: it is unavailable, not allowed, or lacks an ability."""

from hermes.ports.options import Option
from hermes.ports.provider import Capability, ProviderInfo
from hermes.routing.plan import CallNeeds, ProviderOffer
from hermes.routing.policy import Policy
from hermes.routing.prices import Ability, known_model

AT_HOME = frozenset({"summarization", "embeddings"})
"""What never costs tokens elsewhere unless the settings allow it."""

LACKS: dict[Ability, str] = {
    "tools": "cannot call tools, and tools are in play",
    "vision": "cannot read images, and there is one",
    "schema": "has no JSON schema of its own",
    "embeddings": "makes no embeddings",
}

OPTION_WORDS: dict[Option, str] = {
    "pdf": "PDF documents",
    "pdf_address": "PDF documents by address",
    "audio": "sounds as input",
    "image_address": "pictures by address",
    "token_arrays": "input as token numbers",
    "blank_stop": "a stop of white space",
}
"""The options whose name is not that of the field that asks for them."""
# Estimates may be wrong by this much, and an answer needs room, at most a quarter of a context.
_SAFE_SHARE = 0.9
_ANSWER_SHARE = 4
_MOST_ANSWER = 8_192

ONLY_EMBEDS = "only makes embeddings"

_ABILITIES: dict[Capability, Ability] = {
    "tools": "tools",
    "vision": "vision",
    "schema": "schema",
    "embeddings": "embeddings",
}
_IN_PLAY: dict[tuple[bool, bool], tuple[Ability, ...]] = {
    (False, False): (),
    (True, False): ("tools",),
    (False, True): ("vision",),
    (True, True): ("tools", "vision"),
}


def has_ability(info: ProviderInfo, model: str, ability: Ability) -> bool:
    """Return whether the provider's API, and the model as far as known, has an ability."""
    known = known_model(model)
    return bool(getattr(info, ability)) and (known is None or ability in known.what)


def reason_unfit(
    offer: ProviderOffer, model: str, *, ask: CallNeeds, needs: tuple[Ability, ...], policy: Policy
) -> str | None:
    """Return why this model cannot serve the call, or None if it can; `needs` are the call's."""
    info = offer.info
    if not info.chat and ask.capability != "embeddings":
        return ONLY_EMBEDS
    if not offer.available:
        return offer.problem or "not available"
    if not info.local:
        if policy.offline:
            return "offline mode"
        if ask.capability in AT_HOME and not policy.cloud_summaries:
            return (
                f"{ask.capability} never costs cloud tokens unless routing.cloud_summaries is set"
            )
    if needs:
        known = known_model(model)
        for ability in needs:
            if not getattr(info, ability) or (known is not None and ability not in known.what):
                return LACKS[ability]
    if ask.options and (missing := lacks_options(info, model, ask.options)) is not None:
        return missing
    return _too_small(info, model, ask=ask, policy=policy) if ask.tokens else None


def _too_small(info: ProviderInfo, model: str, *, ask: CallNeeds, policy: Policy) -> str | None:
    room = prompt_room(policy.facts.context_of(info, model))
    if ask.tokens <= room:
        return None
    return f"takes about {room} tokens, and the message needs about {ask.tokens}"


def prompt_room(context: int) -> int:
    """Return how many estimated tokens of a context a prompt may take.

    It is the same whatever the output limit is: that is lowered to what a prompt leaves.
    """
    return max(1, int((context - least_output_room(context)) * _SAFE_SHARE))


def least_output_room(context: int) -> int:
    """Return how many tokens of a context no prompt takes from the answer."""
    return max(1, min(_MOST_ANSWER, context // _ANSWER_SHARE))


def output_room(context: int, prompt: int) -> int:
    """Return how many tokens a prompt of so many estimated ones leaves for the answer."""
    return max(least_output_room(context), context - int(prompt / _SAFE_SHARE))


def lacks_options(info: ProviderInfo, model: str, options: tuple[Option, ...]) -> str | None:
    """Return which of `options` a model lacks, in words; None if it has them all."""
    has = info.options.of(model)
    missing = tuple(one for one in options if one not in has)
    return f"has no {option_words(missing)}" if missing else None


def option_words(options: tuple[Option, ...]) -> str:
    """Return the names of options as callers know them."""
    return ", ".join(OPTION_WORDS.get(one, one) for one in options)


def needs_of(ask: CallNeeds) -> tuple[Ability, ...]:
    """Return the abilities that a call needs."""
    if ask.capability in _ABILITIES:
        asked = _ABILITIES[ask.capability]
        return tuple(dict.fromkeys((*_IN_PLAY[ask.tools, ask.images], asked)))
    return _IN_PLAY[ask.tools, ask.images]
