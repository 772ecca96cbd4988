"""A conversation in Messages blocks becomes chat messages; nothing of it vanishes."""

from typing import Any

import msgspec
import pytest

from hermes.errors import BadRequest
from hermes.message.chat import ChatMessage
from hermes.message.parts import (
    ImagePart,
    Media,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from hermes.ports.provider import ModelRequest
from hermes.server.v1.messages import MessagesDialect

PNG = {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}
PICTURE = {"type": "image", "source": PNG}
SHOWN = ImagePart(Media("image/png", url="data:image/png;base64,iVBORw0KGgo="))
EPHEMERAL = {"type": "ephemeral"}


# Any: JSON of every shape.
def text(words: str, **fields: Any) -> dict[str, Any]:
    return {"type": "text", "text": words, **fields}


def user(*blocks: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def assistant(*blocks: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


def use(id_: str, name: str, **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": id_, "name": name, "input": arguments}


def result(id_: str, content: Any, **fields: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": id_, "content": content, **fields}


def document(source: Any, **fields: Any) -> dict[str, Any]:
    return {"type": "document", "source": source, **fields}


def asked(*messages: dict[str, Any], **fields: Any) -> ModelRequest:
    body = {"model": "m", "max_tokens": 9, "messages": messages, **fields}
    return MessagesDialect().read(msgspec.json.encode(body), {}).request


def refused(*messages: dict[str, Any]) -> str:
    with pytest.raises(BadRequest) as error:
        asked(*messages)
    return str(error.value)


@pytest.mark.req("M3", "M5")
def test_a_turn_with_tools_keeps_roles_ids_and_raw_arguments():
    raw = b"""{"model": "m", "max_tokens": 9, "messages": [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": [
            {"type": "text", "text": "I look."},
            {"type": "tool_use", "id": "t1", "name": "find", "input": {"b": 1.0,  "a": "\\u00e9"}},
            {"type": "tool_use", "id": "t2", "name": "now", "input": {}}]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "t2", "content": "noon"},
            {"type": "tool_result", "tool_use_id": "t1", "is_error": true, "content": [
                {"type": "text", "text": "not"}, {"type": "text", "text": "found"}]},
            {"type": "text", "text": "and now?"}]}]}"""

    made = MessagesDialect().read(raw, {}).request

    assert made.messages == (
        ChatMessage("user", (TextPart("go"),)),
        ChatMessage(
            "assistant",
            (
                TextPart("I look."),
                ToolCallPart("t1", "find", '{"b": 1.0,  "a": "\\u00e9"}'),
                ToolCallPart("t2", "now", "{}"),
            ),
        ),
        ChatMessage(
            "tool",
            (
                ToolResultPart("t2", "now", "noon"),
                ToolResultPart("t1", "find", "not\nfound", failed=True),
            ),
        ),
        ChatMessage("user", (TextPart("and now?"),)),
    )


@pytest.mark.req("M7", "M5")
def test_pictures_inside_results_follow_in_the_users_message():
    made = asked(
        user(text("go")),
        assistant(use("t1", "shoot"), use("t2", "shoot")),
        user(
            result("t1", [text("taken"), PICTURE]),
            result("t2", [PICTURE]),
            text("compare"),
        ),
    )

    assert made.messages[2:] == (
        ChatMessage(
            "tool",
            (
                ToolResultPart("t1", "shoot", "taken\n[image 1, shown below]"),
                ToolResultPart("t2", "shoot", "[image 2, shown below]"),
            ),
        ),
        ChatMessage(
            "user",
            (
                TextPart("[image 1, from the result of shoot]"),
                SHOWN,
                TextPart("[image 2, from the result of shoot]"),
                SHOWN,
                TextPart("compare"),
            ),
        ),
    )


@pytest.mark.req("M5")
@pytest.mark.parametrize("content", [None, "", []])
def test_a_result_may_be_empty(content):
    made = asked(assistant(use("t1", "go")), user(result("t1", content)))

    assert made.messages[1:] == (ChatMessage("tool", (ToolResultPart("t1", "go", ""),)),)


@pytest.mark.req("M5")
def test_other_blocks_of_a_result_are_told_in_words():
    found = {"type": "search_result", "source": "s.example", "title": "T", "content": [text("x")]}
    made = asked(
        assistant(use("t1", "search")),
        user(
            result(
                "t1",
                [
                    found,
                    document({"type": "text", "media_type": "text/plain", "data": "page"}),
                    {"type": "tool_reference", "tool_name": "deploy"},
                ],
            )
        ),
    )

    (told,) = made.messages[1].parts
    assert told == ToolResultPart(
        "t1",
        "search",
        "[search result: T, from s.example]\nx\npage\n[the tool deploy can be used]",
    )


@pytest.mark.req("M7")
@pytest.mark.parametrize(
    ("source", "media"),
    [
        (PNG, SHOWN.media),
        (
            {"type": "url", "url": "https://x.example/a.PNG?b=1.gif"},
            Media("image/png", url="https://x.example/a.PNG?b=1.gif"),
        ),
        (
            {"type": "url", "url": "https://x.example/a"},
            Media("image/jpeg", url="https://x.example/a"),
        ),
        (
            {"type": "url", "url": "data:image/webp;base64,UklGR"},
            Media("image/webp", url="data:image/webp;base64,UklGR"),
        ),
    ],
)
def test_pictures_by_bytes_and_by_address(source, media):
    made = asked(user(text("what?"), {"type": "image", "source": source}))

    assert made.messages == (ChatMessage("user", (TextPart("what?"), ImagePart(media))),)


@pytest.mark.req("M7")
def test_documents_of_text_are_read():
    made = asked(
        user(
            document({"type": "text", "media_type": "text/plain", "data": "plain"}, title="Deed"),
            document(
                {"type": "content", "content": [text("one"), PICTURE]},
                context="a scan",
                citations={"enabled": False},
            ),
            document({"type": "content", "content": "two"}),
        )
    )

    assert made.messages[0].parts == (
        TextPart("[document: Deed]"),
        TextPart("plain"),
        TextPart("[document: a scan]"),
        TextPart("one"),
        SHOWN,
        TextPart("two"),
    )


@pytest.mark.req("M3")
def test_thinking_goes_back_unchanged_and_in_its_place():
    made = asked(
        user(text("go")),
        assistant(
            {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
            {"type": "redacted_thinking", "data": "RU5D"},
            text("so"),
            {"type": "thinking", "thinking": "unsigned", "signature": ""},
            use("t1", "x"),
        ),
        user(result("t1", "y")),
    )

    assert made.messages[1].parts == (
        ReasoningPart("hm", "anthropic", "c2ln"),
        ReasoningPart("", "anthropic", sealed="RU5D"),
        TextPart("so"),
        ReasoningPart("unsigned", "anthropic"),
        ToolCallPart("t1", "x", "{}"),
    )


@pytest.mark.req("M4", "M3")
def test_system_messages_lead_or_stay_where_they_are():
    made = asked(
        {"role": "system", "content": "b"},
        {"role": "system", "content": [text("c")]},
        {"role": "user", "content": "hi"},
        {"role": "system", "content": [text("d"), text("e", cache_control=EPHEMERAL)]},
        {"role": "assistant", "content": "ho"},
        system="a",
    )

    assert made.system == ("a", "b", "c")
    assert made.messages == (
        ChatMessage("user", (TextPart("hi"),)),
        ChatMessage("system", (TextPart("d"),)),
        ChatMessage("system", (TextPart("e"),)),
        ChatMessage("assistant", (TextPart("ho"),)),
    )
    assert made.cache_prefix is True


@pytest.mark.req("M1")
@pytest.mark.parametrize(
    "last",
    [
        [text("a", cache_control=EPHEMERAL)],
        [PICTURE | {"cache_control": EPHEMERAL}],
        [result("t1", "x", cache_control=EPHEMERAL)],
        [result("t1", [text("x", cache_control=EPHEMERAL)])],
    ],
)
def test_a_cache_mark_on_any_block_counts(last):
    assert asked(assistant(use("t1", "x")), user(*last)).cache_prefix is True


@pytest.mark.req("M1")
def test_what_an_image_asks_beside_itself_is_named():
    picture = PICTURE | {"transformations": {"oversized_image": "error"}}
    body = {"model": "m", "max_tokens": 9, "messages": [user(picture)]}

    assert MessagesDialect().read(msgspec.json.encode(body), {}).ignored == (
        "image.transformations",
    )


@pytest.mark.req("M2")
@pytest.mark.parametrize(
    ("messages", "told"),
    [
        ([user(result("t9", "x"))], "messages[0].content[0].tool_use_id: no tool_use block"),
        (
            [user(result("t1", "x")), assistant(use("t1", "a"))],
            "messages[0].content[0].tool_use_id: no tool_use block",
        ),
        ([user(use("t1", "x"))], "messages[0].content[0]: a block of the type 'tool_use' is not"),
        (
            [assistant(PICTURE)],
            "a block of the type 'image' is not allowed in a message of the role",
        ),
        ([{"role": "system", "content": [PICTURE]}], "of the role 'system'"),
        ([assistant({"type": "server_tool_use"})], "$.messages[0].content[0].type"),
        (
            [assistant({"type": "tool_use", "id": "a", "name": "b", "input": [1]})],
            "messages[0].content[0].input: expected a JSON object",
        ),
        ([user(document({"type": "url", "url": "file:///x"}))], "expected an http(s) address"),
        (
            [user(document({"type": "base64", "media_type": "text/csv", "data": "x"}))],
            "expected a PDF document as base64 or by its address, or plain text",
        ),
        (
            [user(document({"type": "text", "data": "x"}, citations={"enabled": True}))],
            "messages[0].content[0].citations: not supported",
        ),
        (
            [user({"type": "image", "source": {"type": "url", "url": "ftp://x.example/a"}})],
            "messages[0].content[0].source.url begins with 'ftp://x.example/a'",
        ),
        (
            [user({"type": "image", "source": PNG | {"media_type": "image/svg+xml"}})],
            "source.media_type: expected one of image/jpeg",
        ),
        (
            [user({"type": "image", "source": {"type": "file", "file_id": "f"}})],
            "files that were uploaded",
        ),
        (
            [assistant({"type": "thinking", "thinking": "x", "signature": "hermes.%%%"})],
            "messages[0].content[0].signature: not a signature from Hermes",
        ),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_place(messages, told):
    assert told in refused(*messages)
