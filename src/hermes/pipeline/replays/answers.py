"""What a replay is asked for, and the two answers to one message: how much they differ. Pure."""

from collections.abc import Sequence
from difflib import SequenceMatcher, unified_diff

import msgspec

from hermes.message.chat import ChatMessage
from hermes.message.continuations import answer_text
from hermes.message.parts import tool_calls_of
from hermes.message.reply import Usage
from hermes.ports.steps import Step

# The words of longer answers, and the lines of longer diffs, are not compared one by one.
_MOST_WORDS = 1_000
_MOST_LINES = 1_000
_decode = msgspec.json.Decoder(ChatMessage).decode


class ReplaySpec(msgspec.Struct, frozen=True, kw_only=True):
    """Which message is answered again, and with what instead of what was frozen.

    `system` takes the place of the agent's own prompt. After `max_usd` no further model call is made.
    """

    message: str
    model: str = ""
    system: str | None = None
    is_live: bool = False
    label: str = ""
    max_usd: float | None = None


class ReplayEnded(Exception):
    """The replay cannot go on; `reason` is the word that its row keeps, `text` is for the operator."""

    def __init__(self, reason: str, text: str) -> None:
        super().__init__(text)
        self.reason = reason
        self.text = text


class MadeCall(msgspec.Struct, frozen=True):
    """A tool that a model called, with the arguments as it wrote them."""

    name: str
    arguments: str


class AnswerSide(msgspec.Struct, frozen=True, kw_only=True):
    """One of the two answers: what it said and called, and what that took.

    `ms` is the time of its model calls and tools. `cost_usd` lacks the `unpriced` tokens.
    """

    model: str
    text: str = ""
    tools: tuple[MadeCall, ...] = ()
    calls: int = 0
    ms: float = 0.0
    tokens_in: int = 0
    tokens_out: int = 0
    cost_usd: float = 0.0
    unpriced: int = 0


class ReplayStory(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is kept of a replay's words, sealed: both answers, and why it ended without one."""

    before: AnswerSide
    after: AnswerSide
    text: str = ""


def side_of(
    messages: Sequence[ChatMessage], *, model: str, calls: int, ms: float, usage: Usage
) -> AnswerSide:
    """Return an answer from the messages that it consists of."""
    made = [one for message in messages for one in tool_calls_of(message.parts)]
    return AnswerSide(
        model=model,
        text=answer_text(messages),
        tools=tuple(MadeCall(one.name, one.arguments) for one in made),
        calls=calls,
        ms=round(ms, 1),
        tokens_in=usage.tokens_in,
        tokens_out=usage.tokens_out,
        cost_usd=usage.cost_usd,
        unpriced=usage.unpriced,
    )


def given_side(steps: Sequence[Step]) -> AnswerSide:
    """Return the answer that a turn gave, from its steps."""
    answered = [step for step in steps if step.kind == "model" and step.state == "done"]
    messages, usage, ms = list[ChatMessage](), Usage(), 0.0
    for step in steps:
        if step.kind in ("model", "tool"):
            usage = usage.plus(step.usage)
            ms += 0.0 if step.ended_at is None else (step.ended_at - step.at) * 1000
        if step.kind in ("model", "tool", "steer") and step.body is not None:
            messages.append(_decode(step.body))
    model = answered[-1].name if answered else ""
    return side_of(messages, model=model, calls=len(answered), ms=ms, usage=usage)


def difference(before: AnswerSide, after: AnswerSide) -> float:
    """Return how much two answers differ: 0 for the same words and tools, 1 for nothing in common.

    Words that stand in both in the same order count as the same, and so do calls of tools.
    """
    words = before.text.split(), after.text.split()
    called = list(map(_name_of, before.tools)), list(map(_name_of, after.tools))
    both = (
        [*called[0], *words[0][:_MOST_WORDS]],
        [*called[1], *words[1][:_MOST_WORDS]],
    )
    if both[0] == both[1] and words[0] == words[1]:
        return 0.0
    alike = SequenceMatcher(None, *both, autojunk=False).ratio()
    # What is compared may be the same where only the end of a long answer differs.
    return max(0.0001, round(1 - alike, 4))


def diff_lines(before: str, after: str) -> tuple[str, ...]:
    """Return the lines that differ, with three lines around them, as `diff -u` shows them."""
    one, two = before.splitlines()[:_MOST_LINES], after.splitlines()[:_MOST_LINES]
    return tuple(unified_diff(one, two, "before", "after", lineterm=""))


def _name_of(made: MadeCall) -> str:
    # A word of an answer has no space, so that a call is never taken for one.
    return f"{made.name} {made.arguments}"
