"""An answer that reached its length limit, and the model calls that continued it; pure.

The transcript keeps each call as it was: the part that was cut, a note that asks for the rest, and the
next part, which begins with the last words of the one before. Here they become one text again.
"""

from collections.abc import Sequence

from hermes.message.chat import ChatMessage
from hermes.message.parts import NotePart, tool_calls_of
from hermes.message.thoughts import without_thoughts

GO_ON = ChatMessage(
    "user",
    (
        NotePart(
            "[Your answer reached its length limit and was cut off. Continue it: repeat its last"
            " five words exactly as you wrote them, then go on from there to its end. Do not write"
            " it again from the beginning, and do not comment on this.]"
        ),
    ),
)
"""Asks a model for the rest of its answer; people never see it."""

WINDOW_CHARS = 320
"""What a continuation repeats is found within its first characters."""
_MOST_REPEATED = 240
_LEAST_REPEATED = 8
# Models put these before words that they quote.
_BEFORE_QUOTE = " \t\r\n\"'“”‘’«»…."
_SENTENCE_ENDS = ".!?"


def is_go_on(message: ChatMessage) -> bool:
    """Return whether a message asks for the rest of the answer before it."""
    return message == GO_ON


def last_answer(messages: Sequence[ChatMessage]) -> tuple[ChatMessage, ...]:
    """Return the messages of the last answer: one, or those that were written one after the other."""
    place = len(messages) - 1
    while place >= 0 and messages[place].role != "assistant":
        place -= 1
    if place < 0:
        return ()
    parts = [messages[place]]
    while place > 1 and is_go_on(messages[place - 1]) and _is_text(messages[place - 2]):
        place -= 2
        parts.insert(0, messages[place])
    return tuple(parts)


def _is_text(message: ChatMessage) -> bool:
    return message.role == "assistant" and not tool_calls_of(message.parts)


def answer_text(messages: Sequence[ChatMessage]) -> str:
    """Return the text of the last answer without its thoughts, joined if it was continued."""
    text = ""
    for message in last_answer(messages):
        said = without_thoughts(message.text)
        text = text + rest_of(text, said) if text else said
    return text


def rest_of(before: str, more: str) -> str:
    """Return what `more` adds to `before`: without the words that it repeats."""
    skipped = repeated_chars(before, more)
    if skipped is not None:
        rest = more[skipped:]
        return rest.lstrip() if before[-1:].isspace() else rest
    return f" {more}" if _needs_space(before, more) else more


def repeated_chars(before: str, more: str) -> int | None:
    """Return how much of the beginning of `more` repeats the end of `before`; None if nothing does."""
    ending, head = before.rstrip(), more[:WINDOW_CHARS]
    said = head.lstrip(_BEFORE_QUOTE)
    for start in dict.fromkeys((0, len(head) - len(head.lstrip()), len(head) - len(said))):
        found = _overlap(ending, head[start:])
        if found:
            return start + found
    return None


def _overlap(ending: str, head: str) -> int:
    most = min(len(ending), len(head), _MOST_REPEATED)
    for length in range(most, min(_LEAST_REPEATED, len(ending)) - 1, -1):
        if length and ending.endswith(head[:length]):
            return length
    return 0


def _needs_space(before: str, more: str) -> bool:
    """Return whether two words, or two sentences, would run into each other.

    An answer is rarely cut inside a word, and rarely begins with a space. Scripts without upper and
    lower case may have no spaces at all.
    """
    last, first = before[-1:], more[:1]
    if last in _SENTENCE_ENDS:
        return bool(last) and first.isupper()
    return _is_cased(last) and _is_cased(first)


def _is_cased(letter: str) -> bool:
    return letter.lower() != letter.upper()
