"""Checks the signature of an id token with PyJWT, which is imported with the first sign-in. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import jwt

from hermes.server.oidc.refusal import not_valid

# By the beginning of the algorithm's name: the type of key that it takes.
_KEY_TYPES: Final = {"RS": "RSA", "PS": "RSA", "ES": "EC", "Ed": "OKP"}
_ALGORITHMS: Final = frozenset(
    {
        *(f"{kind}{bits}" for kind in ("RS", "PS", "ES") for bits in (256, 384, 512)),
        "EdDSA",
    }
)
_LEAST_RSA_BITS: Final = 2048
_MOST_KEYS: Final = 100
# What is expected of the claims is checked by the caller, with its own clock.
_OPTIONS: Final = {
    f"verify_{name}": False for name in ("aud", "exp", "iat", "iss", "jti", "nbf", "sub")
}
_BROKEN: Final = (jwt.PyJWTError, ValueError, TypeError, KeyError, RecursionError)


# Any: keys and claims, as JSON has them.
def signed_claims(token: str, keys: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """Return the claims of a token that a key of the set has signed; raise `Unauthenticated`."""
    algorithm, found = _keys_of(token, keys)
    # A key is named once; without a name there is only one that it can be.
    if len(found) != 1:
        raise not_valid("it is signed with a key that the provider does not publish")
    try:
        key = jwt.PyJWK(dict(found[0]), algorithm=algorithm)
        if found[0].get("kty") == "RSA" and key.key.key_size < _LEAST_RSA_BITS:
            raise not_valid("its key is too short")
        # The typed options of the package are a TypedDict; these are some of its keys.
        claims = jwt.decode(token, key.key, algorithms=[algorithm], options=dict(_OPTIONS))  # type: ignore[arg-type]
    except _BROKEN:
        raise not_valid("its signature is wrong") from None
    return claims


# Any: keys, as JSON has them.
def has_key(token: str, keys: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether the key with which a token is signed is in the set; raise `Unauthenticated`."""
    return bool(_keys_of(token, keys)[1])


# Any: keys, as JSON has them.
def _keys_of(token: str, keys: Sequence[Mapping[str, Any]]) -> tuple[str, list[Mapping[str, Any]]]:
    """Return the algorithm of a token, and which keys it can be signed with."""
    try:
        header = jwt.get_unverified_header(token)
    except _BROKEN:
        raise not_valid("it is no signed token") from None
    algorithm, key_id = header.get("alg"), header.get("kid")
    if algorithm not in _ALGORITHMS or "crit" in header:
        raise not_valid("it is not signed in a way that is accepted")
    fitting = [one for one in keys[:_MOST_KEYS] if _fits(one, str(algorithm), key_id)]
    return str(algorithm), fitting


# Any: a key, as JSON has it.
def _fits(key: Mapping[str, Any], algorithm: str, key_id: object) -> bool:
    """Return whether a key is the one that a token names, and made for its algorithm."""
    return (
        (key_id is None or key.get("kid") == key_id)
        and key.get("kty") == _KEY_TYPES[algorithm[:2]]
        and key.get("use", "sig") == "sig"
        and key.get("alg", algorithm) == algorithm
    )
