"""The town of stand-in platforms: ids in each platform's form, and messages that stay what they are."""

import re

import pytest

from hermes.testing.call_rules import SiteRefusal
from hermes.testing.manual_time import ManualClock
from hermes.testing.town import Town, TownIds

SNOWFLAKE_OF_2026 = r"1[0-9]{18}"


@pytest.mark.parametrize(
    ("pattern", "form"),
    [
        ("snowflake", r"[0-9]{15,20}"),
        ("uuid", r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"),
        ("ts", r"[0-9]{10}\.[0-9]{6}"),
        ("wamid.[A-Z0-9]{26}", r"wamid\.[A-Z0-9]{26}"),
        ("[a-z0-9]{26}", r"[a-z0-9]{26}"),
        ("number:100", r"10[0-9]"),
        ("number:-100", r"-10[0-9]"),
    ],
)
def test_an_id_has_the_form_of_its_platform_and_belongs_to_one_name(
    pattern: str, form: str
) -> None:
    ids = TownIds({"message": pattern}, ManualClock())

    made = [
        ids.make("message"),
        ids.make("message"),
        ids.of("message", "a"),
        ids.of("message", "b"),
    ]

    assert all(re.fullmatch(form, one) for one in made), made
    assert len(set(made)) == 4
    assert ids.of("message", "a") == made[2]
    # An id is its own name.
    assert ids.of("message", made[0]) == made[0]


def town() -> Town:
    rows = {
        "dm": "D[A-Z0-9]{9}",
        "group": "G[A-Z0-9]{9}",
        "person": "U[A-Z0-9]{9}",
        "message": "number:1",
        "file": "F[0-9]{9}",
    }
    return Town(rows, clock=ManualClock())


def test_a_chat_is_found_by_its_name_and_by_its_id_and_may_refuse() -> None:
    place = town()
    chat = place.open_chat("chat-1")

    assert place.find_chat("chat-1") is place.find_chat(chat)
    assert place.open_chat(chat, chat_type="group") == chat
    place.chats[chat].refuses = "is_archived"
    for name, row in (("chat-1", "is_archived"), ("nowhere", "chat_not_found")):
        with pytest.raises(SiteRefusal) as refused:
            place.chat_to_write(name)
        assert refused.value.name == row


def test_a_message_is_edited_deleted_and_no_longer_found() -> None:
    place = town()
    chat = place.open_chat("chat-1")
    own = place.post(chat, "bot", text="a", is_own=True)
    theirs = place.post(chat, "U1", text="b")

    place.edit(own, "c")
    again = place.post(chat, "U1", id=theirs.id, text="other words")

    assert (own.text, own.before) == ("c", ["a"])
    assert (again is theirs, theirs.text) == (True, "b")
    assert [one.text for one in place.history(chat)] == ["c", "b"]
    with pytest.raises(SiteRefusal, match="not_own_message"):
        place.find_own(chat, theirs.id)
    own.is_deleted = True
    with pytest.raises(SiteRefusal, match="message_not_found"):
        place.find(chat, own.id)


def test_a_file_that_was_only_announced_is_not_there_yet() -> None:
    place = town()
    file = place.keep_file("a.txt", None, size=3)

    with pytest.raises(SiteRefusal, match="file_not_found"):
        place.find_file(file.id)
    file.data = b"abc"
    assert place.find_file(file.id) is file
