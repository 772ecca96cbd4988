"""What the books say of an answer without words: it is right at the cap on tool rounds, and only there."""

from types import SimpleNamespace
from typing import cast

import pytest

from hermes.message.chat import ChatMessage, user_text
from hermes.message.parts import TextPart, ToolCallPart, ToolResultPart
from tests.torture.books import Books, EntryRow, Lane, Message
from tests.torture.checks import graphs, transcripts
from tests.torture.driver import Driver
from tests.torture.wallet_checks import money

ROUNDS = 8
RAW = "I could not put this into words just now. This is what my tools found:\n\ncounted"
TOOL = '[[tool:count_once {"value":"v"}]]'
HELLO = ChatMessage("assistant", (TextPart("hello"),))


def steered(rounds: int) -> list[ChatMessage]:
    """Return a turn of as many rounds, each for one message more that joined it."""
    return [
        message
        for number in range(1, rounds + 1)
        for message in (
            user_text(f"s1-m{number} {TOOL}"),
            ChatMessage("assistant", (ToolCallPart(f"c{number}", "count_once", "{}"),)),
            ChatMessage("tool", (ToolResultPart(f"c{number}", "count_once", "counted"),)),
        )
    ]


def asking(text: str = TOOL, *, rounds: int = ROUNDS) -> list[ChatMessage]:
    """Return a turn after these rounds, which one more message has joined."""
    return [*steered(rounds), user_text(f"s1-m{rounds + 1} {text}")]


def found(
    said: list[ChatMessage], *, reply: str = RAW, charged: int = 1, is_sampled: bool = False
) -> list[str]:
    """Return what does not fit in the books of one session with one turn, whose last answer is given."""
    last = len(said) - 1
    message = Message(
        seq=1, id="m", external_id="s1-m1", platform="pigeon", lane="l", person_id="p", control=False,
        state="done", outcome="answered", attempts=1, epoch=0, merged_into=None, reply=reply,
    )  # fmt: skip
    entries = [
        EntryRow(
            lane="l",
            epoch=0,
            position=position,
            message_id="m",
            message=one,
            is_sampled=one.role == "assistant" and (is_sampled or position < last),
        )
        for position, one in enumerate(said)
    ]
    books = cast(
        "Books",
        SimpleNamespace(
            messages=[message],
            message={"m": message}.get,
            entries=entries,
            lanes=[Lane("l", None, 1, len(entries))],
            steps={},
            calls=[],
            graph_problems=[],
            denials=[],
            holds=[],
            balances={"p": -charged},
            ledger=[("p", "capture", -1, "m")] * charged,
        ),
    )
    driver = cast("Driver", SimpleNamespace(order={}))
    return [*transcripts(books, driver), *graphs(books), *money(books, ())]


def are_named(problems: list[str], *parts: str) -> bool:
    """Return whether there is one problem for each of these words, in this order, and no other."""
    return len(problems) == len(parts) and all(
        part in one for part, one in zip(parts, problems, strict=True)
    )


def test_a_turn_that_ends_at_the_cap_may_end_with_what_its_tools_found() -> None:
    assert found(steered(ROUNDS)) == []


def test_what_the_tools_found_is_paid_for() -> None:
    assert are_named(found(steered(ROUNDS), charged=0), "was charged 0 times, right is {1}")


@pytest.mark.parametrize(
    "said",
    [steered(ROUNDS - 1), [*steered(ROUNDS), HELLO], asking()],
    ids=["a round is left", "it has words", "a message joined and was not used"],
)
def test_any_other_end_without_words_is_still_found(said: list[ChatMessage]) -> None:
    problems = found(said, is_sampled=True)

    assert len(problems) == 2
    assert "the transcript ends with" in problems[0]
    assert "user messages" in problems[1]


def test_other_words_than_what_the_tools_found_are_still_found() -> None:
    problems = found(steered(ROUNDS), reply="Done.")

    assert are_named(problems, "the transcript ends with", "after 8 user messages")


def test_more_rounds_than_the_cap_are_found() -> None:
    answer = ChatMessage("assistant", (TextPart("#10 hello"),))
    said = [*asking("hello", rounds=ROUNDS + 1), answer]

    problems = found(said, reply="#10 hello", charged=1, is_sampled=True)

    assert are_named(problems, "the model asked for tools 9 times")
