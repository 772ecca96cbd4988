"""Signing in with an identity provider: the two halves, `POST` and `GET /signin/provider`.

The first is asked by our own page and sends the browser away with a secret in a cookie of its own; the
second is where the provider sends it back. That request comes from another site, so the cookie is
`Lax`, lives for ten minutes, and opens nothing.
"""

from collections.abc import Mapping
from html import escape
from typing import Protocol

import msgspec

from hermes.channels.web.signin import BrowserSignIn, browser_of, check_own_page, is_secure
from hermes.errors import Refused, TryLater
from hermes.http.assets import Asset, page_response
from hermes.http.cookies import cookie_in
from hermes.http.json_body import json_response
from hermes.http.route import Answer, HttpExchange
from hermes.http.same_origin import Origins
from hermes.ports.access import Newcomer

PATH = "/signin/provider"
_COOKIE = "hermes_provider"
_AGE_S = 600
_MARK = b"<!-- provider -->"
_BUTTON = (
    '<div class="provider"><button id="provider" type="button">Sign in with {name}</button></div>'
)


class BrowserDeparture(Protocol):
    """Where the browser goes to sign in, and the secret that it keeps until it comes back."""

    @property
    def url(self) -> str: ...
    @property
    def secret(self) -> str: ...


class IdentityProvider(Protocol):
    """Somebody else who knows who a person is."""

    name: str

    async def begin(self, *, return_to: str) -> BrowserDeparture:
        """Return where the browser signs in; raises `TryLater` if the provider does not answer."""
        ...

    async def finish(self, secret: str, said: Mapping[str, str], *, return_to: str) -> Newcomer:
        """Return who came back; raises `Unauthenticated`, `Forbidden` or `TryLater`."""
        ...


class ProviderPages:
    """The handlers of `/signin/provider`."""

    def __init__(
        self,
        provider: IdentityProvider,
        access: BrowserSignIn,
        *,
        assets: dict[str, Asset],
        origins: Origins,
    ) -> None:
        self._provider = provider
        self._access = access
        self._assets = assets
        self._origins = origins

    async def leave(self, exchange: HttpExchange) -> Answer:
        """Return where the page of sign-in goes on; another site's page gets 403."""
        check_own_page(exchange, self._origins)
        there = await self._provider.begin(return_to=self._return_to(exchange))
        return json_response(
            {"url": there.url}, headers={"set-cookie": self._cookie(exchange, there.secret)}
        )

    async def come_back(self, exchange: HttpExchange) -> Answer:
        """Sign the browser in that comes back, or say why not."""
        secret = cookie_in(exchange.headers.get("cookie", ""), _COOKIE) or ""
        said, return_to = exchange.query(), self._return_to(exchange)
        try:
            who = await self._provider.finish(secret, said, return_to=return_to)
            session = await self._access.admit(who, browser=browser_of(exchange))
        except (Refused, TryLater) as error:
            return self._failed(str(error))
        secure = is_secure(exchange, self._origins)
        cookie = self._access.cookie(session, secure=secure)
        # A page, not a redirect: after a request from another site, a browser would not show the
        # strict cookie to the page to which it is sent on.
        page = page_response(self._assets["signed_in.html"])
        return msgspec.structs.replace(page, headers={**page.headers, "set-cookie": cookie})

    def _failed(self, why: str) -> Answer:
        page = self._assets["signin_failed.html"]
        body = page.body.replace(b"{why}", escape(why).encode())
        return page_response(msgspec.structs.replace(page, body=body), 401)

    def _return_to(self, exchange: HttpExchange) -> str:
        secure = is_secure(exchange, self._origins)
        return f"{self._origins.home(exchange.headers, is_secure=secure)}{PATH}"

    def _cookie(self, exchange: HttpExchange, secret: str) -> str:
        value = f"{_COOKIE}={secret}; Path={PATH}; Max-Age={_AGE_S}; HttpOnly; SameSite=Lax"
        return f"{value}; Secure" if is_secure(exchange, self._origins) else value


def with_provider(asset: Asset, provider: IdentityProvider | None) -> Asset:
    """Return a sign-in page with the button of the provider, if there is one."""
    button = "" if provider is None else _BUTTON.format(name=escape(provider.name))
    return msgspec.structs.replace(asset, body=asset.body.replace(_MARK, button.encode()))
