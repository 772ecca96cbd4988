"""The operator's view of credits: who has how many, grants, refunds, and whether the books balance.

It words and checks the orders; what is booked is a unit of the store.
"""

import msgspec
import structlog

from hermes.config import CreditSettings
from hermes.control.consent import find_person
from hermes.errors import BadRequest, Conflict
from hermes.message.ids import MakeId
from hermes.message.referral_code import spoken
from hermes.people.credits import terms_for
from hermes.people.referral import bring_code
from hermes.people.wallet import start_to_come
from hermes.ports.clock import Clock
from hermes.ports.ids import whole_id
from hermes.ports.request_numbers import WholeNumber
from hermes.ports.store import Store
from hermes.ports.wallet import Audit, BookedLine, LedgerLine, NewGrant, NewRefund, Wallet

_log = structlog.get_logger(__name__)
_LINES_SHOWN = 10
_DIFFERENCES_SHOWN = 100
_MOST_LISTED = 10_000
_LARGEST = 10**9
_LONGEST_REASON = 500
_LONGEST_ID = 100


class WalletAsk(msgspec.Struct, frozen=True, kw_only=True):
    """Whose wallet; `user` is `platform:user_id`, or the id of a person."""

    user: str


class WalletsAsk(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """How many wallets, those with the least first; only those with less than `below`."""

    below: WholeNumber | None = None
    limit: WholeNumber = 50


class GrantOrder(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Credits to give, or to take back; an order of the same `id` counts once."""

    user: str
    amount: WholeNumber
    reason: str = ""
    id: str = ""
    by: str = ""


class RefundOrder(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The wish to give back what a message cost."""

    message: str
    reason: str = ""
    by: str = ""


class ReferOrder(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The referral code of a new person, for sign-ups outside of a chat."""

    user: str
    code: str
    by: str = ""


class WalletReport(msgspec.Struct, frozen=True, kw_only=True):
    """The state of a person: `start_to_come` is given with the next message, if one is due."""

    user: str
    person_id: str
    tier: str
    is_limited: bool
    price: int
    balance: int
    held: int
    start_to_come: int
    referral_code: str | None
    referred_by: str | None
    referred: int
    lines: tuple[LedgerLine, ...]


class WalletsReport(msgspec.Struct, frozen=True, kw_only=True):
    """Wallets, those with the least in them first."""

    wallets: tuple[Wallet, ...] = ()


class BookedReport(msgspec.Struct, frozen=True, kw_only=True):
    """A line in the ledger; `changed` is False if it was already there."""

    person_id: str
    line: LedgerLine
    balance: int
    changed: bool


class ReferralReport(msgspec.Struct, frozen=True, kw_only=True):
    """A code that counts; `changed` is false when it did before."""

    person_id: str
    referred_by: str
    bonus: int
    balance: int
    changed: bool


class CreditOperations:
    """Where operators' orders about credits arrive."""

    def __init__(
        self, store: Store, settings: CreditSettings, *, clock: Clock, make_id: MakeId
    ) -> None:
        self._store = store
        self._settings = settings
        self._clock = clock
        self._make_id = make_id

    async def show(self, ask: WalletAsk) -> WalletReport:
        """Return the state of a person, with the newest lines of their ledger."""
        store = self._store
        person = await find_person(store.people, ask.user)
        terms = terms_for(person.tier, self._settings)
        wallet = await store.wallets.get(person.id) or Wallet(person_id=person.id, balance=0)
        return WalletReport(
            user=ask.user,
            person_id=person.id,
            tier=person.tier,
            is_limited=terms.limited,
            price=terms.price,
            balance=wallet.balance,
            held=wallet.held,
            start_to_come=start_to_come(wallet, terms),
            referral_code=None if wallet.code is None else spoken(wallet.code),
            referred_by=wallet.referred_by,
            referred=wallet.referred,
            lines=await store.wallets.lines(person.id, limit=_LINES_SHOWN),
        )

    async def list(self, ask: WalletsAsk) -> WalletsReport:
        """Return the wallets with the least in them."""
        if not 1 <= ask.limit <= _MOST_LISTED:
            raise BadRequest(f"{ask.limit} wallets: expected a number from 1 to {_MOST_LISTED:,}.")
        wallets = await self._store.wallets.poorest(below=ask.below, limit=ask.limit)
        return WalletsReport(wallets=wallets)

    async def grant(self, order: GrantOrder) -> BookedReport:
        """Give a person credits, or take some back."""
        _check(order)
        person = await find_person(self._store.people, order.user)
        grant = NewGrant(
            id=f"grant:{order.id}" if order.id else self._make_id("g"),
            person_id=person.id,
            amount=order.amount,
            at=self._clock.now(),
            reason=order.reason,
            by=order.by,
        )
        booked = await self._store.wallets.grant(grant)
        return _told("credits_granted", booked, by=order.by)

    async def refund(self, order: RefundOrder) -> BookedReport:
        """Give back what a message cost."""
        _check_reason(order.reason)
        timeline = await self._store.timeline(order.message) if order.message else None
        if timeline is None:
            whole = await whole_id(self._store.ids, order.message, "message")
            timeline = None if whole is None else await self._store.timeline(whole)
        message = None if timeline is None else timeline.message
        if message is not None and message.merged_into is not None:
            raise Conflict(
                f"{message.id} is part of {message.merged_into}, which paid for both: refund that."
            )
        refund = NewRefund(
            message_id=order.message if message is None else message.id,
            at=self._clock.now(),
            reason=order.reason,
            by=order.by,
        )
        return _told("credits_refunded", await self._store.wallets.refund(refund), by=order.by)

    async def refer(self, order: ReferOrder) -> ReferralReport:
        """Book a referral code for a new person."""
        store = self._store
        referral = await bring_code(
            store.people,
            store.wallets,
            person=await find_person(store.people, order.user),
            text=order.code,
            settings=self._settings,
            at=self._clock.now(),
        )
        if referral.changed:
            _log.info("referred", person_id=referral.person_id, by=order.by)
        return ReferralReport(
            person_id=referral.person_id,
            referred_by=referral.referred_by,
            bonus=referral.bonus,
            balance=await store.people.balance(referral.person_id),
            changed=referral.changed,
        )

    async def audit(self) -> Audit:
        """Compare every balance with the ledger and the holds, and each line with its message."""
        return await self._store.wallets.audit(limit=_DIFFERENCES_SHOWN)


def _told(event: str, booked: BookedLine, *, by: str) -> BookedReport:
    line = booked.line
    if booked.changed:
        _log.info(event, person_id=booked.person_id, id=line.id, amount=line.amount, by=by)
    return BookedReport(
        person_id=booked.person_id, line=line, balance=booked.balance, changed=booked.changed
    )


def _check(order: GrantOrder) -> None:
    if order.amount == 0 or abs(order.amount) > _LARGEST:
        raise BadRequest(
            f"A grant of {order.amount} credits: expected a number from 1 to {_LARGEST:,}, or a "
            "negative one to take credits back."
        )
    if len(order.id) > _LONGEST_ID:
        raise BadRequest(
            f"The id of the grant has {len(order.id)} characters; write at most {_LONGEST_ID}."
        )
    _check_reason(order.reason)


def _check_reason(reason: str) -> None:
    if len(reason) > _LONGEST_REASON:
        raise BadRequest(
            f"The reason has {len(reason)} characters; write at most {_LONGEST_REASON}."
        )
