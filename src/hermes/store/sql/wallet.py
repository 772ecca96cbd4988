"""Wallets: the ledger, the holds, and each person's balance, written in the same transaction.

A turn's begin places a hold here and its commit ends it; operators grant and refund.
"""

from collections.abc import Callable
from typing import Any, Protocol

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
from hermes.store.sql.engine import Engine, encode
from hermes.store.sql.queries import load
from hermes.store.sql.seal import Sealer
from hermes.store.sql.tx import Reads, Result, Rows, Tx

_SQL = load("wallet")
_CHECKS = {
    "audit_balances": "the balance is not the ledger's sum minus open holds",
    "audit_people": "a wallet for every person, and a person for every wallet",
    "audit_captures": "a capture without a message of the same person",
    "audit_repeated": "booked more than once",
    "audit_refunds": "a refund of what was not captured",
    "audit_holds": "a hold that should have ended",
    "audit_signs": "a line with the wrong sign or kind",
}


class Beside(Protocol):
    """Runs plain reads over a consistent state, away from the event loop."""

    async def __call__(self, work: Callable[[Rows], Result], /) -> Result: ...


class _Note(msgspec.Struct, frozen=True, omit_defaults=True):
    """Who booked a line, and why; encrypted like everything written about a person."""

    by: str = ""
    reason: str = ""


_decode_note = msgspec.json.Decoder(_Note).decode


async def add_wallet(tx: Tx, sealer: Sealer, person_id: str) -> None:
    """Create the wallet and referral code of a new person."""
    tx.put(_SQL["add"], person_id, await _free_code(tx, sealer, person_id))


async def add_codes(tx: Tx, sealer: Sealer) -> None:
    """Create referral codes for everyone in an older database."""
    for (person_id,) in await tx.rows(_SQL["without_code"]):
        tx.put(_SQL["set_code"], person_id, await _free_code(tx, sealer, person_id))


async def _free_code(tx: Tx, sealer: Sealer, person_id: str) -> str:
    name = f"referral:{person_id}"
    code = code_from(sealer.digest(name.encode()))
    while await tx.row(_SQL["code_is_taken"], code) is not None:
        name += "+"
        code = code_from(sealer.digest(name.encode()))
    return code


def forget_code(tx: Tx, person_id: str) -> None:
    """Detach the referral code of an erased person."""
    tx.put(_SQL["forget_code"], person_id)


async def set_aside(
    tx: Tx, hold: CreditHold, *, message_id: str, at: float, sealer: Sealer
) -> None:
    """Hold credits for a message, once; raises `NoCredits` if a limited wallet lacks them."""
    if not await tx.changed(_SQL["hold"], message_id, hold.person_id, hold.amount, at):
        # An earlier attempt of the turn created it.
        return
    query = _SQL["take_limited" if hold.limited else "take"]
    taken = (hold.person_id, hold.amount)
    if await tx.changed(query, *taken) == 1:
        return
    if await tx.row(_SQL["balance"], hold.person_id) is None:
        await add_wallet(tx, sealer, hold.person_id)
    if hold.limited:
        await _open(tx, hold, message_id=message_id, at=at)
    if await tx.changed(query, *taken) != 1:
        balance = int(await tx.one(_SQL["balance"], hold.person_id))
        raise NoCredits(balance=balance, price=hold.amount)


async def _open(tx: Tx, hold: CreditHold, *, message_id: str, at: float) -> None:
    """Make the balance a limit: an earlier debt is forgiven, the start grant is booked."""
    person_id = hold.person_id
    if await tx.changed(_SQL["open"], person_id) == 0:
        return
    await _forgive(tx, person_id, name=message_id, at=at)
    if hold.start_grant:
        await _book(tx, person_id, name=f"start:{person_id}", amount=hold.start_grant, at=at)


async def _forgive(tx: Tx, person_id: str, *, name: str, at: float) -> None:
    """Forgive what a person owes: without a limit they could not know."""
    owed = -int(await tx.one(_SQL["balance"], person_id))
    if owed > 0:
        await _book(tx, person_id, name=f"opening:{name}", amount=owed, at=at)


async def _grant(
    tx: Tx, person_id: str, *, name: str, amount: int, at: float, note: int | None = None
) -> None:
    """Book a grant that is worth its amount, even if no limit applies yet."""
    if amount > 0 and await tx.row(_SQL["is_limited"], person_id) is None:
        await _forgive(tx, person_id, name=name, at=at)
    await _book(tx, person_id, name=name, amount=amount, at=at, note=note)


async def move_credits(tx: Tx, source: str, target: str, *, name: str, at: float) -> int:
    """Move credits with a channel that is linked to another person; return how many.

    The rest of the start grant stays behind: otherwise linking many channels would collect many.
    """
    row = await tx.row(_SQL["get"], source)
    start = await tx.row(_SQL["line"], f"start:{source}", "grant")
    amount = 0 if row is None else int(row[1]) - (0 if start is None else int(start[3]))
    if amount <= 0:
        return 0
    await _book(tx, source, name=f"moved-out:{name}", amount=-amount, at=at)
    await _grant(tx, target, name=f"moved-in:{name}", amount=amount, at=at)
    return amount


async def end_hold(tx: Tx, message_id: str, *, charge: Charge | None, at: float) -> None:
    """End the hold of a message: captured, or released."""
    held = await tx.row(_SQL["end_hold"], message_id)
    person_id, back = ("", 0) if held is None else held
    if charge is not None and charge.captured:
        person_id, back = charge.person_id, back - charge.amount
        tx.must(
            _SQL["book"],
            charge.person_id,
            "capture",
            -charge.amount,
            message_id,
            at,
            None,
            error=GuardFailed(f"message {message_id} was captured before"),
        )
    if back:
        tx.put(_SQL["give"], person_id, back)
    if back > 0:
        await _pass_on(tx, person_id, name=message_id, at=at)


