"""The stand-in model refuses what the real service refuses."""

import msgspec
import pytest

from hermes.testing.openai_shape import ShapeError, read_request

CALL = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
CALLING = {"role": "assistant", "content": None, "tool_calls": [CALL]}
RESULT = {"role": "tool", "tool_call_id": "c1", "content": "ok"}
USER = {"role": "user", "content": "hi"}


def body(*messages: dict, **more: object) -> bytes:
    return msgspec.json.encode({"model": "m", "messages": list(messages), **more})


@pytest.mark.req("M5")
@pytest.mark.parametrize(
    "good",
    [
        body(USER),
        body({"role": "developer", "content": "d"}, USER, temperature=0, max_tokens=1),
        body(USER, CALLING, RESULT, USER, stream=True, stream_options={"include_usage": True}),
        body(
            {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "http://a"}}]}
        ),
    ],
)
def test_a_proper_request_is_taken(good):
    assert read_request(good).model == "m"


@pytest.mark.req("M3", "M5")
@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (b"{", "could not parse the JSON"),
        (body(), "too short"),
        (body({"role": "robot", "content": "x"}), "Invalid value 'robot'"),
        (body({"role": "user"}), "missing required field `content`"),
        (body({"role": "user", "content": []}), "too short"),
        (body({"role": "user", "content": [{"type": "smell"}]}), "Invalid value 'smell'"),
        (body({"role": "user", "content": "x", "mood": 1}), "unknown field `mood`"),
        (
            body({"role": "user", "content": [{"type": "image_url", "image_url": {"url": "/a"}}]}),
            "Invalid image URL",
        ),
        (body({"role": "assistant", "content": None}), "expected a string, got null"),
        (body(USER, RESULT), "must be a response to a preceeding message"),
        (body(USER, CALLING), "did not have response messages: c1"),
        (body(USER, CALLING, USER), "did not have response messages: c1"),
        (body(USER, CALLING, RESULT, RESULT), "must be a response to a preceeding message"),
        (body(USER, {**CALLING, "tool_calls": [CALL, CALL]}, RESULT), "Duplicate"),
        (body(USER, {**CALLING, "tool_calls": []}), "empty array"),
        (body(USER, stream_options={"include_usage": True}), "only allowed when 'stream'"),
        (body(USER, temperature=3), "between 0 and 2"),
        (body(USER, frequency_penalty=3), "between -2 and 2"),
        (body(USER, top_logprobs=1), "only allowed when 'logprobs' is set"),
        (body(USER, top_k=1), "unknown field `top_k`"),
        (body(USER, response_format={"type": "json_object"}), "must contain the word 'json'"),
        (body(USER, max_tokens=0), "at least 1"),
        (body(USER, top_p=2), "between 0 and 1"),
        (body(USER, stop=["a", "b", "c", "d", "e"]), "1 to 4 stop sequences"),
        (body(USER, reasoning_effort="huge"), "Invalid enum value 'huge'"),
        (body(USER, tool_choice="required"), "only allowed when 'tools'"),
        (
            body(
                USER,
                tools=[{"type": "function", "function": {"name": "a"}}],
                tool_choice={"type": "function", "function": {"name": "b"}},
            ),
            "'b' not found in 'tools'",
        ),
        (body(USER, response_format={"type": "json_schema"}), "Missing or invalid"),
        (
            body(
                USER,
                response_format={
                    "type": "json_schema",
                    "json_schema": {"name": "a", "schema": {}, "strict": True},
                },
            ),
            "'additionalProperties' is required",
        ),
        (body(USER, tools=[]), "too short"),
        (body(USER, tools=[{"type": "function", "function": {"name": "a b"}}]), "match pattern"),
        (
            body(
                USER,
                tools=[{"type": "function", "function": {"name": "a", "parameters": {}}}],
            ),
            "Invalid schema for function 'a'",
        ),
        (body(USER, flavour="x"), "unknown field `flavour`"),
    ],
)
def test_a_request_out_of_shape_is_refused_in_words(bad, words):
    with pytest.raises(ShapeError) as caught:
        read_request(bad)

    assert words in str(caught.value)
