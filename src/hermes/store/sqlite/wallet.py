"""Wallets: the ledger, the holds, and each person's balance, written in the same transaction.

A turn's begin places a hold here and its commit ends it; operators grant and refund.
"""

import asyncio
from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from hermes.errors import Conflict, GuardFailed, NoCredits, NotFound, PersonErased
from hermes.message.referral_code import code_from
from hermes.ports.turns import Charge, CreditHold
from hermes.ports.wallet import (
    Audit,
    BookedLine,
    Difference,
    LedgerLine,
    NewGrant,
    NewReferral,
    NewRefund,
    Wallet,
)
from hermes.store.sqlite.connection import Database
from hermes.store.sqlite.engine import Engine, encode
from hermes.store.sqlite.queries import load
from hermes.store.sqlite.seal import Sealer

_SQL = load("wallet")
_Found = TypeVar("_Found")
_CHECKS = {
    "audit_balances": "the balance is not the ledger's sum minus open holds",
    "audit_people": "a wallet for every person, and a person for every wallet",
    "audit_captures": "a capture without a message of the same person",
    "audit_repeated": "booked more than once",
    "audit_refunds": "a refund of what was not captured",
    "audit_holds": "a hold that should have ended",
    "audit_signs": "a line with the wrong sign or kind",
}


class _Note(msgspec.Struct, frozen=True, omit_defaults=True):
    """Who booked a line, and why; encrypted like everything written about a person."""

    by: str = ""
    reason: str = ""


_decode_note = msgspec.json.Decoder(_Note).decode


def add_wallet(db: Database, sealer: Sealer, person_id: str) -> None:
    """Create the wallet and referral code of a new person."""
    db.execute(_SQL["add"], (person_id, _free_code(db, sealer, person_id)))


def add_codes(db: Database, sealer: Sealer) -> None:
    """Create referral codes for everyone in an older database."""
    sealer.load_digest_key(db)
    for (person_id,) in db.rows(_SQL["without_code"]):
        db.execute(_SQL["set_code"], (person_id, _free_code(db, sealer, person_id)))


def _free_code(db: Database, sealer: Sealer, person_id: str) -> str:
    name = f"referral:{person_id}"
    code = code_from(sealer.digest(name.encode()))
    while db.row(_SQL["code_is_taken"], (code,)) is not None:
        name += "+"
        code = code_from(sealer.digest(name.encode()))
    return code


def forget_code(db: Database, person_id: str) -> None:
    """Detach the referral code of an erased person."""
    db.execute(_SQL["forget_code"], (person_id,))


def set_aside(
    db: Database, hold: CreditHold, *, message_id: str, at: float, sealer: Sealer
) -> None:
    """Hold credits for a message, once; raises `NoCredits` if a limited wallet lacks them."""
    db.execute(_SQL["hold"], (message_id, hold.person_id, hold.amount, at))
    if db.changes() == 0:  # an earlier attempt of the turn created it
        return
    query = _SQL["take_limited" if hold.limited else "take"]
    taken = (hold.person_id, hold.amount)
    db.execute(query, taken)
    if db.changes() == 1:
        return
    if db.row(_SQL["balance"], (hold.person_id,)) is None:
        add_wallet(db, sealer, hold.person_id)
    if hold.limited:
        _open(db, hold, message_id=message_id, at=at)
    db.execute(query, taken)
    if db.changes() != 1:
        balance = int(db.one(_SQL["balance"], (hold.person_id,)))
        raise NoCredits(balance=balance, price=hold.amount)


def _open(db: Database, hold: CreditHold, *, message_id: str, at: float) -> None:
    """Make the balance a limit: an earlier debt is forgiven, the start grant is booked."""
    person_id = hold.person_id
    db.execute(_SQL["open"], (person_id,))
    if db.changes() == 0:
        return
    _forgive(db, person_id, name=message_id, at=at)
    if hold.start_grant:
        _book(db, person_id, name=f"start:{person_id}", amount=hold.start_grant, at=at)


def _forgive(db: Database, person_id: str, *, name: str, at: float) -> None:
    """Forgive what a person owes: without a limit they could not know."""
    owed = -int(db.one(_SQL["balance"], (person_id,)))
    if owed > 0:
        _book(db, person_id, name=f"opening:{name}", amount=owed, at=at)


