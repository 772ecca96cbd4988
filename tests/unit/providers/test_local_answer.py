"""What the demonstration model writes under a constraint is read as it comes, wherever it is cut."""

import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.message.parts import TextPart, ToolCallPart, tool_calls_of
from hermes.ports.provider import ModelEvent, TextDelta, ToolCallDelta
from hermes.providers.local.answer import ConstrainedAnswer, MalformedAnswer

TRICKY = 'é "q" \\ / \b\f\n\r\t \x01 \U0001f600 } ] , end'
TWO_CALLS = (
    '{"tool_calls":[{"name":"ma\\"il","arguments":{"to":["a}\\"]"],"n":{"x":-1.5e3}}},'
    '{"name":"clock","arguments":{}}]}'
)


def reading(*, json_answer: bool = False) -> ConstrainedAnswer:
    ids = itertools.count(1)
    return ConstrainedAnswer(
        json_answer=json_answer, make_id=lambda prefix: f"{prefix}_{next(ids)}"
    )


def fed(answer: ConstrainedAnswer, *pieces: str) -> list[ModelEvent]:
    return [event for piece in pieces for event in answer.feed(piece)]


def text_of(events: list[ModelEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


def calls_of(events: list[ModelEvent]) -> list[tuple[str, str, str]]:
    found: dict[int, tuple[str, str, str]] = {}
    for event in events:
        assert isinstance(event, ToolCallDelta)
        before = found.get(event.index, ("", "", ""))
        found[event.index] = (
            before[0] + event.id,
            before[1] + event.name,
            before[2] + event.arguments,
        )
    return list(found.values())


@pytest.mark.req("M5", "M7")
@pytest.mark.parametrize("ascii_only", [True, False])
def test_a_text_cut_anywhere_is_the_same_text(ascii_only):
    written = json.dumps({"answer": TRICKY}, ensure_ascii=ascii_only, separators=(",", ":"))
    for cut in range(len(written) + 1):
        answer = reading()

        events = fed(answer, written[:cut], written[cut:])

        assert text_of(events) == TRICKY
        assert answer.parts() == (TextPart(TRICKY),)
        assert answer.is_whole


@pytest.mark.req("M5", "M7")
@pytest.mark.parametrize("ascii_only", [True, False])
@given(text=st.text(min_size=1, alphabet=st.characters(exclude_categories=["Cs"])))
def test_a_text_character_by_character_is_the_same_text(ascii_only, text):
    written = json.dumps({"answer": text}, ensure_ascii=ascii_only, separators=(",", ":"))
    answer = reading()

    assert text_of(fed(answer, *written)) == text
    assert answer.is_whole


@pytest.mark.req("M7")
def test_text_leaves_as_soon_as_it_is_written():
    answer = reading()

    assert answer.feed('{"answer":"Hel') == [TextDelta("Hel")]
    assert answer.feed("lo\\") == [TextDelta("lo")]
    assert answer.feed("ud83d") == []
    assert answer.feed("\\ude00!") == [TextDelta("\U0001f600!")]
    assert not answer.is_whole
    assert answer.feed('"}') == []
    assert answer.is_whole


@pytest.mark.req("M7")
@pytest.mark.parametrize("half", ["\\ud83d", "\\ude00", "\\ud83d\\ud83d"])
def test_half_a_character_becomes_the_mark_for_one_that_is_lost(half):
    written = f'{{"answer":"a{half}z\\n"}}'

    assert text_of(fed(reading(), *written)) == "a" + "\ufffd" * (len(half) // 6) + "z\n"


@pytest.mark.req("M5")
def test_calls_cut_anywhere_are_the_same_calls():
    parts = (
        ToolCallPart("call_1", 'ma"il', '{"to":["a}\\"]"],"n":{"x":-1.5e3}}'),
        ToolCallPart("call_2", "clock", "{}"),
    )
    for cut in range(len(TWO_CALLS) + 1):
        answer = reading()

        events = fed(answer, TWO_CALLS[:cut], TWO_CALLS[cut:])

        assert calls_of(events) == [(part.id, part.name, part.arguments) for part in parts]
        assert answer.parts() == parts
        assert answer.is_whole


@pytest.mark.req("M6")
@pytest.mark.parametrize("value", ["13", "-0.5", "null", '"a\\"}"', '{"a":["}",{}]}', "[[],{}]"])
def test_an_answer_in_json_comes_out_as_it_is_written(value):
    written = f'{{"answer":{value}}}'
    for cut in range(len(written) + 1):
        answer = reading(json_answer=True)

        events = fed(answer, written[:cut], written[cut:])

        assert text_of(events) == value
        assert answer.parts() == (TextPart(value),)
        assert answer.is_whole


@pytest.mark.req("M5")
def test_of_a_cut_answer_the_text_and_the_whole_calls_remain():
    text, calls, one = reading(), reading(), reading()

    fed(text, '{"answer":"half an ans\\u00')
    fed(calls, TWO_CALLS[:-5])
    fed(one, TWO_CALLS[:50])

    assert (text.parts(), text.is_whole) == ((TextPart("half an ans"),), False)
    assert ([part.name for part in tool_calls_of(calls.parts())], calls.is_whole) == (
        ['ma"il'],
        False,
    )
    assert (one.parts(), one.has_begun) == ((), True)


@pytest.mark.req("M5", "M6")
@pytest.mark.parametrize(
    ("written", "has_begun"),
    [
        ("The answer is", False),
        ('{"x', False),
        ('{"answer":1', False),
        ('{"answer":"a\\x', False),
        ('{"answer":"a\\u00_1', False),
        ('{"answer":"a"]', True),
        ('{"answer":"a"}.', True),
        ('{"tool_calls":["', False),
        ('{"tool_calls":[{"name":x,"arguments":{', False),
        ('{"tool_calls":[{"name":"' + "x" * 2000, False),
        ('{"tool_calls":[{"name":"f","arguments":{]}', True),
        ('{"tool_calls":[{"name":"f","arguments":{}};', True),
    ],
)
def test_a_wrong_character_is_found_at_once(written, has_begun):
    answer = reading()

    with pytest.raises(MalformedAnswer):
        fed(answer, written)

    assert answer.has_begun is has_begun


@pytest.mark.req("M6")
def test_json_that_is_none_is_never_whole():
    with pytest.raises(MalformedAnswer):
        fed(reading(json_answer=True), '{"answer":{a}}')
