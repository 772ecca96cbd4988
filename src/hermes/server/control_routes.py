"""`/control/...`: how operators reach the running gateway, and its own command line.

The functions are handed in; here each gets an address and the name of its order. `control_gate.py`
says who may come in.
"""

from collections.abc import Awaitable, Callable
from typing import Protocol

import msgspec
from starlette.routing import Route

from hermes.control.audited import Actor, AuditedActions
from hermes.control.consent import ConsentAsk, ConsentOrder
from hermes.control.credits import (
    GrantOrder,
    ReferOrder,
    RefundOrder,
    WalletAsk,
    WalletsAsk,
)
from hermes.control.cron import JobAsk, JobOrder, JobsAsk, NewJobOrder
from hermes.control.hooks import no_hooks
from hermes.control.interactions import InteractionAsk
from hermes.control.keys import KeyEnd, NewKey
from hermes.control.mcp import McpOperations
from hermes.control.memory import DreamOrder, FactOrder, ForgetOrder, MemoryAsk
from hermes.control.pairing import PairApproval, PairOrder
from hermes.control.search import SearchOrder
from hermes.control.spending import CostAsk, SwitchOrder
from hermes.control.tokens import LinkWish
from hermes.control.users import LinkOrder, TierOrder, UserAsk, UserOrder, UsersAsk
from hermes.http.route import Endpoint
from hermes.http.same_origin import Origins
from hermes.ports.gateway_api import GatewayApi
from hermes.routing.plan import CallNeeds
from hermes.server.control_gate import ControlGate
from hermes.server.cron_orders import CronOrders
from hermes.server.operating_routes import OperationRoutes, operating_routes
from hermes.server.people_orders import PairingOrders, UserOrders


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

    async def dream(self, order: DreamOrder) -> object:
        """Dream of a person now."""
        ...

    async def record(self, ask: MemoryAsk) -> object:
        """Return all that is kept of a person but what was said."""
        ...


class SearchOrders(Protocol):
    """The operator's functions about search."""

    async def find(self, order: SearchOrder) -> object:
        """Return what was said."""
        ...

    async def state(self) -> object:
        """Return how the index stands."""
        ...

    async def rebuild(self) -> object:
        """Make the index again."""
        ...


class Control(msgspec.Struct, frozen=True, kw_only=True):
    """The operator's functions; each returns what JSON can say.

    `why` takes the id and whether the words of the message are wanted too; `route` takes the call
    whose plan is wanted. Every one passes the `audited`.
    """

    status: Callable[[], Awaitable[object]]
    why: Callable[[str, bool], Awaitable[object | None]]
    models: Callable[[], Awaitable[object]]
    route: Callable[[CallNeeds], Awaitable[object]]
    link: Callable[[LinkWish, Actor], Awaitable[object]]
    token: Callable[[Actor], Awaitable[object]]
    create_key: Callable[[NewKey], Awaitable[object]]
    keys: Callable[[], Awaitable[object]]
    revoke_key: Callable[[KeyEnd], Awaitable[object]]
    kill_switch: Callable[[], Awaitable[object]]
    set_kill_switch: Callable[[SwitchOrder], Awaitable[object]]
    costs: Callable[[CostAsk], Awaitable[object]]
    interactions: Callable[[InteractionAsk], Awaitable[object]]
    consent: Callable[[ConsentAsk], Awaitable[object]]
    set_consent: Callable[[ConsentOrder], Awaitable[object]]
    credits: CreditOrders
    memory: MemoryOrders
    users: UserOrders
    pairing: PairingOrders
    search: SearchOrders
    cron: CronOrders
    mcp: McpOperations
    reload: Callable[[], Awaitable[object]]
    hooks: Callable[[], Awaitable[object]] = no_hooks
    audited: AuditedActions
    operating: OperationRoutes | None = None


