"""OAuth for MCP servers over HTTP: gets, renews and sends tokens.

Tokens come from the issuer that the operator has named, and requests about them go to addresses of the
configuration alone: what a server or a document says of other places, private ones too, is refused.
"""

import asyncio
from base64 import b64encode
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from http import HTTPStatus
from urllib.parse import quote, urlsplit

import httpx2
import msgspec

from hermes.config import McpOAuthSettings
from hermes.errors import TryLater
from hermes.tools.mcp.clean_text import Scrubber, one_line
from hermes.tools.mcp.connection import LinkLost
from hermes.tools.mcp.grants import Grant, GrantStore, origin_of

_MOST_BYTES = 262_144
_MOST_TOKEN = 16_384
_TIMEOUT_S = 20.0
# A token is renewed so long before its end.
_EARLY_S = 30.0
_JSON = "application/json"


class _Metadata(msgspec.Struct, frozen=True):
    issuer: str
    token_endpoint: str


class _Tokens(msgspec.Struct, frozen=True):
    access_token: str
    token_type: str = "Bearer"
    expires_in: float | None = None
    refresh_token: str | None = None
    scope: str | None = None


class _Refusal(msgspec.Struct, frozen=True):
    error: str = ""


class Fence(httpx2.AsyncBaseTransport):
    """A transport that reaches some origins alone, and reads answers up to a limit."""

    def __init__(self, inner: httpx2.AsyncBaseTransport, origins: frozenset[str]) -> None:
        self._inner = inner
        self._origins = origins

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send one request, or refuse it."""
        origin = origin_of(str(request.url))
        if origin not in self._origins:
            raise LinkLost(
                f"OAuth leads to {one_line(origin, 200)}, which is neither the server nor the issuer "
                "of its settings: if that is right, add it to oauth.endpoints"
            )
        request.headers["accept-encoding"] = "identity"
        response = await self._inner.handle_async_request(request)
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        response.stream = _Short(response.stream, origin)
        return response

    async def aclose(self) -> None:
        """Close the connections."""
        await self._inner.aclose()


class _Short(httpx2.AsyncByteStream):
    """A body that is read up to a limit."""

    def __init__(self, inner: httpx2.AsyncByteStream, origin: str) -> None:
        self._inner = inner
        self._origin = origin

    async def __aiter__(self) -> AsyncIterator[bytes]:
        seen = 0
        async for piece in self._inner:
            seen += len(piece)
            if seen > _MOST_BYTES:
                raise LinkLost(f"the answer of {self._origin} exceeds {_MOST_BYTES:,} bytes")
            yield piece

    async def aclose(self) -> None:
        """Close the body."""
        await self._inner.aclose()


def fenced_client(
    inner: httpx2.AsyncBaseTransport, origins: frozenset[str], *, auth: httpx2.Auth | None = None
) -> httpx2.AsyncClient:
    """Return a client for requests about tokens; it follows no redirect."""
    return httpx2.AsyncClient(
        transport=Fence(inner, origins), timeout=_TIMEOUT_S, trust_env=False, auth=auth
    )


class OAuthTokens(httpx2.Auth):
    """Sends the token of one server with every request, and renews it in time.

    `lost` is called if there is no token any more; `client` makes the client for requests about it.
    """

    def __init__(
        self,
        server: str,
        settings: McpOAuthSettings,
        *,
        url: str,
        grants: GrantStore,
        client: Callable[[], httpx2.AsyncClient],
        scrubber: Scrubber,
        lost: Callable[[str], None],
    ) -> None:
        self._server = server
        self._settings = settings
        self._url = url
        self._grants = grants
        self._client = client
        self._scrubber = scrubber
        self._lost = lost
        self._grant: Grant | None = None
        self._renewing = asyncio.Lock()

    async def prepare(self) -> None:
        """Have a token before the first request; raises `LinkLost`."""
        self._use(await self._stored())
        if self._is_over(self._grant):
            await self._renew()

    async def async_auth_flow(
        self, request: httpx2.Request
    ) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """Send a request with the token, and once more with a new one if it is refused."""
        used = await self._token(refused=None)
        request.headers["authorization"] = f"Bearer {used}"
        response = yield request
        if response.status_code == HTTPStatus.UNAUTHORIZED:
            fresh = await self._token(refused=used)
            request.headers["authorization"] = f"Bearer {fresh}"
            yield request

    async def _token(self, *, refused: str | None) -> str:
        """Return a token other than the one that was refused; the link ends if there is none."""
        try:
            async with self._renewing:
                grant = self._grant
                if grant is None or self._is_over(grant) or grant.access_token == refused:
                    await self._renew()
        except LinkLost as lost:
            self._lost(str(lost))
            raise
        assert self._grant is not None
        return self._grant.access_token

    def _is_over(self, grant: Grant | None) -> bool:
        if grant is None or not grant.access_token:
            return True
        return grant.expires_at is not None and grant.expires_at - _EARLY_S <= self._grants.now()

    def _use(self, grant: Grant | None) -> None:
        self._grant = grant
        if grant is not None:
            self._scrubber.add(grant.access_token, grant.refresh_token, grant.client_secret)

    async def _stored(self) -> Grant | None:
        """Return what is kept, unless it was granted for another server, issuer or client."""
        oauth, found = self._settings, await self._grants.load(self._server)
        if found is None or not found.is_for(url=self._url, issuer=oauth.issuer or ""):
            return None
        return found if oauth.client_id in (None, found.client_id) else None

    async def _was_renewed(self) -> bool:
        """Use what another process has got or forgotten meanwhile; return whether it is a new token."""
        stored = await self._stored()
        if stored == self._grant:
            return False
        self._use(stored)
        return not self._is_over(stored)

    async def _renew(self) -> None:
        """Get a new token, and keep it before it is used.

        A refresh token is often good once, and the issuer may end the whole login if it is used again. So
        one process at a time renews, and looks first at what is kept: another one may have been first.
        """
        if await self._was_renewed():
            return
        try:
            async with self._grants.renewing(self._server):
                if not await self._was_renewed():
                    await self._ask_for_token()
        except TryLater as error:
            raise LinkLost(str(error)) from error

    async def _ask_for_token(self) -> None:
        used = self._grant
        form, client = self._ask(self._grant)
        # Some issuers want the id beside the credentials of the header, too.
        form["client_id"] = client.client_id
        headers = {"accept": _JSON}
        if client.client_secret:
            pair = f"{quote(client.client_id, safe='')}:{quote(client.client_secret, safe='')}"
            headers["authorization"] = f"Basic {b64encode(pair.encode()).decode()}"
        async with self._client() as http:
            endpoint = await self._endpoint(http)
            status, body = await _answer(http, "POST", endpoint, headers=headers, form=form)
        if status != HTTPStatus.OK:
            if await self._was_renewed():
                return
            raise LinkLost(self._refused(status, body))
        grant = _granted(body, client, now=self._grants.now())
        if self._settings.grant != "code" or used is None:
            await self._grants.save(self._server, grant)
        elif not await self._grants.replace(self._server, grant, before=used):
            # A login or a logout came in between: it counts, and not the renewal of what was before.
            if await self._was_renewed():
                return
            raise LinkLost(self._needs_login())
        self._use(grant)

    def _ask(self, grant: Grant | None) -> tuple[dict[str, str], Grant]:
        """Return the form of a request for a token, and the client that asks."""
        oauth, form = self._settings, {"resource": self._url.partition("#")[0]}
        if oauth.grant == "client_credentials":
            secret = oauth.client_secret
            form["grant_type"] = oauth.grant
            if oauth.scope:
                form["scope"] = oauth.scope
            return form, Grant(
                url=self._url,
                issuer=oauth.issuer or "",
                client_id=oauth.client_id or "",
                client_secret="" if secret is None else secret.get_secret_value(),
            )
        if grant is None or not grant.refresh_token:
            raise LinkLost(self._needs_login())
        if oauth.client_id is not None and oauth.client_secret is not None:
            # That of the login may have been replaced.
            secret_now = oauth.client_secret.get_secret_value()
            grant = msgspec.structs.replace(grant, client_secret=secret_now)
        return {**form, "grant_type": "refresh_token", "refresh_token": grant.refresh_token}, grant

    async def _endpoint(self, http: httpx2.AsyncClient) -> str:
        """Return where the issuer gives tokens, by its own metadata."""
        issuer = self._settings.issuer or ""
        for url in _metadata_urls(issuer):
            status, body = await _answer(http, "GET", url, headers={"accept": _JSON})
            if status != HTTPStatus.OK:
                continue
            try:
                found = msgspec.json.decode(body, type=_Metadata)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                raise LinkLost(f"the metadata of the issuer {issuer} is not valid") from None
            if found.issuer.rstrip("/") != issuer.rstrip("/"):
                raise LinkLost(
                    f"the metadata at {url} is of the issuer {one_line(found.issuer, 200)}, and not of "
                    f"{issuer}"
                )
            return found.token_endpoint
        raise LinkLost(f"the issuer {issuer} publishes no metadata")

    def _refused(self, status: int, body: bytes) -> str:
        try:
            said = one_line(msgspec.json.decode(body, type=_Refusal).error, 100)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            said = ""
        told = f"the issuer gave no token (HTTP {status}{', ' + said if said else ''})"
        if self._settings.grant == "code":
            return f"{told}; {self._needs_login()}"
        return f"{told}; check oauth.client_id and oauth.client_secret"

    def _needs_login(self) -> str:
        return f"it needs a login: run `hermes mcp login {self._server}`"


def _metadata_urls(issuer: str) -> Iterator[str]:
    parts = urlsplit(issuer)
    origin, path = f"{parts.scheme}://{parts.netloc}", parts.path.rstrip("/")
    yield f"{origin}/.well-known/oauth-authorization-server{path}"
    yield f"{origin}/.well-known/openid-configuration{path}"
    if path:
        yield f"{origin}{path}/.well-known/openid-configuration"


async def _answer(
    http: httpx2.AsyncClient,
    method: str,
    url: str,
    *,
    headers: dict[str, str],
    form: dict[str, str] | None = None,
) -> tuple[int, bytes]:
    """Return status and body of a request about tokens; every failure is a `LinkLost`."""
    body = b""
    try:
        async with http.stream(method, url, headers=headers, data=form) as response:
            async for piece in response.aiter_raw():
                body += piece
            return response.status_code, body
    except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError, ValueError) as error:
        where = one_line(origin_of(url), 200)
        raise LinkLost(f"{where} cannot be asked for a token ({type(error).__name__})") from error


def _granted(body: bytes, client: Grant, *, now: float) -> Grant:
    try:
        given = msgspec.json.decode(body, type=_Tokens)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise LinkLost("the issuer's answer has no token") from None
    token = given.access_token
    is_fit = 0 < len(token) <= _MOST_TOKEN and token.isascii() and token.isprintable()
    if not is_fit or " " in token or given.token_type.lower() != "bearer":
        raise LinkLost("the issuer's answer has no token that can be sent")
    return msgspec.structs.replace(
        client,
        access_token=token,
        refresh_token=given.refresh_token or client.refresh_token,
        expires_at=None if given.expires_in is None else now + given.expires_in,
        scope=given.scope or client.scope,
    )
