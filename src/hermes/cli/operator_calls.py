"""How the commands about keys and money reach the operator's functions.

They go through the running gateway; only where none runs, they open its files themselves.
"""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from hermes.cli.environment import home_for, settings_for
from hermes.cli.gateway_client import GatewayClient, client_for
from hermes.cli.lazy import load_named
from hermes.cli.terminal import Home
from hermes.cli.who import operator_name
from hermes.control.operations import Operations
from hermes.ops.instance import find_running

__all__ = ("at_desk", "money", "operator_name")

_Answer = TypeVar("_Answer")
_LEAST_SHOWN = 0.0001


def at_desk(
    home: Home,
    ask: Callable[[GatewayClient], _Answer],
    *,
    here: Callable[[Operations], Awaitable[_Answer]],
    empty: Callable[[], _Answer] | None = None,
) -> _Answer:
    """Ask the gateway, or do it here; `empty` answers for a home in which nothing is stored yet."""
    running = find_running(home_for(home))
    if running is not None:
        return ask(client_for(running))
    # Loaded by name: it brings the whole composition root with it.
    work: Callable[..., _Answer] = load_named("hermes.cli.offline:at_desk")
    return work(settings_for(home), here, empty=empty)


def money(usd: float) -> str:
    """Return dollars for people; what is more than nothing never looks like nothing."""
    if 0 < usd < _LEAST_SHOWN:
        return f"<${_LEAST_SHOWN:.4f}"
    is_whole_cents = abs(usd * 100 - round(usd * 100)) < 1e-6
    return f"${usd:,.2f}" if is_whole_cents else f"${usd:,.4f}"
