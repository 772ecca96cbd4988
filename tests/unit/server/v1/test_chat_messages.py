"""The messages of a chat request as a conversation: roles, parts, pictures, calls and results."""

import json
from typing import Any

import pytest

from hermes.errors import BadRequest
from hermes.message.chat import ChatMessage
from hermes.message.parts import (
    ImagePart,
    Media,
    Part,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from hermes.ports.provider import ModelRequest
from hermes.server.v1.chat_in import read_chat
from hermes.server.v1.dialect import WireCall

Json = dict[str, Any]
PIXEL = "data:image/png;base64,iVBORw0KGgo="


def read(*messages: Json) -> WireCall:
    return read_chat(json.dumps({"model": "auto", "messages": messages}).encode())


def request(*messages: Json) -> ModelRequest:
    return read(*messages).request


def user(*parts: Json) -> Json:
    return {"role": "user", "content": list(parts)}


def text(said: str, **more: object) -> Json:
    return {"type": "text", "text": said, **more}


def image(url: str, **more: object) -> Json:
    return {"type": "image_url", "image_url": {"url": url, **more}}


def call(call_id: str, name: str = "weather", arguments: str = "{}") -> Json:
    return {
        "id": call_id,
        "type": "function",
        "function": {"name": name, "arguments": arguments},
    }


def message(role: Any, *parts: Part) -> ChatMessage:
    return ChatMessage(role, parts)


@pytest.mark.req("M3", "M4")
def test_leading_instructions_are_blocks_and_later_ones_stay_where_they_are() -> None:
    asked = request(
        {"role": "system", "content": "One."},
        {"role": "developer", "content": [text("Two."), text("Three.")]},
        {"role": "system", "content": ""},
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "Hello"},
        {"role": "developer", "content": "Now in French."},
        {"role": "user", "content": "Again"},
    )
    assert asked.system == ("One.", "Two.", "Three.")
    assert asked.messages == (
        message("user", TextPart("Hi")),
        message("assistant", TextPart("Hello")),
        message("system", TextPart("Now in French.")),
        message("user", TextPart("Again")),
    )


@pytest.mark.req("M3")
def test_instructions_alone_leave_a_message_to_answer() -> None:
    asked = request({"role": "system", "content": "One."}, {"role": "system", "content": "Two."})
    assert asked.system == ("One.",)
    assert asked.messages == (message("system", TextPart("Two.")),)


@pytest.mark.req("M5")
def test_calls_keep_their_text_and_results_their_calls() -> None:
    asked = request(
        {"role": "user", "content": "Weather?"},
        {
            "role": "assistant",
            "content": "Let me see.",
            "tool_calls": [call("1", arguments='{ "place" : "Oslo" }'), call("2", "clock", "")],
        },
        {"role": "tool", "tool_call_id": "2", "content": [text("12:00"), text("UTC")]},
        {"role": "tool", "tool_call_id": "1", "content": "rain", "name": "other"},
    )
    assert asked.messages[1:] == (
        message(
            "assistant",
            TextPart("Let me see."),
            ToolCallPart("1", "weather", '{ "place" : "Oslo" }'),
            ToolCallPart("2", "clock", ""),
        ),
        message("tool", ToolResultPart("2", "clock", "12:00\nUTC")),
        message("tool", ToolResultPart("1", "weather", "rain")),
    )


@pytest.mark.req("M5")
@pytest.mark.parametrize(
    "before", [[], [{"role": "assistant", "content": None, "tool_calls": [call("other")]}]]
)
def test_a_result_without_its_call_is_refused(before: list[Json]) -> None:
    result = {"role": "tool", "tool_call_id": "1" * 200, "content": "rain"}
    with pytest.raises(BadRequest, match=r"tool_call_id '1{80}' names a call that no message"):
        request(*before, result)


@pytest.mark.req("M7")
@pytest.mark.parametrize(
    ("url", "mime"),
    [
        (PIXEL, "image/png"),
        ("data:IMAGE/SVG+XML;base64,PHN2Zz4=", "image/svg+xml"),
        ("https://example.com/a/cat.PNG?size=2", "image/png"),
        ("https://example.com/cat.webp", "image/webp"),
        ("https://example.com/cat", "image/jpeg"),
    ],
)
def test_pictures_come_as_an_address_or_as_themselves(url: str, mime: str) -> None:
    asked = request(user(text("What is it?"), image(url)))
    assert asked.messages == (
        message("user", TextPart("What is it?"), ImagePart(Media(mime, url=url))),
    )


@pytest.mark.req("M7", "W34")
@pytest.mark.parametrize(
    "url",
    [
        "file:///etc/passwd",
        "data:text/html;base64,PGI+",
        "data:image/png,raw",
        "data:image/png;base64,",
        "cat.png",
        "",
    ],
)
def test_other_addresses_are_refused(url: str) -> None:
    with pytest.raises(BadRequest, match=r"messages\[0\].content\[1\].image_url.url begins with"):
        request(user(text("What is it?"), image(url)))