def control_routes(api: GatewayApi, control: Control, *, origins: Origins) -> tuple[Route, ...]:
    """Return the operator's routes."""
    local = ControlGate(api, control.audited, origins=origins)
    told, ordered = local.told, local.ordered
    keys = {
        "GET": told("keys.list", control.keys),
        "POST": ordered("keys.create", NewKey, control.create_key),
    }
    switch = {
        "GET": told("kill_switch.show", control.kill_switch),
        "POST": ordered("kill_switch.set", SwitchOrder, control.set_kill_switch),
    }
    consent = {
        "GET": local.asked("consent.show", ConsentAsk, control.consent),
        "POST": ordered("consent.set", ConsentOrder, control.set_consent),
    }
    return (
        Route("/control/status", Endpoint({"GET": told("gateway.status", control.status)})),
        Route(
            "/control/why/{id:path}",
            Endpoint({"GET": local.named("messages.why", "messages.read", control.why)}),
        ),
        *_model_routes(local, control),
        *_access_routes(local, control),
        Route("/control/keys", Endpoint(keys)),
        Route(
            "/control/keys/revoke",
            Endpoint({"POST": ordered("keys.revoke", KeyEnd, control.revoke_key)}),
        ),
        Route("/control/kill-switch", Endpoint(switch)),
        Route(
            "/control/costs", Endpoint({"GET": local.asked("costs.show", CostAsk, control.costs)})
        ),
        Route(
            "/control/interactions",
            Endpoint(
                {"GET": local.asked("interactions.list", InteractionAsk, control.interactions)}
            ),
        ),
        Route("/control/consent", Endpoint(consent)),
        *_credit_routes(local, control.credits),
        *_memory_routes(local, control.memory),
        *_user_routes(local, control.users),
        *_pairing_routes(local, control.pairing),
        *_cron_routes(local, control.cron),
        *_search_routes(local, control.search),
        *operating_routes(local, control.operating),
        Route("/control/reload", Endpoint({"POST": told("gateway.reload", control.reload)})),
        *_plugged_routes(local, control),
    )


def _plugged_routes(local: ControlGate, control: Control) -> tuple[Route, ...]:
    told = local.told
    return (
        Route("/control/hooks", Endpoint({"GET": told("hooks.list", control.hooks)})),
        Route("/control/mcp", Endpoint({"GET": told("mcp.status", control.mcp.status)})),
        Route("/control/mcp/reload", Endpoint({"POST": told("mcp.reload", control.mcp.reload)})),
    )


def _credit_routes(local: ControlGate, desk: CreditOrders) -> tuple[Route, ...]:
    ordered = local.ordered
    return (
        Route(
            "/control/credits",
            Endpoint({"GET": local.asked("credits.list", WalletsAsk, desk.list)}),
        ),
        Route(
            "/control/credits/wallet",
            Endpoint({"GET": local.asked("credits.show", WalletAsk, desk.show)}),
        ),
        Route(
            "/control/credits/grant",
            Endpoint({"POST": ordered("credits.grant", GrantOrder, desk.grant)}),
        ),
        Route(
            "/control/credits/refund",
            Endpoint({"POST": ordered("credits.refund", RefundOrder, desk.refund)}),
        ),
        Route(
            "/control/credits/refer",
            Endpoint({"POST": ordered("credits.refer", ReferOrder, desk.refer)}),
        ),
        Route("/control/credits/audit", Endpoint({"GET": local.told("credits.audit", desk.audit)})),
    )


def _memory_routes(local: ControlGate, desk: MemoryOrders) -> tuple[Route, ...]:
    facts = {
        "GET": local.asked("memory.show", MemoryAsk, desk.show),
        "POST": local.ordered("memory.set", FactOrder, desk.set),
    }
    return (
        Route("/control/memory", Endpoint(facts)),
        Route(
            "/control/memory/forget",
            Endpoint({"POST": local.ordered("memory.forget", ForgetOrder, desk.forget)}),
        ),
        Route(
            "/control/memory/dream",
            Endpoint({"POST": local.ordered("memory.dream", DreamOrder, desk.dream)}),
        ),
        Route(
            "/control/memory/record",
            Endpoint({"GET": local.asked("memory.record", MemoryAsk, desk.record)}),
        ),
    )


