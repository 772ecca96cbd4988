"""Calls without an end: what reached the model is counted, what was refused is not."""

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from hermes.errors import OverBudget, ProviderError, note_unsent
from hermes.ports.provider import ModelEvent, ModelRequest
from hermes.ports.spend import Meter
from hermes.testing.model_script import ScriptedTurn
from hermes.testing.scripted_model import ScriptedProvider
from tests.contract.calls.rig import Story, ask, model, open_calls, payer_for, until_called
from tests.contract.calls.test_budgets import KEY, TODAY, small, ten_each

_CAPPED = {"BUDGETS__PLATFORM_DAY_USD": "12"}


@pytest.mark.req("A22", "J21")
@pytest.mark.parametrize("whole", [True, False], ids=["whole", "stream"])
async def test_a_caller_who_leaves_a_silent_model_pays_what_was_held(
    tmp_path: Path, *, whole: bool
) -> None:
    silent = model("one", [ScriptedTurn(text="x", fault="hang")])
    story = Story()
    async with open_calls(tmp_path, silent, model("two"), settings=_CAPPED) as rig:
        request = ask("hi", max_output_tokens=8)
        call = asyncio.create_task(rig.call(request, "one", story=story, whole=whole))
        await until_called(silent)
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)
        await rig.store.spend.add(story.spent)

        with pytest.raises(OverBudget):
            await rig.call(small(), "two", payer=payer_for("bob", key=KEY))
        spent = await rig.store.spend.total(Meter("platform", "", "usd", TODAY))

    (one,) = story.spent
    assert (one.usage.tokens_in, one.usage.tokens_out) == (1, 8)
    assert spent == one.usage.cost_usd == 9.0


@pytest.mark.req("A22")
async def test_whoever_allows_a_model_to_write_for_ever_holds_no_more_than_models_write(
    tmp_path: Path,
) -> None:
    silent = model("one", [ScriptedTurn(text="x", fault="hang")])
    story = Story()
    async with open_calls(tmp_path, silent) as rig:
        request = ask("hi", max_output_tokens=10**7)
        call = asyncio.create_task(rig.call(request, "one", story=story))
        await until_called(silent)
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)

    assert [one.usage.tokens_out for one in story.spent] == [131_072]


@pytest.mark.req("A22")
@pytest.mark.parametrize(
    ("turn", "paid"),
    [
        (ScriptedTurn(fault="status", status=503), False),
        (ScriptedTurn(fault="status", status=400), False),
        (ScriptedTurn(fault="cut"), True),
        (ScriptedTurn(fault="truncate"), True),
        (ScriptedTurn(fault="hang"), True),
    ],
    ids=["503", "400", "cut", "truncate", "silent"],
)
async def test_a_failed_call_pays_its_input_unless_the_service_refused_it(
    tmp_path: Path, turn: ScriptedTurn, *, paid: bool
) -> None:
    story = Story()
    quick = {"TURNS__OUTPUT_TIMEOUT_S": "0.05"}
    async with open_calls(tmp_path, model("one", [turn]), settings=quick) as rig:
        with pytest.raises(ProviderError):
            await rig.call(small(), "one", story=story)

    used = [(one.usage.tokens_in, one.usage.tokens_out) for one in story.spent]
    assert used == ([(1, 0)] if paid else [])


class Unreached(ScriptedProvider):
    """A model to whose service nothing gets through."""

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        try:
            async for event in super().stream(request):
                yield event
        except asyncio.CancelledError as error:
            note_unsent(error)
            raise


@pytest.mark.req("A22")
async def test_a_caller_who_leaves_before_anything_was_sent_pays_nothing(tmp_path: Path) -> None:
    away = Unreached([ScriptedTurn(fault="hang")], info=model("one").info)
    story = Story()
    async with open_calls(tmp_path, away) as rig:
        call = asyncio.create_task(rig.call(small(), "one", story=story))
        await until_called(away)
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)

    assert story.spent == ()


@pytest.mark.req("A22")
async def test_a_caller_who_leaves_while_it_waits_for_a_place_pays_nothing(tmp_path: Path) -> None:
    busy = model("one", [ScriptedTurn(text="x", fault="hang")])
    full = {"TURNS__MAX_CONCURRENT_CALLS": "1", "BUDGETS__PLATFORM_DAY_USD": "25"}
    story = Story()
    async with open_calls(tmp_path, busy, model("two", ten_each), settings=full) as rig:
        first = asyncio.create_task(rig.call(ask("hi", max_output_tokens=8), "one"))
        await until_called(busy)
        second = asyncio.create_task(rig.call(small(), "two", story=story))
        async with asyncio.timeout(30):
            while story.kinds != ["SlotWait"]:  # noqa: ASYNC110  the call runs in its own task
                await asyncio.sleep(0)
        second.cancel()
        first.cancel()
        await asyncio.gather(first, second, return_exceptions=True)
        await rig.call(small(), "two")

    assert story.spent == ()
