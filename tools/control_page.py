"""Writes docs/control-orders.md: every order over REST with its address, its role and its fields.

`python -m tools.control_page > docs/control-orders.md`. The addresses, fields, types and defaults are
read from the table of orders, and what they mean from `control/order_fields.py`. A field that is not
explained there, or an explanation that no field needs, is an error.
"""

import sys
from collections.abc import Iterator
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import msgspec
from msgspec import UNSET, UnsetType

from hermes.control.order import AnyOrder
from hermes.control.order_fields import FIELD_HELP, help_key
from hermes.control.orders import BY_NAME, ORDERS

_INTRO = """\
# The fields of every order

Each order of [Operating a gateway](control.md) over REST: its address, the least role that may give it, and what it
takes. Orders with `GET` and `DELETE` take their fields from the query, those with `POST`, `PUT` and `PATCH` from a
JSON object in the body; a field in the address, such as `{id}`, is needed there. A field without a default has to be there, and one that is not listed is refused. A body may also have `by`, the name of who
gives the order; it counts only from the machine's own command line. Times are seconds since 1970 (UTC).

A *person* is `platform:user_id`, such as `telegram:1234`, or their id, `p_...`.
"""
_TYPES = {str: "text", int: "whole number", float: "number", bool: "true or false"}


def page() -> str:
    """Return the page; raises `KeyError` for a field that is not explained."""
    sections = ["\n".join(_section(one)) for one in ORDERS]
    return "\n".join((_INTRO, *_table(), *sections))


def _table() -> Iterator[str]:
    yield "| order | least role | | |"
    yield "| --- | --- | --- | --- |"
    for order in reversed(tuple(BY_NAME.values())):
        yield f"| `{order.name}` | {order.least} | {_kind(order)} | {order.summary} |"
    yield ""


def _kind(order: AnyOrder) -> str:
    if order.changes:
        return "changes; on record"
    return "shows what people said; on record" if order.shows else "looks"


def unused() -> set[str]:
    """Return the explanations that no field needs."""
    asked = {help_key(one, name) for one in ORDERS for name, _ in _fields(one)}
    return set(FIELD_HELP) - asked


def _section(order: AnyOrder) -> Iterator[str]:
    fields = _fields(order)
    yield f"## {order.name}: {order.method} {order.path.replace(':path}', '}')}\n"
    yield f"{order.summary}\n"
    yield f"Least role: {order.least}.{'' if fields else ' It takes no fields.'}\n"
    if not fields:
        return
    yield "| field | what | default | |"
    yield "| --- | --- | --- | --- |"
    for name, field in fields:
        said = FIELD_HELP[help_key(order, name)]
        yield f"| `{name}` | {_type(field.type)} | {_default(field)} | {said} |"
    yield ""


# Any: msgspec's own description of a field.
def _fields(order: AnyOrder) -> list[tuple[str, Any]]:
    found = [(one.encode_name, one) for one in msgspec.structs.fields(order.request)]
    hidden = {*order.parameters} | (set() if order.method == "GET" else {"by"})
    return [(name, one) for name, one in found if name not in hidden]


# Any: a type as an annotation says it.
def _type(kind: Any) -> str:
    if get_origin(kind) in (UnionType, Union):
        return _type(next(one for one in get_args(kind) if one not in (NoneType, UnsetType)))
    if get_origin(kind) is Annotated:
        return _type(get_args(kind)[0])
    if get_origin(kind) is Literal:
        return ", ".join(f"`{one}`" for one in get_args(kind))
    if get_origin(kind) is tuple:
        return f"list of {_type(get_args(kind)[0])}"
    return "JSON object" if get_origin(kind) is dict else _TYPES[kind]


# Any: msgspec's own description of a field.
def _default(field: Any) -> str:
    if field.required:
        return "needed"
    if field.default in (None, "", (), UNSET):
        return "none"
    return f"`{msgspec.json.encode(field.default).decode()}`"


if __name__ == "__main__":
    sys.stdout.write(page())
