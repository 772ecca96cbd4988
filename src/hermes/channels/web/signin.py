"""Browser sign-in: the one-time link, the invitation, the pasted token, and the session cookie.

Serves `/signin` and `/signout`. The `BrowserSignIn` that is passed in checks codes and tokens. An
invitation is only used up by a request of our own page: chat platforms and mail filters open links to
preview them, and a link from a stranger must not change as whom a browser is signed in.
"""

from collections.abc import Mapping
from typing import Protocol

import msgspec
import structlog

from hermes.channels.web.inbound import read_token
from hermes.errors import BadRequest, Forbidden, Unauthenticated
from hermes.http.assets import Asset, page_response
from hermes.http.body import FORM, JSON, media_type
from hermes.http.errors import plain_error
from hermes.http.json_body import json_response
from hermes.http.route import Answer, HttpExchange, refuse_url_credentials
from hermes.http.same_origin import Origins
from hermes.ports.access import Credential, Newcomer, read_invitation
from hermes.ports.channel import HttpResponse
from hermes.ports.gateway_api import Caller, GatewayApi

# The pages that offer ways to sign in.
SIGN_IN_PAGES = ("signin.html", "link_used.html", "token_wrong.html", "signin_failed.html")
_BODY_BYTES = 4096
_log = structlog.get_logger(__name__)


class BrowserSignIn(Protocol):
    """What the web chat needs from the server's access control."""

    async def sign_in(self, code: str, *, browser: str = "") -> str:
        """Use up a one-time code or an invitation; return the session's secret.

        Raises `Unauthenticated`, or `Forbidden` if the person is blocked.
        """
        ...

    async def sign_in_with_token(self, token: str, *, browser: str = "") -> str:
        """Return a new session's secret for a valid token or raise `Unauthenticated`."""
        ...

    async def admit(self, who: Newcomer, *, browser: str = "") -> str:
        """Return a new session's secret for a person whom an identity provider has identified."""
        ...

    async def sign_out(self, headers: Mapping[str, str]) -> bool:
        """End the session in the request's cookie; return False if it had already ended."""
        ...

    async def sessions_of(self, caller: Caller) -> tuple[Credential, ...]:
        """Return the browser sessions of the caller's person, the newest first."""
        ...

    async def name_of(self, caller: Caller) -> str:
        """Return the name of the caller's person, or as whom they write if no name is known."""
        ...

    async def end_sessions(self, caller: Caller, *, only: str = "") -> int:
        """End one of the caller's own sessions, or all others; return how many ended."""
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

    async def caller(self, exchange: HttpExchange) -> Caller | None:
        """Return who is signed in; None if nobody is."""
        try:
            return await self._gateway_api.signed_in(exchange.headers)
        except Unauthenticated:
            return None

    async def open_link(self, exchange: HttpExchange) -> Answer:
        """Handle the one-time link; opening it again in the same browser is not an error."""
        if "prefetch" in exchange.headers.get("sec-purpose", ""):
            text = "A browser must not prefetch a one-time link."
            return plain_error(503, "not_opened_yet", text=text)
        code = exchange.query().get("code", "")
        if not code:
            return self.page()
        invitation = read_invitation(code)
        if invitation is not None:
            return self._invitation(invitation)
        try:
            session = await self._access.sign_in(code, browser=browser_of(exchange))
        except Unauthenticated:
            if await self.caller(exchange) is not None:
                return _to_chat({})
            return page_response(self._assets["link_used.html"], 401)
        return _to_chat(self._cookie(exchange, session))

    def _invitation(self, code: str) -> HttpResponse:
        """Return the page that asks before it signs in; the code has letters and digits alone."""
        page = self._assets["invitation.html"]
        body = page.body.replace(b"{code}", code.encode())
        return page_response(msgspec.structs.replace(page, body=body))

    async def paste_token(self, exchange: HttpExchange) -> Answer:
        """Handle the form of the sign-in page, sent by its script or by the browser alone."""
        check_own_page(exchange, self._origins)
        kind = media_type(exchange.headers)
        if kind not in {JSON, FORM}:
            text = f"The content type is {kind[:80]!r}: send the token as {JSON} or as a form."
            return plain_error(415, "unsupported_media_type", text=text)
        raw = await exchange.body(limit=_BODY_BYTES, timeout_s=self._body_timeout_s)
        token = read_token(raw, is_form=kind == FORM)
        try:
            session = await self._begin(token, browser=browser_of(exchange))
        except (Unauthenticated, Forbidden):
            if kind == FORM:
                return page_response(self._assets["token_wrong.html"], 401)
            raise
        # Whoever was signed in in this browser is not any more.
        await self._access.sign_out(exchange.headers)
        headers = self._cookie(exchange, session)
        return (
            _to_chat(headers)
            if kind == FORM
            else json_response({"signed_in": True}, headers=headers)
        )

    async def _begin(self, secret: str, *, browser: str) -> str:
        """Return a new session's secret for the code of an invitation, or for a token."""
        if read_invitation(secret) is not None:
            return await self._access.sign_in(secret, browser=browser)
        return await self._access.sign_in_with_token(secret, browser=browser)

    async def sign_out(self, exchange: HttpExchange) -> Answer:
        """End this browser's session and remove its cookie."""
        refuse_url_credentials(exchange)
        caller = await self._gateway_api.signed_in(exchange.headers)
        if caller.kind != "browser":
            raise BadRequest(
                "Only a browser session can sign out. To end a token, run `hermes token revoke`."
            )
        self._origins.check(caller, exchange.headers)
        await self._access.sign_out(exchange.headers)
        _log.info("browser_signed_out", session=caller.session)
        return json_response({"signed_out": True}, headers=self._cookie(exchange, ""))

    def _cookie(self, exchange: HttpExchange, session: str) -> dict[str, str]:
        secure = is_secure(exchange, self._origins)
        return {"set-cookie": self._access.cookie(session, secure=secure)}


def check_own_page(exchange: HttpExchange, origins: Origins) -> None:
    """Raise `Forbidden` for a sign-in that a page of another site sends."""
    # A form sent under `Referrer-Policy: no-referrer` has the origin "null"; then only the
    # fetch metadata says which site sent it.
    headers = exchange.headers
    own_form = headers.get("sec-fetch-site") == "same-origin"
    if "origin" in headers and not own_form and not origins.is_same(headers):
        raise Forbidden("Another site's page sent this sign-in: open this server's own page.")


def is_secure(exchange: HttpExchange, origins: Origins) -> bool:
    """Return whether the browser talks https to us, directly or to a trusted proxy."""
    scope = exchange.scope
    peer = scope["client"][0] if scope.get("client") else None
    return origins.is_secure(str(scope["scheme"]), exchange.headers, peer=peer)


def browser_of(exchange: HttpExchange) -> str:
    """Return the browser's name, for the list of sessions."""
    return exchange.headers.get("user-agent", "")


def _to_chat(headers: dict[str, str]) -> HttpResponse:
    return HttpResponse(status=303, content_type="text/plain", headers={"location": "/", **headers})
