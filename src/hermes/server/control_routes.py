"""`/control/...`: how this machine's command line reaches the running gateway.

Only the local caller may use it. The functions are handed in; here they only get an address.
"""

from collections.abc import Awaitable, Callable
from typing import Protocol, TypeVar

import msgspec
from starlette.routing import Route

from hermes.control.consent import ConsentAsk, ConsentOrder
from hermes.control.credits import (
    GrantOrder,
    ReferOrder,
    RefundOrder,
    WalletAsk,
    WalletsAsk,
)
from hermes.control.keys import KeyEnd, NewKey
from hermes.control.mcp import McpDesk
from hermes.control.memory import FactOrder, ForgetOrder, MemoryAsk
from hermes.control.pairing import PairApproval, PairOrder
from hermes.control.spending import CostAsk, SwitchOrder
from hermes.control.users import LinkOrder, UserAsk, UserOrder, UsersAsk
from hermes.errors import BadRequest, Forbidden, NotFound
from hermes.net.http_json import json_response
from hermes.net.http_route import Answer, Endpoint, Exchange, Handler, refuse_url_credentials
from hermes.net.same_origin import Origins
from hermes.ports.door import Door
from hermes.routing.plan import Ask
from hermes.server.people_orders import PairingOrders, UserOrders

_ASK_BYTES = 2_097_152
_ASK_S = 15.0
_Order = TypeVar("_Order")


class CreditOrders(Protocol):
    """The operator's functions about credits."""

    async def show(self, ask: WalletAsk) -> object:
        """Return how a person stands."""
        ...

    async def list(self, ask: WalletsAsk) -> object:
        """Return the wallets with the least in them."""
        ...

    async def grant(self, order: GrantOrder) -> object:
        """Give a person credits, or take some back."""
        ...

    async def refund(self, order: RefundOrder) -> object:
        """Give back what a message cost."""
        ...

    async def refer(self, order: ReferOrder) -> object:
        """Let a newcomer bring somebody's code."""
        ...

    async def audit(self) -> object:
        """Compare the balances with the books."""
        ...


class MemoryOrders(Protocol):
    """The operator's functions about memory."""

    async def show(self, ask: MemoryAsk) -> object:
        """Return what is known of a person."""
        ...

    async def set(self, order: FactOrder) -> object:
        """Keep a fact about a person."""
        ...

    async def forget(self, order: ForgetOrder) -> object:
        """Forget a fact about a person, or all of them."""
        ...


class Control(msgspec.Struct, frozen=True, kw_only=True):
    """The operator's functions; each returns what JSON can say.

    `why` takes the id and whether the words of the message are wanted too; `route` takes the call
    whose plan is wanted.
    """

    status: Callable[[], Awaitable[object]]
    why: Callable[[str, bool], Awaitable[object | None]]
    models: Callable[[], Awaitable[object]]
    route: Callable[[Ask], Awaitable[object]]
    link: Callable[[], Awaitable[object]]
    token: Callable[[], Awaitable[object]]
    create_key: Callable[[NewKey], Awaitable[object]]
    keys: Callable[[], Awaitable[object]]
    revoke_key: Callable[[KeyEnd], Awaitable[object]]
    kill_switch: Callable[[], Awaitable[object]]
    set_kill_switch: Callable[[SwitchOrder], Awaitable[object]]
    costs: Callable[[CostAsk], Awaitable[object]]
    consent: Callable[[ConsentAsk], Awaitable[object]]
    set_consent: Callable[[ConsentOrder], Awaitable[object]]
    credits: CreditOrders
    memory: MemoryOrders
    users: UserOrders
    pairing: PairingOrders
    mcp: McpDesk


def control_routes(door: Door, control: Control, *, origins: Origins) -> tuple[Route, ...]:
    """Return the operator's routes."""
    local = _LocalOnly(door, control, origins=origins)
    told, ordered = local.told, local.ordered
    keys = {"GET": told(control.keys), "POST": ordered(NewKey, control.create_key)}
    switch = {
        "GET": told(control.kill_switch),
        "POST": ordered(SwitchOrder, control.set_kill_switch),
    }
    consent = {
        "GET": local.asked(ConsentAsk, control.consent),
        "POST": ordered(ConsentOrder, control.set_consent),
    }
    return (
        Route("/control/status", Endpoint({"GET": told(control.status)})),
        Route("/control/why/{id:path}", Endpoint({"GET": local.why})),
        Route("/control/models", Endpoint({"GET": told(control.models)})),
        Route("/control/route", Endpoint({"POST": ordered(Ask, control.route)})),
        Route("/control/link", Endpoint({"POST": told(control.link)})),
        Route("/control/token", Endpoint({"POST": told(control.token)})),
        Route("/control/keys", Endpoint(keys)),
        Route("/control/keys/revoke", Endpoint({"POST": ordered(KeyEnd, control.revoke_key)})),
        Route("/control/kill-switch", Endpoint(switch)),
        Route("/control/costs", Endpoint({"GET": local.asked(CostAsk, control.costs)})),
        Route("/control/consent", Endpoint(consent)),
        *_credit_routes(local, control.credits),
        *_memory_routes(local, control.memory),
        *_user_routes(local, control.users),
        *_pairing_routes(local, control.pairing),
        Route("/control/mcp", Endpoint({"GET": told(control.mcp.status)})),
        Route("/control/mcp/reload", Endpoint({"POST": told(control.mcp.reload)})),
    )


