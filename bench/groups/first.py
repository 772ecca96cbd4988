"""The first reply: what a newcomer waits for who has neither a key nor a configuration.

And what a command and an import of the graph library cost, and what everybody waits for while one
client attacks the gateway.
"""

import http.client
import re
import statistics
from collections.abc import Iterator
from functools import partial
from importlib import resources
from time import monotonic

import msgspec

from bench import attacks, command_line, import_cost
from bench.calm import Rounds, ratio_number
from bench.gateway import Running, gateway
from bench.process import load_average, tree_cpu_s
from bench.registry import Group, Say, Settings, Target
from hermes.providers.local.free_answer import ends_sentence
from hermes.providers.local.settings import LocalSettings

_PATIENCE_S = 600.0
_CUT = "…"
_FENCE = "```"
_IDEA = re.compile(r'class="idea">([^<]+)<')
_OF_README = "What is a gateway?"
_OTHERS = (
    "Hello",
    "Who are you?",
    "What is your name?",
    "Which model are you?",
    "What is Hermes?",
    "How do I connect Telegram?",
    "How do I add an API key?",
    "Can you remember my birthday?",
    "Remind me to call Anna tomorrow",
    "Send Bob a note that dinner is at eight",
    "Tell me a joke",
    "Give me three ideas for dinner",
    "How do I boil an egg?",
    "What is the capital of France?",
    "Why is the sky blue?",
    "Translate good morning into Spanish",
    "Write an email that says that I am late",
    "Write a Python function that adds two numbers",
    "What is the difference between TCP and UDP?",
    "Research the plot of Romeo and Juliet and summarize it",
)
# Enough for a history that the model can no longer read whole, and so has to read from its start.
_GOES_ON = (
    "Tell me a long story about a dragon",
    "And then what happened?",
    "Tell me the next chapter of the story",
    "Tell me a long story about the sea",
    "Tell me a long story about a king",
    "Explain in detail how a castle was built",
    "Tell me a long story about a fox",
    "Tell me a long story about the moon",
)


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """One question and what its answer took."""

    first_word_s: float
    first_word_cpu_s: float
    reply_s: float
    cpu_s: float
    tokens_in: int
    tokens_out: int
    tool_calls: int
    is_cut: bool


class _Done(msgspec.Struct):
    outcome: str
    model: str
    reply: str
    tokens_in: int
    tokens_out: int
    tool_calls: list[msgspec.Raw] = []


def questions() -> tuple[str, ...]:
    """Return the README's question, the suggestions on the empty page, and what newcomers ask."""
    page = resources.files("hermes.channels.web") / "static" / "index.html"
    ideas = _IDEA.findall(page.read_text(encoding="utf-8"))
    return (_OF_README, *ideas, *_OTHERS)


def measure(say: Say) -> Iterator[dict[str, float]]:
    """Run the whole group."""
    yield from import_cost.measure(say)
    with gateway(None) as running:
        asked: Rounds[Asked] = Rounds()
        for number, text in enumerate(questions(), 1):
            say(f"question {number}, load {load_average():.1f}: {text}")
            asked.run(partial(_ask, running, text, conversation=f"c{number}"))
        later: Rounds[Asked] = Rounds()
        for number, text in enumerate(_GOES_ON, 1):
            say(f"turn {number} of a conversation, load {load_average():.1f}: {text}")
            later.run(partial(_ask, running, text, conversation="goes-on"))
    yield {**_numbers(asked.all), **_later_numbers(later.all), **_ratios(asked, later)}
    yield from command_line.measure(say)
    yield from attacks.measure(say)


def _numbers(asked: list[Asked]) -> dict[str, float]:
    replies = [one.reply_s for one in asked]
    return {
        "first_word_demo_s": max(one.first_word_s for one in asked),
        "first_reply_demo_s": max(replies),
        "first_reply_tool_calls": sum(one.tool_calls for one in asked),
        "first_reply_cut": sum(one.is_cut for one in asked),
        "first_word_demo_loading_s": asked[0].first_word_s,
        "first_word_demo_loaded_s": max(one.first_word_s for one in asked[1:]),
        "first_word_demo_median_s": statistics.median(one.first_word_s for one in asked),
        "first_reply_demo_median_s": statistics.median(replies),
        "first_word_demo_most_cpu_s": max(one.first_word_cpu_s for one in asked),
        "first_reply_demo_most_cpu_s": max(one.cpu_s for one in asked),
        "first_reply_demo_most_tokens_in": max(one.tokens_in for one in asked),
        "first_reply_demo_most_tokens_out": max(one.tokens_out for one in asked),
        "first_reply_demo_ms_per_token": sum(replies) * 1000 / sum(one.tokens_out for one in asked),
    }


