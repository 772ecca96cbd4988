"""What names a message: exactly what a model sees, byte for byte."""

import hashlib
import json

import pytest

from hermes.errors import BadRequest
from hermes.graph import MessageGraph, canonical, context_root, keyed_hasher, message_id
from tests.unit.graph.said import ARGUMENTS, assistant, thinking, tool_call, tool_result, user

KEY = b"a key of thirty-two bytes, dummy"


@pytest.mark.req("G1")
def test_the_plain_name_can_be_computed_by_anybody() -> None:
    message = {"content": "hi", "role": "user"}

    name = message_id(message)

    assert name == hashlib.sha256(b'hermes.blob\x00{"role":"user","content":"hi"}').digest()


@pytest.mark.req("G3")
def test_the_order_of_a_messages_own_keys_does_not_matter() -> None:
    one = {"role": "tool", "content": "x", "tool_call_id": "1"}
    other = {"tool_call_id": "1", "content": "x", "role": "tool"}

    assert message_id(one) == message_id(other)


@pytest.mark.req("G1", "G6")
def test_what_is_inside_a_message_keeps_its_order() -> None:
    used = {"type": "tool_use", "id": "1", "name": "f", "input": {"z": 1, "a": 2}}
    graph = MessageGraph([assistant(None) | {"content": [used]}])

    assert json.dumps(graph[0]["content"][0]["input"]) == '{"z": 1, "a": 2}'


@pytest.mark.req("G3", "G6")
def test_argument_strings_are_never_serialised_again() -> None:
    graph = MessageGraph([tool_call("c1"), tool_result("c1")])

    assert graph[0]["tool_calls"][0]["function"]["arguments"] == ARGUMENTS
    assert graph.to_list()[0]["tool_calls"][0]["function"]["arguments"] == ARGUMENTS
    assert message_id(tool_call("c1")) != message_id(tool_call("c1", ARGUMENTS.replace("  ", " ")))


@pytest.mark.req("G1")
def test_thinking_signatures_are_kept() -> None:
    graph = MessageGraph([thinking("yes")])
    other = thinking("yes")
    other["content"][0]["signature"] = "another"

    assert graph.to_list() == [thinking("yes")]
    assert message_id(other) != message_id(thinking("yes"))


@pytest.mark.req("G1")
@pytest.mark.parametrize(
    "message",
    [
        {"role": "assistant"},
        assistant(None),
        assistant(""),
        tool_call("c1"),
        user("ünï \x00 \U0001f600"),
        assistant(None, numbers=[0, -0.0, 1e22, 10**30, True, None]),
    ],
)
def test_a_message_reads_back_as_it_was_written(message: dict[str, object]) -> None:
    graph = MessageGraph([message])

    assert repr(graph.to_list()[0]) == repr(message)
    assert graph.verify().ok


@pytest.mark.req("G1")
@pytest.mark.parametrize("key", ["timestamp", "usage", "model", "metadata"])
def test_times_and_provenance_are_no_part_of_a_message(key: str) -> None:
    with pytest.raises(BadRequest, match=f"no model sees {key}"):
        canonical(user("hi") | {key: 1})


@pytest.mark.req("J24")
def test_keyed_names_tell_nothing_without_the_key() -> None:
    messages = [user("hi"), assistant("hello")]
    mine, other = keyed_hasher(KEY), keyed_hasher(KEY[::-1])

    names = {context_root(messages), context_root(messages, mine), context_root(messages, other)}

    assert len(names) == 3
    assert context_root(messages, keyed_hasher(KEY)) == context_root(messages, mine)
    assert message_id(messages[0], mine) not in message_id(messages[0])


@pytest.mark.req("J24")
def test_a_short_key_is_refused() -> None:
    with pytest.raises(BadRequest, match=r"16 to 64 bytes, this one has 3"):
        keyed_hasher(b"abc")
