"""A new order is one row and one function: route, role, audit, OpenAPI and the command line follow."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal

import msgspec
import pytest

from hermes.cli import operator_calls
from hermes.cli.gateway_client import GatewayClient
from hermes.control.audited import AuditedActions, Operator
from hermes.control.operations import Operations
from hermes.control.order import Actor, Order, local_actor
from hermes.control.orders import ORDERS
from hermes.errors import Forbidden
from hermes.http.route import Endpoint
from hermes.http.same_origin import Origins
from hermes.ops.instance import GatewayAddress
from hermes.server.auth import StoredAccess
from hermes.server.control_routes import ControlGate, control_routes
from hermes.server.openapi import openapi_document
from hermes.testing.access import MemoryAccessStore
from hermes.testing.audit import MemoryAudit
from hermes.testing.gateway_api import MemoryGatewayApi, Script
from hermes.testing.manual_time import ManualClock


class Greeting(msgspec.Struct, frozen=True, kw_only=True):
    user: str
    by: str = ""


class Greeted(msgspec.Struct, frozen=True, kw_only=True):
    text: str


async def greet(_operations: Operations, request: Greeting, _actor: Actor) -> Greeted:
    return Greeted(text=f"Hello, {request.user}.")


GREET = Order(
    name="users.greet",
    least="operator",
    method="POST",
    path="/control/users/greet",
    request=Greeting,
    report=Greeted,
    run=greet,
    summary="Greet a person.",
    changes=True,
    targets=("user",),
)


class CardText(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    user: str
    text: str = ""
    is_late: bool = False
    by: str = ""


class CardReport(msgspec.Struct, frozen=True, kw_only=True):
    user: str
    text: str
    is_late: bool
    by: str


async def write_card(_operations: Operations, request: CardText, _actor: Actor) -> CardReport:
    return msgspec.convert(request, CardReport, from_attributes=True)


def card(method: Literal["PUT", "DELETE"]) -> Order[CardText, CardReport]:
    return Order(
        name=f"cards.{method.lower()}",
        least="operator",
        method=method,
        path="/control/cards/{user}",
        request=CardText,
        report=CardReport,
        run=write_card,
        summary="Write a card.",
    )


PUT_CARD, DELETE_CARD = card("PUT"), card("DELETE")
TABLE = (*ORDERS, GREET, PUT_CARD, DELETE_CARD)
# Any: the new order does not look at the operations.
NOTHING: Any = None


async def ann(_platform: str, _user_id: str) -> str:
    return "p_ann"


class Gateway:
    """The routes of the longer table, over twins."""

    def __init__(self) -> None:
        clock = ManualClock()
        self.access = StoredAccess(MemoryAccessStore(), clock=clock, local_token="local")
        self.audit = MemoryAudit()
        self.audited = AuditedActions(
            self.audit,
            person_of=ann,
            digest=lambda content: content,
            clock=clock,
            make_id=str,
        )
        gateway_api = MemoryGatewayApi(Script(), access=self.access, clock=clock, make_id=str)
        gate = ControlGate(gateway_api, self.audited, origins=Origins(bound_host="127.0.0.1"))
        routes = control_routes(gate, NOTHING, orders=TABLE)
        self.apps = {one.path: one.endpoint for one in routes}

    async def post(self, body: bytes, token: str) -> tuple[int, bytes]:
        return await self.ask(GREET, body, token)

    async def ask(
        self, order: Order[Any, Any], body: bytes, token: str, *, query: str = "", **in_path: str
    ) -> tuple[int, bytes]:
        sent: list[Any] = []

        async def receive() -> dict[str, object]:
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: Any) -> None:
            sent.append(message)

        headers = {"authorization": f"Bearer {token}", "host": "127.0.0.1"}
        scope = {
            "type": "http",
            "method": order.method,
            "path": order.filled(in_path),
            "path_params": in_path,
            "query_string": query.encode(),
            "scheme": "http",
            "client": ("127.0.0.1", 1),
            "headers": [(name.encode(), one.encode()) for name, one in headers.items()],
        }
        app = self.apps[order.path]
        assert isinstance(app, Endpoint)
        await app(scope, receive, send)
        return sent[0]["status"], sent[1]["body"]


async def test_it_has_a_route_with_its_role_and_an_audit_row() -> None:
    gateway = Gateway()
    operator = await gateway.access.make_token("o", role="operator")
    viewer = await gateway.access.make_token("v", role="viewer")

    done = await gateway.post(b'{"user": "rest:ann"}', operator)
    refused = await gateway.post(b'{"user": "rest:ann"}', viewer)
    wrong = await gateway.post(b'{"person": "rest:ann"}', operator)

    assert done == (200, b'{"text":"Hello, rest:ann."}')
    assert (refused[0], b"users.greet needs the role operator" in refused[1]) == (403, True)
    assert (wrong[0], b"The fields are: user." in wrong[1]) == (400, True)
    assert [(row.action, row.state, row.targets) for row in gateway.audit.rows] == [
        ("users.greet", "ok", ("p_ann",)),
        ("users.greet", "refused", ()),
    ]


async def test_fields_are_in_the_path_and_in_the_body_or_the_query() -> None:
    gateway = Gateway()
    token = await gateway.access.make_token("o", role="operator")

    async def ask(order: Order[Any, Any], body: bytes, *, query: str = "") -> tuple[int, Any]:
        status, said = await gateway.ask(order, body, token, query=query, user="rest:ann")
        return status, msgspec.json.decode(said)

    put = await ask(PUT_CARD, b'{"text": "Hi", "is_late": true, "by": "somebody else"}')
    deleted = await ask(DELETE_CARD, b"", query="text=Hi&is_late=true&by=somebody")
    other = await ask(PUT_CARD, b'{"text": "Hi", "user": "rest:bob"}')
    wrong = await ask(DELETE_CARD, b"", query="is_late=perhaps")

    assert put[0] == deleted[0] == 200
    assert put[1] == deleted[1]
    assert put[1]["by"].startswith("token:")
    assert put[1] | {"by": ""} == {"user": "rest:ann", "text": "Hi", "is_late": True, "by": ""}
    assert (other[0], "The fields are: text, is_late." in str(other[1])) == (400, True)
    assert (wrong[0], "is_late" in str(wrong[1])) == (400, True)


def test_openapi_says_which_fields_are_in_the_path() -> None:
    methods = openapi_document(orders=TABLE)["paths"]["/control/cards/{user}"]

    def places(method: str) -> list[tuple[str, str, bool]]:
        return [(one["name"], one["in"], one["required"]) for one in methods[method]["parameters"]]

    assert places("put") == [("user", "path", True)]
    assert places("delete") == [
        ("user", "path", True), ("text", "query", False), ("is_late", "query", False),
    ]  # fmt: skip
    body = methods["put"]["requestBody"]["content"]["application/json"]["schema"]
    assert (list(body["properties"]), "requestBody" in methods["delete"]) == (
        ["text", "is_late"],
        False,
    )


def test_openapi_describes_it() -> None:
    document = openapi_document(orders=TABLE)

    operation = document["paths"]["/control/users/greet"]["post"]
    answer = operation["responses"]["200"]["content"]["application/json"]["schema"]
    assert (operation["summary"], operation["x-least-role"]) == ("Greet a person.", "operator")
    assert document["components"]["schemas"][answer["$ref"].rpartition("/")[2]]["required"] == [
        "text"
    ]


class Recording(GatewayClient):
    """A client that keeps what it is asked to send."""

    def __init__(self) -> None:
        address = GatewayAddress(host="127.0.0.1", port=1, token="", version="", started_at=0.0)
        super().__init__(address)
        self.sent: list[tuple[str, str, object]] = []

    @contextmanager
    def _exchange(self, method: str, path: str, *, body: object, timeout_s: float) -> Iterator[Any]:
        self.sent.append((method, path, body))
        yield _Answer()


class _Answer:
    def read(self) -> bytes:
        return b'{"text": "Hello.", "user": "", "is_late": true, "by": ""}'


def test_the_command_line_gives_it_to_a_gateway() -> None:
    gateway, request = Recording(), Greeting(user="rest:ann")

    report = operator_calls.ask_gateway(gateway, GREET, request)

    assert report == Greeted(text="Hello.")
    assert gateway.sent == [("POST", "/control/users/greet", request)]


def test_the_command_line_fills_the_path_and_sends_the_other_fields() -> None:
    gateway = Recording()

    for order in (PUT_CARD, DELETE_CARD):
        operator_calls.ask_gateway(gateway, order, CardText(user="rest:a/b", is_late=True))

    path = "/control/cards/rest%3Aa%2Fb"
    assert gateway.sent == [
        ("PUT", path, {"is_late": True}),
        ("DELETE", f"{path}?is_late=true", None),
    ]


async def test_the_command_line_gives_it_on_the_files_with_the_same_rules() -> None:
    gateway = Gateway()
    owner = Operator(NOTHING, local_actor("olga"), audited=gateway.audited)
    viewer = Operator(NOTHING, Actor("token", "t_1", "viewer"), audited=gateway.audited)

    report = await owner.give(GREET, Greeting(user="rest:ann"))
    with pytest.raises(Forbidden):
        await viewer.give(GREET, Greeting(user="rest:ann"))

    assert report == Greeted(text="Hello, rest:ann.")
    assert [(row.actor, row.action, row.state) for row in gateway.audit.rows] == [
        ("local:olga", "users.greet", "ok"),
        ("token:t_1", "users.greet", "refused"),
    ]
