"""The units of operators' orders for `store_kills`: what each does, and what stands before it."""

from collections.abc import Awaitable, Callable

from hermes.message.outcome import DeliveryState
from hermes.message.parts import TextPart
from hermes.ports.audit import AuditLimits, AuditRow
from hermes.ports.channel import Target
from hermes.ports.operations import ModelSwap
from hermes.ports.sends import NewSend
from hermes.ports.store import Store
from hermes.testing.manual_time import ManualClock
from tests.torture.people_units import person_of

Act = Callable[[Store, ManualClock], Awaitable[object]]
TABLES = {
    "audit": "id, actor, action, targets, state, code",
    "paused_channels": "platform",
}
TOKEN = b"t" * 32
# Two browsers: the token signed the first one in, which signed the second one in.
BROWSER, SECOND = b"b" * 32, b"c" * 32
DEAD = ("o_again", "o_never")
RETURNED = "o_back"
IN_DOUBT = "o_doubt"
PASSING = "o_passing"


async def prepare_orders(store: Store, clock: ManualClock) -> None:
    """Let an order have begun, a platform rest, two replies be dead, one sent and one in doubt.

    A token and two browsers are known.
    """
    await store.audit.begin(_row("a_old", clock), limits=AuditLimits())
    await store.paused.pause("resting", at=clock.now())
    await store.access.add("token", TOKEN, label="ci", expires_at=None, role="operator")
    for digest, parent in ((BROWSER, TOKEN), (SECOND, BROWSER)):
        await store.access.add(
            "session", digest, label="a browser", expires_at=None, role="owner", parent=parent
        )
    for name in (*DEAD, RETURNED, IN_DOUBT, PASSING):
        send = NewSend(
            id=name,
            message_id=name,
            person_id=await person_of(store, "ann"),
            target=Target(platform="gone", account="a", chat_id=name),
            parts=(TextPart("hello"),),
            state=DeliveryState.PENDING,
            at=clock.now(),
            purpose="notice",
            vanish_s=5.0 if name == PASSING else 0.0,
        )
        await store.sends.put(send, kept=lambda _: None)
    for name in DEAD:
        await store.outbox.dead(name, failure="rejected", at=clock.now())
    for name in (RETURNED, IN_DOUBT, PASSING):
        await store.outbox.sending(name, chunk=0, at=clock.now())
    for name in (RETURNED, PASSING):
        await store.outbox.chunk_sent(
            name, chunk=0, platform_message_id="x", last=True, at=clock.now()
        )


def _row(name: str, clock: ManualClock) -> AuditRow:
    return AuditRow(id=name, at=clock.now(), actor="local:olga", role="owner", action="keys.create")


async def _begin(store: Store, clock: ManualClock) -> None:
    known = {row.id for row in await store.audit.page(since=0.0, actor="", action="", limit=10)}
    if "a_new" not in known:
        await store.audit.begin(_row("a_new", clock), limits=AuditLimits())


async def _end(store: Store, clock: ManualClock) -> None:
    await store.audit.end("a_old", "ok", code="", targets=("k_1",), at=clock.now())


async def _pause(store: Store, clock: ManualClock) -> None:
    await store.paused.pause("tired", at=clock.now())


async def _swap(store: Store, clock: ManualClock) -> None:
    await store.model_swap.set(ModelSwap(model="house:large", at=clock.now()))


async def _resume(store: Store, clock: ManualClock) -> None:
    await store.paused.resume("resting", at=clock.now())


async def _replay(store: Store, clock: ManualClock) -> None:
    await store.dead_letters.replay("o_again", at=clock.now())


async def _drop(store: Store, clock: ManualClock) -> None:
    await store.dead_letters.drop("o_never", at=clock.now())


async def _lapse(store: Store, clock: ManualClock) -> None:
    await store.dead_letters.lapse(clock.now() + 1, at=clock.now(), limit=10)


async def _vanish(store: Store, clock: ManualClock) -> None:
    (change,) = await store.offers.changes("gone", clock.now() + 60.0, limit=9) or (None,)
    if change is not None:
        await store.offers.changed(change)


async def _returned(store: Store, clock: ManualClock) -> None:
    await store.outbox.returned(
        RETURNED, platform="gone", chunk=0, failure="rejected", status="5.7.1", at=clock.now()
    )


async def _arrived(store: Store, clock: ManualClock) -> None:
    await store.outbox.arrived(
        IN_DOUBT,
        platform="gone",
        chunk=0,
        is_fresh=False,
        platform_message_id="y",
        at=clock.now(),
    )


async def _revoke(store: Store, clock: ManualClock) -> None:
    for token in await store.access.list("token"):
        await store.access.revoke(token.id)


async def _revoke_all(store: Store, clock: ManualClock) -> None:
    await store.access.revoke_all("session")


async def _sign_out(store: Store, clock: ManualClock) -> None:
    await store.access.sign_out(BROWSER)


async def _touch(store: Store, clock: ManualClock) -> None:
    await store.access.touch("session", SECOND, at=clock.now())


UNITS: dict[str, Act] = {
    "store.begin_audit": _begin,
    "store.end_audit": _end,
    "store.pause_channel": _pause,
    "store.resume_channel": _resume,
    "store.swap_model": _swap,
    "store.delivery_replay": _replay,
    "store.delivery_drop": _drop,
    "store.letters_lapse": _lapse,
    "store.post_changed": _vanish,
    "store.delivery_returned": _returned,
    "store.delivery_arrived": _arrived,
    "store.revoke_credential": _revoke,
    "store.revoke_credentials": _revoke_all,
    "store.sign_out": _sign_out,
    "store.touch_credential": _touch,
}