def _grant(
    db: Database, person_id: str, *, name: str, amount: int, at: float, note: int | None = None
) -> None:
    """Book a grant that is worth its amount, even if no limit applies yet."""
    if amount > 0 and db.row(_SQL["is_limited"], (person_id,)) is None:
        _forgive(db, person_id, name=name, at=at)
    _book(db, person_id, name=name, amount=amount, at=at, note=note)


def move_credits(db: Database, source: str, target: str, *, name: str, at: float) -> int:
    """Move credits with a channel that is linked to another person; return how many.

    The rest of the start grant stays behind: otherwise linking many channels would collect many.
    """
    row = db.row(_SQL["get"], (source,))
    start = db.row(_SQL["line"], (f"start:{source}", "grant"))
    amount = 0 if row is None else int(row[1]) - (0 if start is None else int(start[3]))
    if amount <= 0:
        return 0
    _book(db, source, name=f"moved-out:{name}", amount=-amount, at=at)
    _grant(db, target, name=f"moved-in:{name}", amount=amount, at=at)
    return amount


def end_hold(db: Database, message_id: str, *, charge: Charge | None, at: float) -> None:
    """End the hold of a message: captured, or released."""
    held = db.row(_SQL["end_hold"], (message_id,))
    person_id, back = ("", 0) if held is None else held
    if charge is not None and charge.captured:
        person_id, back = charge.person_id, back - charge.amount
        db.execute(
            _SQL["book"], (charge.person_id, "capture", -charge.amount, message_id, at, None)
        )
        if db.changes() != 1:
            raise GuardFailed(f"message {message_id} was captured before")
    if back:
        db.execute(_SQL["give"], (person_id, back))


def _book(
    db: Database,
    person_id: str,
    *,
    name: str,
    amount: int,
    at: float,
    kind: str = "grant",
    note: int | None = None,
) -> bool:
    """Write a line of the ledger and update the balance; False if it exists."""
    db.execute(_SQL["book"], (person_id, kind, amount, name, at, note))
    if db.changes() == 0:
        return False
    db.execute(_SQL["give"], (person_id, amount))
    return True


