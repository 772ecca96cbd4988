"""Pairing codes and their limits: how a stranger is let in by an operator who knows them.

Pure. A code has 40 random bits in letters that nobody confuses; the store keeps its keyed hash and
asks these rules inside its transaction.
"""

from collections.abc import Callable

import msgspec

from hermes.ports.people import Asked, Doorstep, WrongCodes

LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
"""32 letters and digits, without 0 and O, 1 and I."""
LENGTH = 8
_HALF = LENGTH // 2


class CodeLimits(msgspec.Struct, frozen=True, kw_only=True):
    """The numbers of one kind of code; fits `ports.people.CodeRules`."""

    valid_s: float = 3_600.0
    interval_s: float = 600.0
    most_waiting: int = 3
    most_failures: int = 5
    lock_s: float = 3_600.0
    quiet_s: float = 86_400.0

    def asking(self, seen: Doorstep, now: float) -> Asked:
        """Tell whether a stranger may have a code now.

        A message whose turn was cut off asks again for the same request: its code was never told.
        """
        if seen.is_same_message:
            return Asked("again")
        if seen.asked_at is not None and now < seen.asked_at + self.interval_s:
            return Asked("early", seen.asked_at + self.interval_s)
        if seen.waiting >= self.most_waiting:
            return Asked("full")
        return Asked("new")

    def expires_at(self, now: float) -> float:
        """Return until when a code that is made now is good."""
        return now + self.valid_s

    def locked_until(self, codes: WrongCodes, now: float) -> float | None:
        """Return until when no code is taken; None if one is taken now."""
        return codes.locked_until if codes.locked_until > now else None

    def after_wrong(self, codes: WrongCodes, now: float) -> WrongCodes:
        """Return the count with one more wrong code; after a quiet day it begins anew."""
        failures = 1 if now >= codes.last_at + self.quiet_s else codes.failures + 1
        if failures < self.most_failures:
            return WrongCodes(failures, now)
        return WrongCodes(0, now, now + self.lock_s)


PAIRING = CodeLimits()


def make_code(random_bytes: Callable[[int], bytes]) -> str:
    """Return a new code."""
    return "".join(LETTERS[byte % len(LETTERS)] for byte in random_bytes(LENGTH))


LET_IN = "You are let in now. Write to me, and I will answer."
"""What a stranger is told whose code was approved."""


def spoken(code: str) -> str:
    """Return a code as people are shown it."""
    return f"{code[:_HALF]}-{code[_HALF:]}"


def read_code(text: str) -> str | None:
    """Return the code that somebody wrote; None if it can be none."""
    code = "".join(text.upper().replace("-", " ").split())
    return code if len(code) == LENGTH and set(code) <= set(LETTERS) else None
