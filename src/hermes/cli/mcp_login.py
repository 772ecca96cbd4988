"""`hermes mcp login`: gets tokens for an MCP server in a browser; imports the SDK, so only when used.

The browser comes back to a port of this machine. What comes from servers is fenced: requests go to
the server and to the issuer of its settings alone.
"""

import asyncio
import logging
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
from mcp.client.auth import OAuthClientProvider, OAuthFlowError
from mcp.client.auth.exceptions import OAuthRegistrationError, OAuthTokenError
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthToken,
)
from pydantic import AnyUrl, Field, ValidationError

from hermes.config import LoadedConfig, McpOAuthSettings, McpServerSettings
from hermes.config.named_variables import names_in
from hermes.control.mcp import McpLogin
from hermes.errors import BadRequest
from hermes.tools.mcp.clean_text import one_line
from hermes.tools.mcp.connection import LinkLost
from hermes.tools.mcp.grants import oauth_origins
from hermes.tools.mcp.http_wire import HttpServerAddress, make_transport
from hermes.tools.mcp.oauth_wire import fenced_client

_WAIT_S = 600.0
_HEAD_BYTES = 16_384
_PATH = "/callback"
_HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "hermes-gateway", "version": "1"},
    },
}
_ACCEPT = {
    "accept": "application/json, text/event-stream",
    "mcp-protocol-version": "2025-06-18",
}
Show = Callable[[str], None]
# The SDK logs what comes back from the browser; what matters is told as an error.
logging.getLogger("mcp").setLevel(logging.CRITICAL)


class _Client(OAuthClientMetadata):
    """What Hermes says of itself; a `wanted` scope is not widened by what the server names."""

    wanted: str = Field(default="", exclude=True)

    def __setattr__(self, name: str, value: Any) -> None:
        """Keep the scope of the settings: the SDK puts that of the server in its place."""
        super().__setattr__(name, self.wanted if name == "scope" and self.wanted else value)


class _Memory:
    """Keeps what the SDK gets, until it is handed to the gateway; fits its `TokenStorage`."""

    def __init__(self, client: OAuthClientInformationFull | None) -> None:
        self.client = client
        self.tokens: OAuthToken | None = None

    async def get_tokens(self) -> OAuthToken | None:
        """Return the tokens."""
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        """Keep the tokens."""
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        """Return the client."""
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        """Keep the client that was registered."""
        self.client = client_info


def log_in(loaded: LoadedConfig, name: str, server: McpServerSettings, *, show: Show) -> McpLogin:
    """Return the tokens of a login, which the person makes in their browser; raises `BadRequest`."""
    missing = sorted(names_in(server))
    if missing:
        raise BadRequest(
            f"The settings of {name} name {missing[0]}, which is neither a stored secret nor a variable: "
            f"store it with `hermes secrets set {missing[0]}`."
        )
    try:
        return asyncio.run(_log_in(loaded, name, server, show=show))
    except (LinkLost, OAuthFlowError, OAuthTokenError, OAuthRegistrationError) as error:
        raise BadRequest(f"The login did not work: {one_line(str(error), 500)}") from error
    except (httpx2.HTTPError, httpx2.InvalidURL, ValidationError) as error:
        raise BadRequest(f"The login did not work: {type(error).__name__}") from error
    except TimeoutError:
        raise BadRequest(f"Nobody came back from the browser within {_WAIT_S:g} s.") from None


async def _log_in(
    loaded: LoadedConfig, name: str, server: McpServerSettings, *, show: Show
) -> McpLogin:
    oauth, url = server.oauth, server.url
    assert url is not None
    back = f"http://127.0.0.1:{oauth.redirect_port}{_PATH}"
    storage = _Memory(_known_client(oauth, back))
    returned: asyncio.Queue[AuthorizationCodeResult | str] = asyncio.Queue()

    async def send(address: str) -> None:
        _check_issuer(provider, oauth)
        show(address)

    async def wait() -> AuthorizationCodeResult:
        async with asyncio.timeout(_WAIT_S):
            found = await returned.get()
        if isinstance(found, str):
            raise OAuthFlowError(f"the authorization server answered {one_line(found, 200)!r}")
        return found

    provider = OAuthClientProvider(
        url, _metadata(oauth, back), storage, redirect_handler=send, callback_handler=wait
    )
    listener = await _listen(oauth.redirect_port, returned)
    async with (
        listener,
        fenced_client(
            make_transport(_place(loaded, server)), oauth_origins(server), auth=provider
        ) as http,
    ):
        await _greet(http, url)
    return _login_of(name, server, storage)


