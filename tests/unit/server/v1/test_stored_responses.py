"""M1: what a call continues, over the real store, and its bounds."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from hermes.config import CallSettings
from hermes.errors import BadRequest, PreviousResponseNotFound, ResponseNotFound, TooLarge
from hermes.message.parts import TextPart
from hermes.ports.keys import CallerKey
from hermes.ports.responses import NewResponse, ResponseOwner
from hermes.ports.store import Store
from hermes.server.v1.callers import ApiCaller
from hermes.server.v1.dialect import Stamp, WireCall
from hermes.server.v1.stored_responses import MAX_DEPTH, StoredResponses
from hermes.testing.manual_time import ManualClock
from tests.stores.opening import opened

DAY_S = 86_400.0
SAID = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "A"}]}


class Desk:
    """The storage of one key over a store."""

    def __init__(self, store: Store, key: CallerKey) -> None:
        self.store = store
        self.clock = ManualClock()
        self.caller = ApiCaller(user="ann", key=key)
        self.owner = ResponseOwner(key.id, key.person_id)
        self.use(CallSettings())

    def use(self, settings: CallSettings) -> None:
        self.stored = StoredResponses(self.store.responses, settings=settings, clock=self.clock)

    async def read(self, **fields: Any) -> WireCall:
        body = json.dumps({"model": "auto", "input": "hi", **fields}).encode()
        return await self.stored.read(body, {}, caller=self.caller)

    async def answered(self, name: str, **fields: Any) -> WireCall:
        """Ask something and store the answer under a name."""
        call = await self.read(**fields)
        response = msgspec.json.encode({"id": f"resp_{name}", "output": [SAID]})
        await self.stored.keep(call, response, caller=self.caller, stamp=Stamp(name, 1.0))
        return call

    async def put(self, name: str, *, after: str | None = None, items: int = 1) -> None:
        """Store a response with so many items beside all bounds."""
        body = {"id": name, "input": [{"role": "user", "content": "x"}] * items, "output": []}
        new = NewResponse(
            id=name,
            owner=self.owner,
            items=msgspec.json.encode(body),
            answer=b"{}",
            at=self.clock.now(),
            expires_at=self.clock.now() + DAY_S,
            previous=after,
        )
        await self.store.responses.put(new, keep=10**6, keep_bytes=10**9)


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    async with opened(tmp_path) as store:
        key = CallerKey(
            id="k_1",
            label="",
            user="ann",
            person_id="",
            hint="",
            created_at=1.0,
            store_responses=True,
        )
        yield Desk(store, await store.keys.add(key, digest=b"d" * 32, user="ann"))


def said_in(call: WireCall) -> list[tuple[str, str]]:
    return [
        (message.role, "".join(part.text for part in message.parts if isinstance(part, TextPart)))
        for message in call.request.messages
    ]


@pytest.mark.req("M1")
async def test_the_whole_conversation_is_read_and_instructions_are_not(desk: Desk) -> None:
    items = [{"role": "developer", "content": "Be kind."}, {"role": "user", "content": "one"}]
    await desk.answered("1", input=items, instructions="Be short.")
    await desk.answered("2", input="two", previous_response_id="resp_1")

    call = await desk.read(
        input="three", previous_response_id="resp_2", instructions="Be long.", store=False
    )

    assert call.request.system == ("Be long.", "Be kind.")
    assert said_in(call) == [
        *(("user", "one"), ("assistant", "A")),
        *(("user", "two"), ("assistant", "A")),
        ("user", "three"),
    ]
    assert not call.stored


@pytest.mark.req("M1")
async def test_a_response_is_gone_after_the_days_of_the_setting(desk: Desk) -> None:
    await desk.answered("1")

    desk.clock.advance(30 * DAY_S - 1)
    assert await desk.stored.answer("resp_1", caller=desk.caller)
    desk.clock.advance(1)

    with pytest.raises(ResponseNotFound):
        await desk.stored.answer("resp_1", caller=desk.caller)
    with pytest.raises(PreviousResponseNotFound):
        await desk.read(previous_response_id="resp_1")


@pytest.mark.req("M1")
async def test_a_conversation_has_a_bounded_number_of_responses(desk: Desk) -> None:
    await desk.put("0")
    for number in range(1, MAX_DEPTH):
        await desk.put(str(number), after=str(number - 1))

    assert len(said_in(await desk.read(previous_response_id=str(MAX_DEPTH - 2)))) == MAX_DEPTH
    with pytest.raises(BadRequest, match="1000 responses, and 1000 is the most"):
        await desk.read(previous_response_id=str(MAX_DEPTH - 1))


@pytest.mark.req("M1")
async def test_a_conversation_has_a_bounded_number_of_items(desk: Desk) -> None:
    await desk.put("a", items=10_000)
    await desk.put("b", after="a")

    await desk.read(previous_response_id="a")
    with pytest.raises(BadRequest, match="10001 items, more than 10000"):
        await desk.read(previous_response_id="b")


@pytest.mark.req("M1")
async def test_a_conversation_and_a_request_have_a_bounded_size(desk: Desk) -> None:
    desk.use(CallSettings(max_body_bytes=1_000, max_stored_bytes=300))
    await desk.put("a", items=35)

    with pytest.raises(TooLarge, match=r"of a request \(v1.max_body_bytes\)"):
        await desk.read(previous_response_id="a")
    with pytest.raises(TooLarge, match="send `store: false`"):
        await desk.read(input="x" * 300)
    assert not (await desk.read(input="x" * 300, store=False)).stored


@pytest.mark.req("M1")
@pytest.mark.parametrize("name", ["resp_9", "", "\x00"])
async def test_an_unknown_id_is_not_continued(desk: Desk, name: str) -> None:
    with pytest.raises(PreviousResponseNotFound):
        await desk.read(previous_response_id=name)


@pytest.mark.req("M1")
@pytest.mark.parametrize("name", ["resp_1", "", "\x00", "'; --", "x" * 10_000])
async def test_an_unknown_id_is_not_found_and_shown_in_short(desk: Desk, name: str) -> None:
    with pytest.raises(ResponseNotFound) as caught:
        await desk.stored.answer(name, caller=desk.caller)

    assert len(str(caught.value)) < 150
