"""Orders to make an answer again from what was frozen, and the replays that were made."""

import re
from collections.abc import Awaitable, Callable
from typing import Final

import msgspec

from hermes.errors import BadRequest, Conflict, NotFound
from hermes.pipeline.replays.answers import AnswerSide, ReplaySpec, ReplayStory, diff_lines
from hermes.ports.ids import whole_id
from hermes.ports.replays import ReplayQuery, ReplayRecord
from hermes.ports.request_numbers import Quantity, WholeNumber
from hermes.ports.store import Store

MOST_REPLAYS: Final = 1_000
MOST_PROMPT_CHARS: Final = 200_000
_LABEL: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")
_decode = msgspec.json.Decoder(ReplayStory).decode
# Runs a replay to its end and returns its id; raises if it cannot begin.
RunReplay = Callable[[ReplaySpec], Awaitable[str]]


class ReplayOrder(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Which message is answered again, and with what instead of what was frozen.

    `system` takes the place of the agent's own prompt. Tools answer from the record, or run for real
    with `live_tools`. After `max_usd` no further model call is made. Replays of a set have a `label`.
    """

    message: str
    model: str = ""
    system: str | None = None
    live_tools: bool = False
    max_usd: Quantity | None = None
    label: str = ""
    by: str = ""


class ReplaysAsk(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Which replays: of a message, or of a set, before the id of another one."""

    message: str = ""
    label: str = ""
    before: str = ""
    limit: WholeNumber = 20


class ReplayAsk(msgspec.Struct, frozen=True, kw_only=True):
    """Which replay, by its id or a part of it."""

    id: str


class ReplaysReport(msgspec.Struct, frozen=True, kw_only=True):
    """Replays without what was said, the newest first; `next` is where the next page begins."""

    replays: tuple[ReplayRecord, ...] = ()
    next: str = ""


class ReplayReport(msgspec.Struct, frozen=True, kw_only=True):
    """A replay with both answers, and the lines that differ; `text` says why it ended without one.

    The answers are None while it runs, after it was cut off, and once the person was erased.
    """

    replay: ReplayRecord
    before: AnswerSide | None = None
    after: AnswerSide | None = None
    diff: tuple[str, ...] = ()
    text: str = ""


class ReplayOperations:
    """Where orders about replays arrive; without a gateway nothing can be replayed."""

    def __init__(self, store: Store, run: RunReplay | None) -> None:
        self._store = store
        self._run = run

    async def run(self, order: ReplayOrder) -> ReplayReport:
        """Make an answer again, and return both."""
        _check(order)
        if self._run is None:
            raise Conflict("No gateway runs, so no model can be called: `hermes up` starts one.")
        spec = ReplaySpec(
            message=order.message,
            model=order.model,
            system=order.system,
            is_live=order.live_tools,
            label=order.label,
            max_usd=order.max_usd,
        )
        return await self._report(await self._run(spec))

    async def list(self, ask: ReplaysAsk) -> ReplaysReport:
        """Return replays that were made."""
        if not 1 <= ask.limit <= MOST_REPLAYS:
            raise BadRequest(f"{ask.limit} replays: expected 1 to {MOST_REPLAYS:,}.")
        message = ask.message and (
            await whole_id(self._store.ids, ask.message, "message") or ask.message
        )
        query = ReplayQuery(
            message_id=message, label=ask.label, before=ask.before, limit=ask.limit + 1
        )
        found = await self._store.replays.page(query)
        shown = found[: ask.limit]
        return ReplaysReport(replays=shown, next=shown[-1].id if len(found) > ask.limit else "")

    async def show(self, ask: ReplayAsk) -> ReplayReport:
        """Return a replay with both answers."""
        return await self._report(ask.id)

    async def _report(self, name: str) -> ReplayReport:
        store = self._store
        record = await store.replays.get(name)
        if record is None:
            whole = await whole_id(store.ids, name, "replay")
            record = None if whole is None else await store.replays.get(whole)
        if record is None:
            raise NotFound(f"No replay is known as {name[:80]!r}. `hermes replay list` shows them.")
        story = await store.replays.story(record.id)
        if story is None:
            return ReplayReport(replay=record)
        told = _decode(story)
        return ReplayReport(
            replay=record,
            before=told.before,
            after=told.after,
            diff=diff_lines(told.before.text, told.after.text),
            text=told.text,
        )


def _check(order: ReplayOrder) -> None:
    if order.label and _LABEL.fullmatch(order.label) is None:
        raise BadRequest(
            f"{order.label[:60]!r} is no label: expected up to 40 letters, digits, '.', '_' and '-'."
        )
    if order.max_usd is not None and order.max_usd <= 0:
        raise BadRequest(f"{order.max_usd:g} is no limit of costs: expected more than 0 dollars.")
    if order.system is not None and len(order.system) > MOST_PROMPT_CHARS:
        raise BadRequest(
            f"The prompt has {len(order.system):,} characters: at most {MOST_PROMPT_CHARS:,} are taken."
        )
