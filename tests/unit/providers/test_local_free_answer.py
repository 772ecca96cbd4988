"""Where an answer of the demonstration model ends: with something whole, or visibly cut."""

import re

import pytest

from hermes.message.parts import TextPart
from hermes.ports.provider import TextDelta
from hermes.providers.local.free_answer import FreeAnswer, may_end

SAID = ("A", " gate", " opens", ".", " It", " closes", ".", " And", " so")


CODE = "```python\nimport os\n\ndef run():\n    pass\n\nrun()\n```\n"


def pieces_of(text: str) -> tuple[str, ...]:
    """Return a text in pieces like the tokens of the model: words and line breaks."""
    return tuple(re.findall(r"\n| *[^ \n]+", text))


def fed(answer: FreeAnswer, pieces: tuple[str, ...]) -> list[str]:
    """Return what is shown of an answer until it is full."""
    shown = []
    for piece in pieces:
        shown += [event.text for event in answer.feed(piece) if isinstance(event, TextDelta)]
        if answer.is_full:
            break
    return shown


@pytest.mark.req("M7")
@pytest.mark.parametrize(
    ("enough", "shown"),
    [
        (1, "A gate opens."),
        (4, "A gate opens."),
        (5, "A gate opens. It closes."),
        (8, "".join(SAID)),
    ],
)
def test_after_enough_pieces_it_ends_with_the_sentence(enough: int, shown: str) -> None:
    answer = FreeAnswer(enough)

    assert "".join(fed(answer, SAID)) == shown
    assert answer.parts() == (TextPart(shown),)
    assert answer.is_verbatim


@pytest.mark.req("M7")
def test_who_gives_a_limit_gets_all_up_to_it() -> None:
    answer = FreeAnswer(None)

    assert "".join(fed(answer, SAID)) == "".join(SAID)
    assert (answer.cut(), answer.is_verbatim) == ([], True)


@pytest.mark.req("M7")
def test_a_sentence_that_never_ends_is_cut_and_shows_it() -> None:
    answer = FreeAnswer(2)
    fed(answer, (" and on",) * 5)

    assert answer.cut() == [TextDelta(" …")]
    assert answer.parts() == (TextPart(" and on" * 5 + " …"),)
    assert not answer.is_verbatim


@pytest.mark.req("M7")
def test_an_answer_that_the_limit_has_not_cut_is_left_alone() -> None:
    answer = FreeAnswer(20)
    fed(answer, SAID[:4])

    assert (answer.cut(), answer.is_verbatim) == ([], True)


@pytest.mark.req("M7")
@pytest.mark.parametrize(
    ("text", "following"),
    [
        ("It was opened.", " The"),
        ("It was opened.\n\n", "The"),
        ('He said "Open it again!"', " The"),
        ("**Really?**", "\n"),
        ("門が開きます。", "次"),
        ("門が開きます。」", "次"),
        ("दरवाज़ा खुलता है।", " वह"),
        ("هل هو مفتوح؟", " نعم"),
        ("அவன் வருகிறான்.", " அவள்"),
        ("See https://example.com/gates.", " The"),
    ],
)
def test_here_it_may_end(text: str, following: str) -> None:
    assert may_end(text, following)


@pytest.mark.req("M7")
@pytest.mark.parametrize(
    ("text", "following"),
    [
        ("It was opened", " by"),
        ("Ask Dr.", " Who"),
        ("Fruit, e.g.", " an"),
        ("Steps:\n1.", " Open"),
        ("It costs 3.", "14"),
        ("See example.", "com"),
        ("It takes approx.", " five"),
        ('"Open the gate!"', " he"),
        ("", " The"),
    ],
)
def test_here_it_may_not(text: str, following: str) -> None:
    assert not may_end(text, following)


@pytest.mark.req("M7")
@pytest.mark.parametrize(
    ("enough", "text", "shown"),
    [
        # A list, a table or verses end with a line once half of what is left is used.
        (2, "Fruit:\n\n- fresh figs\n- pears\n- plums", "Fruit:\n\n- fresh figs\n"),
        (5, "Buy:\n1. figs\n2. pears\n3. plums", "Buy:\n1. figs\n2. pears\n"),
        (5, "|fruit|\n|--|\n|fig|\n|pear|\n|plum|", "|fruit|\n|--|\n|fig|\n|pear|\n"),
        (4, "Rain falls\nand rivers run\nto the sea", "Rain falls\nand rivers run\n"),
        # What announces something else is no end.
        (
            3,
            "Many figs\n## Steps\nTake:\n**One**\n- a\n- b",
            "Many figs\n## Steps\nTake:\n**One**\n- a\n",
        ),
        (4, "|fruit|weight|\n|--|--|\n|fig|9|\n|pear|", "|fruit|weight|\n|--|--|\n|fig|9|\n"),
        # Code ends with its block, or between two statements in a long program.
        (9, CODE + "It runs the", CODE),
        (9, "~~~\na\n```\nb\n~~~\nc d e f", "~~~\na\n```\nb\n~~~\n"),
        (5, CODE, "```python\nimport os\n\ndef run():\n    pass\n\n```"),
        (2, "Use:\n```\na()\nb()\nc()", "Use:\n```\na()\n```"),
        (3, "1. Run\n   ```\n   a(\n   )\nb()", "1. Run\n   ```\n   a(\n   )\n   ```"),
        (3, "```\n# It prints.\n    # It runs.\n    c", "```\n# It prints.\n    # It runs.\n    c"),
        # Code inside a line is text.
        (2, "```run()``` runs.\nIt ends", "```run()``` runs."),
        (7, "```\nrun()\n```\nThat runs. It ends", "```\nrun()\n```\nThat runs."),
    ],
)
def test_what_has_no_sentences_ends_with_a_whole_line_or_block(
    enough: int, text: str, shown: str
) -> None:
    answer = FreeAnswer(enough)

    assert "".join(fed(answer, pieces_of(text))) == shown
    assert answer.parts() == (TextPart(shown),)
    assert answer.is_verbatim is text.startswith(shown)


@pytest.mark.req("M7")
@pytest.mark.parametrize(
    ("text", "added"),
    [
        ("Use it:\n```python\nrun(1,", "\n```\n…"),
        ("Use it:\n```python\nrun(\n", "```\n…"),
        ("1. Use\n   ```\n   run(", "\n   ```\n…"),
        ("Use it:\n```\nrun()\n```", ""),
        ("Fruit:\n- fresh figs\n", ""),
        ("Fruit:\n- fresh fi", " …"),
        ("Fruit:\n", " …"),
        ("Is it open?", ""),
    ],
)
def test_at_the_engines_limit_no_block_of_code_stays_open(text: str, added: str) -> None:
    answer = FreeAnswer(100)
    fed(answer, pieces_of(text))

    assert "".join(event.text for event in answer.cut() if isinstance(event, TextDelta)) == added
    assert answer.parts() == (TextPart(text + added),)
    assert answer.is_verbatim is not bool(added)


@pytest.mark.req("M7")
def test_nothing_is_added_where_nothing_was_written() -> None:
    answer = FreeAnswer(0)

    assert (answer.feed(""), answer.cut(), answer.parts()) == ([], [], ())


@pytest.mark.req("M7")
def test_a_very_long_line_is_not_read_again_with_every_piece() -> None:
    answer = FreeAnswer(1)

    shown = fed(answer, (" and on",) * 100_000)

    assert len(shown) == 100_000
    assert not answer.is_full
