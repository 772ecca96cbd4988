"""Browser sign-in: the one-time link, the pasted token, and the session cookie.

Serves `/signin` and `/signout`. The `BrowserSignIn` that is passed in checks codes and tokens.
"""

from collections.abc import Mapping
from typing import Protocol

import structlog

from hermes.channels.web.inbound import read_token
from hermes.errors import BadRequest, Forbidden, Unauthenticated
from hermes.http.assets import Asset, page_response
from hermes.http.body import FORM, JSON, media_type
from hermes.http.errors import plain_error
from hermes.http.json_body import json_response
from hermes.http.route import Answer, HttpExchange, refuse_url_credentials
from hermes.http.same_origin import Origins
from hermes.ports.channel import HttpResponse
from hermes.ports.gateway_api import GatewayApi, owner_only

_BODY_BYTES = 4096
_log = structlog.get_logger(__name__)


class BrowserSignIn(Protocol):
    """What the web chat needs from the server's access control."""

    async def sign_in(self, code: str, *, browser: str = "") -> str:
        """Use up a one-time code; return the session's secret or raise `Unauthenticated`."""
        ...

    async def sign_in_with_token(self, token: str, *, browser: str = "") -> str:
        """Return a new session's secret for a valid token or raise `Unauthenticated`."""
        ...

    async def sign_out(self, headers: Mapping[str, str]) -> bool:
        """End the session in the request's cookie; return False if it had already ended."""
        ...

    def cookie(self, session: str, *, secure: bool) -> str:
        """Return the Set-Cookie value that keeps the session in a browser; "" removes it."""
        ...


class SignInPages:
    """The handlers of `/signin` and `/signout`."""

    def __init__(
        self,
        gateway_api: GatewayApi,
        access: BrowserSignIn,
        *,
        assets: dict[str, Asset],
        origins: Origins,
        body_timeout_s: float,
    ) -> None:
        self._gateway_api = gateway_api
        self._access = access
        self._assets = assets
        self._origins = origins
        self._body_timeout_s = body_timeout_s

    def page(self, status: int = 200) -> HttpResponse:
        """Return the page that explains how to sign in."""
        return page_response(self._assets["signin.html"], status)

    async def is_signed_in(self, exchange: HttpExchange) -> bool:
        """Return whether the request carries a valid session; raise `Forbidden` for other roles."""
        try:
            owner_only(await self._gateway_api.authenticate(exchange.headers))
        except Unauthenticated:
            return False
        return True

    async def open_link(self, exchange: HttpExchange) -> Answer:
        """Handle the one-time link; opening it again in the same browser is not an error."""
        if "prefetch" in exchange.headers.get("sec-purpose", ""):
            text = "A browser must not prefetch a one-time link."
            return plain_error(503, "not_opened_yet", text=text)
        code = exchange.query().get("code", "")
        if not code:
            return self.page()
        try:
            session = await self._access.sign_in(code, browser=_browser(exchange))
        except Unauthenticated:
            if await self.is_signed_in(exchange):
                return _to_chat({})
            return page_response(self._assets["link_used.html"], 401)
        return _to_chat(self._cookie(exchange, session))

    async def paste_token(self, exchange: HttpExchange) -> Answer:
        """Handle the form of the sign-in page, sent by its script or by the browser alone."""
        self._check_origin(exchange)
        kind = media_type(exchange.headers)
        if kind not in {JSON, FORM}:
            text = f"The content type is {kind[:80]!r}: send the token as {JSON} or as a form."
            return plain_error(415, "unsupported_media_type", text=text)
        raw = await exchange.body(limit=_BODY_BYTES, timeout_s=self._body_timeout_s)
        token = read_token(raw, is_form=kind == FORM)
        try:
            session = await self._access.sign_in_with_token(token, browser=_browser(exchange))
        except Unauthenticated:
            if kind == FORM:
                return page_response(self._assets["token_wrong.html"], 401)
            raise
        headers = self._cookie(exchange, session)
        return (
            _to_chat(headers)
            if kind == FORM
            else json_response({"signed_in": True}, headers=headers)
        )

    async def sign_out(self, exchange: HttpExchange) -> Answer:
        """End this browser's session and remove its cookie."""
        refuse_url_credentials(exchange)
        caller = await self._gateway_api.authenticate(exchange.headers)
        if caller.kind != "browser":
            raise BadRequest(
                "Only a browser session can sign out. To end a token, run `hermes token revoke`."
            )
        self._origins.check(caller, exchange.headers)
        await self._access.sign_out(exchange.headers)
        _log.info("browser_signed_out", session=caller.session)
        return json_response({"signed_out": True}, headers=self._cookie(exchange, ""))

    def _check_origin(self, exchange: HttpExchange) -> None:
        # A form sent under `Referrer-Policy: no-referrer` has the origin "null"; then only the
        # fetch metadata says which site sent it.
        headers = exchange.headers
        own_form = headers.get("sec-fetch-site") == "same-origin"
        if "origin" in headers and not own_form and not self._origins.is_same(headers):
            raise Forbidden("Another site's page sent this sign-in: open this server's own page.")

    def _cookie(self, exchange: HttpExchange, session: str) -> dict[str, str]:
        scope = exchange.scope
        peer = scope["client"][0] if scope.get("client") else None
        secure = self._origins.is_secure(str(scope["scheme"]), exchange.headers, peer=peer)
        return {"set-cookie": self._access.cookie(session, secure=secure)}


def _browser(exchange: HttpExchange) -> str:
    """Return the browser's name, for the list of sessions."""
    return exchange.headers.get("user-agent", "")


def _to_chat(headers: dict[str, str]) -> HttpResponse:
    return HttpResponse(status=303, content_type="text/plain", headers={"location": "/", **headers})
