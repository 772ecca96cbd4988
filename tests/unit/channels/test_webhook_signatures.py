"""Who signed a webhook: official vectors, the standard's own library, and everything that is near."""

import hashlib
import hmac

import pytest
from hypothesis import given
from hypothesis import strategies as st
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from hermes.channel_kit.proof import check_proof, sign
from hermes.channels.webhook.inbound import SignedCall, proof_of, signed_call
from hermes.channels.webhook.settings import Route, Scheme, read_routes
from hermes.errors import BadRequest, ConfigurationError, Unauthenticated
from hermes.plugins.manifest import load_manifest
from hermes.ports.channel import HttpRequest
from hermes.ports.clock import SystemClock

SECRET = "a secret of some length"
PROOFS = load_manifest("hermes.channels.webhook").rows.proofs
STANDARD = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
BODY = b'{"test": 2432232314}'
NOW = 1_614_265_330.0
SIGNED = {
    "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
    "webhook-timestamp": "1614265330",
    "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
}


def check(route: Route, headers: dict[str, str], body: bytes, *, now: float) -> SignedCall:
    """Return what is known of a call, as the channel does once its door has proven it."""
    call = HttpRequest(method="POST", path="/", query={}, headers=headers, body=body)
    check_proof(proof_of(route, PROOFS), call, secret=route.secret, now=now)
    return signed_call(route, call)


@pytest.mark.req("W9")
def test_the_vector_of_standard_webhooks() -> None:
    found = check(Route(secret=STANDARD), SIGNED, BODY, now=NOW)
    assert found.id == SIGNED["webhook-id"]


@pytest.mark.req("W9")
def test_the_vector_of_github() -> None:
    route = Route(secret="It's a Secret to Everybody", scheme="github")
    shown = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
    headers = {
        "x-hub-signature-256": shown,
        "x-github-delivery": "d-1",
        "x-github-event": "push",
    }
    found = check(route, headers, b"Hello, World!", now=NOW)
    assert (found.id, found.event) == ("d-1", "push")


@pytest.mark.req("W9")
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("webhook-id", "msg_other"),
        ("webhook-id", ""),
        ("webhook-timestamp", "1614265331"),
        ("webhook-timestamp", "soon"),
        ("webhook-timestamp", "nan"),
        ("webhook-signature", ""),
        ("webhook-signature", "v1,"),
        ("webhook-signature", "v2,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="),
        ("webhook-signature", "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE"),
        ("webhook-signature", "v1,é"),
    ],
)
def test_anything_near_a_signature_is_refused(name: str, value: str) -> None:
    with pytest.raises(Unauthenticated):
        check(Route(secret=STANDARD), {**SIGNED, name: value}, BODY, now=NOW)


@pytest.mark.req("W9")
def test_a_body_that_was_encoded_anew_is_refused() -> None:
    with pytest.raises(Unauthenticated):
        check(Route(secret=STANDARD), SIGNED, BODY.replace(b": ", b":"), now=NOW)


@pytest.mark.req("W9")
@pytest.mark.parametrize("now", [NOW + 301, NOW - 301])
def test_an_old_call_is_not_taken_again(now: float) -> None:
    with pytest.raises(Unauthenticated, match="clock"):
        check(Route(secret=STANDARD), SIGNED, BODY, now=now)


@pytest.mark.req("W9")
def test_one_of_several_signatures_is_enough() -> None:
    shown = f"v1,AAAA {SIGNED['webhook-signature']} v1a,BBBB"
    found = check(Route(secret=STANDARD), {**SIGNED, "webhook-signature": shown}, BODY, now=NOW)
    assert found.id == SIGNED["webhook-id"]


@pytest.mark.req("W9")
@pytest.mark.parametrize("shown", ["sha256={}", "{}", "SHA256={}"])
def test_a_plain_hmac_has_the_headers_of_its_route(shown: str) -> None:
    route = Route(
        secret="a secret of some length", scheme="hmac", signature_header="X-Sig", id_header="X-Id"
    )
    mac = hmac.new(route.secret.encode(), b"{}", hashlib.sha256).hexdigest()
    assert check(route, {"x-sig": shown.format(mac), "x-id": "7"}, b"{}", now=0).id == "7"
    with pytest.raises(Unauthenticated):
        check(route, {"x-sig": shown.format(mac[:-1] + "0"), "x-id": "7"}, b"{} ", now=0)


@pytest.mark.req("W9")
def test_gitlab_shows_its_token() -> None:
    route = Route(secret="a secret of some length", scheme="gitlab")
    assert check(route, {"x-gitlab-token": route.secret}, b"{}", now=0).id == ""
    with pytest.raises(Unauthenticated):
        check(route, {}, b"{}", now=0)


