"""A new order is one row and one function: route, role, audit, OpenAPI and the command line follow."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

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
TABLE = (*ORDERS, GREET)
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
        (self.app,) = (one.endpoint for one in routes if one.path == GREET.path)

    async def post(self, body: bytes, token: str) -> tuple[int, bytes]:
        sent: list[Any] = []

        async def receive() -> dict[str, object]:
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: Any) -> None:
            sent.append(message)

        headers = {"authorization": f"Bearer {token}", "host": "127.0.0.1"}
        scope = {
            "type": "http",
            "method": "POST",
            "path": GREET.path,
            "query_string": b"",
            "scheme": "http",
            "client": ("127.0.0.1", 1),
            "headers": [(name.encode(), one.encode()) for name, one in headers.items()],
        }
        assert isinstance(self.app, Endpoint)
        await self.app(scope, receive, send)
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
        return b'{"text": "Hello."}'


def test_the_command_line_gives_it_to_a_gateway() -> None:
    gateway, request = Recording(), Greeting(user="rest:ann")

    report = operator_calls.ask_gateway(gateway, GREET, request)

    assert report == Greeted(text="Hello.")
    assert gateway.sent == [("POST", "/control/users/greet", request)]


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