async def _pass_on(tx: Tx, person_id: str, *, name: str, at: float) -> None:
    """Move what came back to a person without channels to whoever has these channels now."""
    row = await tx.row(_SQL["heir"], person_id)
    if row is not None:
        await move_credits(tx, person_id, row[0], name=name, at=at)


async def _book(
    tx: Tx,
    person_id: str,
    *,
    name: str,
    amount: int,
    at: float,
    kind: str = "grant",
    note: int | None = None,
) -> bool:
    """Write a line of the ledger and update the balance; False if it exists."""
    if await tx.changed(_SQL["book"], person_id, kind, amount, name, at, note) == 0:
        return False
    tx.put(_SQL["give"], person_id, amount)
    return True


class SqlWallets:
    """Implements `ports.wallet.WalletStore`; `beside` runs long reads, where they block nobody."""

    def __init__(self, engine: Engine, *, beside: Beside) -> None:
        self._engine = engine
        self._beside = beside

    async def get(self, person_id: str) -> Wallet | None:
        """Return a person's wallet; None for an unknown id."""
        row = await self._engine.reads.row(_SQL["get"], person_id)
        return None if row is None else _wallet(row)

    async def owner(self, code: str) -> str | None:
        """Return the person whose referral code this is."""
        row = await self._engine.reads.row(_SQL["owner"], code)
        return None if row is None else str(row[0])

    async def lines(self, person_id: str, *, limit: int) -> tuple[LedgerLine, ...]:
        """Return the newest lines of a person's ledger, newest first."""
        reads = self._engine.reads
        rows = await reads.rows(_SQL["lines"], person_id, limit)
        return tuple(
            [_line(row, await self._read_note(reads, row[5], owner=row[0])) for row in rows]
        )

    async def grant(self, grant: NewGrant) -> BookedLine:
        """Book a grant, once; the same id for another person or amount raises `Conflict`."""

        async def unit(tx: Tx) -> BookedLine:
            person_id, amount = grant.person_id, grant.amount
            changed = await tx.row(_SQL["line"], grant.id, "grant") is None
            if changed:
                note = await self._put_note(tx, person_id, by=grant.by, reason=grant.reason)
                await _grant(tx, person_id, name=grant.id, amount=amount, at=grant.at, note=note)
            booked = await self._booked(tx, grant.id, kind="grant", changed=changed)
            if (booked.person_id, booked.line.amount) != (person_id, amount):
                raise Conflict(
                    f"The grant {grant.id} is another one: {booked.line.amount} credits for "
                    f"{booked.person_id}. Use another id."
                )
            return booked

        return await self._engine.writer.run("grant_credits", unit)

    async def refund(self, refund: NewRefund) -> BookedLine:
        """Refund what a message cost, once; raises `NotFound` if nothing was captured."""

        async def unit(tx: Tx) -> BookedLine:
            name = refund.message_id
            row = await tx.row(_SQL["line"], name, "capture")
            if row is None:
                raise NotFound(
                    f"Nothing was captured for {name[:80]!r}, so nothing can be refunded."
                )
            person_id, amount = str(row[0]), -int(row[3])
            changed = await tx.row(_SQL["line"], name, "refund") is None
            if changed:
                note = await self._put_note(tx, person_id, by=refund.by, reason=refund.reason)
                await _book(
                    tx, person_id, name=name, amount=amount, at=refund.at, kind="refund", note=note
                )
                await _pass_on(tx, person_id, name=f"refund:{name}", at=refund.at)
            return await self._booked(tx, name, kind="refund", changed=changed)

        return await self._engine.writer.run("refund_credits", unit)

    async def refer(self, referral: NewReferral) -> bool:
        """Record whose code a person used and book the bonuses; False if they used one before."""

        async def unit(tx: Tx) -> bool:
            person_id, owner = referral.person_id, referral.referred_by
            if await tx.changed(_SQL["refer"], person_id, owner) != 1:
                return False
            referred = int(await tx.one(_SQL["count_referred"], owner))
            if referral.bonus:
                name, at = f"referral:{person_id}", referral.at
                await _grant(tx, person_id, name=name, amount=referral.bonus, at=at)
                if referred <= referral.most:
                    name = f"referred:{person_id}"
                    await _grant(tx, owner, name=name, amount=referral.bonus, at=at)
                    await _pass_on(tx, owner, name=name, at=at)
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

    async def _put_note(self, tx: Tx, person_id: str, *, by: str, reason: str) -> int:
        try:
            return await self._engine.sealer.put(tx, person_id, encode(_Note(by, reason)))
        except PersonErased as error:
            raise NotFound(
                f"{person_id} was erased or never existed: nothing can be booked for them."
            ) from error

    async def _read_note(self, db: Reads, note: int | None, *, owner: str) -> _Note:
        content = None if note is None else await self._engine.sealer.get(db, note, owner=owner)
        return _Note() if content is None else _decode_note(content)

    async def _booked(self, tx: Tx, name: str, *, kind: str, changed: bool) -> BookedLine:
        row = await tx.row(_SQL["line"], name, kind)
        assert row is not None
        balance = int(await tx.one(_SQL["balance"], row[0]))
        line = _line(row, await self._read_note(tx, row[5], owner=row[0]))
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


def audit_books(db: Rows, *, limit: int) -> Audit:
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
