"""What the dashboard's code knows of the gateway: its pages, and the operator orders with their fields.

Imported and built when the dashboard is first opened.
"""

from functools import cache
from typing import Any, Final

import msgspec

from hermes import __version__
from hermes.control.order import Actor, AnyOrder
from hermes.control.order_fields import FIELD_HELP, help_key
from hermes.control.orders import BY_NAME
from hermes.ports.access import Role
from hermes.server.dashboard.pages import PAGES, DashboardPage

# The field with the actor of an order; only this machine's command line sends it.
_BY: Final = "by"
# Any: JSON Schema.
Json = dict[str, Any]


class OrderField(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One field of an order's form; `kind` is a type of JSON, or `choice`."""

    name: str
    kind: str
    help: str
    required: bool = False
    choices: tuple[str, ...] = ()
    # Any: a value of JSON.
    default: Any = None


class OrderRow(msgspec.Struct, frozen=True, kw_only=True):
    """One order: how it is given, who may, and what its form asks."""

    least: Role
    method: str
    path: str
    changes: bool
    shows: bool
    summary: str
    fields: tuple[OrderField, ...]


class DashboardCatalogue(msgspec.Struct, frozen=True, kw_only=True):
    """Who looks at the dashboard, and what there is for anyone."""

    version: str
    actor: str
    role: Role
    pages: tuple[DashboardPage, ...]
    orders: dict[str, OrderRow]


def catalogue(actor: Actor) -> DashboardCatalogue:
    """Return what the pages need to know, for one who looks at them."""
    return DashboardCatalogue(
        version=__version__, actor=actor.name, role=actor.role, pages=PAGES, orders=_orders()
    )


@cache
def _orders() -> dict[str, OrderRow]:
    return {name: _row(order) for name, order in BY_NAME.items()}


def _row(order: AnyOrder) -> OrderRow:
    return OrderRow(
        least=order.least,
        method=order.method,
        path=order.path.replace(":path}", "}"),
        changes=order.changes,
        shows=order.shows,
        summary=order.summary,
        fields=_fields(order),
    )


def _fields(order: AnyOrder) -> tuple[OrderField, ...]:
    schema = msgspec.json.schema(order.request)
    own = schema["$defs"][schema["$ref"].rpartition("/")[2]]
    shown = {
        name: one for name, one in own["properties"].items() if name != _BY or order.method == "GET"
    }
    return tuple(
        _field(order, name, one, required=name in own["required"]) for name, one in shown.items()
    )


def _field(order: AnyOrder, name: str, schema: Json, *, required: bool) -> OrderField:
    kind = next((one for one in schema.get("anyOf", ()) if one.get("type") != "null"), schema)
    choices = tuple(map(str, kind.get("enum", ())))
    return OrderField(
        name=name,
        kind="choice" if choices else kind.get("type", "object"),
        help=FIELD_HELP.get(help_key(order, name), ""),
        required=required,
        choices=choices,
        default=schema.get("default"),
    )
