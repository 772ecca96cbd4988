"""What was cut off is told apart from what is whole and from what is malformed."""

import pytest

from hermes.schema.unfinished_json import is_unfinished


@pytest.mark.req("M5", "A23")
@pytest.mark.parametrize("text", ["{", '{"a', '{"a":', '{"a":1', '{"a":[1', '{"a":"\\"', '["}"'])
def test_a_text_that_stops_in_the_middle_is_unfinished(text):
    assert is_unfinished(text)


@pytest.mark.req("M5")
@pytest.mark.parametrize("text", ["{}", '{"a":"{["}', "[1]", "null", "", "{a:1}", "{'a':1}", "}{"])
def test_what_is_whole_or_malformed_is_not(text):
    assert not is_unfinished(text)


@pytest.mark.req("M5", "A8")
def test_long_and_deep_texts_are_walked_once():
    assert is_unfinished('{"value":"' + '\\"' * 500_000)
    assert is_unfinished("[" * 100_000)
    assert not is_unfinished('{"a":"' + '\\"' * 500_000 + '"}}')
