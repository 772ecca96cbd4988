"""The compact notation of a platform's parameters refuses what does not fit it."""

import pytest

from hermes.testing.call_rules import CallRules, SiteRefusal, Upload, fill

RULES = CallRules(
    {
        "send": "chat:int! text:str!<=5 mode:html|plain silent:bool share:object @page",
        "up": "*:file",
    },
    groups={"page": "limit:int cursor:str"},
    objects={"share": "id:str!"},
    kinds={},
)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"text": "x"}, "send: parameter chat is required"),
        ({"chat": 1, "text": "x", "txt": 1}, "send has no parameter txt"),
        ({"chat": True, "text": "x"}, "parameter chat must be of type int"),
        ({"chat": 2**63, "text": "x"}, "parameter chat must be of type int"),
        ({"chat": 1, "text": "longer"}, "parameter text is longer than 5"),
        ({"chat": 1, "text": "x", "mode": "rtf"}, "parameter mode must be of type html|plain"),
        ({"chat": 1, "text": "x", "share": {"name": "y"}}, "share has no parameter name"),
        ({"chat": 1, "text": "x", "share": {}}, "share: parameter id is required"),
        ({"chat": 1, "text": "x", "limit": "9"}, "parameter limit must be of type int"),
        ({"chat": 1, "text": "x", "silent": None}, "parameter silent must be of type bool"),
    ],
)
def test_what_does_not_fit_is_refused(given: dict[str, object], words: str) -> None:
    with pytest.raises(SiteRefusal) as refused:
        RULES.check("send", given, is_form=False)

    assert words in refused.value.rule


def test_a_form_is_read_by_the_types_of_its_parameters() -> None:
    given = {"chat": "7", "text": "7", "silent": "True", "share": '{"id":"a"}', "mode": "html"}

    read = RULES.check("send", given, is_form=True)

    assert read == {"chat": 7, "text": "7", "silent": True, "share": {"id": "a"}, "mode": "html"}
    with pytest.raises(SiteRefusal, match="can't parse parameter chat"):
        RULES.check("send", {"chat": "x", "text": "x"}, is_form=True)


def test_any_number_of_files_may_come_where_the_row_says_so() -> None:
    file = Upload("a.txt", "text/plain", b"a")

    assert RULES.check("up", {"files[0]": file}, is_form=True) == {"files[0]": file}
    with pytest.raises(SiteRefusal, match="no parameter name"):
        RULES.check("up", {"name": "x"}, is_form=True)


def test_a_row_is_filled_with_values_of_any_type_and_without_those_that_are_missing() -> None:
    row = {"id": "{id}", "at": "{id}@{chat}", "user": {"name": "{name}"}, "list": ["{id}"]}

    assert fill(row, {"id": 5, "chat": "c", "name": None}) == {
        "id": 5,
        "at": "5@c",
        "user": {},
        "list": [5],
    }
