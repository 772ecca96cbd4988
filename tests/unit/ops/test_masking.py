import json

import pytest

from hermes.agents.secret_mask import SecretMask
from hermes.ops.masker import LONGEST_VALUE, MASK, Masker, names_a_secret

SECRETS = ("sk-live-abcdefgh", 'quo"ted\\secret', "pässwörd-123", "tiny")


@pytest.mark.req("W35")
@pytest.mark.parametrize("secret", SECRETS[:3])
def test_a_known_secret_is_hidden_in_text_and_in_json(secret):
    masker = Masker(SECRETS)

    assert secret not in masker.line(f"before {secret} after")
    line = json.dumps({"text": f"a {secret} b"}, ensure_ascii=False)
    assert json.loads(masker.line(line)) == {"text": f"a {MASK} b"}


@pytest.mark.req("W35")
def test_a_short_secret_is_hidden_as_a_whole_value_and_leaves_words_alone():
    masker = Masker(SECRETS)

    assert masker.fields({"a": "tiny", "b": ["tiny"]}) == {"a": MASK, "b": [MASK]}
    assert masker.line("a tiny model") == "a tiny model"


@pytest.mark.req("W35")
def test_a_secret_made_at_run_time_can_be_added():
    masker = Masker(())
    masker.add(["made-just-now"])

    assert masker.line("x made-just-now y") == f"x {MASK} y"


@pytest.mark.req("W35")
@pytest.mark.parametrize(
    ("line", "hidden"),
    [
        ("key sk-proj-AbC123_xyz987", "AbC123_xyz987"),
        ("a key hk_0123456789abcdefghijABCDEF was sent", "0123456789abcdefghijABCDEF"),
        ("a token hermes_" + "aB3" * 14 + "c", "aB3" * 14),
        ("Authorization: Bearer abc.def-123456", "abc.def-123456"),
        ("authorization: basic dXNlcjpwYXNzd29yZA==", "dXNlcjpwYXNzd29yZA"),
        ("jwt eyJhbGciOiJIUzI1.eyJzdWIiOiIx.c2ln", "eyJzdWIiOiIx"),
        ("slack xoxb-123456789-abcdef", "123456789-abcdef"),
        ("slack xapp-1-A0000-99999", "A0000-99999"),
        ("google AIzaSyA1234567890abcdefghijk", "SyA1234567890abcdefghijk"),
        ("bot123456789:AAFakeFakeFakeFakeFakeFakeFake12345", "FakeFakeFake"),
        ("GET /x?api_key=verysecretvalue&b=1", "verysecretvalue"),
        ("GET /x?access_token=verysecretvalue", "verysecretvalue"),
        ("proxy http://user:passw0rd@proxy:3128/", "passw0rd"),
    ],
)
def test_what_looks_like_a_secret_is_hidden(line, hidden):
    assert hidden in line
    masked = Masker(()).line(line)

    assert hidden not in masked
    assert MASK in masked


@pytest.mark.req("W35")
@pytest.mark.parametrize(
    "line",
    [
        '{"tokens_in":12,"model":"local:smollm2","lane":"agent:main:rest:dm:1"}',
        "task-list risk-free desk-top a=b c@d.example bearer of news 12:AA",
        "http://127.0.0.1:8080/healthz?x=1",
    ],
)
def test_ordinary_lines_stay_as_they_are(line):
    assert Masker(SECRETS).line(line) == line


@pytest.mark.req("W35")
def test_a_key_that_names_a_secret_hides_its_value_at_any_depth():
    fields = {
        "headers": [{"X-Api-Key": "v", "n": 1}],
        "bot_token": "v",
        "tokens": 3,
        "cookie": None,
    }

    assert Masker(()).fields(fields) == {
        "headers": [{"X-Api-Key": MASK, "n": 1}],
        "bot_token": MASK,
        "tokens": 3,
        "cookie": None,
    }


@pytest.mark.req("W35")
def test_which_keys_name_a_secret():
    secret = (
        "token",
        "api_key",
        "apikey",
        "Authorization",
        "set-cookie",
        "password",
        "client_secret",
    )
    harmless = ("tokens", "tokens_in", "max_tokens", "key", "event", "message_id", "secretary")

    assert [name for name in secret if not names_a_secret(name)] == []
    assert [name for name in harmless if names_a_secret(name)] == []


