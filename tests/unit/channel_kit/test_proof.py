"""Who sent a call: the published example of each platform, and everything that is near it."""

import hashlib
from dataclasses import replace
from urllib.parse import urlencode

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from standardwebhooks.webhooks import Webhook
from twilio.request_validator import RequestValidator

from hermes.channel_kit.proof import body_field, check_proof, glance_proof, sign
from hermes.errors import Unauthenticated
from hermes.ports.channel import HttpRequest
from hermes.ports.channel_rows import ProofRow
from hermes.ports.clock import SystemClock
from tests.unit.channel_kit.proof_rows import PUBLISHED, Vector

NAMES = list(PUBLISHED)
# RFC 8032, section 7.1, test 3: its secret key, its public key, and the signature of "af82".
RFC_SECRET = "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7"
RFC_PUBLIC = "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025"
RFC_SIGNATURE = (
    "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac"
    "18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a"
)
DISCORD = ProofRow(
    kind="ed25519",
    at="header:x-signature-ed25519",
    secret="public_key",
    signs=("header:x-signature-timestamp", "body"),
    time="header:x-signature-timestamp",
    window_s=300,
)
FEISHU = ProofRow(
    kind="digest",
    at="header:x-lark-signature",
    secret="encrypt_key",
    signs=("header:x-lark-request-timestamp", "header:x-lark-request-nonce", "secret", "body"),
)
NEXTCLOUD = ProofRow(
    kind="hmac",
    at="header:x-nextcloud-talk-signature",
    secret="secret",
    signs=("header:x-nextcloud-talk-random", "body"),
)
OFFICIAL_ACCOUNT = ProofRow(
    kind="digest",
    at="query:signature",
    secret="token",
    algorithm="sha1",
    sorted=True,
    signs=("secret", "query:timestamp", "query:nonce"),
)
TELEGRAM = ProofRow(
    kind="shared", at="header:x-telegram-bot-api-secret-token", secret="webhook_secret"
)
BEARER = msgspec.structs.replace(TELEGRAM, prefix="Bearer ")
BLUEBUBBLES = ProofRow(kind="shared", at="query:password", secret="password")
ROWS = {
    **{name: vector.row for name, vector in PUBLISHED.items()},
    "feishu": FEISHU,
    "nextcloud": NEXTCLOUD,
    "weixin official account": OFFICIAL_ACCOUNT,
    "telegram": TELEGRAM,
    "bluebubbles": BLUEBUBBLES,
}


def check(vector: Vector, call: HttpRequest) -> bytes:
    return check_proof(vector.row, call, secret=vector.secret, now=vector.now, url=vector.url)


def call_of(body: bytes = b"{}", **headers: str) -> HttpRequest:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return HttpRequest(method="POST", path="/", query={}, headers=named, body=body)


def spoiled(text: str) -> list[str]:
    """Return texts that are near another: cut, with more behind it, each letter changed."""
    near = [text[:end] for end in range(len(text))]
    near += [text[begin:] for begin in range(1, len(text))]
    near += [text + end for end in ("0", "=", " ", "\0", text)]
    return near + [
        text[:at] + ("0" if letter != "0" else "1") + text[at + 1 :]
        for at, letter in enumerate(text)
    ]


@pytest.mark.parametrize("name", NAMES)
def test_the_published_example_of_a_platform_is_proven(name: str) -> None:
    vector = PUBLISHED[name]

    assert check(vector, vector.call()) == check(vector, vector.call())


@pytest.mark.parametrize("name", NAMES)
def test_a_signature_that_is_near_is_refused(name: str) -> None:
    vector = PUBLISHED[name]
    # Where several are separated by a space, one behind the signature ends it.
    for near in (one for one in spoiled(vector.signature) if one.rstrip() != vector.signature):
        with pytest.raises(Unauthenticated):
            check(vector, replace(vector, signature=near).call())


@pytest.mark.parametrize("name", NAMES)
def test_every_byte_of_the_body_counts(name: str) -> None:
    vector = PUBLISHED[name]
    if name == "wecom":
        # Its signature covers the sealed text, which stands in an element of the body.
        changed = [vector.body.replace(b"RypEv", b"RypEw"), vector.body.replace(b"Encrypt", b"E")]
    else:
        changed = [
            vector.body[:at] + b"\x01" + vector.body[at + 1 :] for at in range(len(vector.body))
        ]
        changed += [vector.body + b" ", vector.body[1:], b""]
    for body in changed:
        with pytest.raises(Unauthenticated):
            check(vector, replace(vector, body=body).call())


