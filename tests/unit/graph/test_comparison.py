"""Two lists of messages compared for people: no difference is hidden, nothing equal is shown."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.graph.comparison import compare, compared_lines
from tests.unit.graph.said import assistant, user


def told(before, after):
    signs = {"head": "", "both": "  ", "before": "- ", "after": "+ "}
    return [
        signs[line.side] + line.text
        for change in compare(before, after)
        for line in compared_lines(change)
    ]


@pytest.mark.req("G7")
def test_a_changed_message_shows_the_lines_that_changed():
    before = [user("one\ntwo\nthree"), assistant("same")]
    after = [user("one\n2\nthree"), assistant("same")]

    assert told(before, after) == [
        "message 0 (user): changed",
        "  one",
        "- two",
        "+ 2",
        "  three",
    ]


@pytest.mark.req("G7")
def test_what_is_far_from_a_change_is_left_out():
    lines = [f"line {number}" for number in range(30)]
    changed = ["first", *lines[1:-1], "last"]

    shown = told([user("\n".join(lines))], [user("\n".join(changed))])

    assert shown == [
        "message 0 (user): changed",
        *("- line 0", "+ first", "  line 1", "  line 2", "  line 3"),
        "  …",
        *("  line 26", "  line 27", "  line 28", "- line 29", "+ last"),
    ]


@pytest.mark.req("G7")
def test_messages_that_only_one_side_has_are_named_by_their_place():
    assert told([user("a"), user("b")], [user("b"), assistant("c")]) == [
        "message 0 (user): only before",
        "- a",
        "message 1 (assistant): only after",
        "+ c",
    ]


@pytest.mark.req("G7")
def test_a_message_that_moved_and_changed_names_both_places_and_roles():
    shown = told([user("a"), user("b"), user("c")], [user("x"), user("a"), assistant("d")])

    assert shown == [
        "message 0 (user): only after",
        "+ x",
        "message 1, now 2 (user, now assistant): changed",
        "- b",
        "+ d",
        "message 2 (user): only before",
        "- c",
    ]


@pytest.mark.req("G7")
def test_what_says_the_same_and_is_not_the_same_shows_its_form():
    shown = told([user("hi")], [{"role": "user", "content": [{"type": "text", "text": "hi"}]}])

    assert '-   "content": "hi"' in shown
    assert '+       "text": "hi"' in shown


texts = st.sampled_from(["", "a", "b", "a\nb", "c"])
messages = st.lists(st.builds(user, texts) | st.builds(assistant, texts | st.none()), max_size=6)


@pytest.mark.req("G7")
@given(messages, messages)
def test_there_is_something_to_show_exactly_when_the_lists_differ(before, after):
    shown = told(before, after)

    assert bool(shown) == (before != after)
    assert any(line[:2] in {"- ", "+ "} for line in shown) == (before != after)