@pytest.mark.req("W35", "A8")
def test_a_very_long_value_loses_its_middle_and_no_secret_is_cut_in_two():
    masker = Masker(SECRETS)
    half = LONGEST_VALUE // 2
    secret = SECRETS[0]
    at_the_cut = "a" * (half - 5) + secret + "b" * LONGEST_VALUE
    at_the_end = "a" * LONGEST_VALUE + secret + "b" * (half - 5)

    for text in (at_the_cut, at_the_end):
        shown = masker.fields({"said": text, "inside": [text]})
        assert shown["inside"] == [shown["said"]]
        assert len(shown["said"]) < LONGEST_VALUE + 100
        assert "characters left out" in shown["said"]
        assert secret[:5] not in shown["said"]
        assert secret[-5:] not in shown["said"]
    fits = {"said": "a" * LONGEST_VALUE}
    assert masker.fields(fits) is fits


@pytest.mark.req("W35", "A8")
@pytest.mark.parametrize("before", [10, LONGEST_VALUE // 2 - 50, LONGEST_VALUE * 2])
def test_no_piece_of_an_unknown_long_token_is_shown_at_a_cut(before: int) -> None:
    payload, signature = "pAyL0ad" * 4000, "S1gn" * 2500
    token = f"eyJhbGciOiJIUzI1NiJ9.{payload}.{signature}"
    text = f"{'a ' * (before // 2)}Bearer:{token} {'b ' * 3000}"

    shown = Masker(()).fields({"said": text, "list": [text]})

    assert "pAyL0ad" not in shown["said"]
    assert "S1gn" not in shown["said"]
    assert shown["said"].endswith("b ")
    assert len(shown["said"]) < LONGEST_VALUE + 100


@pytest.mark.req("W35")
@pytest.mark.parametrize("secret", ["K9" * 20, "hermes_" + "aB3" * 14 + "c", "Long" * 1500])
def test_a_long_value_full_of_secrets_shows_no_piece_of_one(secret):
    masker = Masker([secret])

    for offset in range(0, 60, 7):
        text = " " * offset + f"{secret} " * (40_000 // len(secret) + 10)
        shown = masker.line(masker.fields({"said": text})["said"])

        assert secret[:5] not in shown
        assert secret[-5:] not in shown


@pytest.mark.req("W35")
@pytest.mark.parametrize("secret", ["pa'ss\"word", "it's-long", "back\\sla'sh", 'new\nline"s'])
def test_a_known_secret_is_hidden_in_a_quoted_text(secret):
    masker = Masker([secret])

    assert masker.line(repr(f"a {secret} b")) in {f"'a {MASK} b'", f'"a {MASK} b"'}
    assert masker.line(repr(f"""a {secret} "b" 'c'""")) == f"""'a {MASK} "b" \\'c\\''"""


@pytest.mark.req("W35")
@pytest.mark.parametrize("size", [60, 9_000])
def test_no_part_of_a_secret_is_shown_where_many_were_hidden_before_the_cut(size: int) -> None:
    secret = "".join(f"{number:x}~" for number in range(size))[:size]
    masker = Masker([secret])
    for before in range(0, 2 * size, size // 4 + 1):
        text = "a" * before + f"{secret} " * (4 * LONGEST_VALUE // size + 4)

        shown = masker.line(str(masker.fields({"said": text})["said"]))

        assert not [at for at in range(0, size - 20, 20) if secret[at : at + 20] in shown]


@pytest.mark.req("M9", "W35")
def test_stored_secrets_are_named_in_lines_and_across_the_cut_of_a_long_value() -> None:
    masker, stored = Masker([]), SecretMask()
    value = "s3cr3t~Value" * 600
    stored.use([("TOKEN", value)])
    masker.name_stored = stored.text

    (field,) = masker.fields({"said": "x" * 7_000 + value + "y" * 60_000}).values()

    assert masker.line(f'{{"said":"{value}"}}') == '{"said":"[secret TOKEN]"}'
    assert "s3cr3t" not in str(field)
    assert "[secret TOKEN]" in str(field)