class SqliteWallets:
    """Implements `ports.wallet.WalletStore`; `open_reader` opens the file for long reads."""

    def __init__(self, engine: Engine, *, open_reader: Callable[[], Database]) -> None:
        self._engine = engine
        self._open_reader = open_reader

    async def get(self, person_id: str) -> Wallet | None:
        """Return a person's wallet; None for an unknown id."""
        row = self._engine.reader.row(_SQL["get"], (person_id,))
        return None if row is None else _wallet(row)

    async def owner(self, code: str) -> str | None:
        """Return the person whose referral code this is."""
        row = self._engine.reader.row(_SQL["owner"], (code,))
        return None if row is None else str(row[0])

    async def lines(self, person_id: str, *, limit: int) -> tuple[LedgerLine, ...]:
        """Return the newest lines of a person's ledger, newest first."""
        reader = self._engine.reader
        rows = reader.rows(_SQL["lines"], (person_id, limit))
        return tuple(_line(row, self._read_note(reader, row[5])) for row in rows)

    async def grant(self, grant: NewGrant) -> BookedLine:
        """Book a grant, once; the same id for another person or amount raises `Conflict`."""

        def unit(db: Database) -> BookedLine:
            person_id, amount = grant.person_id, grant.amount
            changed = db.row(_SQL["line"], (grant.id, "grant")) is None
            if changed:
                note = self._put_note(db, person_id, by=grant.by, reason=grant.reason)
                _grant(db, person_id, name=grant.id, amount=amount, at=grant.at, note=note)
            booked = self._booked(db, grant.id, kind="grant", changed=changed)
            if (booked.person_id, booked.line.amount) != (person_id, amount):
                raise Conflict(
                    f"The grant {grant.id} is another one: {booked.line.amount} credits for "
                    f"{booked.person_id}. Use another id."
                )
            return booked

        return await self._engine.writer.run("grant_credits", unit)

    async def refund(self, refund: NewRefund) -> BookedLine:
        """Refund what a message cost, once; raises `NotFound` if nothing was captured."""

        def unit(db: Database) -> BookedLine:
            name = refund.message_id
            row = db.row(_SQL["line"], (name, "capture"))
            if row is None:
                raise NotFound(
                    f"Nothing was captured for {name[:80]!r}, so nothing can be refunded."
                )
            person_id, amount = str(row[0]), -int(row[3])
            changed = db.row(_SQL["line"], (name, "refund")) is None
            if changed:
                note = self._put_note(db, person_id, by=refund.by, reason=refund.reason)
                _book(
                    db, person_id, name=name, amount=amount, at=refund.at, kind="refund", note=note
                )
            return self._booked(db, name, kind="refund", changed=changed)

        return await self._engine.writer.run("refund_credits", unit)

    async def refer(self, referral: NewReferral) -> bool:
        """Record whose code a person used and book the bonuses; False if they used one before."""

        def unit(db: Database) -> bool:
            person_id, owner = referral.person_id, referral.referred_by
            db.execute(_SQL["refer"], (person_id, owner))
            if db.changes() != 1:
                return False
            referred = int(db.one(_SQL["count_referred"], (owner,)))
            if referral.bonus:
                name, at = f"referral:{person_id}", referral.at
                _grant(db, person_id, name=name, amount=referral.bonus, at=at)
                if referred <= referral.most:
                    _grant(db, owner, name=f"referred:{person_id}", amount=referral.bonus, at=at)
            return True

        return await self._engine.writer.run("refer", unit)

    async def poorest(self, *, below: int | None, limit: int) -> tuple[Wallet, ...]:
        """Return the wallets with the lowest balances, and their users."""
        rows = await self._beside(lambda db: db.rows(_SQL["poorest"], (below, limit)))
        found: dict[str, Wallet] = {}
        for *row, user in rows:
            wallet = found.get(row[0]) or _wallet(tuple(row))
            users = wallet.users if user is None else (*wallet.users, str(user))
            found[row[0]] = msgspec.structs.replace(wallet, users=users)
        return tuple(found.values())

    async def audit(self, *, limit: int) -> Audit:
        """Compare every balance with the ledger and the holds, and each line with its message."""
        return await self._beside(lambda db: audit_books(db, limit=limit))

    async def _beside(self, work: Callable[[Database], _Found]) -> _Found:
        """Read in a separate thread and transaction: a consistent view that does not block."""

        def read() -> _Found:
            db = self._open_reader()
            try:
                db.execute("BEGIN")
                return work(db)
            finally:
                db.close()

        return await asyncio.to_thread(read)

    def _put_note(self, db: Database, person_id: str, *, by: str, reason: str) -> int:
        try:
            return self._engine.sealer.put(db, person_id, encode(_Note(by, reason)))
        except PersonErased as error:
            raise NotFound(
                f"{person_id} was erased or never existed: nothing can be booked for them."
            ) from error

    def _read_note(self, db: Database, note: int | None) -> _Note:
        content = None if note is None else self._engine.sealer.get(db, note)
        return _Note() if content is None else _decode_note(content)

    def _booked(self, db: Database, name: str, *, kind: str, changed: bool) -> BookedLine:
        row = db.row(_SQL["line"], (name, kind))
        assert row is not None
        balance = int(db.one(_SQL["balance"], (row[0],)))
        line = _line(row, self._read_note(db, row[5]))
        return BookedLine(person_id=row[0], line=line, balance=balance, changed=changed)


# Any: SQLite's values, in the order of the columns that the queries name.
def _wallet(row: tuple[Any, ...]) -> Wallet:
    return Wallet(
        person_id=row[0],
        balance=row[1],
        held=row[2],
        is_limited=bool(row[3]),
        had_start=bool(row[4]),
        code=row[5],
        referred_by=row[6],
        referred=row[7],
    )


# Any: as above.
def _line(row: tuple[Any, ...], note: _Note) -> LedgerLine:
    return LedgerLine(
        id=row[1], kind=row[2], amount=row[3], at=row[4], by=note.by, reason=note.reason
    )


def audit_books(db: Database, *, limit: int) -> Audit:
    """Compare every balance with the ledger and the holds, and each line with its message."""
    wallets, lines, holds, total = db.rows(_SQL["totals"])[0]
    found = [
        Difference(what=what, id=str(row[0]), expected=row[1], found=row[2])
        for query, what in _CHECKS.items()
        for row in db.rows(_SQL[query])
    ]
    return Audit(
        wallets=wallets,
        lines=lines,
        holds=holds,
        total=total,
        wrong=len(found),
        differences=tuple(found[:limit]),
    )
