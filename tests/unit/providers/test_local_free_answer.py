"""Where an answer of the demonstration model ends: with a sentence, or visibly cut."""

import pytest

from hermes.message.parts import TextPart
from hermes.ports.provider import TextDelta
from hermes.providers.local.free_answer import FreeAnswer, may_end

SAID = ("A", " gate", " opens", ".", " It", " closes", ".", " And", " so")


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
        ("```\nrun()\n```\nThat runs.", " It"),
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
        ("```\n# This prints.", "\n"),
        ("", " The"),
    ],
)
def test_here_it_may_not(text: str, following: str) -> None:
    assert not may_end(text, following)
