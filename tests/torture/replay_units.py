"""The units of replays, for `store_kills`: one that begins, one that spends, and one that ends with its branch."""

from collections.abc import Awaitable, Callable

import msgspec

from hermes.message.chat import ChatMessage, user_text
from hermes.message.parts import TextPart
from hermes.message.reply import Usage
from hermes.ports.provider import ToolSpec
from hermes.ports.replays import REPLAY, NewReplay, ReplayBranch, ReplayEnd
from hermes.ports.spend import PLATFORM, Account, SpendEntry
from hermes.ports.store import Store
from hermes.ports.transcripts import NewCall
from hermes.testing.manual_time import ManualClock
from tests.torture.store_rig import answer

TABLES = {"replays": "id, state, reason, calls, tools_started, tokens_in, change, sealed IS NULL"}
_USER, _MESSAGE = "ron", "m_replayed"


async def prepare_replays(store: Store, clock: ManualClock) -> None:
    """Let an answer have a replay that runs."""
    await answer(store, "replayed", user=_USER, clock=clock, calls=(_call(f"{_MESSAGE}.1", clock),))
    await store.replays.begin(await _replay(store, "rp_old", clock))


def _call(name: str, clock: ManualClock) -> NewCall:
    return NewCall(
        id=name,
        model="m",
        seen=0,
        lead=(user_text("be kind"),),
        start=0,
        at=clock.now(),
        tools=(ToolSpec(name="look", description="", parameters=msgspec.Raw(b"{}")),),
    )


async def _replay(store: Store, name: str, clock: ManualClock) -> NewReplay:
    record = await store.inbox.get(_MESSAGE)
    assert record is not None
    return NewReplay(
        id=name,
        message_id=_MESSAGE,
        person_id=record.person_id,
        graph=f"{_USER}#0",
        agent="main",
        model="m",
        at=clock.now(),
    )


async def _begin(store: Store, clock: ManualClock) -> None:
    if await store.replays.get("rp_new") is None:
        await store.replays.begin(await _replay(store, "rp_new", clock))


async def _step(store: Store, clock: ManualClock) -> None:
    account = Account(person_id=PLATFORM, channel=REPLAY)
    spent = SpendEntry(day="2026-11-15", account=account, model="m", usage=Usage(10, 5))
    await store.replays.step("rp_old", spent=(spent,), tools=1)


async def _end(store: Store, clock: ManualClock) -> None:
    record = await store.replays.get("rp_old")
    frozen = await store.replays.frozen(f"{_USER}#0", _MESSAGE)
    assert record is not None
    assert frozen is not None
    if record.state != "running":
        return
    branch = ReplayBranch(
        frozen=frozen,
        messages=(ChatMessage("assistant", (TextPart("else"),)),),
        calls=(msgspec.structs.replace(_call("rp_old.1", clock), known=(0, 1)),),
    )
    end = ReplayEnd(state="answered", change=0.5, at=clock.now(), story=b"{}", branch=branch)
    await store.replays.end(await _replay(store, "rp_old", clock), end)


UNITS: dict[str, Callable[[Store, ManualClock], Awaitable[object]]] = {
    "store.begin_replay": _begin,
    "store.step_replay": _step,
    "store.end_replay": _end,
}
