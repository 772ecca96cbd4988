"""The stand-in for Ollama refuses what the real server would refuse or not understand."""

import msgspec
import pytest

from hermes.testing.ollama_shape import ShapeError, read_chat, read_embed

USER = {"role": "user", "content": "hi"}


def body(*messages: dict, **more: object) -> bytes:
    return msgspec.json.encode({"model": "m", "messages": list(messages), **more})


@pytest.mark.req("M5", "M7")
@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (b"{", "truncated"),
        (b'{"model":"","messages":[]}', "model is required"),
        (body({"role": "developer", "content": "x"}), "developer"),
        (body({"role": "user"}), "missing required field `content`"),
        (body({"role": "user", "content": [{"type": "text", "text": "x"}]}), "Expected `str`"),
        (body({**USER, "mood": 1}), "unknown field `mood`"),
        (body(USER, tool_choice="required"), "unknown field `tool_choice`"),
        (body(USER, max_tokens=1), "unknown field `max_tokens`"),
        (body(USER, options={"max_tokens": 1}), "unknown field `max_tokens`"),
        (body(USER, think="high"), 'think value "high" is not supported'),
        (body({**USER, "images": ["http://a"]}), "illegal base64"),
        (body({"role": "tool", "content": "x"}), "does not say which tool"),
        (body({"role": "assistant", "content": "", "images": ["AAAA"]}), "shows no images"),
        (
            body(
                {
                    "role": "assistant",
                    "content": "",
                    "tool_calls": [{"function": {"name": "a", "arguments": "{}"}}],
                }
            ),
            "Expected `object`",
        ),
        (body({**USER, "tool_calls": []}), "calls no tools"),
    ],
)
def test_a_request_that_would_not_be_understood_is_refused(bad, words):
    with pytest.raises(ShapeError, match=words):
        read_chat(bad)


@pytest.mark.req("P6")
@pytest.mark.parametrize(
    ("given", "texts"), [('{"model":"m","input":"a"}', ["a"]), ('{"model":"m","input":[]}', [])]
)
def test_texts_may_be_one_or_many(given, texts):
    assert read_embed(given.encode()).texts == texts


@pytest.mark.req("P6")
@pytest.mark.parametrize("bad", [b'{"model":"","input":"a"}', b'{"model":"m"}', b"[]"])
def test_an_embedding_that_would_not_be_understood_is_refused(bad):
    with pytest.raises(ShapeError):
        read_embed(bad)
