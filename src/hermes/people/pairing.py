"""Pairing codes and their limits: an operator lets in a stranger whom they know.

Pure. A code has 5 random bits in each of its unambiguous letters; the store keeps its keyed hash
and applies these rules inside its transaction. An open code is never withdrawn for somebody else,
so the rules keep room for newcomers instead.
"""

import re
from collections.abc import Callable
from ipaddress import ip_address, ip_network

import msgspec

from hermes.config import PairingSettings
from hermes.ports.pairing import PairingAskResult, PairingBacklog, WrongCodes
from hermes.texts.say import words

LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
"""32 letters and digits, without 0 and O, 1 and I."""
LENGTH = 8
# The end of a Matrix server's name, if it has a port.
_PORT = re.compile(r":[0-9]{1,5}\Z")
# Below these of a country, names are sold one by one (example.co.uk).
_SHARED = frozenset({"ac", "co", "com", "edu", "gov", "ne", "net", "or", "org"})
_COUNTRY = 2
_IPV4, _V4_BITS, _V6_BITS = 4, 24, 48
_LABELS = 2


class CodeLimits(msgspec.Struct, frozen=True, kw_only=True):
    """The limits of one kind of code; implements `ports.people.CodeRules`.

    At most `most_open` codes are open, and `share` of them on one platform.
    """

    length: int = LENGTH
    valid_s: float = 3_600.0
    interval_s: float = 600.0
    most_open: int = 1_000
    share: int = 1_000
    most_failures: int = 5
    lock_s: float = 3_600.0
    quiet_s: float = 86_400.0

    def asking(self, seen: PairingBacklog, now: float) -> PairingAskResult:
        """Return whether a stranger may get a code now.

        A message whose turn was cut off asks again for the same request: its code was never shown.
        If there is no room for a new code, the sender's own open code stays good.
        """
        if seen.is_same_message:
            return PairingAskResult("again")
        if seen.asked_at is not None and now < seen.asked_at + self.interval_s:
            return PairingAskResult("early", seen.asked_at + self.interval_s)
        if self._has_room(seen):
            return PairingAskResult("new")
        if seen.code_until:
            return PairingAskResult("early", seen.code_until)
        return PairingAskResult("full", seen.free_at)

    def _has_room(self, seen: PairingBacklog) -> bool:
        """Return whether a code may be opened for a sender beside those of the others.

        Whoever had a code in the last day gets another only in the first half of the room. Senders
        of one domain get codes only while they have fewer than are left, so they never take all.
        """
        taken = len(seen.others)
        share = self.share if seen.asked_at is None else (self.share + 1) // 2
        if taken >= share or seen.everywhere >= self.most_open:
            return False
        domain = domain_of(seen.user_id)
        neighbours = sum(domain_of(other) == domain for other in seen.others) if domain else 0
        return neighbours < self.share - taken

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
"""The limits as they are unless somebody sets others."""


def pairing_limits(settings: PairingSettings, *, platforms: int = 1) -> CodeLimits:
    """Return the limits that an operator set, with an equal share for each of the platforms."""
    return CodeLimits(
        length=settings.code_length,
        valid_s=settings.valid_s,
        interval_s=settings.interval_s,
        most_open=settings.max_open,
        share=max(1, settings.max_open // max(1, platforms)),
        most_failures=settings.max_failures,
        lock_s=settings.lock_s,
    )


def domain_of(user_id: str) -> str:
    """Return the domain whose owner makes such ids, in its last two labels; empty if none does.

    Ids such as ada@mail.example.org and @ada:example.org cost the owner of a domain nothing, and neither
    do the ports and addresses of a machine: those of one network are one owner's.
    """
    host = user_id.partition(":")[2] if user_id.startswith("@") else user_id.rpartition("@")[2]
    if "@" not in user_id:
        return ""
    name = _PORT.sub("", host.lower()).strip("[]").rstrip(".")
    try:
        address = ip_address(name)
    except ValueError:
        labels = name.split(".")
        is_shared = len(labels[-1]) == _COUNTRY and labels[-2:-1] and labels[-2] in _SHARED
        return ".".join(labels[-(_LABELS + bool(is_shared)) :])
    bits = _V4_BITS if address.version == _IPV4 else _V6_BITS
    return str(ip_network((address, bits), strict=False))


def make_code(random_bytes: Callable[[int], bytes], length: int = LENGTH) -> str:
    """Return a new code."""
    return "".join(LETTERS[byte % len(LETTERS)] for byte in random_bytes(length))


LET_IN = words("You are let in now. Write to me, and I will answer.")
"""The notice for a stranger whose code was approved."""


def spoken(code: str) -> str:
    """Return a code in the form shown to people."""
    half = len(code) // 2
    return f"{code[:half]}-{code[half:]}"


def read_code(text: str, length: int = LENGTH) -> str | None:
    """Parse a code that somebody wrote; None if it cannot be one."""
    code = "".join(text.upper().replace("-", " ").split())
    return code if len(code) == length and set(code) <= set(LETTERS) else None
