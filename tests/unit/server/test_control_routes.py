"""The routes of /control: over which ways a token may come, and who signs an order."""

from hashlib import sha256
from typing import Any

import msgspec
import pytest

from hermes.control.audited import AuditedActions
from hermes.control.order import Actor, AnyOrder
from hermes.control.orders import ORDERS, TOKENS_CREATE_OWNER, USERS_BLOCK
from hermes.errors import BadRequest, Forbidden
from hermes.http.route import HttpExchange
from hermes.http.same_origin import LOOPBACK, Origins
from hermes.ports.channel import HttpResponse
from hermes.server.auth import StoredAccess
from hermes.server.control_routes import ControlGate, control_routes
from hermes.testing.access import MemoryAccessStore
from hermes.testing.audit import MemoryAudit
from hermes.testing.gateway_api import MemoryGatewayApi, Script
from hermes.testing.manual_time import ManualClock


class Request(msgspec.Struct, frozen=True):
    user: str
    by: str = ""


async def repeat(_operations: object, request: Request, _actor: Actor) -> Request:
    return request


# Any: none of these orders looks at the operations.
NOTHING: Any = None
REPEAT: AnyOrder = msgspec.structs.replace(USERS_BLOCK, request=Request, run=repeat)


async def nobody(_platform: str, _user_id: str) -> None:
    return None


class Gate:
    """A gate before a function that repeats its order."""

    def __init__(
        self, public_url: str | None = None, *, proxies: tuple[str, ...] = LOOPBACK
    ) -> None:
        clock = ManualClock()
        self.access = StoredAccess(MemoryAccessStore(), clock=clock, local_token="local")
        self.audit = MemoryAudit()
        gateway_api = MemoryGatewayApi(Script(), access=self.access, clock=clock, make_id=str)
        audited = AuditedActions(
            self.audit,
            person_of=nobody,
            digest=lambda content: sha256(content).digest(),
            clock=clock,
            make_id=str,
        )
        origins = Origins(bound_host="0.0.0.0", public_url=public_url, trusted_proxies=proxies)
        self.gate = ControlGate(gateway_api, audited, origins=origins)

    async def order(
        self,
        token: str,
        *,
        host: str,
        client: str,
        body: bytes = b'{"user": "telegram:1", "by": "mallory"}',
        row: AnyOrder = REPEAT,
        **headers: str,
    ) -> Request:
        """Give an order over a way."""

        async def receive() -> dict[str, object]:
            return {"type": "http.request", "body": body, "more_body": False}

        sent = {"authorization": f"Bearer {token}", "host": host, **headers}
        scope = {
            "type": "http",
            "method": "POST",
            "path": "/control/users/block",
            "query_string": b"",
            "scheme": "http",
            "client": (client, 1),
            "headers": [(name.encode(), value.encode()) for name, value in sent.items()],
        }
        handle = self.gate.handler([row], NOTHING)
        answer = await handle(HttpExchange(scope, receive))
        assert isinstance(answer, HttpResponse)
        return msgspec.json.decode(answer.body, type=Request)


@pytest.mark.req("W35")
@pytest.mark.parametrize(
    ("host", "client"),
    [("bot.example.org", "10.0.0.7"), ("127.0.0.1:8080", "10.0.0.7"), ("192.168.0.2", "127.0.0.1")],
)
async def test_a_token_is_not_taken_over_plain_http_from_elsewhere(host: str, client: str) -> None:
    gate = Gate()
    token = await gate.access.make_token("ci")

    with pytest.raises(Forbidden, match="plain http"):
        await gate.order(token, host=host, client=client)

    assert gate.audit.rows == []


@pytest.mark.req("W35")
@pytest.mark.parametrize(
    ("public_url", "host", "client"),
    [
        (None, "127.0.0.1:8080", "127.0.0.1"),
        (None, "localhost", "::1"),
        ("https://bot.example.org", "bot.example.org", "127.0.0.1"),
    ],
)
async def test_a_token_is_taken_over_https_and_on_the_machine_and_signs_its_orders(
    public_url: str | None, host: str, client: str
) -> None:
    gate = Gate(public_url)
    token = await gate.access.make_token("ci", role="operator")

    order = await gate.order(token, host=host, client=client)

    (row,) = gate.audit.rows
    assert order.by == row.actor
    assert row.actor.startswith("token:t_")


PUBLIC = "https://bot.example.org"
SAYS_HTTPS = {"x-forwarded-proto": "https", "x-forwarded-host": "bot.example.org"}


