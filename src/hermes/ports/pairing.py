"""One-time codes: strangers who ask to be let in, and accounts that people link to themselves."""

from typing import Literal, Protocol

import msgspec

from hermes.ports.people import ChannelMove

Asking = Literal["new", "again", "early", "full"]


class PairingAsk(msgspec.Struct, frozen=True, kw_only=True):
    """An unknown person's request to be let in; only they receive the `code`."""

    platform: str
    user_id: str
    person_id: str
    message_id: str
    code: str
    at: float


class PairingAskResult(msgspec.Struct, frozen=True):
    """The outcome of a wish: only `new` and `again` make the code count; `until` is when to ask.

    It is 0 if nobody can say when.
    """

    asking: Asking
    until: float = 0.0


class PairingRequest(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An unknown person who waits to be let in; only they know the code."""

    platform: str
    user_id: str
    person_id: str
    asked_at: float
    expires_at: float
    name: str | None = None


class PairingBacklog(msgspec.Struct, frozen=True, kw_only=True):
    """What a stranger's wish meets: their own request of the last day, and who else waits.

    `code_until` is when their own open code expires; 0 if they have none. `others` wait on the
    platform, by user id; the first of their codes expires at `free_at`. `everywhere` counts others
    on all platforms.
    """

    user_id: str
    asked_at: float | None = None
    code_until: float = 0.0
    is_same_message: bool = False
    others: tuple[str, ...] = ()
    free_at: float = 0.0
    everywhere: int = 0


class WrongCodes(msgspec.Struct, frozen=True):
    """How many wrong codes there were, the last one when, and until when none is taken."""

    failures: int = 0
    last_at: float = 0.0
    locked_until: float = 0.0


class PairingCodeResult(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The result of a code: `wrong` has used up one of the tries, `locked` was not checked.

    `told_on` is the channel on which its owner will be notified, if they can be.
    """

    verdict: Literal["right", "wrong", "locked", "own"]
    platform: str = ""
    user_id: str = ""
    person_id: str = ""
    moved: ChannelMove | None = None
    until: float = 0.0
    failures: int = 0
    told_on: str = ""


class CodeRules(Protocol):
    """The limits on one-time codes, as pure policy."""

    def asking(self, seen: PairingBacklog, now: float) -> PairingAskResult:
        """Return whether a stranger may have a code now."""
        ...

    def expires_at(self, now: float) -> float:
        """Return until when a code that is made now is good."""
        ...

    def locked_until(self, codes: WrongCodes, now: float) -> float | None:
        """Return until when no code is taken; None if one is taken now."""
        ...

    def after_wrong(self, codes: WrongCodes, now: float) -> WrongCodes:
        """Return the count with one more wrong code."""
        ...


class PairingStore(Protocol):
    """One-time codes, kept as keyed hashes only."""

    async def ask(self, ask: PairingAsk, *, rules: CodeRules) -> PairingAskResult:
        """Store an unknown person's request to be let in, if the rules allow it."""
        ...

    async def waiting(
        self, now: float, *, platform: str | None = None
    ) -> tuple[PairingRequest, ...]:
        """Return who waits to be let in, the longest waiting first."""
        ...

    async def locks(self, now: float) -> dict[str, float]:
        """Return the platforms whose approvals are locked, each with its end."""
        ...

    async def approve(
        self, platform: str, code: str, *, at: float, rules: CodeRules, tell: str = ""
    ) -> PairingCodeResult:
        """Let in whoever was told this code there; a wrong one uses up a try of the platform.

        They are told `tell` in the chat in which they asked, if replies are sent to it at all: the
        same unit writes that delivery.
        """
        ...

    async def deny(self, platform: str, user_id: str) -> bool:
        """Make a waiting request's code worthless; false if nobody waits."""
        ...

    async def make_link_code(
        self, person_id: str, code: str, *, lets_in: bool, at: float, rules: CodeRules
    ) -> None:
        """Keep a code with which the person links another channel; it replaces one before.

        `lets_in` says that the person was let in themselves, so that the other channel is, too.
        """
        ...

    async def use_link_code(
        self,
        code: str,
        *,
        platform: str,
        user_id: str,
        message_id: str,
        at: float,
        rules: CodeRules,
    ) -> PairingCodeResult:
        """Link a channel to the person who made the code; a wrong one uses up a try of the sender.

        The same message again gets the same answer.
        """
        ...
