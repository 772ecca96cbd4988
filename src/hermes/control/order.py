"""What an operator order is: one row of the table in `orders.py`, and who gives it.

The routes, the role check, the audit log, the command line, the docs and OpenAPI read the row.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Generic, Literal, TypeVar
from urllib.parse import parse_qsl

import msgspec

from hermes.control.operations import Operations
from hermes.ports.access import Role

Request = TypeVar("Request", bound=msgspec.Struct)
Report = TypeVar("Report")
Method = Literal["GET", "POST"]


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
    fields `result_models`, which are names of models.

    A GET takes its request from the query, a POST from the body, and a path with a parameter from
    that parameter. A query at the end of `path` tells two orders at the same path apart.
    """

    name: str
    least: Role
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
    def has_parameter(self) -> bool:
        """Whether the request is in the path."""
        return "{" in self.path


# Any: rows of many request and report types, as the table and its readers hold them.
AnyOrder = Order[Any, Any]
