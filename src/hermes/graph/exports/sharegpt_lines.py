"""Writes messages as ShareGPT turns, with tools, results and thoughts in tags inside the text."""

from hermes.graph.blob import Message
from hermes.graph.exports.message_reader import ToolCall, plain_json, read_message
from hermes.graph.exports.report import UnfitRow
from hermes.graph.exports.sheet import Line

_FROM = {"system": "system", "developer": "system", "user": "human", "assistant": "gpt"}
_ROLE = {"system": "system", "human": "user", "gpt": "assistant"}


def sharegpt_lines(message: Message) -> list[Line]:
    """Return a message as turns: one, or one for each tool result in it."""
    spoken = read_message(message)
    if spoken.media:
        raise UnfitRow("unfit", "ShareGPT holds text only, and a message has a picture.")
    lines: list[Line] = [
        {"from": "tool", "value": f"<tool_response>\n{one.text}\n</tool_response>"}
        for one in spoken.results
    ]
    if spoken.role == "tool" or (lines and not spoken.shown):
        return lines
    thought = [f"<think>\n{spoken.thought}\n</think>"] if spoken.thought else []
    said = [spoken.text] if spoken.text else []
    value = "\n".join([*thought, *said, *map(_tagged, spoken.calls)])
    return [*lines, {"from": _FROM[spoken.role], "value": value}]


def from_sharegpt(line: Line) -> Message | None:
    """Return the plain message that a turn would be, or None if it was another kind."""
    role, value = _ROLE.get(line.get("from", "")), line.get("value")
    return {"role": role, "content": value} if role and isinstance(value, str) else None


def _tagged(call: ToolCall) -> str:
    # The arguments go in as the model wrote them, never parsed and written again.
    inside = f'{{"name": {plain_json(call.name)}, "arguments": {call.arguments or "{}"}}}'
    return f"<tool_call>\n{inside}\n</tool_call>"
