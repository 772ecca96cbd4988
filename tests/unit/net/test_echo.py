"""What a service says about a failure, without what it quotes of the request."""

import pytest

from hermes.net.echo import without_echo

SENT = (
    b'{"model":"claude-haiku-4-5-20251001","messages":[{"role":"system","content":"What is known'
    b' of them:\\n- home_city: Kestrel Valley 7"},{"role":"user","content":"Where do I live?"}]}'
)
HEADERS = {
    "Authorization": "Bearer key-1234567890abcdef",
    "X-Gateway-Key": "fedcba0987654321",
    "Content-Type": "application/json",
}


def clean(words: str) -> str:
    return without_echo(words, SENT, headers=HEADERS)


@pytest.mark.req("A30", "W35")
@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("refused with 400: too many tokens", "refused with 400: too many tokens"),
        ("no model claude-haiku-4-5-20251001 here", "no model claude-haiku-4-5-20251001 here"),
        ("expected application/json", "expected application/json"),
        ("said - home_city: Kestrel Valley 7 here", "said **** here"),
        (f"cannot read {SENT.decode()}", "cannot read ****"),
        ("wrong key key-1234567890abcdef given", "wrong key **** given"),
        ("seen: Bearer key-1234567890abcdef, x: fedcba0987654321!", "seen: Bearer ****, x: ****!"),
        # Cut off somewhere by whoever told it.
        ("wrong key key-12345678", "wrong key ****"),
        ("twice fedcba0987 and fedcba0987654321", "twice **** and ****"),
    ],
)
def test_neither_the_request_nor_its_credentials_are_told(words: str, told: str) -> None:
    assert clean(words) == told


@pytest.mark.req("A30")
def test_a_long_request_is_compared_quickly() -> None:
    sent = b'{"messages":"' + b"all work and no play " * 50_000 + b'"}'

    assert without_echo("x" * 500, sent, headers={}) == "x" * 500
