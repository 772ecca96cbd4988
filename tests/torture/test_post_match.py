"""Which reply a message on a platform is: situations that the books were once wrong about."""

from types import SimpleNamespace
from typing import Any, cast

from hermes.outbox.marks import REPEAT_PREFIX
from hermes.testing.push.state import PostedMessage
from tests.torture.books import Books, DeliveryRow
from tests.torture.places import Place
from tests.torture.post_match import CURSOR, attribute

STOPPED = "(stopped)"
PLACE = cast("Place", SimpleNamespace(platform="telegram", shown=lambda text: (text,)))


def reply(word: str, text: str, *, known_as: str | None = None, held: bool = False) -> DeliveryRow:
    return DeliveryRow(
        seq=1,
        id=f"o-{word}",
        message_id=word,
        platform="telegram",
        chat="c",
        state="unknown" if held else "sent",
        held=held,
        purpose="reply",
        text=text,
        known_as=(known_as,),
    )


def matched(deliveries: list[DeliveryRow], *texts: str) -> list[str | None]:
    """Return whose reply each of the texts is; their ids are their numbers."""
    words = [SimpleNamespace(id=one.message_id, external_id=one.message_id) for one in deliveries]
    books: Any = SimpleNamespace(messages=words, deliveries=deliveries, entries=())
    posted = tuple(
        PostedMessage(message_id=str(number), chat="c", text=text)
        for number, text in enumerate(texts)
    )
    found = attribute(cast("Books", books), posted, place=PLACE)
    return [None if post.ref is None else post.ref.removesuffix(".0") for post in found]


def test_of_two_stopped_replies_in_doubt_the_half_written_one_keeps_its_preview() -> None:
    deliveries = [reply("s3-m7", STOPPED, held=True), reply("s3-m8", STOPPED, held=True)]

    assert matched(deliveries, f"#1 s3-m7 [[d {CURSOR}", STOPPED) == ["o-s3-m7", "o-s3-m8"]


def test_a_preview_of_a_message_that_steered_belongs_to_the_turn_that_is_in_doubt() -> None:
    deliveries = [
        reply("s1-m1", "It failed.", known_as="1"),
        reply("s1-m2", "#1 s1-m2 [[x]]", known_as="2"),
    ]
    texts = (f"#4 s1-m2 [[x]] {CURSOR}", f"{REPEAT_PREFIX}It failed.", "#1 s1-m2 [[x]]")

    assert matched(deliveries, *texts) == ["o-s1-m1", "o-s1-m1", "o-s1-m2"]


def test_of_two_cut_previews_each_reply_in_doubt_has_one() -> None:
    deliveries = [
        reply("s4-m14", "I stopped trying.", known_as="1"),
        reply("s4-m37", "#1 s4-m37 [[x]]", known_as="3"),
    ]
    texts = (
        f"#1 s {CURSOR}",
        f"{REPEAT_PREFIX}I stopped trying.",
        f"#1 s4- {CURSOR}",
        f"{REPEAT_PREFIX}#1 s4-m37 [[x]]",
    )

    assert matched(deliveries, *texts) == ["o-s4-m14", "o-s4-m14", "o-s4-m37", "o-s4-m37"]


def test_of_two_equal_previews_the_earlier_one_is_that_of_the_reply_that_failed() -> None:
    deliveries = [
        reply("s4-m36", "I stopped trying.", known_as="1"),
        reply("s4-m84", "#2 s4-m84 [[x]]", known_as="3"),
    ]
    texts = (
        f"#2 s4- {CURSOR}",
        f"{REPEAT_PREFIX}I stopped trying.",
        f"#2 s4- {CURSOR}",
        f"{REPEAT_PREFIX}#2 s4-m84 [[x]]",
    )

    assert matched(deliveries, *texts) == ["o-s4-m36", "o-s4-m36", "o-s4-m84", "o-s4-m84"]


