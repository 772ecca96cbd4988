"""What an operator order is: one row of the table in `orders.py`, and who gives it.

The routes, the role check, the audit log, the command line, the docs and OpenAPI read the row.
"""

import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Generic, Literal, TypeVar
from urllib.parse import parse_qsl, quote

import msgspec

from hermes.control.operations import Operations
from hermes.ports.access import OperatorRole, Role

Request = TypeVar("Request", bound=msgspec.Struct)
Report = TypeVar("Report")
Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
_WITH_BODY = frozenset({"POST", "PUT", "PATCH"})
_IN_PATH = re.compile(r"\{([a-z_]+)(?::path)?\}")


class Actor(msgspec.Struct, frozen=True):
    """Who gives an order: this machine's command line, a token, a browser, or a person in a chat."""

    kind: Literal["local", "token", "browser", "chat"]
    id: str
    role: Role

    @property
    def name(self) -> str:
        """The actor as the audit log names it."""
        return f"{self.kind}:{self.id}" if self.id else self.kind

    @property
    def credential(self) -> str:
        """The id of the token or session that the actor showed; empty for the command line."""
        return self.id if self.kind in ("token", "browser") else ""


def local_actor(name: str) -> Actor:
    """Return the owner at this machine's command line, by their name on this machine."""
    return Actor("local", name, "owner")


class NoFields(msgspec.Struct, frozen=True):
    """The request of an order that takes no fields."""


class Order(msgspec.Struct, Generic[Request, Report], frozen=True, kw_only=True):
    """One operator order.

    `least` is the lowest role that may give it. An order is audited if it `changes` something, or
    `shows` what people said or what is known of them. The audit row has the request fields
    `targets` and the report fields `result_targets`, both ids and nothing else, and the report
    fields `result_models`, which are names of models or settings, and `result_names`, which are names of secrets.

    The fields that the path names are taken from it. All others are in the query of a GET or
    DELETE, and in the body of a POST, PUT or PATCH. A query at the end of `path` tells two orders
    at the same path apart.
    """

    name: str
    least: OperatorRole
    method: Method
    path: str
    request: type[Request]
    report: type[Report]
    run: Callable[[Operations, Request, Actor], Awaitable[Report]]
    summary: str
    changes: bool = False
    shows: bool = False
    targets: tuple[str, ...] = ()
    result_targets: tuple[str, ...] = ()
    result_models: tuple[str, ...] = ()
    result_names: tuple[str, ...] = ()

    @property
    def is_audited(self) -> bool:
        """Whether every use is in the audit log."""
        return self.changes or self.shows

    @property
    def route(self) -> str:
        """The path without its query."""
        return self.path.partition("?")[0]

    @property
    def variant(self) -> Mapping[str, str]:
        """The query that distinguishes the order from another one at the same path."""
        return dict(parse_qsl(self.path.partition("?")[2]))

    @property
    def parameters(self) -> tuple[str, ...]:
        """The fields of the request that are in the path."""
        return tuple(_IN_PATH.findall(self.route))

    # Any: fields of a request, as JSON has them.
    def filled(self, fields: Mapping[str, Any]) -> str:
        """Return the path with the fields that belong into it."""
        return _IN_PATH.sub(lambda found: quote(str(fields[found[1]]), safe=""), self.path)

    @property
    def takes_body(self) -> bool:
        """Whether the other fields of the request are in the body."""
        return self.method in _WITH_BODY


# Any: rows of many request and report types, as the table and its readers hold them.
AnyOrder = Order[Any, Any]
