"""How `hermes models` and `hermes route` learn of the models: from the running gateway, or by asking
the configured providers from here.
"""

import asyncio
import logging
from typing import TYPE_CHECKING

import structlog

from hermes.cli.environment import home_for
from hermes.cli.gateway_client import GatewayClient
from hermes.cli.terminal import Home
from hermes.config import LoadedConfig
from hermes.lazy import lazy
from hermes.ops.instance import find_running
from hermes.routing.plan import ProviderOffer
from hermes.routing.prices import Price

if TYPE_CHECKING:
    from hermes.app.models import offers as configured_offers
else:
    configured_offers = lazy("hermes.app.models:offers")


def gateway_of(home: Home) -> GatewayClient | None:
    """Return the gateway that runs in a home and listens, or None.

    A gateway inside `hermes chat` does not listen; its settings are the same as ours.
    """
    running = find_running(home_for(home))
    if running is None or running.address is None:
        return None
    return GatewayClient(running.address)


def quiet_logs() -> None:
    """Print only errors of what runs in this process: its log is no output of the command."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))


def ask_here(loaded: LoadedConfig) -> list[ProviderOffer]:
    """Ask the configured providers from this process; their log lines are not printed."""
    quiet_logs()

    async def answer() -> list[ProviderOffer]:
        return await configured_offers(loaded)

    return asyncio.run(answer())


def price_text(price: Price | None) -> str:
    """Return a price as text; an unknown price is shown as unknown, not as zero."""
    if price is None:
        return "price unknown"
    if price.source == "this machine":
        return "this machine"
    by = " (service)" if price.source == "service" else ""
    return f"${price.read:.2f} / ${price.written:.2f}{by}"
