"""Input items as a conversation: roles, calls, results, pictures and reasoning."""

from typing import Any

import pytest

from hermes.errors import BadRequest
from hermes.message.chat import ChatMessage, user_text
from hermes.message.parts import (
    ImagePart,
    Media,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from tests.unit.server.v1.responses_calls import PATCH, WEATHER, read

PIXEL = "data:image/png;base64,iVBORw0KGgo="


def call_of(call_id: str = "a", **more: Any) -> dict[str, Any]:
    return {"type": "function_call", "call_id": call_id, "name": "weather", **more}


def result_of(call_id: str = "a", output: Any = "rain") -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": call_id, "output": output}


def said(role: str, *texts: str) -> dict[str, Any]:
    kind = "output_text" if role == "assistant" else "input_text"
    content = [{"type": kind, "text": text} for text in texts]
    return {"type": "message", "role": role, "content": content}


def refused(*items: Any) -> str:
    with pytest.raises(BadRequest) as caught:
        read(list(items))
    return str(caught.value)


@pytest.mark.req("M3", "M4")
def test_leading_instructions_become_blocks_and_later_ones_stay_where_they_are():
    call = read(
        [
            said("developer", "Two.", "Three."),
            {"role": "system", "content": "Four."},
            {"role": "user", "content": "Hi"},
            said("developer", "From now on, whisper."),
            said("assistant", "Psst."),
            {"role": "user", "content": ""},
        ],
        instructions="One.",
    )
    assert call.request.system == ("One.", "Two.", "Three.", "Four.")
    assert call.request.messages == (
        user_text("Hi"),
        ChatMessage("system", (TextPart("From now on, whisper."),)),
        ChatMessage("assistant", (TextPart("Psst."),)),
        user_text(""),
    )


@pytest.mark.req("M3")
def test_a_lone_instruction_stays_a_message():
    assert read([said("developer", "Say hi.")]).request.messages == (
        ChatMessage("system", (TextPart("Say hi."),)),
    )


@pytest.mark.req("M3", "M5")
def test_what_the_model_did_in_a_row_is_one_message_and_so_are_the_results():
    call = read(
        [
            {"role": "user", "content": "Weather?"},
            {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "s=="},
            {**said("assistant", "Let me see."), "id": "msg_1", "phase": "commentary"},
            call_of("a", arguments='{"place": "Oslo"}', id="fc_1", status="completed"),
            call_of("b", arguments="{broken"),
            result_of("b", "sun"),
            result_of("a", [{"type": "input_text", "text": "rain"}, {"type": "text", "text": "!"}]),
            said("assistant", "Rain."),
            said("assistant", "And sun."),
        ]
    )
    assert call.ignored == ("input.phase",)
    assert call.request.messages == (
        user_text("Weather?"),
        ChatMessage(
            "assistant",
            (
                ReasoningPart("", "responses", sealed="s==", id="rs_1"),
                TextPart("Let me see."),
                ToolCallPart("a", "weather", '{"place": "Oslo"}'),
                ToolCallPart("b", "weather", "{broken"),
            ),
        ),
        ChatMessage(
            "tool",
            (ToolResultPart("b", "weather", "sun"), ToolResultPart("a", "weather", "rain\n!")),
        ),
        ChatMessage("assistant", (TextPart("Rain."),)),
        ChatMessage("assistant", (TextPart("And sun."),)),
    )


@pytest.mark.req("M5", "M7")
def test_the_pictures_of_results_follow_behind_all_of_the_results():
    picture = {"type": "input_image", "image_url": PIXEL}
    call = read(
        [
            call_of("a"),
            call_of("b"),
            result_of("a", [{"type": "input_text", "text": "Look:"}, picture]),
            result_of("b", [picture]),
        ]
    )
    assert call.request.messages[1:] == (
        ChatMessage(
            "tool",
            (
                ToolResultPart("a", "weather", "Look:\n[image 1, shown below]"),
                ToolResultPart("b", "weather", "[image 2, shown below]"),
            ),
        ),
        ChatMessage(
            "user",
            (
                TextPart("[image 1, from the result of weather]"),
                ImagePart(Media("image/png", url=PIXEL)),
                TextPart("[image 2, from the result of weather]"),
                ImagePart(Media("image/png", url=PIXEL)),
            ),
        ),
    )


@pytest.mark.req("M7")
def test_pictures_by_address_and_by_bytes():
    content = [
        {"type": "input_text", "text": "What is it?"},
        {"type": "input_image", "image_url": PIXEL, "detail": "high"},
        {"type": "input_image", "image_url": "https://example.com/cat.webp?x=1", "detail": "auto"},
    ]
    call = read([{"role": "user", "content": content}])
    assert call.request.messages[0].parts == (
        TextPart("What is it?"),
        ImagePart(Media("image/png", url=PIXEL), "high"),
        ImagePart(Media("image/webp", url="https://example.com/cat.webp?x=1")),
    )
    assert (call.ignored, call.hints) == ((), (("image_detail", "input.content.detail"),))


@pytest.mark.req("M5")
def test_calls_in_the_shapes_of_this_wire():
    call = read(
        [
            {"type": "custom_tool_call", "call_id": "p", "name": "apply_patch", "input": 'a "b"'},
            {"type": "custom_tool_call_output", "call_id": "p", "output": "done"},
            {
                "type": "local_shell_call",
                "id": "lsh_1",
                "call_id": "s",
                "status": "completed",
                "action": {"type": "exec", "command": ["ls", "-l"], "env": None, "timeout_ms": 9},
            },
            {"type": "local_shell_call_output", "id": "lsh_1", "output": "x.py"},
            call_of("n", namespace="mcp__town__", arguments="{}"),
            result_of("n"),
        ],
        tools=[PATCH],
    )
    assert call.request.messages == (
        ChatMessage("assistant", (ToolCallPart("p", "apply_patch", '{"input":"a \\"b\\""}'),)),
        ChatMessage("tool", (ToolResultPart("p", "apply_patch", "done"),)),
        ChatMessage(
            "assistant",
            (ToolCallPart("s", "local_shell", '{"command":["ls","-l"],"timeout_ms":9}'),),
        ),
        ChatMessage("tool", (ToolResultPart("s", "local_shell", "x.py"),)),
        ChatMessage("assistant", (ToolCallPart("n", "mcp__town__weather", "{}"),)),
        ChatMessage("tool", (ToolResultPart("n", "mcp__town__weather", "rain"),)),
    )


@pytest.mark.req("M5")
def test_tools_that_a_search_found_or_that_stand_in_the_conversation_can_be_called():
    search = {"type": "tool_search", "execution": "client", "description": "Finds tools."}
    space = {"type": "namespace", "name": "town", "description": "The town.", "tools": [WEATHER]}
    call = read(
        [
            {"type": "additional_tools", "role": "developer", "tools": [PATCH]},
            {"role": "user", "content": "Weather?"},
            {
                "type": "tool_search_call",
                "call_id": "f",
                "execution": "client",
                "arguments": {"query": "weather"},
            },
            {"type": "tool_search_output", "call_id": "f", "tools": [space]},
            {"type": "additional_tools", "role": "developer", "tools": [space, PATCH]},
        ],
        tools=[search],
    )
    assert [tool.name for tool in call.request.tools] == [
        "tool_search",
        "apply_patch",
        "town__weather",
    ]
    assert call.request.messages[1:] == (
        ChatMessage("assistant", (ToolCallPart("f", "tool_search", '{"query":"weather"}'),)),
        ChatMessage(
            "tool",
            (ToolResultPart("f", "tool_search", "Tools that can be called now: town__weather."),),
        ),
    )


@pytest.mark.req("M3")
def test_reasoning_without_its_seal_is_named_and_left_out():
    summary = [{"type": "summary_text", "text": "Hm."}]
    call = read(
        [
            {"role": "user", "content": "Hi"},
            {"type": "reasoning", "id": "rs_1", "summary": summary, "encrypted_content": None},
            {"type": "reasoning", "summary": [], "content": None},
            said("assistant", "Yes?"),
        ]
    )
    assert call.request.messages[1:] == (ChatMessage("assistant", (TextPart("Yes?"),)),)
    assert call.ignored == ("input.reasoning",)


@pytest.mark.req("M3")
def test_openais_sealed_reasoning_comes_back_as_its_provider_has_it():
    summary = [{"type": "summary_text", "text": text} for text in ("One.", "Two.")]
    call = read(
        [
            {"type": "reasoning", "id": "rs_1", "summary": summary, "encrypted_content": "s=="},
            {"type": "reasoning", "summary": [], "content": None, "encrypted_content": "t=="},
            said("assistant", "Yes?"),
        ]
    )
    assert call.request.messages[0].parts[:-1] == (
        ReasoningPart("One.", "responses", sealed="s==", id="rs_1"),
        ReasoningPart("Two.", "responses", id="rs_1"),
        ReasoningPart("", "responses", sealed="t=="),
    )


@pytest.mark.req("M1")
@pytest.mark.parametrize(
    ("items", "place", "advice"),
    [
        ([{"type": "item_reference", "id": "x"}], "input[0]", "send the item"),
        ([{"id": "msg_1"}], "input[0]", "send the item"),
        ([{"type": "compaction", "encrypted_content": "x"}], "input[0]", "conversation itself"),
        ([{"type": "computer_call", "id": "x"}], "input[0]", "leave it out"),
        ([result_of("zzz")], "input[0].call_id 'zzz'", "the call first"),
        ([result_of("a"), call_of("a")], "input[0].call_id 'a'", "the call first"),
        ([{"role": "robot", "content": "x"}], "input[0].role", "Invalid enum value"),
        ([{"role": "user", "content": [{"type": "hat"}]}], "input[0].content[0]", "hat"),
        ([{"role": "user", "content": [{"type": "input_file"}]}], "content[0]", "uploaded"),
        ([{"role": "user", "content": [{"type": "input_audio"}]}], "content[0]", "input_audio"),
        (
            [{"role": "user", "content": [{"type": "input_image", "file_id": "f"}]}],
            "input[0].content[0]",
            "image_url",
        ),
        (
            [{"role": "user", "content": [{"type": "input_image", "image_url": "file:///x"}]}],
            "input[0].content[0].image_url",
            "http(s)",
        ),
        (
            [{"role": "system", "content": [{"type": "input_image", "image_url": PIXEL}]}],
            "input[0]",
            "role 'user'",
        ),
        (
            [{"role": "assistant", "content": [{"type": "input_image", "image_url": PIXEL}]}],
            "input[0]",
            "role 'user'",
        ),
        (
            [{"type": "reasoning", "encrypted_content": 'hermes:[{"type":"reasoning"}]'}],
            "input[0].encrypted_content",
            "unchanged",
        ),
        ([call_of("", arguments="{}")], "input[0].call_id", "length"),
        ([{"type": "local_shell_call", "action": {"command": []}}], "input[0]", "call_id"),
        ([{"type": "local_shell_call", "action": {}}], "input[0].action", "command"),
        ([{"type": "local_shell_call", "call_id": "s", "action": []}], "input[0].action", "object"),
        ([5], "input[0]", "object"),
    ],
)
def test_what_cannot_be_shown_to_a_model_is_refused_with_its_place(items, place, advice):
    told = refused(*items)
    assert place in told
    assert advice in told


@pytest.mark.req("M1")
def test_an_error_quotes_little_of_the_input():
    long = "x" * 5_000
    assert len(refused({"type": long})) < 300
    assert len(refused(result_of(long[:500]))) < 300
    assert len(refused({"role": long, "content": ""})) < 300


@pytest.mark.req("M3")
def test_reasoning_that_would_break_out_of_a_services_json_is_refused():
    seal = 'hermes:[{"type":"reasoning","text":"","dialect":"openai","sealed":"[], \\"x\\": 1"}]'
    assert "encrypted_content" in refused({"type": "reasoning", "encrypted_content": seal})


@pytest.mark.req("M1")
def test_a_search_of_another_provider_is_named_and_left_out():
    call = read([{"type": "web_search_call", "action": {}}, {"role": "user", "content": "Hi"}])
    assert call.request.messages == (user_text("Hi"),)
    assert call.ignored == ("input.web_search_call",)