def test_a_preview_beside_its_own_unmarked_reply_is_still_found() -> None:
    deliveries = [reply("s1-m1", "#1 s1-m1 [[x]]", known_as="1")]
    texts = (f"#1 s1-m1 [[x {CURSOR}", "#1 s1-m1 [[x]]")

    assert matched(deliveries, *texts) == ["o-s1-m1", "o-s1-m1"]


def test_a_stopped_reply_beside_its_own_preview_is_still_found() -> None:
    deliveries = [reply("s1-m1", STOPPED, held=True)]

    assert matched(deliveries, f"#1 s1-m1 [[x {CURSOR}", STOPPED) == ["o-s1-m1", "o-s1-m1"]


def test_a_marked_repeat_is_never_that_of_a_confirmed_reply() -> None:
    text = "Nothing waits."
    deliveries = [
        reply("s1-m1", text, held=True),
        reply("s1-m2", "#1 s1-m2", known_as="0"),
        reply("s1-m3", text, known_as="2"),
    ]

    texts = ("#1 s1-m2", REPEAT_PREFIX + text, text)
    assert matched(deliveries, *texts) == ["o-s1-m2", "o-s1-m1", "o-s1-m3"]


def test_a_preview_goes_to_the_reply_in_doubt_that_begins_with_its_words() -> None:
    deliveries = [
        reply("s2-m86", "#2 s2-m86 [[x]]", held=True),
        reply("s2-m132", "#4 s2-m132 [[x]]", known_as="3"),
    ]
    texts = (
        "#2 s2-m86 [[x]]",
        f"#2 s2- {CURSOR}",
        f"#4 s {CURSOR}",
        f"{REPEAT_PREFIX}#4 s2-m132 [[x]]",
    )

    assert matched(deliveries, *texts) == ["o-s2-m86", "o-s2-m86", "o-s2-m132", "o-s2-m132"]


def test_a_preview_of_a_few_letters_takes_nothing_from_one_that_says_more() -> None:
    deliveries = [
        reply("s2-m90", STOPPED, held=True),
        reply("s2-m97", "#9 s2-m97 [[x]]", known_as="3"),
    ]
    texts = (STOPPED, f"#3 {CURSOR}", f"#9 s2-m97 [[ {CURSOR}", f"{REPEAT_PREFIX}#9 s2-m97 [[x]]")

    assert matched(deliveries, *texts) == ["o-s2-m90", None, "o-s2-m97", "o-s2-m97"]


def test_a_cut_preview_belongs_to_the_reply_at_its_place_before_one_that_failed_later() -> None:
    deliveries = [
        reply("s2-m12", "#1 s2-m12 [[x]]", known_as="1"),
        reply("s2-m34", "#2 s2-m34 short", known_as="3"),
        reply("s2-m40", "I stopped trying.", known_as="5"),
    ]
    texts = (
        f"#1 s2- {CURSOR}",
        f"{REPEAT_PREFIX}#1 s2-m12 [[x]]",
        "#2 s2-m34 short",
        f"{REPEAT_PREFIX}#2 s2-m34 short",
        f"#3 s {CURSOR}",
        f"{REPEAT_PREFIX}I stopped trying.",
    )

    whose = ["o-s2-m12", "o-s2-m12", "o-s2-m34", "o-s2-m34", "o-s2-m40", "o-s2-m40"]
    assert matched(deliveries, *texts) == whose


def test_messages_are_shared_out_so_that_each_has_a_reply_of_its_own() -> None:
    deliveries = [
        reply("s1-m101", STOPPED, held=True),
        reply("s1-m102", STOPPED, known_as="1"),
        reply("s1-m103", "Stopped.", known_as="3"),
        reply("s1-m104", STOPPED, held=True),
    ]
    texts = (f"#14 s1 {CURSOR}", STOPPED, STOPPED, f"{REPEAT_PREFIX}Stopped.")

    assert matched(deliveries, *texts) == ["o-s1-m101", "o-s1-m102", "o-s1-m104", "o-s1-m103"]
