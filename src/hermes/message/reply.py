"""The reply to the person, and its usage."""

from typing import Final, Literal

import msgspec

from hermes.message.choices import SessionChoices
from hermes.message.offer import NewOffer
from hermes.message.outcome import Outcome
from hermes.message.parts import Part, text_of
from hermes.message.rewind import Rewind
from hermes.message.thoughts import without_thoughts

STOPPED: Final = "(stopped)"
"""The text in place of, or after, a reply that was stopped."""


class Usage(msgspec.Struct, frozen=True, omit_defaults=True):
    """Tokens and money of one or more model calls.

    `cached_in` were read from a service's prompt cache and `cache_written` written to it; both are
    part of `tokens_in`. Only the cost of the latter is stored, not their number. `unpriced` are
    tokens whose price is unknown: they are not part of the cost, and not free.
    """

    tokens_in: int = 0
    tokens_out: int = 0
    cached_in: int = 0
    reasoning_out: int = 0
    cost_usd: float = 0.0
    unpriced: int = 0
    cache_written: int = 0

    def plus(self, other: "Usage") -> "Usage":
        """Return the sum of both."""
        return Usage(
            self.tokens_in + other.tokens_in,
            self.tokens_out + other.tokens_out,
            self.cached_in + other.cached_in,
            self.reasoning_out + other.reasoning_out,
            self.cost_usd + other.cost_usd,
            self.unpriced + other.unpriced,
            self.cache_written + other.cache_written,
        )


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """The end of a turn as the person sees it; `silent` replies are stored but not delivered.

    `earned` is true if it contains model text or tool output, which is what a credit pays for.
    `code` is the error's, if one ended the turn. `usage` and `model` are those of a call that was
    cut off, as far as known; `platform_usage` is what the platform pays of it. `note` is what the model must know on its next turn about a command
    that it never saw. `choices` are what the session's people chose with that command. `rewind` is
    how that command changes the earlier conversation; with `compacts` it is summed up. If `ends` is set, the session ends with it
    for a reason that its next message is told. One that `is_notice` is not the model's, and says itself
    that the turn was stopped. `offer` are the answers that are shown as buttons with it. One that
    `is_passing` says something of the moment and may vanish from the chat.
    """

    parts: tuple[Part, ...]
    outcome: Outcome = Outcome.ANSWERED
    reason: str | None = None
    code: str | None = None
    silent: bool = False
    earned: bool = False
    usage: Usage = Usage()
    platform_usage: Usage = Usage()
    model: str | None = None
    note: str = ""
    choices: SessionChoices | None = None
    rewind: Rewind | None = None
    compacts: bool = False
    ends: Literal["restarts"] | None = None
    is_notice: bool = False
    offer: NewOffer | None = None
    is_passing: bool = False

    @property
    def text(self) -> str:
        """The plain text of the reply."""
        return without_thoughts(text_of(self.parts))
