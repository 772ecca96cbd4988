"""W21, A17: what a request begins with, tools included, is the same bytes as long as it is cached."""

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest

from hermes.ports.provider import ModelRequest
from hermes.providers.anthropic import wire as anthropic
from hermes.providers.anthropic.settings import AnthropicSettings
from hermes.providers.openai import wire as openai
from hermes.providers.openai.settings import OpenAISettings
from hermes.testing.manual_time import ManualClock
from tests.contract.journal.rig import Rig, open_rig
from tests.unit.tools.concierge import TOOLS

MIXED = (
    "Find me a bar in the old town",
    "will it rain tomorrow?",
    "thanks!",
    "remind me at six",
    "how much is 20 dollars in euro",
    "ok",
    "book a table for two",
    '[[tool:get_weather {"city": "Rome"}]] what about Rome',
    "👍",
    "and the way there?",
)
ALWAYS = {"TOOLS__GATE__MODE": "always"}
Pieces = list[bytes]


def _pieces(body: dict[str, Any], *names: str) -> Pieces:
    """Return a body in the order in which services read it: tools, system, messages."""
    head = [msgspec.json.encode(body.get(name)) for name in names]
    return [*head, *(msgspec.json.encode(_unmarked(one)) for one in body["messages"])]


def _unmarked(value: Any) -> Any:
    """Return a message without the marks that say how far to cache; they are no part of it."""
    if isinstance(value, dict):
        content = {key: _unmarked(item) for key, item in value.items() if key != "cache_control"}
        text = content.get("content")
        if isinstance(text, list) and len(text) == 1 and set(text[0]) == {"type", "text"}:
            content["content"] = text[0]["text"]
        return content
    return [_unmarked(item) for item in value] if isinstance(value, list) else value


def to_anthropic(request: ModelRequest) -> Pieces:
    request = msgspec.structs.replace(request, cache_prefix=True)
    settings = AnthropicSettings(name="a", model="claude-sonnet-4-5")
    body = anthropic.build_body(request, settings, images={})
    return _pieces(msgspec.json.decode(body), "tools", "system")


def to_openai(request: ModelRequest) -> Pieces:
    body = openai.build_body(request, OpenAISettings(name="o", model="gpt-4o-mini"), images={})
    return _pieces(msgspec.json.decode(body), "tools")


async def _talk(home: Path, texts: tuple[str, ...], **given: Any) -> list[ModelRequest]:
    """Say it all, with a restart in the middle, and return what the model was given."""
    sent: list[ModelRequest] = []
    clock = ManualClock()
    for half in (texts[: len(texts) // 2], texts[len(texts) // 2 :]):
        async with open_rig(home, clock=clock, tools=TOOLS, **given) as rig:
            for text in half:
                await rig.answer(text)
                clock.advance(30)
            sent += [call.request for call in rig.model.calls]
    return sent


@pytest.mark.req("W21", "A17")
@pytest.mark.parametrize("encode", [to_anthropic, to_openai])
async def test_the_prefix_with_tools_is_the_same_bytes_over_ten_turns_of_mixed_intents(
    tmp_path: Path, encode: Callable[[ModelRequest], Pieces]
) -> None:
    sent = [encode(request) for request in await _talk(tmp_path, MIXED)]

    assert len(sent) == 11
    assert sent[0][0].count(b'"description"') > 17
    for before, after in pairwise(sent):
        assert after[: len(before)] == before


@pytest.mark.req("A17")
async def test_a_greeting_costs_no_tools_and_from_the_first_need_on_they_stay(
    tmp_path: Path,
) -> None:
    texts = ("hi", "hello again", "will it rain?", "thanks", "ok", "bye")
    sent = await _talk(tmp_path, texts)

    assert [len(request.tools) for request in sent] == [0, 0, 17, 17, 17, 17]
    wires = [to_anthropic(request) for request in sent[2:]]
    for before, after in pairwise(wires):
        assert after[: len(before)] == before


@pytest.mark.req("A17", "W21")
async def test_nothing_is_left_out_of_what_a_service_caches(tmp_path: Path) -> None:
    # given words of the agent that are as long as what services cache
    long = {"AGENTS__MAIN__SYSTEM_PROMPT": "You are kind. " * 400}
    async with open_rig(tmp_path, tools=TOOLS, settings=long) as rig:
        await rig.answer("hi")
        assert len(_last(rig).tools) == 17


@pytest.mark.req("A17")
async def test_small_talk_without_end_gets_the_tools_and_keeps_them(tmp_path: Path) -> None:
    sent = await _talk(tmp_path, ("hi", "hello", "ok", "thanks", "hi", "hello", "ok", "bye"))

    counts = [len(request.tools) for request in sent]
    assert counts[:4] == [0] * 4
    assert counts == sorted(counts)
    assert counts[-1] == 17


@pytest.mark.req("A17")
async def test_where_nothing_is_cached_each_message_gets_only_what_it_needs(
    tmp_path: Path,
) -> None:
    sent = await _talk(tmp_path, MIXED, settings=ALWAYS)

    counts = [len(request.tools) for request in sent]
    assert 0 in counts
    assert 0 < counts[0] < 17


def _last(rig: Rig) -> ModelRequest:
    return rig.model.calls[-1].request
