"""One-time codes: for strangers who want to be let in, and for linking another account.

Only a keyed hash of a code is stored. Each method is one transaction that checks and counts the
limits, so that no two requests can pass the same limit.
"""

import hmac
from typing import NamedTuple

import msgspec

from hermes.message.channel_name import platform_of
from hermes.message.chat import ChatMessage
from hermes.message.outcome import DeliveryState
from hermes.message.parts import TextPart
from hermes.ports.channel import Target
from hermes.ports.outbox import NewDelivery
from hermes.ports.pairing import (
    CodeRules,
    PairingAsk,
    PairingAskResult,
    PairingBacklog,
    PairingCodeResult,
    PairingRequest,
    WrongCodes,
)
from hermes.ports.people import ChannelMove
from hermes.store.sql.commit import write_delivery
from hermes.store.sql.engine import Engine, encode
from hermes.store.sql.places import name_place
from hermes.store.sql.queries import load
from hermes.store.sql.tx import Tx
from hermes.store.sql.users import SqlUsers, link_channel, shown_name

_SQL = load("pairing")
_USERS = load("users")
_WAITING = "waiting"
_PAIR, _LINK = "pair", "link"
# Counts older than this no longer matter under any rules.
_COUNTS_KEPT_S = 86_400.0
# Whoever had a code in this time before is no newcomer.
_REQUESTS_KEPT_S = 86_400.0
_decode_target = msgspec.json.Decoder(Target).decode


class SqlPairing:
    """Implements `ports.people.PairingStore`."""

    def __init__(self, engine: Engine, *, users: SqlUsers) -> None:
        self._engine = engine
        self._users = users

    async def ask(self, ask: PairingAsk, *, rules: CodeRules) -> PairingAskResult:
        """Store a stranger's request, if the rules allow it."""

        async def unit(tx: Tx) -> PairingAskResult:
            asked = rules.asking(await _doorstep(tx, ask), ask.at)
            if asked.asking in ("new", "again"):
                tx.put(_SQL["trim_requests"], ask.at - _REQUESTS_KEPT_S)
                tx.put(_SQL["put_request"], *self._request(ask, rules))
            return asked

        return await self._engine.writer.run("ask_pairing", unit)

    async def waiting(
        self, now: float, *, platform: str | None = None
    ) -> tuple[PairingRequest, ...]:
        """Return who waits to be let in, longest waiting first."""
        rows = await self._engine.reads.rows(_SQL["waiting"], now, platform or "")
        return tuple(
            [
                PairingRequest(
                    platform=row[0],
                    user_id=row[1],
                    person_id=row[2],
                    asked_at=row[3],
                    expires_at=row[4],
                    name=await shown_name(
                        self._engine, row[2], row[5], place=name_place(row[0], row[1])
                    ),
                )
                for row in rows
            ]
        )

    async def locks(self, now: float) -> dict[str, float]:
        """Return the platforms whose approvals are locked, and until when."""
        return dict(await self._engine.reads.rows(_SQL["locks"], now))

    async def approve(
        self, platform: str, code: str, *, at: float, rules: CodeRules, tell: str = ""
    ) -> PairingCodeResult:
        """Let in the person who got this code there, and notify them in that chat.

        A wrong code uses up a try of the platform.
        """
        platform = platform_of(platform)

        async def unit(tx: Tx) -> PairingCodeResult:
            tries = await _tries(tx, (_PAIR, platform, ""), rules=rules, at=at)
            until = tries.locked_until()
            if until is not None:
                return PairingCodeResult(verdict="locked", platform=platform, until=until)
            found = await self._whose(tx, platform, code, at=at)
            if found is None:
                return _count_wrong(tx, tries)
            tx.put(_SQL["settle"], platform, found.user_id, "approved", b"")
            tx.put(_USERS["activate"], platform, found.user_id, "paired", at)
            told_on = await self._tell(tx, found, text=tell, at=at) if tell else ""
            return PairingCodeResult(
                verdict="right",
                platform=platform,
                user_id=found.user_id,
                person_id=found.person_id,
                told_on=told_on,
            )

        return await self._engine.writer.run("approve_pairing", unit)

    async def deny(self, platform: str, user_id: str) -> bool:
        """Invalidate a waiting request's code; False if nobody waits."""

        async def unit(tx: Tx) -> bool:
            changed = await tx.changed(
                _SQL["settle"], platform_of(platform), user_id, "denied", b""
            )
            return changed == 1

        return await self._engine.writer.run("deny_pairing", unit)

    async def make_link_code(
        self, person_id: str, code: str, *, lets_in: bool, at: float, rules: CodeRules
    ) -> None:
        """Store a code that links another account to the person; replaces an earlier one."""

        async def unit(tx: Tx) -> None:
            tx.put(_SQL["trim_link_codes"], at)
            tx.put(_SQL["drop_unused"], person_id)
            until = rules.expires_at(at)
            tx.put(_SQL["add_link_code"], self._link_digest(code), person_id, at, until, lets_in)

        await self._engine.writer.run("make_link_code", unit)

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
        """Link an account to the person who made the code.

        A wrong code uses up a try of the sender. The same message again gets the same answer.
        """
        digest = self._link_digest(code)

        async def unit(tx: Tx) -> PairingCodeResult:
            tries = await _tries(tx, (_LINK, platform, user_id), rules=rules, at=at)
            found = await tx.row(_SQL["link_code"], digest, at)
            if found is not None and found[1] == message_id:
                return _linked(await _moved_before(tx, platform, user_id, person_id=found[0]))
            until = tries.locked_until()
            if until is not None:
                return PairingCodeResult(verdict="locked", platform=platform, until=until)
            if found is None or found[1] is not None:
                return _count_wrong(tx, tries)
            moved = await link_channel(
                tx,
                platform,
                user_id,
                person_id=found[0],
                sealer=self._engine.sealer,
                lets_in=bool(found[2]),
                at=at,
            )
            if moved.before == moved.after:
                return PairingCodeResult(verdict="own", platform=platform, person_id=moved.after)
            tx.put(_SQL["use_link_code"], digest, message_id)
            self._engine.feed.put(tx, "people", moved.after)
            return _linked(moved)

        return await self._engine.writer.run("use_link_code", unit, after=self._users.moved)

    # The columns of `put_request`, in their order.
    def _request(self, ask: PairingAsk, rules: CodeRules) -> tuple[str | bytes | float, ...]:
        return (
            ask.platform,
            ask.user_id,
            ask.person_id,
            ask.message_id,
            self._pair_digest(ask.platform, ask.user_id, code=ask.code),
            ask.at,
            rules.expires_at(ask.at),
        )

    async def _whose(self, tx: Tx, platform: str, code: str, *, at: float) -> "_Stranger | None":
        """Return who got a code; compares every waiting one in constant time."""
        found = None
        for *who, digest in await tx.rows(_SQL["digests"], platform, at):
            if hmac.compare_digest(digest, self._pair_digest(platform, who[0], code=code)):
                found = _Stranger(*who)
        return found

    async def _tell(self, tx: Tx, who: "_Stranger", *, text: str, at: float) -> str:
        """Write a delivery to the chat in which somebody asked; return its channel, or nothing if none
        can be sent."""
        row = await tx.row(_SQL["where_asked"], who.message_id)
        if row is None:
            return ""
        parts = (TextPart(text),)
        target = _decode_target(row[1])
        write_delivery(
            tx,
            NewDelivery(
                id=f"{row[0]}.paired",
                target=target,
                parts=parts,
                state=DeliveryState.PENDING,
                purpose="notice",
            ),
            message_id=who.message_id,
            person_id=who.person_id,
            body=await self._engine.sealer.put(
                tx, who.person_id, encode(ChatMessage("assistant", parts))
            ),
            at=at,
        )
        return target.platform

    def _pair_digest(self, platform: str, user_id: str, *, code: str) -> bytes:
        return self._engine.sealer.digest(encode((_PAIR, platform, user_id, code)))

    def _link_digest(self, code: str) -> bytes:
        return self._engine.sealer.digest(encode((_LINK, code)))