def _credit_routes(local: "_LocalOnly", desk: CreditOrders) -> tuple[Route, ...]:
    ordered = local.ordered
    return (
        Route("/control/credits", Endpoint({"GET": local.asked(WalletsAsk, desk.list)})),
        Route("/control/credits/wallet", Endpoint({"GET": local.asked(WalletAsk, desk.show)})),
        Route("/control/credits/grant", Endpoint({"POST": ordered(GrantOrder, desk.grant)})),
        Route("/control/credits/refund", Endpoint({"POST": ordered(RefundOrder, desk.refund)})),
        Route("/control/credits/refer", Endpoint({"POST": ordered(ReferOrder, desk.refer)})),
        Route("/control/credits/audit", Endpoint({"GET": local.told(desk.audit)})),
    )


def _memory_routes(local: "_LocalOnly", desk: MemoryOrders) -> tuple[Route, ...]:
    facts = {
        "GET": local.asked(MemoryAsk, desk.show),
        "POST": local.ordered(FactOrder, desk.set),
    }
    return (
        Route("/control/memory", Endpoint(facts)),
        Route(
            "/control/memory/forget", Endpoint({"POST": local.ordered(ForgetOrder, desk.forget)})
        ),
    )


def _user_routes(local: "_LocalOnly", desk: UserOrders) -> tuple[Route, ...]:
    ordered = local.ordered
    return (
        Route("/control/users", Endpoint({"GET": local.asked(UsersAsk, desk.list)})),
        Route("/control/users/user", Endpoint({"GET": local.asked(UserAsk, desk.show)})),
        Route("/control/users/add", Endpoint({"POST": ordered(UserOrder, desk.add)})),
        Route("/control/users/activate", Endpoint({"POST": ordered(UserOrder, desk.activate)})),
        Route("/control/users/block", Endpoint({"POST": ordered(UserOrder, desk.block)})),
        Route("/control/users/link", Endpoint({"POST": ordered(LinkOrder, desk.link)})),
        Route("/control/users/unlink", Endpoint({"POST": ordered(UserOrder, desk.unlink)})),
        Route("/control/users/erase", Endpoint({"POST": ordered(UserOrder, desk.erase)})),
    )


def _pairing_routes(local: "_LocalOnly", desk: PairingOrders) -> tuple[Route, ...]:
    ordered = local.ordered
    return (
        Route("/control/pair", Endpoint({"GET": local.told(desk.list)})),
        Route("/control/pair/approve", Endpoint({"POST": ordered(PairApproval, desk.approve)})),
        Route("/control/pair/deny", Endpoint({"POST": ordered(PairOrder, desk.deny)})),
        Route("/control/pair/revoke", Endpoint({"POST": ordered(PairOrder, desk.revoke)})),
    )


class _LocalOnly:
    """Makes handlers of functions, each for this machine's command line alone."""

    def __init__(self, door: Door, control: Control, *, origins: Origins) -> None:
        self._door = door
        self._control = control
        self._origins = origins

    def told(self, answer: Callable[[], Awaitable[object]]) -> Handler:
        """Return a handler of a function that takes nothing."""

        async def handle(exchange: Exchange) -> Answer:
            await self._enter(exchange)
            return json_response(await answer())

        return handle

    def ordered(self, kind: type[_Order], answer: Callable[[_Order], Awaitable[object]]) -> Handler:
        """Return a handler of a function that takes the body."""

        async def handle(exchange: Exchange) -> Answer:
            await self._enter(exchange)
            body = await exchange.body(limit=_ASK_BYTES, timeout_s=_ASK_S)
            try:
                order = msgspec.json.decode(body, type=kind)
            except msgspec.DecodeError as error:
                raise BadRequest(f"The body is no {kind.__name__}: {error}.") from None
            return json_response(await answer(order))

        return handle

    def asked(self, kind: type[_Order], answer: Callable[[_Order], Awaitable[object]]) -> Handler:
        """Return a handler of a function that takes what the query says."""

        async def handle(exchange: Exchange) -> Answer:
            await self._enter(exchange)
            try:
                ask = msgspec.convert(exchange.query(), kind, strict=False)
            except msgspec.ValidationError as error:
                raise BadRequest(f"The query is no {kind.__name__}: {error}.") from None
            return json_response(await answer(ask))

        return handle

    async def why(self, exchange: Exchange) -> Answer:
        """Tell the story of a message, a refusal or a call."""
        await self._enter(exchange)
        name = exchange.parameter("id")
        found = await self._control.why(name, exchange.query().get("text") == "true")
        if found is None:
            raise NotFound(f"Nothing is known of {name[:80]!r}: neither a message nor a refusal.")
        return json_response(found)

    async def _enter(self, exchange: Exchange) -> None:
        refuse_url_credentials(exchange)
        caller = await self._door.authenticate(exchange.headers)
        self._origins.check(caller, exchange.headers)
        if caller.kind != "local":
            raise Forbidden(
                "Only the command line of the gateway's own machine may do this: run the "
                "`hermes` command there, as the user that started the gateway."
            )
