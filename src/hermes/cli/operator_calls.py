"""How a command gives an operator order: one call for every row of the table of orders.

It asks the running gateway over HTTP; only if none runs, it opens the files of the home itself.
"""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlencode

import msgspec

from hermes.cli.environment import home_for, settings_for
from hermes.cli.gateway_client import SHORT_S, GatewayClient, client_for
from hermes.cli.terminal import Home
from hermes.cli.who import operator_name
from hermes.control.audited import Operator
from hermes.control.order import AnyOrder, NoFields, Order, Report, Request
from hermes.lazy import lazy
from hermes.ops.instance import find_running

if TYPE_CHECKING:
    from hermes.cli.offline import run_here
else:
    run_here = lazy("hermes.cli.offline:run_here")

__all__ = ("ask_gateway", "call", "call_here", "money", "operator_name")

_Result = TypeVar("_Result")
_LEAST_SHOWN = 0.0001


def call(
    home: Home,
    order: Order[Request, Report],
    request: Request,
    *,
    empty: Callable[[], Report] | None = None,
    timeout_s: float = SHORT_S,
) -> Report:
    """Give an order to the gateway of a home, or run it here if none runs.

    Returns `empty` if nothing is stored in the home yet; without `empty` the order creates the
    home.
    """
    running = find_running(home_for(home))
    if running is not None:
        return ask_gateway(client_for(running), order, request, timeout_s=timeout_s)
    return call_here(
        home,
        lambda operator: operator.give(order, request),
        empty=empty,
        logs=order.changes or order.shows,
    )


def ask_gateway(
    gateway: GatewayClient,
    order: Order[Request, Report],
    request: Request,
    *,
    timeout_s: float = SHORT_S,
) -> Report:
    """Give an order to a running gateway."""
    path = _path(order, request)
    if not order.takes_body or order.request is NoFields:
        return gateway.ask(order.method, path, order.report, timeout_s=timeout_s)
    body = _outside_path(order, request) if order.parameters else request
    return gateway.ask(order.method, path, order.report, body=body, timeout_s=timeout_s)


def call_here(
    home: Home,
    work: Callable[[Operator], Awaitable[_Result]],
    *,
    empty: Callable[[], _Result] | None,
    logs: bool,
) -> _Result:
    """Give orders on the files of a home where no gateway runs."""
    return run_here(settings_for(home), work, empty=empty, logs=logs)


def money(usd: float) -> str:
    """Return dollars as text; a small positive amount is never shown as zero."""
    if 0 < usd < _LEAST_SHOWN:
        return f"<${_LEAST_SHOWN:.4f}"
    is_whole_cents = abs(usd * 100 - round(usd * 100)) < 1e-6
    return f"${usd:,.2f}" if is_whole_cents else f"${usd:,.4f}"


def _path(order: AnyOrder, request: object) -> str:
    """Return the path of an order, filled in from its request."""
    path = order.filled(msgspec.to_builtins(request))
    if order.takes_body:
        return path
    fields = _outside_path(order, request).items()
    said = {name: _text(one) for name, one in fields if one is not None}
    return f"{path}{'&' if order.variant else '?'}{urlencode(said)}" if said else path


# Any: fields of a request, as JSON has them.
def _outside_path(order: AnyOrder, request: object) -> dict[str, Any]:
    fields = msgspec.to_builtins(request).items()
    return {name: one for name, one in fields if name not in order.parameters}


# Any: a field of a request, as JSON has it.
def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
