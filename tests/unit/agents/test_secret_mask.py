"""Which forms of a secret are found in a text, and what comes in its place."""

import base64
import html
import json
import re
from collections.abc import Callable
from urllib.parse import quote, quote_plus

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.agents.secret_mask import SecretMask, StreamedMask

VALUE = "s3cr3t~Value?>0123"
NAMED = "[secret TOKEN]"


def mask_of(**secrets: str) -> SecretMask:
    mask = SecretMask()
    mask.use(secrets.items())
    return mask


@pytest.mark.req("M9", "W35")
def test_a_secret_is_named_wherever_it_is_in_a_text() -> None:
    mask = mask_of(TOKEN=VALUE)

    assert mask.text(VALUE) == NAMED
    assert mask.text(f"key={VALUE}&x={VALUE}.") == f"key={NAMED}&x={NAMED}."
    assert [mask.text("." * before + VALUE) for before in range(8)] == [
        "." * before + NAMED for before in range(8)
    ]
    assert mask.text(VALUE[:-1]) == VALUE[:-1]


@pytest.mark.req("M9", "W35")
@pytest.mark.parametrize("before", [b"", b"u", b"user:", b"ab"])
@pytest.mark.parametrize("after", [b"", b"\x00", b":x", b"yz!"])
@pytest.mark.parametrize("code", [base64.b64encode, base64.urlsafe_b64encode])
def test_a_secret_in_base64_is_named_with_whatever_is_around_it(
    before: bytes, after: bytes, code: object
) -> None:
    assert callable(code)
    coded = code(before + VALUE.encode() + after).decode()

    masked = mask_of(TOKEN=VALUE).text(f"Basic {coded}")

    assert NAMED in masked
    # At most the letters that also depend on what is beside it are left.
    left = masked.removeprefix("Basic ").replace(NAMED, "").rstrip("=")
    assert len(left) <= (len(before) + len(after)) * 8 // 6 + 3


@pytest.mark.req("M9", "W35")
@pytest.mark.parametrize("value", ['quo"te\\back\nline', "smörgås bord ☃ 123", 'it\'s "both" 12'])
def test_a_secret_is_found_in_json_and_in_the_quotes_of_python(value: str) -> None:
    mask = mask_of(TOKEN=value)
    texts = (
        msgspec.json.encode({"x": value}).decode(),
        json.dumps({"x": value}),
        repr({"x": value}),
        repr(f"{value}'\""),
    )

    assert [NAMED in mask.text(text) for text in texts] == [True] * 4


def in_go(value: str) -> str:
    """Return JSON as Go writes it, and others that protect pages."""
    text = json.dumps(value)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


@pytest.mark.req("M9", "W35")
@pytest.mark.parametrize(
    "write",
    [
        lambda value: quote(value, safe=""),
        quote,
        quote_plus,
        lambda value: re.sub("%..", lambda found: found[0].lower(), quote(value, safe="")),
        html.escape,
        lambda value: json.dumps(value).replace("/", "\\/"),
        in_go,
    ],
)
def test_a_secret_is_found_in_addresses_pages_and_the_json_of_others(
    write: Callable[[str], str],
) -> None:
    value = "mari/mba+01 23<value>&x=y~"
    whole = f"https://x/?k={write(value)}&n=1"
    mask = mask_of(TOKEN=value)
    streamed = StreamedMask(mask)
    shown = [*map(streamed.feed, whole), streamed.close()]

    assert NAMED in mask.text(whole)
    assert "mari" not in mask.text(whole)
    assert "".join(shown) == mask.text(whole)


@pytest.mark.req("M9", "W35")
def test_a_long_secret_is_found_in_the_lines_of_base64() -> None:
    value = "".join(f"{number:x}" for number in range(100))
    coded = base64.encodebytes(value.encode()).decode()

    masked = mask_of(TOKEN=value).text(f"said:\n{coded}")

    assert masked == "said:\n" + f"{NAMED}\n" * len(coded.splitlines())


@pytest.mark.req("M9", "W35")
@pytest.mark.parametrize("value", [VALUE, "näive passwörd"])
@pytest.mark.parametrize("separator", ["", " ", ":"])
def test_a_secret_in_hex_is_named(value: str, separator: str) -> None:
    mask = mask_of(TOKEN=value)
    coded = value.encode().hex(separator) if separator else value.encode().hex()
    streamed = StreamedMask(mask)
    shown = "".join((*map(streamed.feed, f"0a{coded}0a"), streamed.close()))

    assert mask.text(f"0a{coded}0a") == f"0a{NAMED}0a"
    assert mask.text(f"0A{coded.upper()}0A") == f"0A{NAMED}0A"
    assert shown == f"0a{NAMED}0a"


