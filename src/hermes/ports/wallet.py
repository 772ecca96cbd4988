"""The wallet port: what people have left, and the ledger behind it.

Holds and captures are no methods here: they are part of the unit that begins a turn and of the one
that ends it. A balance is read from one row, whatever the length of the ledger.
"""

from typing import Literal, Protocol

import msgspec

LedgerKind = Literal["grant", "capture", "refund"]


class Wallet(msgspec.Struct, frozen=True, kw_only=True):
    """What one person has: `balance` is the ledger's sum minus what is `held` for running turns.

    `is_limited` says that the balance was the limit of the person's last message, `had_start` that
    the start grant was given; `code` is what newcomers bring, None once the person was erased;
    `referred` is how many did.
    """

    person_id: str
    balance: int
    held: int = 0
    is_limited: bool = False
    had_start: bool = False
    code: str | None = None
    referred_by: str | None = None
    referred: int = 0
    users: tuple[str, ...] = ()


class LedgerLine(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One grant, capture or refund; `id` is the message's, or the grant's own."""

    id: str
    kind: LedgerKind
    amount: int
    at: float
    reason: str = ""
    by: str = ""


class NewGrant(msgspec.Struct, frozen=True, kw_only=True):
    """Credits to give, or with a negative amount to take back; the same id counts once."""

    id: str
    person_id: str
    amount: int
    at: float
    reason: str = ""
    by: str = ""


class NewRefund(msgspec.Struct, frozen=True, kw_only=True):
    """The wish to give back what one message cost."""

    message_id: str
    at: float
    reason: str = ""
    by: str = ""


class BookedLine(msgspec.Struct, frozen=True, kw_only=True):
    """A line in the ledger, and the balance after it; `changed` says whether it is new."""

    person_id: str
    line: LedgerLine
    balance: int
    changed: bool


class NewReferral(msgspec.Struct, frozen=True, kw_only=True):
    """Who uses whose code; its owner gets the bonus for the first `most` people only."""

    person_id: str
    referred_by: str
    bonus: int
    most: int
    at: float


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """Something in the books that is not as it has to be."""

    what: str
    id: str
    expected: int | None = None
    found: int | None = None


class Audit(msgspec.Struct, frozen=True, kw_only=True):
    """What was checked and what was found; `differences` are the first of `wrong`."""

    wallets: int
    lines: int
    holds: int
    total: int
    wrong: int = 0
    differences: tuple[Difference, ...] = ()


class WalletStore(Protocol):
    """Wallets and their ledger."""

    async def get(self, person_id: str) -> Wallet | None:
        """Return a person's wallet; None if nobody has this id."""
        ...

    async def owner(self, code: str) -> str | None:
        """Return the person whose referral code this is."""
        ...

    async def lines(self, person_id: str, *, limit: int) -> tuple[LedgerLine, ...]:
        """Return the newest lines of a person's ledger, the newest first."""
        ...

    async def grant(self, grant: NewGrant) -> BookedLine:
        """Book a grant, once; the same id for another person or amount raises `Conflict`."""
        ...

    async def refund(self, refund: NewRefund) -> BookedLine:
        """Give back what a message cost, once; raises `NotFound` when nothing was captured."""
        ...

    async def refer(self, referral: NewReferral) -> bool:
        """Note whose code a person brings and book the bonuses; false if they had brought one."""
        ...

    async def poorest(self, *, below: int | None, limit: int) -> tuple[Wallet, ...]:
        """Return the wallets with the least in them, and the users they belong to."""
        ...

    async def audit(self, *, limit: int) -> Audit:
        """Compare every balance with the ledger and the holds, and each line with its message."""
        ...