@pytest.mark.parametrize("name", NAMES)
def test_every_signed_header_and_query_counts(name: str) -> None:
    vector = PUBLISHED[name]
    signed = [one.partition(":")[2] for one in vector.row.signs if ":" in one[:-1]]
    for at in (one for one in signed if one in vector.headers | vector.query):
        for value in ("", "0", (vector.headers | vector.query)[at] + "0"):
            other = replace(
                vector,
                headers=vector.headers | ({at: value} if at in vector.headers else {}),
                query=vector.query | ({at: value} if at in vector.query else {}),
            )
            with pytest.raises(Unauthenticated):
                check(other, other.call())


@pytest.mark.parametrize("name", NAMES)
def test_another_secret_and_none_at_all_are_refused(name: str) -> None:
    vector = PUBLISHED[name]
    for secret in ("", vector.secret + "x", vector.secret.swapcase()[::-1]):
        with pytest.raises(Unauthenticated):
            check_proof(vector.row, vector.call(), secret=secret, now=vector.now, url=vector.url)


@pytest.mark.parametrize("name", ["slack", "standard webhooks"])
@pytest.mark.parametrize("seconds", [301, -301])
def test_an_old_call_is_not_taken_and_the_text_says_why(name: str, seconds: float) -> None:
    vector = replace(PUBLISHED[name], now=PUBLISHED[name].now + seconds)

    with pytest.raises(Unauthenticated, match="clock"):
        check(vector, vector.call())


@pytest.mark.parametrize("shown", ["", "soon", "nan", "-1", "1.5", "٣", "9" * 17])
def test_what_is_no_time_is_refused_before_anything_is_signed(shown: str) -> None:
    vector = PUBLISHED["slack"]
    other = replace(vector, headers={"x-slack-request-timestamp": shown})

    with pytest.raises(Unauthenticated, match="not a time"):
        check(other, other.call())


def test_a_time_can_be_in_milliseconds() -> None:
    row = ProofRow(
        kind="hmac",
        at="header:sign",
        secret="app_secret",
        code="base64",
        signs=("header:timestamp", "\n", "secret"),
        time="header:timestamp",
        time_in="ms",
        window_s=3600,
    )

    call = sign(row, call_of(), secret="s", now=1_700_000_000.5)

    assert call.headers["timestamp"] == "1700000000500"
    check_proof(row, call, secret="s", now=1_700_003_600)
    with pytest.raises(Unauthenticated):
        check_proof(row, call, secret="s", now=1_700_003_601)


def test_one_of_several_signatures_is_enough_and_a_long_list_is_cut() -> None:
    vector = PUBLISHED["standard webhooks"]
    among = replace(vector, signature=f"AAAA v1,{vector.signature} v1a,BBBB")
    late = replace(vector, signature=" ".join(["v1,AAAA"] * 10) + f" v1,{vector.signature}")

    assert check(among, among.call()) == check(vector, vector.call())
    with pytest.raises(Unauthenticated):
        check(late, late.call())


@pytest.mark.parametrize("shown", ["v1,", "v2,{}", "{}", "v1{}", "", "v1,é"])
def test_a_list_without_a_fitting_signature_is_refused(shown: str) -> None:
    vector = PUBLISHED["standard webhooks"]
    headers = {**vector.headers, "webhook-signature": shown.format(vector.signature)}
    call = msgspec.structs.replace(vector.call(), headers=headers)

    with pytest.raises(Unauthenticated):
        check(vector, call)


def test_ed25519_is_that_of_rfc_8032() -> None:
    row = ProofRow(kind="ed25519", at="header:x-signature", secret="public_key")
    call = call_of(b"\xaf\x82", x_signature=RFC_SIGNATURE)

    check_proof(row, call, secret=RFC_PUBLIC, now=0)
    assert sign(row, call_of(b"\xaf\x82"), secret=RFC_SECRET, now=0).headers == call.headers
    for near in (RFC_SIGNATURE[:-2], RFC_SIGNATURE + "00", "", "zz", f" {RFC_SIGNATURE}"):
        with pytest.raises(Unauthenticated):
            check_proof(row, call_of(b"\xaf\x82", x_signature=near), secret=RFC_PUBLIC, now=0)
    for key in (RFC_PUBLIC[:-2], "not hex", RFC_SECRET, "00" * 32):
        with pytest.raises(Unauthenticated):
            check_proof(row, call, secret=key, now=0)


