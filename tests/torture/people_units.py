"""The units about people for `store_kills`: what each does, and what stands before it."""

from collections.abc import Awaitable, Callable

from hermes.message.outcome import Outcome
from hermes.people.pairing import PAIRING
from hermes.people.reception import LINKING
from hermes.ports.pairing import PairingAsk
from hermes.ports.store import Store
from hermes.testing.manual_time import ManualClock
from tests.torture.store_rig import accept

Act = Callable[[Store, ManualClock], Awaitable[object]]
CODE = "ABCDEFGH"
_GUS = "agent:main:rest:dm:gus"
TABLES = {
    "people": "id, tier, erased_at, may_train, blocked_at",
    "user_channels": "platform, user_id, person_id, activated_at, activated_how, was_person",
    # Hashes are made with a key of the database's own.
    "lanes": "CASE WHEN key LIKE '%:erased-%' THEN 'erased' ELSE key END, person_id, epoch, waiting_on",
    "pairings": "platform, user_id, message_id, asked_at, expires_at, state",
    "link_codes": "person_id, made_at, used_by",
    "wrong_codes": "*",
}


async def person_of(store: Store, user: str) -> str:
    person = await store.people.find("rest", user)
    assert person is not None
    return person.id


async def prepare_people(store: Store, clock: ManualClock) -> None:
    """Let one wait to be let in, one be linked, and one have a code."""
    await _ask(store, clock, user="dee", message_id="m_unserved")
    await store.users.link("rest", "eve", person_id=await person_of(store, "dee"), at=clock.now())
    await store.pairing.make_link_code(
        await person_of(store, "dee"), CODE, lets_in=True, at=clock.now(), rules=LINKING
    )


async def prepare_erased(store: Store, clock: ManualClock) -> None:
    """Erase somebody while their session is at work; it has ended since."""
    await accept(store, "of_gus", user=_GUS, clock=clock)
    await store.people.erase(await person_of(store, _GUS), at=clock.now())
    await store.turns.abandon("m_of_gus", Outcome.REFUSED)


async def _hide(store: Store, clock: ManualClock) -> None:
    await store.people.hide_erased(at=clock.now())


async def _ask(
    store: Store, clock: ManualClock, *, user: str = "ann", message_id: str = "m_ann"
) -> None:
    ask = PairingAsk(
        platform="rest",
        user_id=user,
        person_id=await person_of(store, user),
        message_id=message_id,
        code=CODE,
        at=clock.now(),
    )
    await store.pairing.ask(ask, rules=PAIRING)


async def _add(store: Store, clock: ManualClock) -> None:
    await store.users.add("rest", "newcomer", name="New", at=clock.now())


async def _activate(store: Store, clock: ManualClock) -> None:
    await store.users.set_active("rest", "ann", how="operator", at=clock.now())


async def _block(store: Store, clock: ManualClock) -> None:
    await store.users.set_blocked(await person_of(store, "ann"), blocked=True, at=clock.now())


async def _tier(store: Store, _clock: ManualClock) -> None:
    await store.users.set_tier(await person_of(store, "ann"), "pro")


async def _link(store: Store, clock: ManualClock) -> None:
    await store.users.link("rest", "ann", person_id=await person_of(store, "dee"), at=clock.now())


async def _unlink(store: Store, clock: ManualClock) -> None:
    if await person_of(store, "eve") == await person_of(store, "dee"):
        await store.users.unlink("rest", "eve", at=clock.now())


async def _approve(store: Store, clock: ManualClock) -> None:
    settled = await store.pairing.approve(
        "rest", CODE, at=clock.now(), rules=PAIRING, tell="you are let in"
    )
    # Whoever is let in is told in the same unit, or neither has happened.
    assert bool(settled.told_on) == (settled.verdict == "right")


async def _deny(store: Store, _clock: ManualClock) -> None:
    await store.pairing.deny("rest", "dee")


async def _make_code(store: Store, clock: ManualClock) -> None:
    await store.pairing.make_link_code(
        await person_of(store, "ann"), CODE[::-1], lets_in=True, at=clock.now(), rules=LINKING
    )


async def _use_code(store: Store, clock: ManualClock) -> None:
    await store.pairing.use_link_code(
        CODE, platform="rest", user_id="ann", message_id="m_1", at=clock.now(), rules=LINKING
    )


UNITS: dict[str, Act] = {
    "store.add_user": _add,
    "store.hide": _hide,
    "store.set_active": _activate,
    "store.set_blocked": _block,
    "store.set_tier": _tier,
    "store.link_channel": _link,
    "store.unlink_channel": _unlink,
    "store.ask_pairing": _ask,
    "store.approve_pairing": _approve,
    "store.deny_pairing": _deny,
    "store.make_link_code": _make_code,
    "store.use_link_code": _use_code,
}