def proof(scheme: Scheme, body: bytes) -> tuple[str, str]:
    """Return the header of a scheme and what it must hold."""
    mac = hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()
    return {
        "standard": ("webhook-signature", SIGNED["webhook-signature"]),
        "github": ("x-hub-signature-256", f"sha256={mac}"),
        "gitlab": ("x-gitlab-token", SECRET),
        "hmac": ("x-signature", mac),
    }[scheme]


@pytest.mark.req("W9")
@pytest.mark.parametrize("scheme", ["standard", "github", "gitlab", "hmac"])
def test_a_proof_with_its_end_cut_off_or_more_behind_it_is_refused(scheme: Scheme) -> None:
    route = Route(secret=STANDARD if scheme == "standard" else SECRET, scheme=scheme)
    name, whole = proof(scheme, BODY)
    assert check(route, {**SIGNED, name: whole}, BODY, now=NOW).content_key
    near = [whole[:end] for end in range(len(whole))]
    near += [whole[begin:] for begin in range(1, len(whole))]
    near += [whole + end for end in ("0", "=", whole[-1], "\0", "\x00x", whole)]
    for shown in near:
        with pytest.raises(Unauthenticated):
            check(route, {**SIGNED, name: shown}, BODY, now=NOW)


@pytest.mark.req("W9")
@pytest.mark.parametrize("scheme", ["github", "gitlab", "hmac"])
def test_every_letter_of_a_proof_counts(scheme: Scheme) -> None:
    route = Route(secret=SECRET, scheme=scheme)
    name, whole = proof(scheme, BODY)
    for at, letter in enumerate(whole):
        shown = whole[:at] + ("0" if letter != "0" else "1") + whole[at + 1 :]
        with pytest.raises(Unauthenticated):
            check(route, {name: shown}, BODY, now=NOW)


@pytest.mark.req("W9")
def test_an_id_of_any_length_is_not_kept() -> None:
    route = Route(secret="a secret of some length", scheme="gitlab")
    headers = {"x-gitlab-token": route.secret, "x-gitlab-event-uuid": "7" * 201}
    with pytest.raises(BadRequest):
        check(route, headers, b"{}", now=0)


@pytest.mark.req("W9")
@given(st.binary(max_size=200), st.text("abc_09", min_size=1, max_size=20))
def test_the_standard_s_own_library_agrees(body: bytes, message_id: str) -> None:
    at = int(SystemClock().now())
    post = HttpRequest(
        method="POST", path="", query={}, headers={"webhook-id": message_id}, body=body
    )
    headers = dict(sign(PROOFS["standard"], post, secret=STANDARD, now=at).headers)
    try:
        text = body.decode()
    except UnicodeDecodeError:
        return
    try:
        Webhook(STANDARD).verify(text, headers)
    except WebhookVerificationError as error:
        pytest.fail(f"its library refuses what we signed: {error}")
    except ValueError:
        # The signature fits; only then does it read the body, which is no JSON.
        pass
    assert check(Route(secret=STANDARD), headers, body, now=at).id == message_id


@pytest.mark.req("W9")
@given(st.dictionaries(st.text(max_size=30), st.text(max_size=80)), st.binary(max_size=80))
def test_nothing_but_a_refusal_comes_of_rubbish(headers: dict[str, str], body: bytes) -> None:
    for scheme in ("standard", "github", "gitlab", "hmac"):
        with pytest.raises((Unauthenticated, BadRequest)):
            check(Route(secret="a secret of some length", scheme=scheme), headers, body, now=0)


@pytest.mark.req("W9")
@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({}, "at least one route"),
        ({"ci": {"secret": ""}}, "at least 16 characters"),
        ({"ci": {"secret": "short"}}, "at least 16 characters"),
        ({"CI!": {"secret": "x" * 20}}, "lower-case letters"),
        ({"ci": {}}, "secret"),
        ({"ci": {"secret": "x" * 20, "promt": ""}}, "promt"),
        ({"ci": {"secret": "x" * 20, "reply_url": "ftp://x"}}, "http"),
        ({"ci": {"secret": "x" * 20, "deliver": "a b"}}, "deliver"),
        ({"ci": {"secret": "x" * 20, "deliver": "local", "reply_url": "https://x"}}, "both"),
        ({"ci": "x"}, "ci"),
    ],
)
def test_a_route_that_does_not_fit_refuses_the_start(table: dict[str, object], said: str) -> None:
    with pytest.raises(ConfigurationError, match=said) as caught:
        read_routes(table)
    assert "short" not in str(caught.value)