def test_a_signature_with_a_number_beyond_the_order_of_the_group_is_refused() -> None:
    order = 2**252 + 27742317777372353535851937790883648493
    half = int.from_bytes(bytes.fromhex(RFC_SIGNATURE[64:]), "little")
    other = RFC_SIGNATURE[:64] + (half + order).to_bytes(32, "little").hex()
    row = ProofRow(kind="ed25519", at="header:x-signature", secret="public_key")

    with pytest.raises(Unauthenticated):
        check_proof(row, call_of(b"\xaf\x82", x_signature=other), secret=RFC_PUBLIC, now=0)


def test_discord_signs_the_time_and_the_body() -> None:
    call = sign(DISCORD, call_of(b'{"type":1}'), secret=RFC_SECRET, now=1_700_000_000)

    check_proof(DISCORD, call, secret=RFC_PUBLIC, now=1_700_000_000)
    other = msgspec.structs.replace(call, body=b'{"type":2}')
    with pytest.raises(Unauthenticated):
        check_proof(DISCORD, other, secret=RFC_PUBLIC, now=1_700_000_000)
    with pytest.raises(Unauthenticated, match="clock"):
        check_proof(DISCORD, call, secret=RFC_PUBLIC, now=1_700_000_301)


def test_twilio_signs_a_body_that_is_no_form_by_its_hash_in_the_address() -> None:
    vector = PUBLISHED["twilio"]
    body = b'{"property": "value", "boolean": true}'
    digest = hashlib.sha256(body).hexdigest()
    assert digest == "0a1ff7634d9ab3b95db5c9a2dfe9416e41502b283a80c7cf19632632f96e6620"
    url = f"{vector.url}&bodySHA256={digest}"
    made = RequestValidator(vector.secret).compute_signature(url, {})
    call = replace(
        vector,
        signature=made,
        body=body,
        headers={"content-type": "application/json"},
        query={"bodySHA256": digest},
        url=url,
    )

    check(call, call.call())
    for other in (replace(call, body=body + b" "), replace(call, query={})):
        with pytest.raises(Unauthenticated, match="bodySHA256"):
            check(other, other.call())


def test_the_hash_of_a_body_is_not_taken_from_a_query_that_is_not_signed() -> None:
    vector = PUBLISHED["twilio"]
    body = b'{"forged": true}'
    other = replace(
        vector,
        body=body,
        headers={"content-type": "application/json"},
        query={"bodySHA256": hashlib.sha256(body).hexdigest()},
    )

    with pytest.raises(Unauthenticated):
        check(other, other.call())


@pytest.mark.parametrize(
    ("signed", "configured"),
    [
        ("https://mycompany.com:443/myapp.php?foo=1", "https://mycompany.com/myapp.php?foo=1"),
        ("https://mycompany.com/myapp.php", "https://mycompany.com:8443/myapp.php"),
        ("http://mycompany.com:80/myapp.php", "http://mycompany.com/myapp.php"),
        ("https://[::1]:443/myapp.php", "https://[::1]/myapp.php"),
    ],
)
def test_twilio_signs_the_address_with_its_port_or_without(signed: str, configured: str) -> None:
    vector = PUBLISHED["twilio"]
    fields = {"CallSid": "CA1", "Body": "äö & +", "Empty": ""}
    made = RequestValidator(vector.secret).compute_signature(signed, fields)
    call = replace(vector, signature=made, body=urlencode(fields).encode(), url=configured)

    check(call, call.call())
    other = replace(call, url=configured.replace("myapp", "other"))
    with pytest.raises(Unauthenticated):
        check(other, other.call())


def test_a_form_of_megabytes_is_not_read_before_it_is_proven() -> None:
    vector = PUBLISHED["twilio"]
    fields = {"Body": "%" * 50_000}
    body = urlencode(fields).encode()
    made = RequestValidator(vector.secret).compute_signature(vector.url, fields)
    call = replace(vector, signature=made, body=body)

    # Each of these takes a moment to decode, during which nobody else is answered.
    assert len(body) > 131_072
    with pytest.raises(Unauthenticated, match="more than 131072 bytes"):
        check(call, call.call())


def test_what_is_signed_for_a_standard_webhook_is_what_its_own_library_accepts() -> None:
    vector = PUBLISHED["standard webhooks"]
    now = SystemClock().now()
    call = sign(
        vector.row,
        call_of(b'{"a": "\xc3\xa4"}', webhook_id="msg_1"),
        secret=vector.secret,
        now=now,
    )

    assert Webhook(vector.secret).verify(call.body, dict(call.headers)) == {"a": "ä"}


