"""The unit of compaction, for `store_kills`: a conversation whose older part was summed up."""

from collections.abc import Awaitable, Callable

from hermes.message.chat import user_text
from hermes.message.reply import Usage
from hermes.ports.compaction import COMPACT
from hermes.ports.memory import NewJob
from hermes.ports.spend import PLATFORM, Account, SpendEntry
from hermes.ports.store import Store
from hermes.ports.transcripts import Compaction
from hermes.testing.manual_time import ManualClock
from tests.torture.store_rig import answer

_USER = "gus"
_FAR_S = 7 * 86_400.0


async def prepare_long(store: Store, clock: ManualClock) -> None:
    """Let somebody have a conversation of which a part is to be summed up."""
    for name in ("long1", "long2"):
        await answer(store, name, user=_USER, clock=clock)
    record = await store.inbox.get("m_long1")
    assert record is not None
    job = NewJob(
        kind=COMPACT,
        key=f"{COMPACT}:{_USER}#0",
        lane=_USER,
        epoch=0,
        person_id=record.person_id,
        due_at=clock.now() + 1.0,
        latest_at=clock.now() + 1.0,
    )
    await answer(store, "long3", user=_USER, clock=clock, job=job)


async def _finish(store: Store, clock: ManualClock) -> None:
    for job in await store.jobs.due(clock.now() + _FAR_S, limit=9, kinds=(COMPACT,)):
        part = await store.compactions.older(job, lambda _found: 2, limit=1_000_000)
        assert part is not None
        account = Account(person_id=PLATFORM, channel=COMPACT)
        spent = SpendEntry(day="2026-11-15", account=account, model="m", usage=Usage(10, 5))
        made = Compaction(start=0, stop=part.stop, message=user_text("in short"), by="m")
        await store.compactions.finish(job, made, source=part.source, at=clock.now(), spent=[spent])


UNITS: dict[str, Callable[[Store, ManualClock], Awaitable[object]]] = {
    "store.finish_compaction": _finish,
}
