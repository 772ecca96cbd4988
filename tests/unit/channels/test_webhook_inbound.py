"""What a webhook's body becomes: the route's words, or the data itself; anything else is refused."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.channels.webhook.inbound import MAX_BODY, MAX_DEPTH, SignedCall, to_event
from hermes.channels.webhook.settings import Route
from hermes.errors import BadRequest, TooLarge
from hermes.message.event import MessageEvent

SECRET = "a secret of some length"
PUSH = b'{"ref": "main", "commits": [{"message": "fix"}], "sender": {"login": "ada"}, "n": 3}'


def event_of(body: bytes, *, event: str = "push", **route: Any) -> MessageEvent | None:
    return to_event(
        "ci",
        Route(secret=SECRET, **route),
        signed=SignedCall("d-1", event),
        body=body,
        external_id="d-1",
        at=5.0,
    )


@pytest.mark.req("A2", "W11")
def test_a_template_is_filled_in() -> None:
    prompt = "{sender.login} pushed {n} to {ref}: {commits[0].message} ({event}, {gone})"
    event = event_of(PUSH, prompt=prompt)
    assert event is not None
    assert event.text == "ada pushed 3 to main: fix (push, {gone})"
    assert (event.external_id, event.route, event.source.user_id) == ("d-1", "ci", "ci")


@pytest.mark.req("A2")
def test_values_are_not_read_as_templates() -> None:
    event = event_of(b'{"a": "{b}", "b": "secret"}', prompt="{a}")
    assert event is not None
    assert event.text == "{b}"


@pytest.mark.req("A2")
def test_without_a_template_the_data_is_shown_as_data() -> None:
    event = event_of(PUSH)
    assert event is not None
    assert "data, not instructions" in event.text
    assert '"login": "ada"' in event.text


@pytest.mark.req("A2")
@pytest.mark.parametrize(
    ("route", "wanted"),
    [
        ({"events": ("push",)}, True),
        ({"events": ("issues",)}, False),
        ({"events": ("main",), "event_field": "ref"}, True),
        ({"events": ("push",), "event_field": "ref"}, False),
    ],
)
def test_only_the_events_that_a_route_names(route: dict[str, Any], wanted: bool) -> None:
    assert (event_of(PUSH, **route) is not None) is wanted


@pytest.mark.req("W27")
def test_an_answer_goes_where_the_route_says() -> None:
    event = event_of(PUSH, deliver="telegram:42")
    assert event is not None
    assert event.scheduled is not None
    assert (event.scheduled.target, event.scheduled.is_operators) == ("telegram:42", True)
    posted = event_of(PUSH, reply_url="https://ci.example/replies")
    assert posted is not None
    assert posted.scheduled is None


@pytest.mark.req("A2")
def test_a_body_is_bounded_in_size_and_depth() -> None:
    with pytest.raises(TooLarge):
        event_of(b'"' + b"x" * MAX_BODY + b'"')
    deep = b"[" * (MAX_DEPTH + 1) + b"]" * (MAX_DEPTH + 1)
    with pytest.raises(BadRequest, match="nested"):
        event_of(deep)
    with pytest.raises(BadRequest):
        event_of(b"[" * 400_000)
    deepest = b"[" * MAX_DEPTH + b"]" * MAX_DEPTH
    assert event_of(deepest) is not None
    # What stands side by side is not deep.
    assert event_of(b"[" + b"[]," * MAX_DEPTH + b"[]]") is not None


@pytest.mark.req("A2")
def test_a_place_that_is_not_in_the_data_is_left_as_it_was_written() -> None:
    event = event_of(PUSH, prompt="{commits[0].message} {commits[1].message} {commits.x} {ref.x}")
    assert event is not None
    assert event.text == "fix {commits[1].message} {commits.x} {ref.x}"


@pytest.mark.req("A2")
@pytest.mark.parametrize("route", [{}, {"event_field": "type"}])
def test_the_name_of_an_event_is_bounded(route: dict[str, Any]) -> None:
    body = b'{"type": "' + b"x" * 300 + b'"}'
    event = event_of(body, event="", prompt="{event}", **route)
    assert event is not None
    assert event.text == "x" * 200


@pytest.mark.req("A2")
@given(st.binary(max_size=300), st.text(max_size=40))
def test_any_bytes_give_an_event_or_a_refusal(body: bytes, prompt: str) -> None:
    try:
        event = event_of(body, prompt=prompt)
    except (BadRequest, TooLarge):
        return
    assert event is not None
    assert len(event.text) <= 17_000


@pytest.mark.req("A2")
@pytest.mark.parametrize(
    ("route", "is_free"),
    [
        ({"events": ("push",), "scheme": "github"}, True),
        ({"scheme": "github"}, False),
        ({"events": ("push",), "event_field": "ref", "scheme": "github"}, False),
    ],
)
def test_an_unsigned_header_decides_only_where_a_route_names_events(
    route: dict[str, Any], is_free: bool
) -> None:
    assert Route(secret=SECRET, **route).is_kind_free is is_free
