"""One identity provider: found by its issuer, asked for a sign-in, and believed after a check.

Nothing is kept between the two halves of a sign-in but one secret in the browser's cookie; the state,
the nonce and the PKCE verifier are made of it. So an answer that the browser did not ask for has no
state that fits, and any node of a fleet can take it.
"""

import asyncio
import hmac
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote, urlencode, urlsplit

import msgspec
import structlog

from hermes.errors import Forbidden, HermesError, NetError, Overloaded, TryLater, Unauthenticated
from hermes.lazy import lazy
from hermes.net.client import HttpClient
from hermes.ports.access import Newcomer
from hermes.ports.clock import Clock
from hermes.server.oidc.id_token import (
    AllowedPeople,
    TokenTerms,
    check_allowed,
    name_of,
    read_id_token,
    user_of,
)
from hermes.server.oidc.refusal import not_valid

if TYPE_CHECKING:
    from hermes.server.oidc.signature import has_key
else:
    has_key = lazy("hermes.server.oidc.signature:has_key")

_log = structlog.get_logger(__name__)
_WELL_KNOWN: Final = "/.well-known/openid-configuration"
_LIMIT: Final = 262_144
_TIMEOUT_S: Final = 10.0
_KEPT_S: Final = 3_600.0
_ASKED_AGAIN_S: Final = 10.0
_MOST_AT_ONCE: Final = 8
_LONGEST_ANSWER: Final = 4_096
_SECRET_BYTES: Final = 32
_OK, _BROKEN = 200, 500
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}

# Any: a JSON object of the provider.
Document = Mapping[str, Any]


class OidcClient(msgspec.Struct, frozen=True, kw_only=True):
    """Hermes as a client of the provider; `secret` returns its secret, or None if it has none."""

    issuer: str
    client_id: str
    secret: Callable[[], str | None]
    scopes: tuple[str, ...] = ("openid", "email", "profile")
    allowed: AllowedPeople


class Departure(msgspec.Struct, frozen=True):
    """Where the browser goes to sign in, and the secret that it keeps until it comes back."""

    url: str
    secret: str


