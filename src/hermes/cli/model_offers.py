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
from hermes.config import Loaded
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

    One inside a `hermes chat` listens nowhere, and need not be asked: its settings are ours.
    """
    running = find_running(home_for(home))
    if running is None or running.address is None:
        return None
    return GatewayClient(running.address)


def ask_here(loaded: Loaded) -> list[ProviderOffer]:
    """Ask the configured providers from this process; what they log is not part of the answer."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))

    async def answer() -> list[ProviderOffer]:
        return await configured_offers(loaded)

    return asyncio.run(answer())


def price_text(price: Price | None) -> str:
    """Return a price for people; unknown is said, never shown as nothing."""
    if price is None:
        return "price unknown"
    if price.source == "this machine":
        return "this machine"
    return f"${price.read:.2f} / ${price.written:.2f}"
