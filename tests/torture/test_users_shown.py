"""How many messages of people the next turn shows its model, by the books."""

import pytest

from hermes.message.chat import UNANSWERED, ChatMessage, user_text
from hermes.message.parts import TextPart
from tests.torture.checks import users_shown

ANSWER = ChatMessage("assistant", (TextPart("#1 hello"),))
LONGEST = 2_000


def unanswered(length: int) -> ChatMessage:
    return ChatMessage("user", (*user_text("x" * length).parts, UNANSWERED))


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ([user_text("a"), ANSWER, user_text("b")], 2),
        ([user_text("a"), ANSWER, unanswered(LONGEST)], 2),
        ([user_text("a"), ANSWER, unanswered(LONGEST + 1)], 1),
        ([unanswered(5), user_text("b"), ANSWER], 1),
        ([unanswered(5), ANSWER], 1),
    ],
    ids=["answered", "the last and short", "the last and long", "not the last", "retried"],
)
def test_a_message_without_an_answer_counts_if_it_is_shown(
    said: list[ChatMessage], shown: int
) -> None:
    assert users_shown(said) == shown
