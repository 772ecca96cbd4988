"""A17: the table of sixty messages in both modes of the gate, as openings and as one conversation.

Every message goes through a whole core, and what counts is the request that the model got.
"""

import sys
from itertools import chain, pairwise
from pathlib import Path

import msgspec
import pytest

from hermes.calls.token_estimate import input_tokens
from hermes.message.chat import ChatMessage
from hermes.message.parts import ToolCallPart
from hermes.ports.provider import ModelRequest
from hermes.testing.manual_time import ManualClock
from hermes.testing.model_script import ScriptedTurn, SeenConversation, ToolUse
from tests.contract.journal.rig import Rig, open_rig
from tests.unit.tools.concierge import TOOLS
from tests.unit.tools.gate_table import NEEDING, NOTHING, TRIVIAL, Said

Row = tuple[str, Said, tuple[str, ...]]
ROWS: tuple[Row, ...] = (*((text, said, ()) for text, said in TRIVIAL), *NEEDING)
SMALL_TALK = len(TRIVIAL)
# `auto` is not set: it is what everybody has.
MODES: dict[str, dict[str, str]] = {"auto": {}, "always": {"TOOLS__GATE__MODE": "always"}}
EVERY = tuple(sorted((one.spec for one in TOOLS), key=lambda spec: spec.name))


def _answers() -> dict[str, list[ChatMessage]]:
    """Return what is answered to the words that come before a row of the table."""
    found: dict[str, list[ChatMessage]] = {}
    for _, said, _ in ROWS:
        last = ""
        for message in said:
            if message.role == "user":
                last = message.text
                found[last] = []
            else:
                found[last].append(message)
    return found


ANSWERS = _answers()


def script(seen: SeenConversation, _number: int) -> ScriptedTurn:
    """Answer as the table has it, and with no question to everything else."""
    told = ANSWERS.get(seen.last_text, [])
    called = [part for one in told for part in one.parts if isinstance(part, ToolCallPart)]
    if called and not seen.tool_results:
        return ScriptedTurn(tools=tuple(ToolUse(one.name, one.arguments) for one in called))
    return ScriptedTurn(text=told[-1].text if told else "Fine.")


async def _answer(rig: Rig, row: Row, *, chat: str) -> ModelRequest:
    """Say what comes before a row, then the row; return what the model got for it first."""
    text, said, _ = row
    for message in said:
        if message.role == "user":
            await rig.answer(message.text, chat=chat)
    before = len(rig.model.calls)
    await rig.answer(text, chat=chat)
    return rig.model.calls[before].request


async def _sent(home: Path, *, mode: str, rows: tuple[Row, ...], apart: bool) -> list[ModelRequest]:
    """Return the requests of the rows, each in a session of its own or all in one."""
    clock = ManualClock()
    async with open_rig(home, clock=clock, tools=TOOLS, settings=MODES[mode], script=script) as rig:
        return [
            await _answer(rig, row, chat=f"row-{number}" if apart else "one")
            for number, row in enumerate(rows)
        ]


def _recall(sent: list[ModelRequest], rows: tuple[Row, ...]) -> float:
    """Return how many of the tools that the rows need were there."""
    pairs = list(zip(sent, rows, strict=True))
    needed = sum(len(row[2]) for _, row in pairs)
    there = sum(len({spec.name for spec in one.tools} & set(row[2])) for one, row in pairs)
    return there / needed


def _tokens(sent: list[ModelRequest]) -> tuple[int, int]:
    """Return the input tokens as they were sent, and as they would be without the gate."""
    whole = [msgspec.structs.replace(one, tools=EVERY) for one in sent]
    return sum(map(input_tokens, sent)), sum(map(input_tokens, whole))


def _anew(sent: list[ModelRequest]) -> int:
    """Return the tokens that a service has to read which caches what requests begin with."""
    read = input_tokens(sent[0])
    for before, after in pairwise(sent):
        is_kept = before.tools == after.tools
        read += input_tokens(after) - (input_tokens(before) if is_kept else 0)
    return read


def _tell(what: str, tokens: tuple[int, int]) -> None:
    """Show the numbers to whoever runs this with `-s`."""
    gated, whole = tokens
    sys.stdout.write(f"\n{what}: {gated} input tokens with the gate, {whole} without\n")


@pytest.mark.req("A17")
@pytest.mark.parametrize("mode", MODES)
async def test_small_talk_that_opens_a_session_is_sent_without_tools(
    tmp_path: Path, mode: str
) -> None:
    rows = tuple((text, NOTHING, ()) for text, _ in TRIVIAL)

    sent = await _sent(tmp_path, mode=mode, rows=rows, apart=True)

    assert [len(request.tools) for request in sent] == [0] * SMALL_TALK
    gated, whole = _tokens(sent)
    _tell(f"{mode}, {len(rows)} trivial openings", (gated, whole))
    assert gated < 0.05 * whole


@pytest.mark.req("A17")
@pytest.mark.parametrize(("mode", "most"), [("auto", 0.9), ("always", 0.35)])
async def test_in_sessions_of_their_own_no_message_lacks_a_tool_and_tokens_are_saved(
    tmp_path: Path, mode: str, most: float
) -> None:
    sent = await _sent(tmp_path, mode=mode, rows=ROWS, apart=True)

    assert (len(sent), len(TOOLS)) == (60, 17)
    assert _recall(sent, ROWS) == 1.0
    gated, whole = _tokens(sent)
    _tell(f"{mode}, 60 messages in sessions of their own", (gated, whole))
    assert gated < most * whole


@pytest.mark.req("A17", "W21")
@pytest.mark.parametrize("mode", MODES)
async def test_in_one_conversation_no_message_lacks_a_tool(tmp_path: Path, mode: str) -> None:
    sent = await _sent(tmp_path, mode=mode, rows=ROWS, apart=False)

    assert _recall(sent, ROWS) == 1.0
    gated, whole = _tokens(sent)
    _tell(f"{mode}, 60 messages in one conversation", (gated, whole))
    assert gated < whole
    counts = [len(request.tools) for request in sent]
    assert counts[:3] == [0, 0, 0]
    # What is left out again in the middle of a session is left to `always`.
    kept = {"auto": [*[0] * 4, *[17] * 56], "always": [*[0] * SMALL_TALK, *counts[SMALL_TALK:]]}
    assert counts == kept[mode]


@pytest.mark.req("A17", "W21")
async def test_tools_that_stay_cost_less_than_a_session_that_is_read_anew(tmp_path: Path) -> None:
    for mode in MODES:
        (tmp_path / mode).mkdir()
    modes = {
        mode: await _sent(tmp_path / mode, mode=mode, rows=ROWS, apart=False) for mode in MODES
    }

    anew = {mode: _anew(sent) for mode, sent in modes.items()}
    sys.stdout.write(f"\nread anew in one conversation: {anew}\n")
    assert anew["auto"] < 0.5 * anew["always"]
    lists = [request.tools for request in modes["auto"]]
    first = next(number for number, tools in enumerate(lists) if tools)
    assert all(tools == EVERY for tools in lists[first:])
    assert not any(chain.from_iterable(lists[:first]))
