"""The stand-in for Responses refuses what the real service refuses."""

import msgspec
import pytest

from hermes.testing.responses_shape import ShapeError, read_request

USER = {"role": "user", "content": "hi"}
CALL = {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"}
RESULT = {"type": "function_call_output", "call_id": "c1", "output": "ok"}
THOUGHT = {"type": "reasoning", "id": "rs_1", "summary": []}


def body(*items: dict, **more: object) -> bytes:
    return msgspec.json.encode({"model": "m", "input": list(items), **more})


@pytest.mark.req("M3", "M5", "M7")
@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (b"{", "truncated"),
        (body(), "Missing required parameter"),
        (body({"role": "tool", "content": "x"}), "Invalid enum value 'tool'"),
        (body({"role": "user"}), r"Invalid 'input\[0\]'"),
        (body({**USER, "call_id": "c1"}), r"Invalid 'input\[0\]'"),
        (body(USER, stop=["a"]), "unknown field `stop`"),
        (body(USER, max_output_tokens=15), "minimum value of 16"),
        (body(USER, tool_choice="required"), "only allowed when 'tools'"),
        (body(USER, CALL), "No tool output found for function call c1"),
        (body(USER, RESULT), "No tool call found for function call output c1"),
        (body(USER, CALL, RESULT, RESULT), "No tool call found"),
        (body({**THOUGHT, "summary": None}), r"Invalid 'input\[0\]'"),
        (
            body({"role": "assistant", "content": [{"type": "input_text", "text": "x"}]}),
            "expected output_text",
        ),
        (
            body({"role": "user", "content": [{"type": "input_image", "image_url": "/a"}]}),
            "no image address",
        ),
        (
            body(
                USER, tools=[{"type": "function", "name": "f", "parameters": {}, "strict": False}]
            ),
            "Invalid schema for function 'f'",
        ),
        (
            body(USER, tools=[{"type": "function", "name": "f", "parameters": {"type": "object"}}]),
            "missing required field `strict`",
        ),
    ],
)
def test_a_request_that_the_service_refuses_is_refused(bad, words):
    with pytest.raises(ShapeError, match=words):
        read_request(bad)


@pytest.mark.req("M3")
def test_a_proper_request_is_taken():
    assert read_request(body(USER, THOUGHT, CALL, RESULT, USER)).model == "m"