def _later_numbers(later: list[Asked]) -> dict[str, float]:
    return {
        "later_reply_demo_s": max(one.reply_s for one in later),
        "later_reply_cut": sum(one.is_cut for one in later),
        "later_word_demo_s": max(one.first_word_s for one in later),
        "later_reply_demo_most_cpu_s": max(one.cpu_s for one in later),
        "later_reply_demo_most_tokens_in": max(one.tokens_in for one in later),
        "later_reply_demo_most_tokens_out": max(one.tokens_out for one in later),
    }


def _ratios(asked: Rounds[Asked], later: Rounds[Asked]) -> dict[str, float]:
    """Return the most that a question took in fixed pieces, for each CPU figure."""
    read = {
        "first_word_demo_most_cpu_s": asked.read(lambda one: one.first_word_cpu_s),
        "first_reply_demo_most_cpu_s": asked.read(lambda one: one.cpu_s),
        "later_reply_demo_most_cpu_s": later.read(lambda one: one.cpu_s),
    }
    ratios: dict[str, float] = {}
    for figure, rounds in read.items():
        ratios |= ratio_number(figure, rounds, pick=max)
    return ratios


def _ask(running: Running, text: str, *, conversation: str) -> Asked:
    """Send one question as the same person, and read its stream."""
    connection = http.client.HTTPConnection("127.0.0.1", running.port, timeout=_PATIENCE_S)
    body = msgspec.json.encode({"sender": "newcomer", "conversation": conversation, "text": text})
    headers = {
        "authorization": f"Bearer {running.token}",
        "content-type": "application/json",
        "accept": "text/event-stream",
    }
    cpu, started = tree_cpu_s(running.pid), monotonic()
    connection.request("POST", "/api/messages", body=body, headers=headers)
    first_word, first_word_cpu, done = 0.0, 0.0, None
    for kind, data in _events(connection.getresponse()):
        if not first_word and kind in ("delta", "snapshot", "done"):
            first_word = monotonic() - started
            first_word_cpu = tree_cpu_s(running.pid) - cpu
        if kind == "done":
            done = msgspec.json.decode(data, type=_Done)
    took = monotonic() - started
    connection.close()
    if done is None or done.outcome != "answered" or not done.model.startswith("local:"):
        raise RuntimeError(f"the demonstration model did not answer {text!r}: {done}")
    return Asked(
        first_word_s=first_word,
        first_word_cpu_s=first_word_cpu,
        reply_s=took,
        cpu_s=tree_cpu_s(running.pid) - cpu,
        tokens_in=done.tokens_in,
        tokens_out=done.tokens_out,
        tool_calls=len(done.tool_calls),
        is_cut=is_cut(done.reply, tokens_out=done.tokens_out),
    )


def is_cut(reply: str, *, tokens_out: int) -> bool:
    """Tell whether an answer ends in the middle of something, whether it shows that or not."""
    text, limit = reply.rstrip(), LocalSettings().max_output_tokens
    # From half of the limit on, the end may not be the model's own.
    is_open = tokens_out >= limit // 2 and text.count(_FENCE) % 2 == 1
    is_whole = ends_sentence(text) or text.endswith((_FENCE, "|"))
    return text.endswith(_CUT) or is_open or (tokens_out >= limit and not is_whole)


def _events(answer: http.client.HTTPResponse) -> Iterator[tuple[str, bytes]]:
    """Yield the kind and the data of every event of a stream."""
    kind = ""
    for line in answer:
        name, _, value = line.rstrip(b"\r\n").partition(b": ")
        if name == b"event":
            kind = value.decode()
        elif name == b"data":
            yield kind, value


def effective_settings() -> Settings:
    """Return what the numbers were measured with."""
    return {
        "home": "empty; no configuration, no key in the environment",
        "model": "the demonstration model, which the first question has to load",
        "questions": f"{len(questions())}, one after the other, by one person, each in a new "
        "conversation: the README's, the suggestions on the empty page, and "
        f"{len(_OTHERS)} more",
        "later": f"{len(_GOES_ON)} requests for long answers in one conversation",
        "CPU": "of the gateway and the model's process",
        **command_line.effective_settings(),
        **attacks.effective_settings(),
    }


GROUP = Group(
    name="first",
    about="a newcomer's first questions to the demonstration model",
    targets={
        "first_word_demo_s": Target(at_most=1.5),
        "first_reply_demo_s": Target(at_most=15),
        "first_reply_tool_calls": Target(at_most=0),
        "first_reply_cut": Target(at_most=0),
        "later_reply_demo_s": Target(at_most=15),
        "later_reply_cut": Target(at_most=0),
        **command_line.TARGETS,
        **attacks.TARGETS,
        **import_cost.TARGETS,
    },
    settings=effective_settings,
    run=measure,
)