def _cron_routes(local: ControlGate, desk: CronOrders) -> tuple[Route, ...]:
    ordered = local.ordered
    jobs = {
        "GET": local.asked("cron.list", JobsAsk, desk.list),
        "POST": ordered("cron.add", NewJobOrder, desk.add),
    }
    return (
        Route("/control/cron", Endpoint(jobs)),
        Route("/control/cron/job", Endpoint({"GET": local.asked("cron.show", JobAsk, desk.show)})),
        Route(
            "/control/cron/pause", Endpoint({"POST": ordered("cron.pause", JobOrder, desk.pause)})
        ),
        Route(
            "/control/cron/resume",
            Endpoint({"POST": ordered("cron.resume", JobOrder, desk.resume)}),
        ),
        Route("/control/cron/run", Endpoint({"POST": ordered("cron.run", JobOrder, desk.run)})),
        Route(
            "/control/cron/remove",
            Endpoint({"POST": ordered("cron.remove", JobOrder, desk.remove)}),
        ),
    )


def _user_routes(local: ControlGate, desk: UserOrders) -> tuple[Route, ...]:
    ordered = local.ordered
    return (
        Route("/control/users", Endpoint({"GET": local.asked("users.list", UsersAsk, desk.list)})),
        Route(
            "/control/users/user", Endpoint({"GET": local.asked("users.show", UserAsk, desk.show)})
        ),
        Route("/control/users/add", Endpoint({"POST": ordered("users.add", UserOrder, desk.add)})),
        Route(
            "/control/users/activate",
            Endpoint({"POST": ordered("users.activate", UserOrder, desk.activate)}),
        ),
        Route(
            "/control/users/block",
            Endpoint({"POST": ordered("users.block", UserOrder, desk.block)}),
        ),
        Route(
            "/control/users/link", Endpoint({"POST": ordered("users.link", LinkOrder, desk.link)})
        ),
        Route(
            "/control/users/unlink",
            Endpoint({"POST": ordered("users.unlink", UserOrder, desk.unlink)}),
        ),
        Route(
            "/control/users/tier",
            Endpoint({"POST": ordered("users.tier", TierOrder, desk.set_tier)}),
        ),
        Route(
            "/control/users/erase",
            Endpoint({"POST": ordered("users.erase", UserOrder, desk.erase)}),
        ),
    )


def _model_routes(local: ControlGate, control: Control) -> tuple[Route, ...]:
    route = local.ordered("models.route", CallNeeds, control.route)
    return (
        Route("/control/models", Endpoint({"GET": local.told("models.list", control.models)})),
        Route("/control/route", Endpoint({"POST": route})),
    )


def _access_routes(local: ControlGate, control: Control) -> tuple[Route, ...]:
    link = local.ordered_by("access.link", LinkWish, control.link)
    return (
        Route("/control/link", Endpoint({"POST": link})),
        Route("/control/token", Endpoint({"POST": local.told_to("tokens.create", control.token)})),
    )


def _pairing_routes(local: ControlGate, desk: PairingOrders) -> tuple[Route, ...]:
    ordered = local.ordered
    return (
        Route("/control/pair", Endpoint({"GET": local.told("pairing.list", desk.list)})),
        Route(
            "/control/pair/approve",
            Endpoint({"POST": ordered("pairing.approve", PairApproval, desk.approve)}),
        ),
        Route(
            "/control/pair/deny", Endpoint({"POST": ordered("pairing.deny", PairOrder, desk.deny)})
        ),
        Route(
            "/control/pair/revoke",
            Endpoint({"POST": ordered("pairing.revoke", PairOrder, desk.revoke)}),
        ),
    )


def _search_routes(local: ControlGate, desk: SearchOrders) -> tuple[Route, ...]:
    return (
        Route(
            "/control/search", Endpoint({"GET": local.asked("search.find", SearchOrder, desk.find)})
        ),
        Route("/control/search/index", Endpoint({"GET": local.told("search.state", desk.state)})),
        Route(
            "/control/search/rebuild",
            Endpoint({"POST": local.told("search.rebuild", desk.rebuild)}),
        ),
    )
