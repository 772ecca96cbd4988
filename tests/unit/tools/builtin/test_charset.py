"""Bytes become the text that they stand for, whoever said what."""

import codecs

import pytest

from hermes.tools.builtin.web_fetch import decode_text


@pytest.mark.parametrize(
    ("body", "declared", "text"),
    [
        ("grüß".encode(), None, "grüß"),
        ("grüß".encode(), "utf-8", "grüß"),
        ("grüß".encode("latin-1"), None, "grüß"),
        ("grüß".encode("latin-1"), "ISO-8859-1", "grüß"),
        (b"\x93q\x94 \x80", "iso-8859-1", "“q” €"),
        ("日本".encode("shift_jis"), "Shift_JIS", "日本"),
        ("привет".encode("cp1251"), "windows-1251", "привет"),
        (codecs.BOM_UTF8 + "é".encode(), "latin-1", "é"),
        (codecs.BOM_UTF16_LE + "é".encode("utf-16-le"), None, "é"),
        (codecs.BOM_UTF16_BE + "é".encode("utf-16-be"), "utf-8", "é"),
        ("grüß".encode()[:-1], None, "grü\ufffd"),
        ("grüß".encode(), "no-such-charset", "grüß"),
        ("grüß".encode(), "x\0y", "grüß"),
        (b"a\xffb", "utf-8", "a\ufffdb"),
        (b"cm90MTM=", "rot13", "cm90MTM="),
        (b"abcd", "base64", "abcd"),
        (b"\\u0041", "unicode_escape", "\\u0041"),
        (b"", None, ""),
    ],
)
def test_the_bytes_are_read_as_they_were_meant(body, declared, text):
    assert decode_text(body, declared=declared, is_markup=False) == text


@pytest.mark.parametrize(
    "head",
    [
        '<meta charset="windows-1251">',
        "<META http-equiv=content-type content='text/html; charset=windows-1251'>",
        "<?xml version='1.0' encoding='windows-1251'?>",
    ],
)
def test_a_page_may_name_its_own_charset(head):
    body = f"{head}привет".encode("cp1251")

    assert decode_text(body, declared=None, is_markup=True) == f"{head}привет"
    assert decode_text(body, declared=None, is_markup=False) != f"{head}привет"


def test_a_page_that_was_readable_so_far_is_not_in_wide_characters():
    body = '<meta charset="utf-16">é'.encode()

    assert decode_text(body, declared=None, is_markup=True) == '<meta charset="utf-16">é'
