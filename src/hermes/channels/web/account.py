"""Who is signed in, and in which browsers: `/web/me` and `/web/sessions`.

People see and end their own sessions and nobody else's; operators have `hermes token`.
"""

from collections.abc import Sequence

import msgspec
import structlog
from starlette.routing import Route

from hermes.channels.web.inbound import read_session_end
from hermes.channels.web.signin import BrowserSignIn
from hermes.errors import BadRequest, NotFound
from hermes.http.body import JSON, media_type
from hermes.http.json_body import json_response
from hermes.http.route import Answer, Endpoint, HttpExchange, refuse_url_credentials
from hermes.http.same_origin import Origins
from hermes.ports.access import Credential, Role
from hermes.ports.gateway_api import Caller, GatewayApi, chatting

_BODY_BYTES = 4096
_log = structlog.get_logger(__name__)


class MeView(msgspec.Struct, frozen=True, kw_only=True):
    """Who is signed in: their id in the web chat, their name or else the id, and their role."""

    user: str
    name: str
    role: Role
    # Empty if a token is shown instead of a browser's session.
    session: str


class OwnBrowser(msgspec.Struct, frozen=True, kw_only=True):
    """A browser that is signed in; `is_this` is the one that asks."""

    id: str
    browser: str
    created_at: float
    seen_at: float | None
    expires_at: float | None
    is_this: bool


class AccountApi:
    """The routes of a person's own sign-ins."""

    def __init__(
        self,
        gateway_api: GatewayApi,
        access: BrowserSignIn,
        *,
        origins: Origins,
        body_timeout_s: float,
    ) -> None:
        self._gateway_api = gateway_api
        self._access = access
        self._origins = origins
        self._body_timeout_s = body_timeout_s

    def routes(self) -> Sequence[Route]:
        """Return the routes to mount."""
        return (
            Route("/web/me", Endpoint({"GET": self.me})),
            Route("/web/sessions", Endpoint({"GET": self.sessions})),
            Route("/web/sessions/end", Endpoint({"POST": self.end})),
        )

    async def me(self, exchange: HttpExchange) -> Answer:
        """Tell who is signed in."""
        caller = await self._enter(exchange)
        name = await self._access.name_of(caller)
        me = MeView(user=caller.user, name=name, role=caller.role, session=caller.session)
        return json_response(me)

    async def sessions(self, exchange: HttpExchange) -> Answer:
        """List the person's own sessions, the newest first."""
        caller = await self._enter(exchange)
        known = await self._access.sessions_of(caller)
        return json_response({"sessions": [_view(one, caller) for one in known]})

    async def end(self, exchange: HttpExchange) -> Answer:
        """End one of the person's own sessions, or all but this one."""
        caller = await self._enter(exchange)
        self._origins.check(caller, exchange.headers)
        if media_type(exchange.headers) != JSON:
            raise BadRequest(f"The content type must be {JSON}.")
        raw = await exchange.body(limit=_BODY_BYTES, timeout_s=self._body_timeout_s)
        named = read_session_end(raw).id
        ended = await self._access.end_sessions(caller, only=named)
        if named and not ended:
            raise NotFound(f"You have no session {named[:80]!r}: it may have ended already.")
        _log.info("own_sessions_ended", session=caller.session, ended=ended)
        return json_response({"ended": ended})

    async def _enter(self, exchange: HttpExchange) -> Caller:
        refuse_url_credentials(exchange)
        return chatting(await self._gateway_api.signed_in(exchange.headers))


def _view(one: Credential, caller: Caller) -> OwnBrowser:
    return OwnBrowser(
        id=one.id,
        browser=one.label,
        created_at=one.created_at,
        seen_at=one.seen_at,
        expires_at=one.expires_at,
        is_this=one.id == caller.session,
    )