async def _greet(http: httpx2.AsyncClient, url: str) -> None:
    """Send the first message of a client: what refuses it starts the login."""
    async with http.stream("POST", url, json=_HELLO, headers=_ACCEPT) as response:
        if response.status_code >= httpx2.codes.BAD_REQUEST:
            raise OAuthFlowError(f"the server answered HTTP {response.status_code}")


def _login_of(name: str, server: McpServerSettings, storage: _Memory) -> McpLogin:
    tokens, client = storage.tokens, storage.client
    if tokens is None or client is None:
        raise OAuthFlowError("the server asked for no login")
    return McpLogin(
        server=name,
        url=server.url or "",
        issuer=server.oauth.issuer or "",
        client_id=client.client_id,
        client_secret=client.client_secret or "",
        access_token=tokens.access_token,
        refresh_token=tokens.refresh_token or "",
        expires_in=tokens.expires_in,
        scope=tokens.scope or "",
    )


def _check_issuer(provider: OAuthClientProvider, oauth: McpOAuthSettings) -> None:
    """Raise unless the person is sent to the issuer that the operator has named."""
    found = provider.context.oauth_metadata
    issuer = "none" if found is None else str(found.issuer)
    if issuer.rstrip("/") != (oauth.issuer or "").rstrip("/"):
        raise OAuthFlowError(
            f"the server names the issuer {issuer}, and its settings {oauth.issuer}: nobody is sent there"
        )


def _known_client(oauth: McpOAuthSettings, back: str) -> OAuthClientInformationFull | None:
    if oauth.client_id is None:
        return None
    secret = None if oauth.client_secret is None else oauth.client_secret.get_secret_value()
    return OAuthClientInformationFull(
        client_id=oauth.client_id,
        client_secret=secret,
        redirect_uris=[AnyUrl(back)],
        token_endpoint_auth_method="none" if secret is None else "client_secret_basic",
        issuer=oauth.issuer,
    )


def _metadata(oauth: McpOAuthSettings, back: str) -> OAuthClientMetadata:
    has_secret = oauth.client_secret is not None
    return _Client(
        wanted=oauth.scope,
        client_name="Hermes",
        redirect_uris=[AnyUrl(back)],
        scope=oauth.scope or None,
        token_endpoint_auth_method="client_secret_basic" if has_secret else "none",
    )


def _place(loaded: LoadedConfig, server: McpServerSettings) -> HttpServerAddress:
    settings = loaded.settings
    return HttpServerAddress(
        url=server.url or "",
        transport=server.transport,
        headers={},
        connect_timeout_s=server.connect_timeout_s,
        max_message_bytes=server.max_message_bytes,
        proxy=settings.proxy,
        ipv4_only=settings.ipv4_only,
        ca_bundle=settings.net.ca_bundle,
    )


async def _listen(
    port: int, returned: "asyncio.Queue[AuthorizationCodeResult | str]"
) -> asyncio.Server:
    """Return a listener on this machine alone, which takes what the browser brings back."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(10.0):
                line = (await reader.readline()).decode("latin-1").split(" ")
                result = _result_of(line[1]) if len(line) == 3 and line[0] == "GET" else None
                if result is not None:
                    returned.put_nowait(result)
                status, text = _page(is_known=result is not None)
                writer.write(
                    f"HTTP/1.1 {status}\r\ncontent-type: text/plain\r\nconnection: close\r\n"
                    f"content-length: {len(text)}\r\n\r\n{text}".encode()
                )
                await writer.drain()
        except (OSError, ValueError, TimeoutError):
            # A browser that goes away, or something that is no browser.
            pass
        finally:
            writer.close()

    try:
        return await asyncio.start_server(answer, "127.0.0.1", port, limit=_HEAD_BYTES)
    except OSError as error:
        raise BadRequest(
            f"The port {port} of this machine is in use ({error.strerror}): set oauth.redirect_port to "
            "another one."
        ) from error


def _result_of(target: str) -> AuthorizationCodeResult | str | None:
    """Return what the browser brings: a code, or the name of an error; None for anything else."""
    parts = urlsplit(target)
    found = {name: values[0] for name, values in parse_qs(parts.query).items()}
    if parts.path != _PATH:
        return None
    if "error" in found:
        return found["error"]
    if "code" not in found:
        return None
    return AuthorizationCodeResult(
        code=found["code"], state=found.get("state"), iss=found.get("iss")
    )


def _page(*, is_known: bool) -> tuple[str, str]:
    if is_known:
        return "200 OK", "Hermes goes on in the terminal. You can close this page."
    return "404 Not Found", "There is nothing here."
