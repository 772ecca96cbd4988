"""What a model says to Hermes inside its answer."""

import pytest

from hermes.message.reply_tags import TagFilter, is_no_reply, read_tags, visible


@pytest.mark.req("W20")
@pytest.mark.parametrize("text", ["NO_REPLY", " NO_REPLY\n", "\tNO_REPLY "])
def test_exactly_no_reply_is_silence(text: str) -> None:
    assert is_no_reply(text)


@pytest.mark.req("W20")
@pytest.mark.parametrize(
    "text", ["NO_REPLY.", "I say NO_REPLY", "no_reply", "NO_REPLY NO_REPLY", ""]
)
def test_anything_more_is_an_answer(text: str) -> None:
    assert not is_no_reply(text)


@pytest.mark.req("W20")
def test_lines_that_name_files_leave_the_text() -> None:
    text = "Here it is:\nMEDIA: /files/a.png\nMEDIA:https://example.com/b.pdf\nEnjoy."
    found = read_tags(text)
    assert found.text == "Here it is:\nEnjoy."
    assert found.places == ("/files/a.png", "https://example.com/b.pdf")


@pytest.mark.req("W20")
@pytest.mark.parametrize(
    "text",
    [
        "```\nMEDIA:/etc/passwd\n```",
        "~~~~\n~~~\nMEDIA:/x\n~~~~",
        "write MEDIA:/x in a line of its own",
        "MEDIA:",
        "nothing at all",
    ],
)
def test_code_and_prose_about_the_tag_stay(text: str) -> None:
    assert read_tags(text) == (text, ())


@pytest.mark.req("W20")
def test_a_file_named_twice_is_attached_once() -> None:
    assert read_tags("MEDIA:/a\nMEDIA:`/a`").places == ("/a",)


@pytest.mark.req("W19", "W20")
@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("N", ""),
        ("NO_RE", ""),
        ("NO_REPLY", ""),
        ("No", "No"),
        ("NO_REPLYX", "NO_REPLYX"),
        ("Look:\nMED", "Look:"),
        ("Look:\nMEDIA:/fil", "Look:"),
        ("Look:\nMEDIA:/files/a.png\nEnj", "Look:\nEnj"),
        ("Look:\n", "Look:\n"),
    ],
)
def test_previews_show_no_tag_finished_or_not(text: str, shown: str) -> None:
    assert visible(text) == shown


@pytest.mark.req("W19", "W20")
@pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain words", "plain words"),
        ("Here:\nMEDIA: /a.png\nThere.", "Here:\nThere."),
        ("MEDIA: /a.png", ""),
        ("  MEDIA: /a.png\nB", "B"),
        ("MEDIUM\nMEDIA\nMED", "MEDIUM\nMEDIA\n"),
        ("see MEDIA: /a.png\nMEDIA:\nB", "see MEDIA: /a.png\nMEDIA:\nB"),
        ("```\nMEDIA: /a\n```\nMEDIA: /b\nC", "```\nMEDIA: /a\n```\nC"),
        ("~~~~\n~~~\nMEDIA: /a\n~~~~\nMEDIA: /b", "~~~~\n~~~\nMEDIA: /a\n~~~~\n"),
        ("`code`\n\nMEDIA: /b\n`more`", "`code`\n\n`more`"),
    ],
)
def test_an_answer_in_pieces_is_shown_without_its_tags(text: str, shown: str, size: int) -> None:
    tags = TagFilter()
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    assert "".join(map(tags.feed, pieces)) == shown
