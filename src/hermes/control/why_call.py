"""The story of a call of `/v1`, which is no message: read from its one line of the journal, and told.

The line holds ids, names and numbers, never what was said. `why.py` makes the report of it.
"""

import re

import msgspec

from hermes.control.why_answer import clock_time, span
from hermes.errors import (
    AnswerInvalid,
    ProviderError,
    ProviderRejected,
    ProviderTimeout,
    ProviderUnavailable,
    StreamTruncated,
)
from hermes.message.reply import Usage
from hermes.ports.keys import CallerKey
from hermes.ports.steps import TimelineEvent

CALL = "call"
# What /v1 puts before the id of a call; the items of a response have a number after it.
_WIRE_ID = re.compile(r"(?:resp_|chatcmpl-|cmpl-|msg_)(v_[0-9a-z]+)(?:_[0-9]+)?")
_ANSWERED = "answered"
# The caller hung up before the end.
_LEFT = "left"
_OF_MODELS = frozenset(
    kind.code
    for kind in (
        ProviderError,
        ProviderUnavailable,
        ProviderRejected,
        ProviderTimeout,
        StreamTruncated,
        AnswerInvalid,
    )
)


class CallTry(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One candidate that was called: `provider:model`, its rule, and how it failed, if it did.

    `deployment` names the key or address, if the provider has several.
    """

    model: str
    rule: str = ""
    deployment: str = ""
    problem: str | None = None
    status: int | None = None


class CallStory(msgspec.Struct, frozen=True, kw_only=True):
    """What `/v1` writes of a call.

    `wanted` is the model as the caller named it; `outcome` is `answered`, `left`, or the code of
    the error; `key` is the id of the caller's key, empty for the operator's own token.
    """

    wanted: str
    outcome: str
    ms: float
    user: str = ""
    key: str = ""
    attempts: tuple[CallTry, ...] = ()
    tokens_in: int = 0
    tokens_out: int = 0
    cost_usd: float = 0.0
    unpriced: int = 0
    cached_from: str | None = None
    limit: str | None = None

    @property
    def model(self) -> str | None:
        """The model that answered."""
        answered = self.outcome == _ANSWERED and self.attempts
        return self.attempts[-1].model if answered else None

    @property
    def deployment(self) -> str | None:
        """The deployment that answered, if the provider has several."""
        return (self.attempts[-1].deployment or None) if self.model else None

    @property
    def usage(self) -> Usage:
        """What all tries took together."""
        return Usage(
            self.tokens_in, self.tokens_out, cost_usd=self.cost_usd, unpriced=self.unpriced
        )


class WhyKey(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Whose key a call showed; user and label are the operator's own words for it."""

    id: str
    user: str = ""
    label: str = ""
    hint: str = ""


def story_of(event: TimelineEvent) -> CallStory | None:
    """Return the story in a line of the journal; None when another version wrote it."""
    try:
        return msgspec.convert(event.data, CallStory)
    except msgspec.ValidationError:
        return None


def call_id_of(name: str) -> str:
    """Return the id of the call in an id that `/v1` gave a client; any other id as it is."""
    found = _WIRE_ID.fullmatch(name)
    return found[1] if found else name


def response_id_of(call_id: str) -> str:
    """Return the id under which the response to a call is stored, if it is."""
    return f"resp_{call_id}"


def stored_text(until: float | None) -> str:
    """Return whether the messages of a call are stored."""
    if until is None:
        return "The messages of this call are not stored."
    return f"The response is stored for its key until {clock_time(until)}."


def whose_key(story: CallStory, keys: tuple[CallerKey, ...]) -> WhyKey | None:
    """Return what is known of the key that a call showed."""
    if not story.key:
        return None
    for key in keys:
        if key.id == story.key:
            return WhyKey(id=key.id, user=key.user, label=key.label, hint=key.hint)
    return WhyKey(id=story.key, user=story.user)


def call_answer(story: CallStory | None, key: WhyKey | None, *, at: float) -> str:
    """Return the outcome of a call in one sentence."""
    if story is None:
        return f"A call of /v1 at {clock_time(at)}, written by another version of Hermes."
    pieces = [_ending(story)]
    failed = sum(one.problem is not None for one in story.attempts)
    if failed:
        pieces.append("1 try failed" if failed == 1 else f"{failed} tries failed")
    pieces.append(cost_text(story.usage))
    pieces.append(f"key {key_text(key)}" if key else "by the operator's token")
    return "; ".join(pieces) + "."


def cost_text(usage: Usage) -> str:
    """Return what a usage cost; an unknown price is said, never shown as nothing."""
    known = f"${usage.cost_usd:.6f}" if usage.cost_usd else ""
    if usage.unpriced:
        unknown = f"price unknown for {usage.unpriced:,} tokens"
        return f"{known}, {unknown}" if known else unknown
    return known or "no cost"


def key_text(key: WhyKey) -> str:
    """Return a key as people know it."""
    names = [key.label] if key.label else []
    names += [f"user {key.user}"] if key.user else []
    names += [f"ends in {key.hint}"] if key.hint else []
    return f"{key.id} ({', '.join(names)})" if names else key.id


def _ending(story: CallStory) -> str:
    took = span(story.ms / 1000)
    if story.outcome == _ANSWERED:
        by = f" by {story.model}" if story.model else ""
        memory = f", from memory: the answer of {story.cached_from}" if story.cached_from else ""
        return f"Answered after {took}{by}{memory}"
    if story.outcome == _LEFT:
        return f"Left by the caller after {took}, before its end"
    has_failed = story.attempts or story.outcome in _OF_MODELS
    why = f"{story.outcome}: {story.limit}" if story.limit else story.outcome
    return f"{'Failed' if has_failed else 'Refused'} after {took} ({why})"
