"""Id tokens: which of them are believed, whom they name, and whom the settings let in."""

import json
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from functools import cache
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

from hermes.errors import Forbidden, Unauthenticated
from hermes.server.oidc.id_token import (
    AllowedPeople,
    TokenTerms,
    check_allowed,
    name_of,
    read_id_token,
    user_of,
)

pytestmark = pytest.mark.req("W35")
NOW = 2_000_000_000.0
ISSUER = "https://id.example"
EXPECTED = TokenTerms(issuer=ISSUER, client_id="hermes", nonce="n-1", now=NOW)
CLAIMS: Mapping[str, Any] = {
    "iss": ISSUER,
    "aud": "hermes",
    "sub": "ann-7",
    "nonce": "n-1",
    "iat": int(NOW) - 5,
    "exp": int(NOW) + 300,
}


@cache
def rsa_key(bits: int = 2048) -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(65537, bits)


@cache
def ec_key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


def public(key: Any, **more: object) -> dict[str, Any]:
    shown = key.public_key()
    if isinstance(shown, rsa.RSAPublicKey):
        told = RSAAlgorithm.to_jwk(shown)
    elif isinstance(shown, ec.EllipticCurvePublicKey):
        told = ECAlgorithm.to_jwk(shown)
    else:
        told = OKPAlgorithm.to_jwk(shown)
    return {**json.loads(told), "kid": "k1", **more}


def signed(
    claims: Mapping[str, Any] = CLAIMS,
    *,
    key: Any = None,
    alg: str = "RS256",
    kid: str | None = "k1",
    **header: object,
) -> str:
    named = {} if kid is None else {"kid": kid}
    return jwt.encode(dict(claims), key or rsa_key(), algorithm=alg, headers={**named, **header})


KEYS = (public(rsa_key()),)


@pytest.mark.parametrize(
    ("key", "alg"),
    [
        (rsa_key(), "RS256"),
        (rsa_key(), "PS512"),
        (ec_key(), "ES256"),
        (ed25519.Ed25519PrivateKey.generate(), "EdDSA"),
    ],
)
def test_a_genuine_token_of_each_kind_is_believed(key: Any, alg: str) -> None:
    assert read_id_token(signed(key=key, alg=alg), [public(key)], EXPECTED) == CLAIMS


def test_without_a_name_the_only_key_counts_and_of_two_neither() -> None:
    token = signed(kid=None)

    assert read_id_token(token, [*KEYS, public(ec_key(), kid="k2")], EXPECTED) == CLAIMS
    with pytest.raises(Unauthenticated, match="does not publish"):
        read_id_token(token, [*KEYS, public(rsa_key(), kid="k2")], EXPECTED)


LIES: Mapping[str, Mapping[str, Any]] = {
    "another issuer": {"iss": "https://evil.example"},
    "no issuer": {"iss": None},
    "another client": {"aud": "other"},
    "several clients, made for another": {"aud": ["hermes", "other"], "azp": "other"},
    "several clients, made for nobody": {"aud": ["hermes", "other"]},
    "made for another client": {"azp": "other"},
    "another sign-in": {"nonce": "n-2"},
    "no nonce": {"nonce": None},
    "expired": {"exp": int(NOW) - 61},
    "no end": {"exp": None},
    "an end that is no number": {"exp": "never"},
    "an endless number": {"exp": 1e300},
    "made in the future": {"iat": int(NOW) + 90},
    "not valid yet": {"nbf": int(NOW) + 90},
    "made long ago": {"iat": int(NOW) - 90_000},
    "nobody": {"sub": ""},
    "a number": {"sub": 7},
    "too long a name": {"sub": "x" * 256},
}


@pytest.mark.parametrize("lie", LIES)
def test_a_token_that_does_not_fit_is_refused(lie: str) -> None:
    told = {name: one for name, one in {**CLAIMS, **LIES[lie]}.items() if one is not None}

    with pytest.raises(Unauthenticated):
        read_id_token(signed(told), KEYS, EXPECTED)


def _unsigned() -> str:
    head, body = (
        urlsafe_b64encode(json.dumps(one).encode()).rstrip(b"=").decode()
        for one in ({"alg": "none", "kid": "k1"}, CLAIMS)
    )
    return f"{head}.{body}."


def _by_public_key() -> str:
    # The public key as a shared secret: whoever takes the algorithm from the token believes this.
    secret = str(KEYS[0]["n"])
    return jwt.encode(dict(CLAIMS), secret, algorithm="HS256", headers={"kid": "k1"})