class OidcProvider:
    """Asks one identity provider who somebody is; fits `channels.web.identity.IdentityProvider`."""

    def __init__(
        self,
        settings: OidcClient,
        *,
        name: str,
        http: HttpClient,
        clock: Clock,
        random_bytes: Callable[[int], bytes],
    ) -> None:
        self.name = name
        self._settings = settings
        self._http = http
        self._clock = clock
        self._random_bytes = random_bytes
        self._found: _Kept | None = None
        self._keys: _Kept | None = None
        self._failed_at: float | None = None
        self._asking = asyncio.Lock()
        self._running = 0

    async def begin(self, *, return_to: str) -> Departure:
        """Return where the browser signs in; it comes back to `return_to`. Raises `TryLater`."""
        document = await self._document()
        secret = _text(self._random_bytes(_SECRET_BYTES))
        challenge = _text(sha256(_part(secret, "verifier").encode()).digest())
        asked = {
            "response_type": "code",
            "client_id": self._settings.client_id,
            "redirect_uri": return_to,
            "scope": " ".join(self._settings.scopes),
            "state": _part(secret, "state"),
            "nonce": _part(secret, "nonce"),
            "code_challenge": challenge,
            "code_challenge_method": "S256",
        }
        address = self._address(document, "authorization_endpoint")
        return Departure(f"{address}{'&' if '?' in address else '?'}{urlencode(asked)}", secret)

    async def finish(self, secret: str, said: Mapping[str, str], *, return_to: str) -> Newcomer:
        """Return who came back, with what the provider `said` in the address.

        Raises `Unauthenticated`, `Forbidden` for people whom the settings do not allow, or `TryLater`.
        """
        state = _part(secret, "state")
        if not secret or not hmac.compare_digest(said.get("state", "").encode(), state.encode()):
            raise Unauthenticated("This sign-in was not begun in this browser, or too long ago.")
        if "error" in said:
            raise Unauthenticated("The identity provider did not sign you in.")
        if self._running >= _MOST_AT_ONCE:
            raise Overloaded("Too many people sign in at once: try again in a moment.")
        self._running += 1
        try:
            return await self._who(secret, said, return_to=return_to)
        finally:
            self._running -= 1

    async def _who(self, secret: str, said: Mapping[str, str], *, return_to: str) -> Newcomer:
        document = await self._document()
        issuer = str(document["issuer"])
        if said.get("iss", issuer) != issuer:
            raise not_valid("it is of another issuer")
        token = await self._token(document, secret, said.get("code", ""), return_to=return_to)
        expected = TokenTerms(
            issuer=issuer,
            client_id=self._settings.client_id,
            nonce=_part(secret, "nonce"),
            now=self._clock.now(),
        )
        claims = await self._claims(document, token, expected)
        user = user_of(claims)
        try:
            check_allowed(claims, self._settings.allowed)
        except Forbidden:
            _log.warning("sign_in_not_allowed", user=user)
            raise
        return Newcomer(user=user, name=name_of(claims))

    async def _claims(self, document: Document, token: str, expected: TokenTerms) -> Document:
        """Return the claims of an id token; ask for the keys again if its key is a new one."""
        keys, kept = await self._key_set(document), self._keys
        is_old = kept is not None and self._clock.now() - kept.at >= _ASKED_AGAIN_S
        if is_old and not has_key(token, keys):
            self._keys = None
            keys = await self._key_set(document)
        return read_id_token(token, keys, expected)

    async def _token(self, document: Document, secret: str, code: str, *, return_to: str) -> str:
        """Exchange the code for an id token."""
        if not 0 < len(code) <= _LONGEST_ANSWER:
            raise not_valid("it has no code")
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": return_to,
            "code_verifier": _part(secret, "verifier"),
            "client_id": self._settings.client_id,
        }
        headers = {"content-type": "application/x-www-form-urlencoded"}
        self._prove(document, form, headers)
        address = self._address(document, "token_endpoint")
        status, answer = await self._ask("POST", address, headers=headers, body=urlencode(form))
        token = answer.get("id_token")
        if status != _OK or not isinstance(token, str):
            _log.warning("sign_in_refused", status=status, error=_word(answer.get("error")))
            raise not_valid("it gave no id token")
        return token

    def _prove(self, document: Document, form: dict[str, str], headers: dict[str, str]) -> None:
        """Add the secret of Hermes to a request for a token, in the way that the provider takes."""
        own = self._settings.secret()
        if not own:
            return
        ways = document.get("token_endpoint_auth_methods_supported", ["client_secret_basic"])
        if isinstance(ways, list) and "client_secret_basic" not in ways:
            form["client_secret"] = own
            return
        pair = f"{quote(self._settings.client_id, safe='')}:{quote(own, safe='')}"
        headers["authorization"] = f"Basic {b64encode(pair.encode()).decode('ascii')}"

    async def _document(self) -> Document:
        """Return what the provider says of itself, kept for an hour; raises `TryLater`."""
        async with self._asking:
            kept, now = self._found, self._clock.now()
            if kept is None or now - kept.at >= _KEPT_S:
                if self._failed_at is not None and now - self._failed_at < _ASKED_AGAIN_S:
                    raise _not_there()
                kept = self._found = _Kept(now, await self._read_document())
            return kept.document

    async def _read_document(self) -> Document:
        self._failed_at = self._clock.now()
        own = self._settings.issuer.rstrip("/")
        status, document = await self._ask("GET", f"{own}{_WELL_KNOWN}")
        if status != _OK:
            raise _not_there()
        issuer = document.get("issuer")
        if not isinstance(issuer, str) or issuer.rstrip("/") != own:
            raise not_valid("it names another issuer than access.oidc.issuer")
        for name in ("authorization_endpoint", "token_endpoint", "jwks_uri"):
            self._address(document, name)
        self._failed_at = None
        return document

    # Any: keys, as JSON has them.
    async def _key_set(self, document: Document) -> list[dict[str, Any]]:
        async with self._asking:
            kept, now = self._keys, self._clock.now()
            if kept is None or now - kept.at >= _KEPT_S:
                status, found = await self._ask("GET", self._address(document, "jwks_uri"))
                if status != _OK:
                    raise _not_there()
                kept = self._keys = _Kept(now, found)
        keys = kept.document.get("keys")
        return [one for one in keys if isinstance(one, dict)] if isinstance(keys, list) else []

    def _address(self, document: Document, name: str) -> str:
        """Return an address of the provider; credentials go nowhere without TLS but to the issuer."""
        found = document.get(name)
        if not isinstance(found, str) or len(found) > _LONGEST_ANSWER:
            raise not_valid(f"it has no {name}")
        if not found.startswith("https://") and not self._is_issuers(found):
            raise not_valid(f"its {name} is no https address")
        return found

    def _is_issuers(self, address: str) -> bool:
        return _origin(address) == _origin(self._settings.issuer)

    async def _ask(
        self, method: str, address: str, *, headers: Mapping[str, str] | None = None, body: str = ""
    ) -> tuple[int, Document]:
        """Return the status and the JSON object of an answer; raises `TryLater`.

        The issuer's own origin is the operator's word; every other address is guarded.
        """
        call = self._http.request(
            "identity",
            method,
            address,
            headers={"accept": "application/json", **(headers or {})},
            body=body.encode() if body else None,
            timeout_s=_TIMEOUT_S,
            trusted=self._is_issuers(address),
        )
        try:
            async with call as response:
                status = response.status
                raw = await response.read(_LIMIT)
        except NetError as error:
            _log.warning("identity_provider_not_reached", problem=str(error))
            raise _not_there() from None
        if status >= _BROKEN:
            raise _not_there()
        try:
            answer = msgspec.json.decode(raw)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            answer = None
        return status, answer if isinstance(answer, dict) else {}


class _Kept(msgspec.Struct, frozen=True):
    at: float
    document: Document


def _not_there() -> HermesError:
    return TryLater("The identity provider does not answer: try again in a moment.")


def _part(secret: str, label: str) -> str:
    """Return one of the values that belong to a sign-in; it reveals nothing of the others."""
    return _text(hmac.new(secret.encode(), label.encode(), sha256).digest())


def _text(raw: bytes) -> str:
    return urlsafe_b64encode(raw).rstrip(b"=").decode("ascii")


def _word(found: object) -> str:
    return found[:40] if isinstance(found, str) else ""


def _origin(address: str) -> tuple[str, str, int | None]:
    try:
        parts = urlsplit(address)
        return parts.scheme, parts.hostname or "", parts.port or _DEFAULT_PORTS.get(parts.scheme)
    except ValueError:
        return "", "", None
