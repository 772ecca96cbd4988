"""Messages as operators list them: by person, channel, agent, model, outcome, cost and time."""

from collections.abc import AsyncIterator, Iterable

import msgspec

from hermes.control.consent import find_person
from hermes.control.sessions import session_id
from hermes.errors import BadRequest
from hermes.message.outcome import MessageState
from hermes.ports.messages import Ending, MessageFilter, MessageLine
from hermes.ports.request_numbers import Instant, Quantity, WholeNumber
from hermes.ports.store import Store

MOST_MESSAGES = 500
# Words of a message that a list shows.
_SHOWN_CHARS = 200


class MessagesAsk(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Which messages; `user` is `platform:user_id`, or the id of a person.

    `before` is the `next` of the page before.
    """

    user: str | None = None
    platform: str | None = None
    agent: str | None = None
    model: str | None = None
    outcome: Ending | None = None
    least_usd: Quantity | None = None
    since: Instant | None = None
    until: Instant | None = None
    before: str | None = None
    limit: WholeNumber = 50


class ListedMessage(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One message; a `cost_usd` of None is unknown, or nothing was called.

    `text` and `reply` are beginnings of what was said, for those who asked for them.
    """

    id: str
    at: float
    person_id: str
    platform: str
    session: str
    lane: str
    state: MessageState
    outcome: Ending | None = None
    duration_s: float | None = None
    agent: str | None = None
    model: str | None = None
    tokens_in: int = 0
    tokens_out: int = 0
    cost_usd: float | None = None
    text: str | None = None
    reply: str | None = None


class MessagesReport(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Messages, the newest first.

    `next` begins the next page. With `searched_to` the search has not found a whole page yet, and has
    looked at everything down to this time; the next page goes on from there.
    """

    messages: tuple[ListedMessage, ...] = ()
    next: str | None = None
    searched_to: float | None = None


class MessageOperations:
    """Where operators list messages."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def list(self, ask: MessagesAsk) -> MessagesReport:
        """Return a page of messages without what was said."""
        return await self._page(ask, has_text=False)

    async def list_with_text(self, ask: MessagesAsk) -> MessagesReport:
        """Return a page of messages, each with the beginning of what was said."""
        return await self._page(ask, has_text=True)

    async def _page(self, ask: MessagesAsk, *, has_text: bool) -> MessagesReport:
        if not 1 <= ask.limit <= MOST_MESSAGES:
            raise BadRequest(f"{ask.limit} messages: expected a number from 1 to {MOST_MESSAGES}.")
        page = await self._store.messages.page(
            await self._filter(ask), before=ask.before, limit=ask.limit
        )
        listed = [self._listed(line) for line in page.messages]
        return MessagesReport(
            messages=tuple([one async for one in self._with_text(listed)] if has_text else listed),
            next=page.next,
            searched_to=page.searched_to,
        )

    async def _filter(self, ask: MessagesAsk) -> MessageFilter:
        person_id = ""
        if ask.user is not None:
            person_id = (await find_person(self._store.people, ask.user)).id
        return MessageFilter(
            person_id=person_id,
            platform=ask.platform or "",
            agent=ask.agent or "",
            model=ask.model or "",
            outcome=ask.outcome,
            least_usd=ask.least_usd,
            since=ask.since,
            until=ask.until,
        )

    def _listed(self, line: MessageLine) -> ListedMessage:
        return ListedMessage(
            id=line.id,
            at=line.at,
            person_id=line.person_id,
            platform=line.platform,
            session=session_id(self._store, line.lane),
            lane=line.lane,
            state=line.state,
            outcome=line.outcome,
            duration_s=None if line.done_at is None else max(0.0, line.done_at - line.at),
            agent=line.agent,
            model=line.model,
            tokens_in=line.tokens_in,
            tokens_out=line.tokens_out,
            cost_usd=line.cost_usd,
        )

    async def _with_text(self, listed: Iterable[ListedMessage]) -> AsyncIterator[ListedMessage]:
        for one in listed:
            record = await self._store.inbox.get(one.id)
            result = await self._store.inbox.result(one.id)
            said = None if record is None or record.event is None else record.event.text
            yield msgspec.structs.replace(
                one,
                text=None if said is None else _beginning(said),
                reply=None if result is None else _beginning(result.text),
            )


def _beginning(text: str) -> str:
    return text if len(text) <= _SHOWN_CHARS else f"{text[: _SHOWN_CHARS - 1]}…"
