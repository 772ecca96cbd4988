"""Tools in words: told, asked for in one exact form, and never run by a slip of the tongue."""

import json
from typing import Literal

import msgspec
import pytest

from hermes.calls.text_tools import heard, in_words, may_be_calls
from hermes.message.chat import ChatMessage, user_text
from hermes.message.parts import (
    ImagePart,
    Media,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from hermes.message.reply import Usage
from hermes.ports.provider import CallEnd, ModelRequest, ToolChoice, ToolSpec

CLOCK = ToolSpec("clock", "Tells the time.", msgspec.Raw(b'{"type":"object"}'))
MAIL = ToolSpec("mail", "Sends mail.", msgspec.Raw(b'{"properties":{"to":{}}}'))
ASKED = ModelRequest(
    model="m", system=("Be brief.",), messages=(user_text("Time?"),), tools=(CLOCK, MAIL)
)
HISTORY = (
    user_text("Time?"),
    ChatMessage(
        "assistant",
        (
            ReasoningPart("hm", "d"),
            TextPart("Let me see."),
            ToolCallPart("c1", "clock", '{"zone":"UTC"}'),
            ToolCallPart("c2", "clock", "{broken"),
        ),
    ),
    ChatMessage("tool", (ToolResultPart("c1", "clock", 'noon "sharp"'),)),
    ChatMessage("tool", (ToolResultPart("c2", "clock", "no such zone", failed=True),)),
    ChatMessage("assistant", (TextPart("It is noon."),)),
    ChatMessage("user", (ImagePart(Media("image/png")),)),
)


def choosing(mode: Literal["none", "required"], name: str | None = None) -> ModelRequest:
    return msgspec.structs.replace(ASKED, tool_choice=ToolChoice(mode, name))


def said(text: str) -> CallEnd:
    return CallEnd((TextPart(text),), "end", Usage(1, 2), "m")


def calls(*asked: tuple[str, object]) -> str:
    return json.dumps({"tool_calls": [{"name": name, "arguments": what} for name, what in asked]})


@pytest.mark.req("M5", "M4")
def test_the_tools_and_their_form_are_told_in_a_system_block():
    told = in_words(ASKED)

    assert (told.tools, told.tool_choice, told.messages) == ((), ToolChoice(), ASKED.messages)
    assert told.system == (
        "Be brief.",
        "You can use tools. Each line below is one tool; its parameters are a JSON schema.\n\n"
        '{"name":"clock","description":"Tells the time.","parameters":{"type":"object"}}\n'
        '{"name":"mail","description":"Sends mail.","parameters":{"properties":{"to":{}}}}\n\n'
        "Call tools only when you need them; otherwise answer in plain text. To call tools, answer"
        " with one JSON object alone, without any other word and without a code fence, in exactly"
        ' this form:\n{"tool_calls":[{"name":"NAME","arguments":{}}]}\n'
        "List several calls when you need several results. The results come in the next message as"
        ' {"tool_results":[{"name":"NAME","result":"TEXT"}]}. Never write results yourself.',
    )


@pytest.mark.req("M5")
def test_the_choice_is_told_too():
    required, named = (
        in_words(choosing("required")).system[1],
        in_words(choosing("required", "mail")).system[1],
    )

    assert in_words(choosing("none")).system == ("Be brief.",)
    assert "You must call at least one tool now." in required
    assert "You must call the tool mail now." in named
    assert "clock" not in named


@pytest.mark.req("M5", "M3")
def test_earlier_calls_and_results_stay_turns_in_the_same_form():
    told = in_words(msgspec.structs.replace(ASKED, messages=HISTORY))

    assert told.messages == (
        HISTORY[0],
        ChatMessage(
            "assistant",
            (
                ReasoningPart("hm", "d"),
                TextPart(
                    'Let me see.\n{"tool_calls":[{"name":"clock","arguments":{"zone":"UTC"}},'
                    '{"name":"clock","arguments":"{broken"}]}'
                ),
            ),
        ),
        user_text(
            '{"tool_results":[{"name":"clock","result":"noon \\"sharp\\""},'
            '{"name":"clock","result":"no such zone","failed":true}]}'
        ),
        HISTORY[4],
        HISTORY[5],
    )


@pytest.mark.req("M5")
def test_an_answer_of_the_form_becomes_tool_calls():
    wished = calls(("clock", {"zone": "UTC"}), ("mail", {}))
    made = CallEnd(
        (ToolCallPart("call_1", "clock", '{"zone": "UTC"}'), ToolCallPart("call_2", "mail", "{}")),
        "tool_calls",
        Usage(1, 2),
        "m",
    )

    assert heard(said(wished), ASKED) == made
    assert heard(said(f" ```json\n{wished}\n``` "), ASKED) == made
    assert heard(said('{"tool_calls":[{"name":"mail"}]}'), ASKED).parts == (
        ToolCallPart("call_1", "mail", "{}"),
    )


@pytest.mark.req("M5")
def test_ids_go_on_from_those_of_the_conversation():
    later = msgspec.structs.replace(ASKED, messages=HISTORY)

    [call] = heard(said(calls(("clock", {}))), later).parts

    assert call == ToolCallPart("call_3", "clock", "{}")


@pytest.mark.req("M5")
@pytest.mark.parametrize(
    "text",
    [
        "It is noon.",
        "",
        f"I would write {calls(('clock', {}))}",
        calls(("clock", {}))[:-1],
        calls(("unknown", {})),
        calls(("clock", {}), ("unknown", {})),
        calls(("clock", "now")),
        calls(("clock", [1])),
        calls(*[("clock", {})] * 33),
        '{"tool_calls":[]}',
        '{"tool_calls":[{"name":"clock","arguments":{}}],"more":1}',
        '{"name":"clock","arguments":{}}',
        "[" * 100_000,
    ],
)
def test_anything_else_stays_text(text):
    assert heard(said(text), ASKED) == said(text)


@pytest.mark.req("M5")
def test_a_tool_that_may_not_be_called_is_not():
    wished = said(calls(("clock", {})))

    assert heard(wished, choosing("none")) == wished
    assert heard(wished, choosing("required", "mail")) == wished
    assert heard(wished, choosing("required", "clock")).stop_reason == "tool_calls"


@pytest.mark.req("M5", "M7")
def test_only_what_may_become_calls_is_held_back():
    held = [may_be_calls(text) for text in ("", " ", "{", ' {"tool', "``", "```json")]
    told = [may_be_calls(text) for text in ("It", "`x`", "[1]")]

    assert (held, told) == ([True] * 6, [False] * 3)
