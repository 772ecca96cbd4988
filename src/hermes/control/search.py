"""What was said, as the operator finds it: over all people, or narrowed down."""

from collections.abc import Callable

import msgspec

from hermes.control.consent import find_person
from hermes.errors import BadRequest
from hermes.ports.request_numbers import Instant, WholeNumber
from hermes.ports.search import IndexState, Search, SearchAsk, SearchResult
from hermes.ports.store import Store

# Told how the index stands while it is made again.
Tell = Callable[[IndexState], None]


class SearchOrder(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What to look for; `user` is `platform:user_id`, or the id of a person."""

    text: str
    words: bool = False
    user: str | None = None
    agent: str | None = None
    platform: str | None = None
    since: Instant | None = None
    limit: WholeNumber = 20


class SearchOperations:
    """Where operators' searches arrive.

    Without a gateway nobody else fills the index: then `fills` is true, and it is done first.
    """

    def __init__(self, store: Store, search: Search | None, *, fills: bool = False) -> None:
        self._store = store
        self._search = search
        self._fills = fills

    async def find(self, order: SearchOrder) -> SearchResult:
        """Return what was found, the newest first."""
        search = self._index()
        person_id = None
        if order.user is not None:
            person_id = (await find_person(self._store.people, order.user)).id
        ask = SearchAsk(
            text=order.text,
            mode="words" if order.words else "anywhere",
            limit=order.limit,
            person_id=person_id,
            agent=order.agent,
            platform=order.platform,
            since=order.since,
        )
        while self._fills and await search.fill():
            pass
        return await search.find(ask)

    async def state(self) -> IndexState:
        """Return the state of the index."""
        return await self._index().state()

    async def rebuild(self, tell: Tell | None = None) -> IndexState:
        """Throw the index away and begin to make it again; without a gateway it is whole then."""
        search = self._index()
        await search.rebuild()
        while self._fills and await search.fill():
            if tell is not None:
                tell(await search.state())
        return await search.state()

    async def erased(self, person_id: str) -> None:
        """Remove what a person said who was erased."""
        if self._search is not None:
            await self._search.erased(person_id)

    def _index(self) -> Search:
        if self._search is None:
            raise BadRequest(
                "Search is off in this home: set search.enabled to true in config.yaml, and start "
                "the gateway again."
            )
        return self._search
