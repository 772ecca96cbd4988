"""W28: a chat is found by id, exact name, guild/name or an unambiguous beginning, in that order."""

import pytest

from hermes.errors import BadRequest
from hermes.outbox.courier import find_chat
from hermes.ports.directory import ChatEntry


def chat(chat_id: str, name: str, guild: str | None = None) -> ChatEntry:
    return ChatEntry(platform="push", chat_id=chat_id, kind="channel", name=name, guild=guild)


CHATS = (
    chat("C1", "general", "Acme"),
    chat("C2", "general", "Umbrella"),
    chat("C3", "generals-only", "Acme"),
    chat("C4", "Random", "Acme"),
    chat("C5", "Straße"),
    chat("C6", "C1"),
)


@pytest.mark.req("W28")
@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("C1", "C1"),
        ("random", "C4"),
        ("#Random", "C4"),
        ("STRASSE", "C5"),
        ("acme/general", "C1"),
        ("Umbrella/#general", "C2"),
        ("rand", "C4"),
        ("umbrella/gen", "C2"),
        ("generals", "C3"),
        ("nowhere", None),
        ("", None),
        ("#", None),
    ],
)
def test_w28_the_first_way_that_finds_anything_counts(text: str, found: str | None) -> None:
    entry = find_chat(CHATS, text)

    assert (entry and entry.chat_id) == found


@pytest.mark.req("W28")
@pytest.mark.parametrize("text", ["general", "gen", "acme/"])
def test_w28_where_several_are_meant_the_error_lists_them(text: str) -> None:
    with pytest.raises(BadRequest) as caught:
        find_chat(CHATS, text)

    assert "Acme/general (push:C1)" in str(caught.value)
    assert "guild/name" in str(caught.value)


@pytest.mark.req("W28")
def test_w28_of_very_many_a_few_are_listed() -> None:
    with pytest.raises(BadRequest, match="and 92 more"):
        find_chat([chat(f"C{n}", f"room {n}") for n in range(100)], "room")
