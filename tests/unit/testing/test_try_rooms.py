"""The page of `hermes channels try`: no more rooms than the platform has, no more refusals than fit."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
import pytest
from aiohttp import web

from hermes.testing.loopback import HttpLoopback
from hermes.testing.stand_in import PersonMessage, no_rejections
from hermes.testing.try_rooms import Rooms, TypedMessage
from hermes.testing.webhook.machine import MachineStandIn


@asynccontextmanager
async def machine_at(answers: list[int]) -> AsyncIterator[tuple[MachineStandIn, list[str]]]:
    """Run a machine whose events are answered so, the last answer again and again."""
    taken: list[str] = []

    async def take(request: web.Request) -> web.Response:
        taken.append(request.headers["webhook-id"])
        return web.Response(status=answers.pop(0) if len(answers) > 1 else answers[0])

    app, http, machine = web.Application(), HttpLoopback(), MachineStandIn()
    app.add_routes([web.post("/{route}", take)])
    await http.start(app)
    await machine.start()
    machine.point_at(f"http://127.0.0.1:{http.port}")
    try:
        yield machine, taken
    finally:
        await machine.stop()
        await http.stop()


@pytest.mark.req("W9")
@pytest.mark.parametrize("status", [400, 401, 404, 409, 410, 413])
async def test_what_is_refused_for_good_is_not_sent_again(status: int) -> None:
    async with machine_at([status]) as (machine, taken):
        await machine.say(PersonMessage(text="hello"))
        assert taken == ["evt-1"]
        assert [f"answered {status}" in rule for rule in machine.rejections] == [True]


@pytest.mark.req("W9")
async def test_what_may_be_taken_later_is_sent_again() -> None:
    async with machine_at([503, 429, 500, 202]) as (machine, taken):
        await machine.say(PersonMessage(text="hello"))
        assert taken == ["evt-1"] * 4


@pytest.mark.req("W9")
def test_only_the_newest_refusals_are_kept() -> None:
    kept = no_rejections()
    kept.extend(str(number) for number in range(5000))
    assert (len(kept), kept[-1]) == (1000, "4999")


@pytest.mark.req("W9")
async def test_the_page_has_no_group_where_there_is_none_and_shows_the_last_refusals() -> None:
    async def state(_request: web.Request) -> web.Response:
        return web.json_response({"posts": [], "rejections": [str(one) for one in range(500)]})

    app, loopback = web.Application(), HttpLoopback()
    app.add_routes([web.post("/control/state", state)])
    await loopback.start(app)
    control = f"http://127.0.0.1:{loopback.port}/control"
    async with aiohttp.ClientSession() as http:
        rooms = Rooms(http, control=control, platform="Webhooks", has_groups=False)
        shown = await rooms.state("chat-1")
        assert shown["has_groups"] is False
        assert shown["rejections"] == tuple(str(one) for one in range(480, 500))
        with pytest.raises(web.HTTPBadRequest, match="Bad Request") as refused:
            await rooms.say(TypedMessage(text="hello", chat="group-1"))
        assert refused.value.text == "Webhooks has no groups"
    await loopback.stop()