@pytest.mark.req("W34", "W35")
@pytest.mark.parametrize(
    ("proxies", "client", "host", "headers"),
    [
        # Anybody can write the public name, and what a proxy would say.
        (LOOPBACK, "10.0.0.7", "bot.example.org", {}),
        (LOOPBACK, "10.0.0.7", "bot.example.org", SAYS_HTTPS),
        (LOOPBACK, "10.0.0.7", "127.0.0.1:8080", SAYS_HTTPS),
        (("10.0.0.8/32",), "10.0.0.7", "bot.example.org", SAYS_HTTPS),
        (("10.0.0.8/32",), "127.0.0.1", "bot.example.org", SAYS_HTTPS),
        # The proxy itself says that its client came over http, or that there was one.
        (("10.0.0.7/32",), "10.0.0.7", "bot.example.org", {"x-forwarded-proto": "http"}),
        (("10.0.0.7/32",), "10.0.0.7", "bot.example.org", {"x-forwarded-proto": "https, http"}),
        (LOOPBACK, "127.0.0.1", "bot.example.org", {"x-forwarded-proto": "http"}),
        (LOOPBACK, "127.0.0.1", "localhost", {"x-forwarded-for": "203.0.113.9"}),
        (LOOPBACK, "127.0.0.1", "localhost", {"forwarded": "for=203.0.113.9"}),
    ],
)
async def test_nobody_but_a_trusted_proxy_says_that_a_token_came_over_https(
    proxies: tuple[str, ...], client: str, host: str, headers: dict[str, str]
) -> None:
    gate = Gate(PUBLIC, proxies=proxies)
    token = await gate.access.make_token("ci")

    with pytest.raises(Forbidden, match=r"server\.trusted_proxies"):
        await gate.order(token, host=host, client=client, **headers)  # type: ignore[arg-type]

    assert gate.audit.rows == []


@pytest.mark.req("W34", "W35")
@pytest.mark.parametrize(
    ("client", "host", "headers"),
    [
        ("10.0.0.7", "bot.example.org", {}),
        ("::ffff:10.0.0.7", "bot.example.org", {}),
        ("10.0.0.7", "bot.example.org", SAYS_HTTPS),
        ("10.0.0.7", "10.0.0.2:8080", {"x-forwarded-proto": "HTTPS"}),
        ("fd00::9", "bot.example.org", {"x-forwarded-proto": "https,https"}),
    ],
)
async def test_a_trusted_proxy_says_that_a_token_came_over_https(
    client: str, host: str, headers: dict[str, str]
) -> None:
    gate = Gate(PUBLIC, proxies=("10.0.0.0/24", "fd00::/8"))
    token = await gate.access.make_token("ci", role="operator")

    await gate.order(token, host=host, client=client, **headers)  # type: ignore[arg-type]

    assert len(gate.audit.rows) == 1


async def test_only_the_command_line_says_itself_for_whom_it_orders() -> None:
    gate = Gate()

    named: dict[str, Any] = {"x-hermes-operator": "olga%20k"}
    order = await gate.order("local", host="127.0.0.1", client="127.0.0.1", **named)

    assert (order.by, gate.audit.rows[0].actor) == ("mallory", "local:olga k")


def test_every_order_has_its_route_and_every_route_an_order() -> None:
    routes = control_routes(Gate().gate, NOTHING)

    paths = [route.path for route in routes]
    assert len(paths) == len(set(paths))
    assert set(paths) == {order.route for order in ORDERS}
    assert len({(order.method, order.path) for order in ORDERS}) == len(ORDERS)


@pytest.mark.req("W35")
@pytest.mark.parametrize(
    ("body", "told"),
    [
        (
            b'{"user": "telegram:1", "usr": "x"}',
            "There is no field 'usr' here. The fields are: user.",
        ),
        (b"{}", "missing required field `user`. The fields are: user."),
    ],
)
async def test_a_field_that_is_not_known_or_missing_is_told_with_those_that_are(
    body: bytes, told: str
) -> None:
    gate = Gate()
    token = await gate.access.make_token("ci")

    with pytest.raises(BadRequest) as refused:
        await gate.order(token, host="127.0.0.1:8080", client="127.0.0.1", body=body)

    assert told in str(refused.value)
    assert gate.audit.rows == []


@pytest.mark.req("W35")
async def test_an_order_without_fields_refuses_one() -> None:
    gate = Gate()
    token = await gate.access.make_token("ci")

    with pytest.raises(BadRequest) as refused:
        await gate.order(
            token,
            host="127.0.0.1:8080",
            client="127.0.0.1",
            body=b'{"role": "viewer"}',
            row=TOKENS_CREATE_OWNER,
        )

    assert str(refused.value) == "There is no field 'role' here. The fields are: none."
    assert gate.audit.rows == []
