"""New sign-in links of a running gateway, made for the operator who asks."""

from typing import Protocol

from hermes.control.tokens import SignInLink, SignInLinkOrder


class AccessMaker(Protocol):
    """Makes the codes that sign a browser in."""

    async def make_signin_code(self, maker: str = "", *, revoke_others: bool = False) -> str:
        """Return a code that signs one browser in once."""
        ...


class SignInOperations:
    """Makes links; `address` is where people reach the gateway."""

    def __init__(self, access: AccessMaker, *, address: str) -> None:
        self._access = access
        self._address = address

    async def link(self, order: SignInLinkOrder, maker: str) -> SignInLink:
        """Return a new one-time sign-in link; it ends with the credential `maker`, if there is one."""
        code = await self._access.make_signin_code(maker, revoke_others=order.revoke_others)
        return SignInLink(link=f"{self._address}/signin?code={code}")
