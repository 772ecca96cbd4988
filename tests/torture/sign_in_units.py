"""The units of people who sign in, for `store_kills`: what each does, and what stands before it."""

from collections.abc import Awaitable, Callable

from hermes.ports.access import Newcomer, NewSession
from hermes.ports.store import Store
from hermes.testing.manual_time import ManualClock

Act = Callable[[Store, ManualClock], Awaitable[object]]
OPEN, NEW = b"i" * 32, b"n" * 32
FIRST, SECOND, THIRD = b"1" * 32, b"2" * 32, b"3" * 32
WEEK_S = 7 * 86_400.0


def _session(digest: bytes, clock: ManualClock) -> NewSession:
    now = clock.now()
    return NewSession(digest=digest, label="a phone", now=now, expires_at=now + WEEK_S)


async def _invite_with(store: Store, clock: ManualClock, digest: bytes, user: str) -> None:
    now = clock.now()
    await store.access.invite(
        digest, Newcomer(user=user), role="person", at=now, expires_at=now + WEEK_S
    )


async def prepare_sign_ins(store: Store, clock: ManualClock) -> None:
    """Let somebody be invited, and be signed in in two browsers."""
    await _invite_with(store, clock, OPEN, "gil")
    for digest in (FIRST, SECOND):
        await store.access.admit(Newcomer(user="gil", name="Gil"), _session(digest, clock))


async def _invite(store: Store, clock: ManualClock) -> None:
    if not await store.access.check("invite", NEW, now=clock.now()):
        await _invite_with(store, clock, NEW, "hal")


async def _withdraw(store: Store, clock: ManualClock) -> None:
    for one in await store.access.list("invite"):
        await store.access.withdraw(one.id)


async def _admit(store: Store, clock: ManualClock) -> None:
    if not await store.access.check("session", THIRD, now=clock.now()):
        await store.access.admit(Newcomer(user="ida", name="Ida"), _session(THIRD, clock))


async def _end_sessions(store: Store, clock: ManualClock) -> None:
    await store.access.end_sessions_of("gil")


UNITS: dict[str, Act] = {
    "store.invite": _invite,
    "store.withdraw": _withdraw,
    "store.admit": _admit,
    "store.end_sessions": _end_sessions,
}
