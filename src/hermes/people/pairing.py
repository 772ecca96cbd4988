"""Pairing codes and their limits: an operator lets in a stranger whom they know.

Pure. A code has 40 random bits in unambiguous letters; the store keeps its keyed hash and applies
these rules inside its transaction.
"""

from collections.abc import Callable

import msgspec

from hermes.ports.pairing import PairingAskResult, PairingBacklog, WrongCodes

LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
"""32 letters and digits, without 0 and O, 1 and I."""
LENGTH = 8
_HALF = LENGTH // 2


class CodeLimits(msgspec.Struct, frozen=True, kw_only=True):
    """The limits of one kind of code; implements `ports.people.CodeRules`."""

    valid_s: float = 3_600.0
    interval_s: float = 600.0
    most_waiting: int = 3
    most_failures: int = 5
    lock_s: float = 3_600.0
    quiet_s: float = 86_400.0

    def asking(self, seen: PairingBacklog, now: float) -> PairingAskResult:
        """Return whether a stranger may get a code now.

        A message whose turn was cut off asks again for the same request: its code was never shown.
        """
        if seen.is_same_message:
            return PairingAskResult("again")
        if seen.asked_at is not None and now < seen.asked_at + self.interval_s:
            return PairingAskResult("early", seen.asked_at + self.interval_s)
        if seen.waiting >= self.most_waiting:
            return PairingAskResult("full")
        return PairingAskResult("new")

    def expires_at(self, now: float) -> float:
        """Return when a code made now expires."""
        return now + self.valid_s

    def locked_until(self, codes: WrongCodes, now: float) -> float | None:
        """Return until when no code is accepted; None if codes are accepted now."""
        return codes.locked_until if codes.locked_until > now else None

    def after_wrong(self, codes: WrongCodes, now: float) -> WrongCodes:
        """Return the count with one more wrong code; it restarts after a day without any."""
        failures = 1 if now >= codes.last_at + self.quiet_s else codes.failures + 1
        if failures < self.most_failures:
            return WrongCodes(failures, now)
        return WrongCodes(0, now, now + self.lock_s)


PAIRING = CodeLimits()


def make_code(random_bytes: Callable[[int], bytes]) -> str:
    """Return a new code."""
    return "".join(LETTERS[byte % len(LETTERS)] for byte in random_bytes(LENGTH))


LET_IN = "You are let in now. Write to me, and I will answer."
"""The notice for a stranger whose code was approved."""


def spoken(code: str) -> str:
    """Return a code in the form shown to people."""
    return f"{code[:_HALF]}-{code[_HALF:]}"


def read_code(text: str) -> str | None:
    """Parse a code that somebody wrote; None if it cannot be one."""
    code = "".join(text.upper().replace("-", " ").split())
    return code if len(code) == LENGTH and set(code) <= set(LETTERS) else None
