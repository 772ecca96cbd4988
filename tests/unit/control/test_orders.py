"""The rows of the table: a row that nobody could give, or whose audit fields are not there, is found."""

from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest

from hermes.calls.days import Calendar
from hermes.control.operations import Operations
from hermes.control.order import Actor, AnyOrder
from hermes.control.order_table import make_order
from hermes.control.orders import ORDERS, SENDS_SEND
from hermes.control.sends import SendOrder
from hermes.testing.manual_time import ManualClock
from tests.stores.opening import opened

OWNER = Actor("local", "", "owner")


class Wave(msgspec.Struct, frozen=True):
    to: str


class Waved(msgspec.Struct, frozen=True):
    text: str


class WaveOperations:
    async def wave(self, order: Wave) -> Waved:
        return Waved(text=f"{order.to} is waved at")

    async def wave_for(self, order: Wave, by: str) -> Waved:
        return Waved(text=f"{by} waves at {order.to}")

    async def wave_text(self, order: "Wave") -> Waved:
        return Waved(text=order.to)


# Any: a type that an annotation names.
def members(kind: Any) -> list[type[msgspec.Struct]]:
    """Return the structs that a type can be, such as those of a union."""
    kinds = get_args(kind) or (kind,)
    return [one for one in kinds if isinstance(one, type) and issubclass(one, msgspec.Struct)]


def has(kind: Any, path: str) -> bool:
    """Return whether one of the structs has a field at the end of a path."""
    name, _, rest = path.partition(".")
    types = [
        field.type
        for struct in members(kind)
        for field in msgspec.structs.fields(struct)
        if field.name == name
    ]
    return any(not rest or has(one, rest) for one in types)


@pytest.mark.req("W35")
@pytest.mark.parametrize("order", ORDERS, ids=lambda order: order.path)
def test_the_audit_fields_of_every_order_are_fields_of_its_request_and_report(
    order: AnyOrder,
) -> None:
    asked = [path for path in order.targets if not has(order.request, path)]
    told = [
        path
        for path in (*order.result_targets, *order.result_models)
        if not has(order.report, path)
    ]

    assert (asked, told) == ([], [])


@pytest.mark.parametrize("path", ["", "/control/wave"])
def test_a_row_has_one_path(path: str) -> None:
    with pytest.raises(TypeError, match=r"^waves\.wave needs a path"):
        make_order(
            "waves.wave", "viewer", WaveOperations.wave, get=path, post=path, summary="Wave."
        )


@pytest.mark.parametrize(
    ("run", "told"),
    [
        (WaveOperations.wave_for, "takes `by`, which no request has"),
        (WaveOperations.wave_text, "the request of waves.wave is 'Wave'"),
    ],
)
def test_a_row_whose_function_nobody_could_call_is_refused(run: Any, told: str) -> None:
    with pytest.raises(TypeError, match=told):
        make_order("waves.wave", "viewer", run, post="/control/wave", summary="Wave.")


async def test_an_order_whose_part_was_not_built_says_which(tmp_path: Path) -> None:
    async with opened(tmp_path) as store:
        operations = Operations(
            store, calendar=Calendar("UTC"), clock=ManualClock(), make_id=str, address=""
        )

        with pytest.raises(LookupError, match=r"^sends\.send needs SendOperations"):
            await SENDS_SEND.run(operations, SendOrder(to="telegram:1", text="hi"), OWNER)
