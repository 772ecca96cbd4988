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
SORRY = "My model gave an empty answer. Please ask again."
TOOL = '[[tool:count_once {"value":"v"}]]'
NOTHING = ChatMessage("assistant", ())
HELLO = ChatMessage("assistant", (TextPart("hello"),))
# What each of the three checks says of an answer that it cannot explain.
UNEXPLAINED = ["the transcript ends with", "after 9 user messages", "count as sampled", "charged"]


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
    said: list[ChatMessage], *, reply: str = SORRY, charged: int = 0, is_sampled: bool = False
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


def test_a_message_that_joins_after_the_last_round_may_get_no_words() -> None:
    assert found([*asking(), NOTHING]) == []


def test_nobody_pays_for_the_answer_without_words_at_the_cap() -> None:
    assert are_named(found([*asking(), NOTHING], charged=1), "was charged 1 times, right is {0}")


@pytest.mark.parametrize(
    "said",
    [
        [*asking(rounds=ROUNDS - 1), NOTHING],
        [*asking(rounds=0), NOTHING],
        [*asking("hello"), NOTHING],
        [*steered(ROUNDS), NOTHING],
        [*asking(), HELLO],
    ],
    ids=["a round is left", "no tool at all", "no tool asked for", "nobody joined", "it has words"],
)
def test_any_other_empty_answer_is_still_found(said: list[ChatMessage]) -> None:
    users = sum(message.role == "user" for message in said)
    words = [one.replace("9 user", f"{users} user") for one in UNEXPLAINED]

    assert are_named(found(said), *words)


def test_other_words_than_the_apology_are_still_found() -> None:
    assert are_named(found([*asking(), NOTHING], reply="Done."), *UNEXPLAINED)


def test_an_empty_answer_that_counts_as_sampled_is_still_found() -> None:
    problems = found([*asking(), NOTHING], is_sampled=True)

    assert are_named(problems, "the transcript ends with", "after 9 user messages", "charged")


def test_more_rounds_than_the_cap_are_found() -> None:
    answer = ChatMessage("assistant", (TextPart("#10 hello"),))
    said = [*asking("hello", rounds=ROUNDS + 1), answer]

    problems = found(said, reply="#10 hello", charged=1, is_sampled=True)

    assert are_named(problems, "the model asked for tools 9 times")
