"""Compares two model calls: what each saw, which model and tools it had, how it was sampled.

The two may be of one conversation or of different ones. It reads the graphs and writes nothing.
"""

from typing import Any

import msgspec

from hermes.errors import NotFound
from hermes.graph import Call, Change, Message, MessageGraph
from hermes.graph.comparison import compare
from hermes.ports.graph_reader import GraphReader


class CallSide(msgspec.Struct, frozen=True, kw_only=True):
    """One of the two calls."""

    call: str
    graph: str
    branch: str
    version: int
    model: str
    messages: int
    at: float | None
    answer: Message | None


class ToolsDiff(msgspec.Struct, frozen=True, kw_only=True):
    """Which tools only one of the two had, and which both had differently."""

    removed: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()


class SettingDiff(msgspec.Struct, frozen=True):
    """What a setting was in each call; None where it was not set."""

    name: str
    before: Any  # Any: JSON as the calls had it
    after: Any


class CallDiff(msgspec.Struct, frozen=True, kw_only=True):
    """What lies between two calls; `changes` are those of the messages that the models saw."""

    before: CallSide
    after: CallSide
    same_context: bool
    same_answer: bool
    tools: ToolsDiff
    sampling: tuple[SettingDiff, ...]
    changes: tuple[Change, ...]


def diff_calls(reader: GraphReader, before: str, after: str) -> CallDiff:
    """Return what lies between two calls; raises NotFound for one that is not known."""
    (one, one_graph), (two, two_graph) = _find(reader, before), _find(reader, after)
    seen, now = one_graph.at(one).to_list(), two_graph.at(two).to_list()
    changes = tuple(compare(seen, now))
    left, right = _side(one, one_graph), _side(two, two_graph)
    return CallDiff(
        before=left,
        after=right,
        same_context=not changes,
        same_answer=left.answer == right.answer,
        tools=_tools(one_graph.tools_of(one) or [], two_graph.tools_of(two) or []),
        sampling=tuple(_settings(one.sampling, two.sampling)),
        changes=changes,
    )


def _find(reader: GraphReader, call_id: str) -> tuple[Call, MessageGraph]:
    name = reader.graph_of_call(call_id)
    if name is not None:
        graph = reader.open(name)
        for call in graph.calls():
            if call.id == call_id:
                return call, graph
    raise NotFound(
        f"No call is known as {call_id[:200]!r}. `hermes graph show SESSION` shows the calls behind "
        "answers, in brackets."
    )


def _side(call: Call, graph: MessageGraph) -> CallSide:
    return CallSide(
        call=call.id,
        graph=graph.name,
        branch=call.branch,
        version=call.version,
        model=call.model,
        messages=call.length,
        at=call.at,
        answer=graph.answer_of(call),
    )


def _tools(before: list[Any], after: list[Any]) -> ToolsDiff:  # Any: JSON as the calls had it
    one, two = (
        {_tool_name(tool): tool for tool in before},
        {_tool_name(tool): tool for tool in after},
    )
    return ToolsDiff(
        removed=tuple(name for name in one if name not in two),
        added=tuple(name for name in two if name not in one),
        changed=tuple(name for name in one if name in two and one[name] != two[name]),
    )


def _tool_name(tool: Any) -> str:  # Any: as above
    told = tool if isinstance(tool, dict) else {}
    inside = told.get("function")
    name = (inside if isinstance(inside, dict) else told).get("name")
    return name if isinstance(name, str) else msgspec.json.encode(tool).decode()


def _settings(before: dict[str, Any], after: dict[str, Any]) -> list[SettingDiff]:  # Any: as above
    names = dict.fromkeys((*before, *after))
    return [
        SettingDiff(name, before.get(name), after.get(name))
        for name in names
        if (name in before, before.get(name)) != (name in after, after.get(name))
    ]