def _changed() -> str:
    head, _, signature = signed().split(".")
    body = urlsafe_b64encode(json.dumps({**CLAIMS, "sub": "eve"}).encode()).rstrip(b"=").decode()
    return f"{head}.{body}.{signature}"


FORGED = {
    "unsigned": _unsigned(),
    "by the public key": _by_public_key(),
    "changed": _changed(),
    "by another key of that name": signed(key=rsa.generate_private_key(65537, 2048)),
    "by a key of another kind": signed(key=ec_key(), alg="ES256"),
    "with a rule that is not known": signed(crit=["x"], x=1),
    "no token": "abc",
    "nothing": "",
    "dots": "..",
    "too long": signed({**CLAIMS, "x": "y" * 40_000}),
}


@pytest.mark.parametrize("forgery", FORGED)
def test_a_forged_token_is_refused(forgery: str) -> None:
    with pytest.raises(Unauthenticated):
        read_id_token(FORGED[forgery], KEYS, EXPECTED)


@pytest.mark.parametrize(
    "key",
    [
        public(rsa_key(), kid="k2"),
        public(rsa_key(), use="enc"),
        public(rsa_key(), alg="RS512"),
        {"kty": "RSA", "kid": "k1"},
        {"kty": "RSA", "kid": "k1", "n": "AQAB", "e": 3},
        {"kid": "k1"},
    ],
)
def test_a_key_that_is_not_for_this_token_opens_nothing(key: dict[str, Any]) -> None:
    with pytest.raises(Unauthenticated):
        read_id_token(signed(), [key], EXPECTED)


@pytest.mark.filterwarnings("ignore::jwt.warnings.InsecureKeyLengthWarning")
def test_a_short_key_is_refused() -> None:
    with pytest.raises(Unauthenticated, match="too short"):
        read_id_token(signed(key=rsa_key(1024)), [public(rsa_key(1024))], EXPECTED)


EMAIL = {"email": "Ann@Example.org", "email_verified": True}


@pytest.mark.parametrize(
    ("claims", "allowed", "is_in"),
    [
        (EMAIL, AllowedPeople(domains=frozenset({"example.org"})), True),
        (EMAIL, AllowedPeople(emails=frozenset({"ann@example.org"})), True),
        (EMAIL, AllowedPeople(domains=frozenset({"ample.org", "org"})), False),
        (
            {**EMAIL, "email_verified": "true"},
            AllowedPeople(domains=frozenset({"example.org"})),
            False,
        ),
        ({"email": "ann@example.org"}, AllowedPeople(emails=frozenset({"ann@example.org"})), False),
        ({"email": "ann@evil.net@example.org", "email_verified": False}, AllowedPeople(), False),
        ({"groups": ["staff", 7]}, AllowedPeople(groups=frozenset({"staff"})), True),
        ({"groups": "staff"}, AllowedPeople(groups=frozenset({"staff"})), True),
        ({"groups": ["staffer"]}, AllowedPeople(groups=frozenset({"staff"})), False),
        ({"roles": ["a"]}, AllowedPeople(groups=frozenset({"a"}), groups_claim="roles"), True),
        ({"groups": {"staff": 1}}, AllowedPeople(groups=frozenset({"staff"})), False),
        ({}, AllowedPeople(everyone=True), True),
        # Nobody has the domain or the address that is missing.
        ({}, AllowedPeople(domains=frozenset({""}), emails=frozenset({""})), False),
        ({}, AllowedPeople(), False),
    ],
)
def test_the_settings_say_who_may_sign_in(
    claims: dict[str, Any], allowed: AllowedPeople, is_in: bool
) -> None:
    refused = False
    try:
        check_allowed(claims, allowed)
    except Forbidden:
        refused = True

    assert refused == (not is_in)


def test_a_person_is_the_same_at_every_sign_in_and_another_one_elsewhere() -> None:
    ann, again = user_of(CLAIMS), user_of({**CLAIMS, "exp": 0})
    others = [user_of({**CLAIMS, "iss": f"{ISSUER}/2"}), user_of({**CLAIMS, "sub": "ann-8"})]

    assert ann == again
    assert len({ann, *others}) == 3
    assert (ann[:4], len(ann)) == ("sso-", 30)


@pytest.mark.parametrize(
    ("claims", "name"),
    [
        ({"name": "Ann", "email": "a@b.c"}, "Ann"),
        ({"name": 7, "preferred_username": "ann"}, "ann"),
        ({"email": "a@b.c"}, "a@b.c"),
        ({"name": "x" * 999}, "x" * 200),
        ({}, ""),
    ],
)
def test_a_name_is_shown_if_there_is_one(claims: dict[str, Any], name: str) -> None:
    assert name_of(claims) == name
