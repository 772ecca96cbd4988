"""An MCP server over HTTP that needs tokens, with its authorization server: both of the official SDK.

`python oauth_server.py PORT LOG LIFETIME` gives tokens that last so many seconds. It also has the issuer
`/cc` for client credentials, and issuers whose metadata lead elsewhere.
"""

import secrets
import sys
from base64 import b64decode
from pathlib import Path

import uvicorn
from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    AuthorizationParams,
    OAuthAuthorizationServerProvider,
    RefreshToken,
    construct_redirect_uri,
)
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions
from mcp.server.mcpserver import MCPServer
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken
from pydantic import AnyHttpUrl
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from hermes.ports.clock import SystemClock

PORT, LOG, LIFETIME = int(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
BASE = f"http://127.0.0.1:{PORT}"
CC = f"{BASE}/cc"
# As the SDK writes it in the metadata.
ISSUER = f"{BASE}/"
SECRET = "the-secret-of-hermes-0123456789"
METADATA = {
    "cc": (CC, f"{CC}/token"),
    "cloud": (f"{BASE}/cloud", "http://169.254.169.254/token"),
    "port": (f"{BASE}/port", "http://127.0.0.1:1/token"),
    "other": ("https://other.example.org", f"{CC}/token"),
}


def note(line: str) -> None:
    with LOG.open("a") as log:
        log.write(f"{line}\n")


class Provider(OAuthAuthorizationServerProvider[AuthorizationCode, RefreshToken, AccessToken]):
    """Keeps everything in memory; the person agrees at once."""

    def __init__(self) -> None:
        self.clients: dict[str, OAuthClientInformationFull] = {}
        self.codes: dict[str, AuthorizationCode] = {}
        self.refreshes: dict[str, RefreshToken] = {}
        self.tokens: dict[str, AccessToken] = {}

    async def get_client(self, client_id: str) -> OAuthClientInformationFull | None:
        return self.clients.get(client_id)

    async def register_client(self, client_info: OAuthClientInformationFull) -> None:
        assert client_info.client_id is not None
        self.clients[client_info.client_id] = client_info

    async def authorize(
        self, client: OAuthClientInformationFull, params: AuthorizationParams
    ) -> str:
        code = AuthorizationCode(
            code=secrets.token_urlsafe(32),
            scopes=params.scopes or [],
            expires_at=SystemClock().now() + 60,
            client_id=client.client_id or "",
            code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=True,
            resource=params.resource,
        )
        self.codes[code.code] = code
        return construct_redirect_uri(
            str(params.redirect_uri), code=code.code, state=params.state, iss=ISSUER
        )

    async def load_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: str
    ) -> AuthorizationCode | None:
        return self.codes.get(authorization_code)

    async def exchange_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: AuthorizationCode
    ) -> OAuthToken:
        del self.codes[authorization_code.code]
        return self.give("code", client.client_id or "", authorization_code.resource)

    async def load_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: str
    ) -> RefreshToken | None:
        return self.refreshes.get(refresh_token)

    async def exchange_refresh_token(
        self, client: OAuthClientInformationFull, refresh_token: RefreshToken, scopes: list[str]
    ) -> OAuthToken:
        # Each is good once.
        del self.refreshes[refresh_token.token]
        return self.give("refresh", client.client_id or "", refresh_token.resource)

    async def load_access_token(self, token: str) -> AccessToken | None:
        return self.tokens.get(token)

    async def revoke_token(self, token: AccessToken | RefreshToken) -> None:
        self.tokens.pop(token.token, None)

    def give(self, how: str, client_id: str, resource: str | None) -> OAuthToken:
        note(how)
        access, refresh = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
        ends = int(SystemClock().now()) + LIFETIME
        self.tokens[access] = AccessToken(
            token=access, client_id=client_id, scopes=[], expires_at=ends, resource=resource
        )
        self.refreshes[refresh] = RefreshToken(
            token=refresh, client_id=client_id, scopes=[], resource=resource
        )
        return OAuthToken(access_token=access, expires_in=LIFETIME, refresh_token=refresh)


provider = Provider()
server = MCPServer(
    "guarded",
    auth_server_provider=provider,
    auth=AuthSettings(
        issuer_url=AnyHttpUrl(BASE),
        resource_server_url=AnyHttpUrl(f"{BASE}/mcp"),
        client_registration_options=ClientRegistrationOptions(enabled=True),
        validate_token_resource=True,
    ),
)


@server.tool()
def leak() -> str:
    """Say with which token it was called."""
    token = get_access_token()
    return "none" if token is None else f"called with {token.token}"


@server.custom_route("/.well-known/oauth-authorization-server/{name}", methods=["GET"])
async def metadata(request: Request) -> Response:
    issuer, endpoint = METADATA[request.path_params["name"]]
    return JSONResponse({"issuer": issuer, "token_endpoint": endpoint})


@server.custom_route("/cc/token", methods=["POST"])
async def token(request: Request) -> Response:
    form = await request.form()
    pair = b64decode(request.headers["authorization"].removeprefix("Basic ")).decode()
    if pair != f"hermes:{SECRET}" or form["grant_type"] != "client_credentials":
        return JSONResponse({"error": "invalid_client"}, 401)
    given = provider.give("credentials", "hermes", str(form["resource"]))
    return JSONResponse(given.model_dump(exclude={"refresh_token"}, exclude_none=True))


if __name__ == "__main__":
    uvicorn.run(server.streamable_http_app(), host="127.0.0.1", port=PORT, log_level="error")
