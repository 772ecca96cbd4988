"""Delivery targets as they are written: origin, local, a platform, one of its chats, a thread."""

import pytest

from hermes.errors import BadRequest
from hermes.message.target import LOCAL, ORIGIN, Destination, parse_target


@pytest.mark.req("W27")
@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("origin", ORIGIN),
        (" Local ", LOCAL),
        ("telegram", Destination("home", "telegram")),
        ("Telegram:-100123", Destination("chat", "telegram", "-100123")),
        ("telegram: -100123 :17", Destination("chat", "telegram", "-100123", "17")),
        ("discord:#bot-commands", Destination("chat", "discord", "#bot-commands")),
        ("matrix:!a%3Ahome.org", Destination("chat", "matrix", "!a:home.org")),
        ("slack:C1:1700.5", Destination("chat", "slack", "C1", "1700.5")),
    ],
)
def test_w27_every_form_of_a_target_is_read(text: str, read: Destination) -> None:
    assert parse_target(text) == read


@pytest.mark.req("W27")
@pytest.mark.parametrize(
    "destination",
    [
        ORIGIN,
        LOCAL,
        Destination("home", "telegram"),
        Destination("chat", "matrix", "!a:home.org", "$b:home.org"),
        Destination("chat", "x", "100%3A#/"),
    ],
)
def test_w27_a_target_is_written_as_it_is_read(destination: Destination) -> None:
    assert parse_target(str(destination)) == destination


@pytest.mark.req("W27")
@pytest.mark.parametrize(
    "text",
    [
        "",
        "  ",
        ":",
        "telegram:",
        "telegram::7",
        "a:b:c:d",
        "origin:1",
        "local:x",
        "to bob",
        "x" * 99,
    ],
)
def test_w27_what_is_no_target_is_refused_with_the_forms_there_are(text: str) -> None:
    with pytest.raises(BadRequest, match="platform:chat:thread"):
        parse_target(text)
