"""The id token of an identity provider: whether it is genuine and meant for us, and who it names. Pure.

Only signatures by keys are accepted, and only by a key of the provider's own set that is made for the
algorithm: a token that says `none`, or that is signed with a shared secret, is none.
"""

import hmac
from base64 import b32encode
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

import msgspec

from hermes.errors import Forbidden
from hermes.lazy import lazy
from hermes.server.oidc.refusal import not_valid

if TYPE_CHECKING:
    from hermes.server.oidc.signature import signed_claims
else:
    signed_claims = lazy("hermes.server.oidc.signature:signed_claims")

_LEEWAY_S: Final = 60.0
_LONGEST_LIFE_S: Final = 86_400.0
_LONGEST_TOKEN: Final = 32_768
_LONGEST_SUBJECT: Final = 255
_LONGEST_NAME: Final = 200
_USER_LETTERS: Final = 26

# Any: claims and keys, as JSON has them.
Claims = Mapping[str, Any]
Keys = Sequence[Mapping[str, Any]]


class TokenTerms(msgspec.Struct, frozen=True, kw_only=True):
    """What an id token has to say: who made it, for whom, and in which sign-in."""

    issuer: str
    client_id: str
    nonce: str
    now: float


class AllowedPeople(msgspec.Struct, frozen=True, kw_only=True):
    """Who may sign in: people with one of these addresses, in one of these domains or groups."""

    emails: frozenset[str] = frozenset()
    domains: frozenset[str] = frozenset()
    groups: frozenset[str] = frozenset()
    groups_claim: str = "groups"
    everyone: bool = False


def read_id_token(token: str, keys: Keys, expected: TokenTerms) -> Claims:
    """Return the claims of a genuine token; raise `Unauthenticated` for any other."""
    if len(token) > _LONGEST_TOKEN:
        raise not_valid("it is too long")
    claims: Claims = signed_claims(token, keys)
    if claims.get("iss") != expected.issuer:
        raise not_valid("it is of another issuer")
    _check_audience(claims, expected.client_id)
    _check_times(claims, expected.now)
    nonce = claims.get("nonce")
    if not isinstance(nonce, str) or not hmac.compare_digest(
        nonce.encode(errors="replace"), expected.nonce.encode()
    ):
        raise not_valid("it belongs to another sign-in")
    subject = claims.get("sub")
    if not isinstance(subject, str) or not 0 < len(subject) <= _LONGEST_SUBJECT:
        raise not_valid("it names nobody")
    return claims


def check_allowed(claims: Claims, allowed: AllowedPeople) -> None:
    """Raise `Forbidden` if the settings do not let this person sign in."""
    email = _verified_email(claims)
    groups = claims.get(allowed.groups_claim)
    named = {groups} if isinstance(groups, str) else set()
    if isinstance(groups, list):
        named = {one for one in groups if isinstance(one, str)}
    if not (
        allowed.everyone
        or (email and email in allowed.emails)
        or (email and email.rpartition("@")[2] in allowed.domains)
        or named & allowed.groups
    ):
        raise Forbidden(
            "The identity provider knows you, but this gateway does not let you in: ask its owner."
        )


def user_of(claims: Claims) -> str:
    """Return the id in the web chat of whoever a token names, the same at every sign-in."""
    digest = sha256(f"{claims['iss']}\0{claims['sub']}".encode(errors="replace")).digest()
    return f"sso-{b32encode(digest).decode('ascii').lower()[:_USER_LETTERS]}"


def name_of(claims: Claims) -> str:
    """Return the name that is shown to the operator; empty if the token has none."""
    found = (claims.get(one) for one in ("name", "preferred_username", "email"))
    return next((one[:_LONGEST_NAME] for one in found if isinstance(one, str) and one), "")


def _check_audience(claims: Claims, client_id: str) -> None:
    audience = claims.get("aud")
    several = audience if isinstance(audience, list) else [audience]
    if client_id not in several:
        raise not_valid("it is for another client")
    # A token for several clients says which of them it was made for.
    if (len(several) > 1 or "azp" in claims) and claims.get("azp") != client_id:
        raise not_valid("it was made for another client")


def _check_times(claims: Claims, now: float) -> None:
    ends, begins = _time(claims, "exp"), _time(claims, "iat")
    if now >= ends + _LEEWAY_S:
        raise not_valid("it has expired")
    starts = _time(claims, "nbf") if "nbf" in claims else begins
    if max(begins, starts) > now + _LEEWAY_S or begins < now - _LONGEST_LIFE_S:
        raise not_valid("its times are not those of now; check the clock of this machine")


def _time(claims: Claims, name: str) -> float:
    found = claims.get(name)
    if isinstance(found, bool) or not isinstance(found, int | float) or not abs(found) < 1e12:
        raise not_valid(f"it has no {name}")
    return float(found)


def _verified_email(claims: Claims) -> str:
    email = claims.get("email")
    is_verified = claims.get("email_verified") is True
    return email.casefold() if is_verified and isinstance(email, str) and "@" in email else ""
