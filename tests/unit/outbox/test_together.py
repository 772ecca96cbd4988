"""Text and attachments are one message where the platform takes them so, and more only when they must be."""

import pytest

from hermes.message.parts import FilePart, ImagePart, Media, Part, TextPart
from hermes.outbox.channel_calls import ChannelCalls
from hermes.ports.channel import Capabilities
from hermes.testing.memory_channel import MemoryChannel

pytestmark = pytest.mark.req("W17", "W11")

TEXT = TextPart("here")


def file(name: str, size: int | None) -> FilePart:
    return FilePart(Media("text/plain", path=f"/{name}", name=name, size=size))


def messages(*parts: Part, **able: object) -> list[str]:
    wanted: dict[str, object] = {"media_bytes": 100, "attaches_with_text": True, **able}
    channel = MemoryChannel(Capabilities(delivery="push", **wanted))  # type: ignore[arg-type]
    chunks = ChannelCalls(channel, timeout_s=1).chunks(parts)
    return ["+".join(map(shown, chunk)) for chunk in chunks]


def shown(part: Part) -> str:
    if isinstance(part, TextPart):
        return part.text
    assert isinstance(part, FilePart | ImagePart)
    return part.media.name or ""


def test_all_of_a_reply_is_one_message() -> None:
    picture = ImagePart(Media("image/png", path="/c", name="c", size=40))

    assert messages(TEXT, file("a", 20), file("b", 40), picture) == ["here+a+b+c"]


def test_what_is_too_large_for_one_message_goes_into_the_next() -> None:
    files = [file("a", 60), file("b", 60), file("c", 40), file("d", 101), file("e", 1)]

    assert messages(TEXT, *files) == ["here+a", "b+c", "d", "e"]


def test_one_of_unknown_size_takes_all_the_room() -> None:
    assert messages(TEXT, file("a", None), file("b", 1)) == ["here+a", "b"]
    assert messages(TEXT, file("a", 1), file("b", None)) == ["here+a", "b"]


def test_attachments_stand_with_the_last_piece_of_a_long_text() -> None:
    text = TextPart("word " * 20 + "word")

    assert messages(text, file("a", 1), max_chars=100)[-1].endswith("word+a")
    assert len(messages(text, file("a", 1), max_chars=100)) == 2


def test_without_text_they_are_still_together() -> None:
    assert messages(file("a", 1), file("b", 1)) == ["a+b"]


@pytest.mark.parametrize("able", [{"attaches_with_text": False}, {"edit": True}])
def test_where_that_cannot_be_each_is_a_message(able: dict[str, object]) -> None:
    assert messages(TEXT, file("a", 1), file("b", 1), **able) == ["here", "a", "b"]


def test_a_text_of_too_many_messages_is_cut_and_says_so() -> None:
    long = "\n".join(f"line {number}" for number in range(200))

    shown = messages(TextPart(long), file("a", 1), max_chars=200, max_messages=3)

    assert len(shown) == 3
    assert all(len(text) <= 200 for text in shown)
    body, _, note = shown[-1].removesuffix("+a").rpartition("\n\n")
    said = "\n".join((*shown[:-1], body))
    assert long.startswith(said)
    missing = len(long.replace("\n", "")) - len(said.replace("\n", ""))
    cut = int(note.split(": ")[1].split()[0])
    assert note == f"(The reply is cut here: {cut} more characters. Ask for the rest.)"
    assert missing <= cut <= len(long) - len(said)
    assert messages(TextPart("short"), max_messages=3) == ["short"]