@pytest.mark.req("W21")
@pytest.mark.parametrize(
    "marked",
    [
        {"role": "system", "content": [text("One.", cache_control={"type": "ephemeral"})]},
        {"role": "user", "content": "x", "cache_control": {"type": "ephemeral"}},
        user(text("x", prompt_cache_breakpoint={"mode": "explicit"})),
        user({**image(PIXEL), "cache_control": {"type": "ephemeral"}}),
        {"role": "assistant", "content": [text("x", cache_control={"type": "ephemeral"})]},
    ],
)
def test_a_mark_anywhere_asks_for_the_prompt_cache(marked: Json) -> None:
    plain = {"role": "user", "content": "Hi"}
    assert request(marked, plain).cache_prefix
    assert not request(plain).cache_prefix


@pytest.mark.req("W21")
def test_a_mark_on_a_tool_counts_too() -> None:
    tool = {"type": "function", "function": {"name": "a"}, "cache_control": {"type": "ephemeral"}}
    body = {"model": "m", "messages": [{"role": "user", "content": "Hi"}], "tools": [tool]}
    assert read_chat(json.dumps(body).encode()).request.cache_prefix


@pytest.mark.req("M1")
def test_names_and_unknown_details_are_listed_once() -> None:
    asked = read(
        {"role": "user", "content": "Hi", "name": "ann"},
        {**user(image(PIXEL, detail="huge"), image(PIXEL, detail="auto")), "name": "bob"},
    )
    assert asked.ignored == ("messages.name", "messages.content.image_url.detail")
    assert asked.hints == ()


@pytest.mark.req("M7")
def test_a_picture_names_how_closely_to_look() -> None:
    asked = read(user(image(PIXEL, detail="high"), image(PIXEL, detail="auto")))

    shown = asked.request.messages[0].parts
    assert [part.detail for part in shown if isinstance(part, ImagePart)] == ["high", None]
    assert asked.ignored == ()
    assert asked.hints == (("image_detail", "messages.content.image_url.detail"),)


@pytest.mark.req("M3")
def test_a_refusal_is_what_the_model_said() -> None:
    asked = request(
        {"role": "assistant", "content": None, "refusal": "I will not."},
        {"role": "assistant", "content": [text("Well."), {"type": "refusal", "refusal": "No."}]},
        {"role": "assistant", "content": None},
    )
    assert asked.messages == (
        message("assistant", TextPart("I will not.")),
        message("assistant", TextPart("Well."), TextPart("No.")),
        message("assistant"),
    )


@pytest.mark.req("M3")
@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_reasoning_goes_back_to_where_it_is_from(field: str) -> None:
    theirs = {"type": "reasoning.text", "text": "hm", "index": 0}
    ours = {
        "type": "reasoning.text",
        "format": "hermes-anthropic",
        "index": 1,
        "text": "Let me think.",
        "signature": "sig",
    }
    asked = request(
        {"role": "assistant", "content": "Hi", field: "hm", "reasoning_details": [theirs, ours]}
    )
    assert asked.messages == (
        message(
            "assistant",
            ReasoningPart("Let me think.", "anthropic", signature="sig"),
            ReasoningPart(
                "hm", "openai", sealed='[{"type":"reasoning.text","text":"hm","index":0}]'
            ),
            TextPart("Hi"),
        ),
    )


@pytest.mark.req("M3")
def test_a_thought_that_was_changed_is_refused() -> None:
    changed = {"format": "hermes-anthropic", "signature": 5}
    with pytest.raises(BadRequest, match="send it back as Hermes sent it"):
        request({"role": "assistant", "content": "Hi", "reasoning_details": [changed]})


@pytest.mark.req("M1")
@pytest.mark.parametrize(
    ("sent", "said"),
    [
        (
            user({"type": "input_audio", "input_audio": {"data": "", "format": "ogg"}}),
            r"content\[0\].input_audio.format: expected 'wav' or 'mp3', found 'ogg'",
        ),
        (user({"type": "file", "file": {"file_id": "f"}}), "files that were uploaded"),
        (
            user({"type": "file", "file": {"file_data": "data:text/csv;base64,YQ=="}}),
            "send a text file as text",
        ),
        (user({"type": "input_text", "text": "x"}), r"'input_text' - at `\$.messages"),
        ({"role": "function", "name": "f", "content": "x"}, "'function' is no longer supported"),
        ({"role": "assistant", "audio": {"id": "a"}}, "audio and function_call"),
        ({"role": "assistant", "function_call": {"name": "f"}}, "audio and function_call"),
        ({"role": "assistant", "tool_calls": [{"type": "custom", "id": "1"}]}, "custom tools"),
        ({"role": "user"}, "missing required field `content`"),
        ({"role": "user", "content": 5}, r"got `int` - at `\$.messages"),
        ({"content": "x"}, "missing required field `role`"),
    ],
)
def test_what_no_model_could_be_shown_is_refused(sent: Json, said: str) -> None:
    with pytest.raises(BadRequest, match=said):
        request(sent)