@pytest.mark.req("M9", "W35")
def test_a_long_secret_is_found_in_the_lines_of_hex() -> None:
    value = "".join(f"{number:x}" for number in range(60))
    coded = value.encode().hex()
    lines = [coded[at : at + 60] for at in range(0, len(coded), 60)]

    masked = mask_of(TOKEN=value).text("\n".join(lines))

    assert masked == "\n".join([NAMED] * len(lines))


@pytest.mark.req("M9")
def test_a_value_of_seven_characters_is_left_alone_and_one_of_eight_is_not() -> None:
    mask = mask_of(SHORT="pass123", LONG="pass1234")

    assert mask.text("pass123 pass1234") == "pass123 [secret LONG]"
    assert mask_of(SHORT="pass123").is_empty


@pytest.mark.req("M9")
def test_the_longer_of_two_secrets_names_the_place_and_overlaps_leave_nothing() -> None:
    mask = mask_of(BASE="abcdefgh", WHOLE="abcdefgh-ijklmnop", OTHER="ijklmnop-qrst")

    assert mask.text("abcdefgh-ijklmnop") == "[secret WHOLE]"
    assert mask.text("(abcdefgh-ijklmnop-qrst)") == "([secret WHOLE])"


@pytest.mark.req("M9")
def test_the_long_words_of_a_value_are_secrets_too() -> None:
    line = "MIIEvQIBADANBgkqhkiG9w0BAQEF"
    mask = mask_of(PEM=f"-----BEGIN KEY-----\n{line}\n-----END KEY-----\n", AUTH=f"Bearer {VALUE}")

    assert mask.text(f"the file has {line}.") == "the file has [secret PEM]."
    assert mask.text(f"token: {VALUE}") == "token: [secret AUTH]"
    assert mask.text("-----BEGIN KEY-----") == "-----BEGIN KEY-----"


@pytest.mark.req("M9")
def test_a_report_keeps_its_shape_and_one_without_secrets_is_the_same_object() -> None:
    mask = mask_of(TOKEN="12345678")
    report = {"number": 12345678, "said": ["my 12345678", {"12345678": None}]}
    plain = {"number": 1, "said": ["none"]}

    assert mask.report(report) == {
        "number": 12345678,
        "said": [f"my {NAMED}", {NAMED: None}],
    }
    assert mask.report(plain) is plain


@pytest.mark.req("M9")
def test_a_secret_that_is_used_no_more_is_masked_no_more() -> None:
    mask = mask_of(TOKEN=VALUE)

    mask.use([("OTHER", "another-value")])

    assert mask.text(f"{VALUE} another-value") == f"{VALUE} [secret OTHER]"


@pytest.mark.req("M9")
async def test_a_long_text_is_masked_off_the_event_loop() -> None:
    mask = mask_of(TOKEN=VALUE)
    filler = "x" * 200_000

    assert await mask.masked(f"{filler}{VALUE}{filler}") == f"{filler}{NAMED}{filler}"
    assert await mask.masked(VALUE) == NAMED


@pytest.mark.req("M9")
@given(
    st.lists(st.sampled_from([VALUE, "s3cr3t", "s3", "plain ", "~", quote(VALUE)]), max_size=6),
    st.lists(st.integers(1, 9), min_size=1, max_size=40),
)
def test_a_secret_that_is_split_over_pieces_is_masked_as_in_the_whole_text(
    words: list[str], sizes: list[int]
) -> None:
    mask, text = mask_of(TOKEN=VALUE, PREFIX=f"{VALUE}-and-more"), "".join(words)
    streamed, shown, at = StreamedMask(mask), list[str](), 0
    for number in range(len(text)):
        size = sizes[number % len(sizes)]
        shown.append(streamed.feed(text[at : at + size]))
        at += size
    shown.append(streamed.close())

    assert "".join(shown) == mask.text(text)


@pytest.mark.req("M9")
def test_only_what_may_begin_a_secret_is_held_back() -> None:
    streamed = StreamedMask(mask_of(TOKEN=VALUE))

    assert streamed.feed("nothing to see, ") == "nothing to see, "
    assert streamed.feed(f"then {VALUE[:5]}") == "then "
    assert streamed.feed("but no secret") == f"{VALUE[:5]}but no secret"
    assert streamed.feed(f"and {VALUE[:9]}") == "and "
    assert streamed.feed(f"{VALUE[9:]} end") == f"{NAMED} end"
    assert streamed.close() == ""


@pytest.mark.req("M9")
def test_a_secret_whose_end_may_begin_another_one_waits_as_a_whole() -> None:
    streamed = StreamedMask(mask_of(FIRST="abcdefgh", SECOND="ghijklmnop"))

    assert streamed.feed("it is abcdefghij") == "it is "
    assert streamed.feed(", and no more") == "[secret FIRST]ij, and no more"
