"""The operator's functions about people, as `/control` needs them; the desk has them."""

from typing import Protocol

from hermes.control.pairing import PairApproval, PairOrder
from hermes.control.users import LinkOrder, TierOrder, UserAsk, UserOrder, UsersAsk


class UserOrders(Protocol):
    """About people and their channels."""

    async def list(self, ask: UsersAsk) -> object:
        """Return people."""
        ...

    async def show(self, ask: UserAsk) -> object:
        """Return one person with their channels."""
        ...

    async def add(self, order: UserOrder) -> object:
        """Let somebody in before they have written."""
        ...

    async def activate(self, order: UserOrder) -> object:
        """Let somebody in, or back in."""
        ...

    async def block(self, order: UserOrder) -> object:
        """Answer a person no more."""
        ...

    async def link(self, order: LinkOrder) -> object:
        """Give a channel to a person."""
        ...

    async def unlink(self, order: UserOrder) -> object:
        """Take a channel from its person."""
        ...

    async def set_tier(self, order: TierOrder) -> object:
        """Give a person a tier."""
        ...

    async def erase(self, order: UserOrder) -> object:
        """Destroy a person's data key."""
        ...


class PairingOrders(Protocol):
    """About who waits to be let in."""

    async def list(self) -> object:
        """Return who waits, who was paired, and what is locked."""
        ...

    async def approve(self, order: PairApproval) -> object:
        """Let in whoever was told this code."""
        ...

    async def deny(self, order: PairOrder) -> object:
        """Make the code of somebody who waits worthless."""
        ...

    async def revoke(self, order: PairOrder) -> object:
        """Let a channel in no longer."""
        ...
