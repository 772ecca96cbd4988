"""Messages that the tests of the graph speak with."""

import copy
import json
from typing import Any

from hermes.graph import Message

ARGUMENTS = '{"city":  "Bonn",\n "unit":"C", "n": 1.50}'


def system(text: str) -> Message:
    return {"role": "system", "content": text}


def user(text: str) -> Message:
    return {"role": "user", "content": text}


def assistant(text: str | None, **more: Any) -> Message:
    return {"role": "assistant", "content": text, **more}


def tool_call(call_id: str, arguments: str = ARGUMENTS) -> Message:
    function = {"name": "weather", "arguments": arguments}
    return {
        "role": "assistant",
        "tool_calls": [{"id": call_id, "type": "function", "function": function}],
    }


def with_objects(call: Message) -> Message:
    """A tool call as TRL takes it."""
    made = copy.deepcopy(call)
    for one in made["tool_calls"]:
        one["function"]["arguments"] = json.loads(one["function"]["arguments"])
    return made


def tool_result(call_id: str, text: str = "12 degrees") -> Message:
    return {"role": "tool", "tool_call_id": call_id, "content": text}


def pictured(text: str) -> Message:
    picture = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}
    return {"role": "user", "content": [{"type": "text", "text": text}, picture]}


def thinking(text: str) -> Message:
    thought = {"type": "thinking", "thinking": "Let me see.", "signature": "EqQBCgIYAhIk/+=="}
    return {"role": "assistant", "content": [thought, {"type": "text", "text": text}]}