class _Stranger(NamedTuple):
    """A person who waits to be let in, and the message by which they asked."""

    user_id: str
    person_id: str
    message_id: str


class _Tries(NamedTuple):
    """The count of wrong codes of one platform or sender at the start of the transaction."""

    key: tuple[str, str, str]
    codes: WrongCodes
    rules: CodeRules
    at: float

    def locked_until(self) -> float | None:
        """Return until when no code is accepted; None if codes are accepted now."""
        return self.rules.locked_until(self.codes, self.at)


async def _tries(tx: Tx, key: tuple[str, str, str], *, rules: CodeRules, at: float) -> _Tries:
    row = await tx.row(_SQL["wrong"], *key)
    return _Tries(key, WrongCodes() if row is None else WrongCodes(*row), rules, at)


def _count_wrong(tx: Tx, tries: _Tries) -> PairingCodeResult:
    """Count one more wrong code."""
    key, codes, rules, at = tries
    codes = rules.after_wrong(codes, at)
    tx.put(_SQL["trim_wrong"], key[0], at - _COUNTS_KEPT_S, at)
    tx.put(_SQL["put_wrong"], *key, codes.failures, codes.last_at, codes.locked_until)
    until = rules.locked_until(codes, at) or 0.0
    return PairingCodeResult(verdict="wrong", platform=key[1], until=until, failures=codes.failures)


async def _doorstep(tx: Tx, ask: PairingAsk) -> PairingBacklog:
    others = await tx.rows(_SQL["others_waiting"], ask.platform, ask.user_id, ask.at)
    elsewhere = int(await tx.one(_SQL["waiting_elsewhere"], ask.platform, ask.at))
    seen = PairingBacklog(
        user_id=ask.user_id,
        others=tuple(user_id for user_id, _ in others),
        free_at=others[0][1] if others else 0.0,
        everywhere=len(others) + elsewhere,
    )
    row = await tx.row(_SQL["request"], ask.platform, ask.user_id, ask.at - _REQUESTS_KEPT_S)
    if row is None:
        return seen
    asked_at, message_id, state, until = row
    is_open = state == _WAITING and until > ask.at
    return msgspec.structs.replace(
        seen,
        asked_at=asked_at,
        code_until=until if is_open else 0.0,
        is_same_message=message_id == ask.message_id and state == _WAITING,
    )


async def _moved_before(tx: Tx, platform: str, user_id: str, *, person_id: str) -> ChannelMove:
    row = await tx.row(_USERS["owner"], platform, user_id)
    before = person_id if row is None else row[1] or person_id
    return ChannelMove(platform=platform, user_id=user_id, before=before, after=person_id)


def _linked(moved: ChannelMove) -> PairingCodeResult:
    return PairingCodeResult(
        verdict="right",
        platform=moved.platform,
        user_id=moved.user_id,
        person_id=moved.after,
        moved=moved,
    )