@pytest.mark.parametrize(
    ("row", "secret"),
    [(TELEGRAM, "s3cret"), (BLUEBUBBLES, "päss"), (BEARER, "s3")],
)
def test_a_shared_secret_is_compared_whole(row: ProofRow, secret: str) -> None:
    call = sign(row, call_of(), secret=secret, now=0)

    check_proof(row, call, secret=secret, now=0)
    for other in spoiled(secret):
        with pytest.raises(Unauthenticated):
            check_proof(row, sign(row, call_of(), secret=other, now=0), secret=secret, now=0)
    with pytest.raises(Unauthenticated):
        check_proof(row, call_of(), secret=secret, now=0)


@pytest.mark.parametrize("name", list(ROWS))
@given(
    body=st.binary(max_size=200), secret=st.text(min_size=1, max_size=40), at=st.integers(0, 2**33)
)
def test_what_is_signed_by_a_row_is_proven_by_it(
    name: str, body: bytes, secret: str, at: int
) -> None:
    row = ROWS[name]
    call = HttpRequest(
        method="POST",
        path="/",
        query={"timestamp": "1", "nonce": "2"},
        headers={"content-type": "application/x-www-form-urlencoded"},
        body=urlencode({"Body": body.decode("latin-1")}).encode() if name == "twilio" else body,
    )
    secret = secret.encode(errors="replace").decode()

    made = sign(row, call, secret=secret, now=at, url="https://example.com/a")

    proven = check_proof(row, made, secret=secret, now=at, url="https://example.com/a")
    assert len(proven) == 32


@pytest.mark.parametrize("name", list(ROWS))
@given(
    body=st.binary(max_size=100),
    headers=st.dictionaries(
        st.sampled_from(
            [row.at.partition(":")[2] for row in ROWS.values()]
            + ["content-type", "webhook-timestamp", "x-slack-request-timestamp"]
        ),
        st.text(st.characters(max_codepoint=255), max_size=80),
    ),
    query=st.dictionaries(st.sampled_from(["signature", "msg_signature", "password"]), st.text()),
)
def test_whatever_a_stranger_sends_is_refused_cleanly(
    name: str, body: bytes, headers: dict[str, str], query: dict[str, str]
) -> None:
    call = HttpRequest(method="POST", path="/", query=query, headers=headers, body=body)

    with pytest.raises(Unauthenticated):
        check_proof(ROWS[name], call, secret="a secret nobody knows", now=1e9, url="https://[")


@pytest.mark.parametrize("name", ["slack", "standard webhooks", "github and meta"])
def test_a_glance_refuses_what_no_body_can_prove(name: str) -> None:
    vector = PUBLISHED[name]
    call = vector.call()

    glance_proof(vector.row, call.headers, secret=vector.secret, now=vector.now)
    for missing in vector.row.at, vector.row.time or vector.row.at:
        headers = {one: call.headers[one] for one in call.headers if one != missing[7:]}
        with pytest.raises(Unauthenticated):
            glance_proof(vector.row, headers, secret=vector.secret, now=vector.now)


def test_a_glance_refuses_a_wrong_shared_secret_and_lets_a_query_wait() -> None:
    glance_proof(TELEGRAM, {"x-telegram-bot-api-secret-token": "s"}, secret="s", now=0)
    glance_proof(BLUEBUBBLES, {}, secret="s", now=0)

    with pytest.raises(Unauthenticated):
        glance_proof(TELEGRAM, {"x-telegram-bot-api-secret-token": "t"}, secret="s", now=0)


@pytest.mark.parametrize(
    "body",
    [
        b"<xml><Encrypt>a</Encrypt><Encrypt>b</Encrypt></xml>",
        b"<xml><Encrypt>a<b/></Encrypt></xml>",
        b"<xml><Encrypt>a",
        b'<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><xml><Encrypt>&e;</Encrypt></xml>',
    ],
)
def test_a_field_of_xml_is_one_element_without_anything_in_it(body: bytes) -> None:
    assert body_field(body, "Encrypt") in {"", "&e;"}


@pytest.mark.parametrize(
    ("body", "found"),
    [
        (b'{"header": {"token": "t"}}', "t"),
        (b'{"header": {"token": 1}}', ""),
        (b'{"header": "token"}', ""),
        (b"[" * 100_000, ""),
        (b"\xff", ""),
        (b"", ""),
    ],
)
def test_a_field_of_json_is_a_text_at_a_path(body: bytes, found: str) -> None:
    assert body_field(body, "header.token") == found
