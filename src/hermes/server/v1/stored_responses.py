"""Stores responses for the keys that may, and continues them: the storage of `/v1/responses`.

A response is stored before its end is sent, so whoever has all of it can continue it. A key sees
only its own responses; all others do not exist for it.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from functools import partial

import msgspec
import structlog

from hermes.calls.events import CallEvent, FullAnswer
from hermes.config import CallSettings
from hermes.errors import (
    BadRequest,
    PreviousResponseNotFound,
    ResponseNotFound,
    ResponseNotStored,
    StoreError,
    TooLarge,
)
from hermes.ports.clock import Clock
from hermes.ports.responses import NewResponse, ResponseOwner, ResponseStore, StoredResponse
from hermes.server.v1.callers import ApiCaller
from hermes.server.v1.dialect import Stamp, WireCall
from hermes.server.v1.responses_in import (
    DecodedRequest,
    decode_request,
    echo_of,
    read_request,
    request_of,
)
from hermes.server.v1.responses_out import response_id
from hermes.server.v1.responses_shape import MAX_ITEMS
from hermes.server.v1.responses_stream import ResponsesStream
from hermes.server.v1.stored_items import StoredItems, joined, read_items, split

# Reading a conversation back costs a row for each of its responses.
MAX_DEPTH = 1_000
_DAY_S = 86_400.0
_log = structlog.get_logger(__name__)


class StoredResponses:
    """Reads, continues and stores the responses of callers."""

    def __init__(self, store: ResponseStore, *, settings: CallSettings, clock: Clock) -> None:
        self._store = store
        self._settings = settings
        self._clock = clock

    async def read(self, body: bytes, headers: Mapping[str, str], *, caller: ApiCaller) -> WireCall:
        """Return the request in a body, with what it continues; raises `Refused`."""
        owner = _owner(caller)
        if owner is None:
            return read_request(body, headers)
        decoded = decode_request(body)
        if decoded.body.store is not False and len(body) > self._settings.max_stored_bytes:
            raise TooLarge(
                f"The request has {len(body)} bytes, and at most {self._settings.max_stored_bytes}"
                " are stored for a key (v1.max_stored_bytes): send `store: false`."
            )
        context = await self._context(decoded, owner, size=len(body))
        return request_of(decoded, headers, context=context)

    async def keep(self, call: WireCall, answer: bytes, *, caller: ApiCaller, stamp: Stamp) -> None:
        """Store the answer to a call, as it will be sent; raises `ResponseNotStored`."""
        owner, echo, now = _owner(caller), echo_of(call), self._clock.now()
        assert owner is not None
        name = response_id(stamp)
        items, rest = split(name, answer, given=echo.input)
        new = NewResponse(
            id=name,
            owner=owner,
            items=items,
            answer=rest,
            at=now,
            expires_at=now + self._settings.response_days * _DAY_S,
            previous=echo.previous,
        )
        keep, keep_bytes = self._settings.max_stored_responses, self._settings.max_stored_bytes
        try:
            await self._store.put(new, keep=keep, keep_bytes=keep_bytes)
        except StoreError as error:
            _log.warning("response_not_stored", call=stamp.id, problem=str(error))
            raise ResponseNotStored from error

    def stream(
        self,
        call: WireCall,
        events: AsyncGenerator[CallEvent, None],
        *,
        caller: ApiCaller,
        stamp: Stamp,
    ) -> tuple[ResponsesStream, AsyncGenerator[CallEvent, None]]:
        """Return the writer of an answer, and its events; the last one comes once it is stored."""
        writer = ResponsesStream(call, stamp)
        keep = partial(self.keep, call, caller=caller, stamp=stamp)
        return writer, _kept(events, writer=writer, keep=keep)

    async def answer(self, response_id: str, *, caller: ApiCaller) -> bytes:
        """Return a response as it was sent; raises `ResponseNotFound`."""
        stored = await self._find(response_id, caller)
        return joined(stored.items, stored.answer)

    async def conversation(self, response_id: str, *, caller: ApiCaller) -> Sequence[StoredItems]:
        """Return the items of a conversation up to a response; raises `ResponseNotFound`."""
        found, owner = await self._find(response_id, caller), _owner(caller)
        assert owner is not None
        return [read_items(one) for one in await self._store.chain(found, owner=owner)]

    async def delete(self, response_id: str, *, caller: ApiCaller) -> None:
        """Delete a response; raises `ResponseNotFound`."""
        owner, now = _owner(caller), self._clock.now()
        if owner is None or not await self._store.delete(response_id, owner=owner, now=now):
            raise ResponseNotFound(response_id)

    async def _find(self, response_id: str, caller: ApiCaller) -> StoredResponse:
        owner, now = _owner(caller), self._clock.now()
        found = None
        if owner is not None:
            found = await self._store.get(response_id, owner=owner, now=now)
        if found is None:
            raise ResponseNotFound(response_id)
        return found

    async def _context(
        self, decoded: DecodedRequest, owner: ResponseOwner, *, size: int
    ) -> list[msgspec.Raw]:
        """Return the items that a request continues, within the limits of a request."""
        previous = decoded.body.previous_response_id
        if previous is None:
            return []
        head = await self._store.get(previous, owner=owner, now=self._clock.now())
        if head is None:
            raise PreviousResponseNotFound(previous)
        self._check(head, size=size)
        stored = await self._store.chain(head, owner=owner)
        if len(stored) != head.depth:
            raise PreviousResponseNotFound(previous)
        items: list[msgspec.Raw] = []
        for one in map(read_items, stored):
            items += (*one.input, *one.output)
        if len(items) > MAX_ITEMS:
            raise _too_long(f"{len(items)} items, more than {MAX_ITEMS}")
        return items

    def _check(self, head: StoredResponse, *, size: int) -> None:
        if head.depth >= MAX_DEPTH:
            raise _too_long(f"{head.depth} responses, and {MAX_DEPTH} is the most")
        most = self._settings.max_body_bytes
        if head.context_size + size > most:
            found = head.context_size + size
            raise TooLarge(
                f"The request and the conversation that it continues have {found} bytes, more than"
                f" the {most} of a request (v1.max_body_bytes): send a shorter one as `input`,"
                " without previous_response_id."
            )


async def _kept(
    events: AsyncGenerator[CallEvent, None],
    *,
    writer: ResponsesStream,
    keep: Callable[[bytes], Awaitable[None]],
) -> AsyncGenerator[CallEvent, None]:
    async with aclosing(events):
        async for event in events:
            if isinstance(event, FullAnswer):
                await keep(writer.closed(event))
            yield event


def _owner(caller: ApiCaller) -> ResponseOwner | None:
    """Return whose responses a caller may store and see; None if nothing is stored for them."""
    key = caller.key
    if key is None or not key.store_responses:
        return None
    return ResponseOwner(key.id, key.person_id)


def _too_long(found: str) -> BadRequest:
    return BadRequest(
        f"The conversation of previous_response_id has {found}: send a shorter one as `input`,"
        " without previous_response_id."
    )
