"""Results on record are matched by tool and arguments, each once, and answer the call that was made now."""

import msgspec
import pytest

from hermes.message.chat import ChatMessage, user_text
from hermes.message.parts import Part, ToolCallPart, ToolResultPart
from hermes.pipeline.replays.recorded_tools import RecordedTools, same_arguments
from hermes.ports.steps import Step, StepFacts, StepKind


def step(ordinal: int, kind: StepKind, *parts: Part, call_id: str = "") -> Step:
    role = {"model": "assistant", "tool": "tool"}.get(kind, "user")
    message = msgspec.convert({"role": role, "parts": []}, ChatMessage)
    body = msgspec.json.encode(msgspec.structs.replace(message, parts=parts))
    facts = StepFacts(call_id=call_id) if call_id else None
    return Step(ordinal=ordinal, kind=kind, state="done", body=body, facts=facts)


def call(name: str, arguments: str, *, call_id: str = "new") -> ToolCallPart:
    return ToolCallPart(call_id, name, arguments)


# Two rounds; in the second the model used the ids of the first again, and the person joined.
STEPS = (
    step(1, "model", call("look", '{"a":1, "b":2}', call_id="c1"), call("find", "", call_id="c2")),
    step(2, "tool", ToolResultPart("c2", "find", "second"), call_id="c2"),
    step(3, "tool", ToolResultPart("c1", "look", "first"), call_id="c1"),
    step(4, "model", call("look", '{"b":2, "a":1}', call_id="c1")),
    step(5, "tool", ToolResultPart("c1", "look", "third"), call_id="c1"),
    step(6, "steer", *user_text("wait").parts),
    step(7, "model", *user_text("done").parts),
)


@pytest.mark.req("A32")
def test_a_result_is_that_of_the_same_call_and_given_once() -> None:
    tools = RecordedTools(STEPS)
    wanted = call("look", ' {"b": 2, "a": 1} ')

    first, then, never = tools.take(wanted), tools.take(wanted), tools.take(wanted)
    other = tools.take(call("find", "{}", call_id="x"))

    assert first is not None
    assert then is not None
    assert other is not None
    assert first.result.parts == (ToolResultPart("new", "look", "first"),)
    assert (then.result.parts[0], then.joined) == (
        ToolResultPart("new", "look", "third"),
        (user_text("wait"),),
    )
    assert never is None
    assert other.result.parts == (ToolResultPart("x", "find", "second"),)


@pytest.mark.req("A32")
@pytest.mark.parametrize(
    "wanted",
    [
        call("look", '{"a": 1}'),
        call("look", '{"a": 1, "b": "2"}'),
        call("look", '{"a": 1, "b": 2'),
        call("send", '{"a": 1, "b": 2}'),
    ],
)
def test_another_call_is_not_on_record(wanted: ToolCallPart) -> None:
    assert RecordedTools(STEPS).take(wanted) is None


@pytest.mark.req("A32")
def test_steps_of_an_older_version_answer_the_calls_in_their_order() -> None:
    steps = (
        step(1, "model", call("look", "{}", call_id="c1"), call("find", "{}", call_id="c2")),
        step(2, "tool", ToolResultPart("c1", "look", "first")),
        step(3, "tool", ToolResultPart("c2", "find", "second")),
    )

    found = RecordedTools(steps).take(call("find", "{}"))

    assert found is not None
    assert found.result.parts == (ToolResultPart("new", "find", "second"),)


@pytest.mark.req("A32")
def test_arguments_that_are_no_json_are_compared_as_they_are() -> None:
    deep = "[" * 100_000

    assert same_arguments(deep) == deep.encode()
    assert same_arguments("not json") == b"not json"
    assert same_arguments("") == b"{}"
