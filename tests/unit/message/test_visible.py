"""Nothing is hidden in what a person has to judge."""

import msgspec
import pytest

from hermes.message.visible import shown_arguments, without_hidden


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        ('{ "amount": 7,\n  "to": "ann" }', '{"amount":7,"to":"ann"}'),
        (msgspec.json.encode({"a": "x" + " \t" * 900 + "y"}).decode(), '{"a":"x y"}'),
        (msgspec.json.encode({"a": "x" + "\n" * 900 + "y"}).decode(), r'{"a":"x\ny"}'),
        (r'{"a":"C:\\new\\table"}', r'{"a":"C:\\new\\table"}'),
        ('{"a":"x' + "\u2800\u3164" * 400 + 'y"}', '{"a":"x y"}'),
        ('{"a":"x\u202ey\u2028z\u200d\x9b"}', r'{"a":"x\u202ey\u2028z\u200d\x9b"}'),
        (r'{"a":"\u202e\u0072m"}', r'{"a":"\u202erm"}'),
        ("no  json" + "\n" * 600 + "at all", r"no json\nat all"),
        ("[" * 9000, "[" * 500 + "… 8,500 more letters"),
    ],
)
def test_arguments_are_compact_and_hide_nothing(arguments: str, shown: str) -> None:
    assert shown_arguments(arguments, most=500) == shown


def test_what_is_cut_off_is_counted() -> None:
    arguments = msgspec.json.encode({"a": "x" * 600}).decode()

    shown = shown_arguments(arguments, most=500)

    assert shown == '{"a":"' + "x" * 494 + "… 108 more letters"


def test_letters_without_a_shape_are_escapes_and_ordinary_text_stays() -> None:
    assert without_hidden("pay\u202e7\u2066\u2029\U000e0041") == r"pay\u202e7\u2066\u2029\U000e0041"
    for text in ("a\tb\n", "Grüße 👩\u200d🚀", "می\u200cخواهم", "日本"):
        assert without_hidden(text) == text
