"""A sheet: what one row is made from, before a format writes it.

The messages are those of the graph, unchanged; the last ones are trained or compared.
"""

from typing import Any

import msgspec

from hermes.graph.blob import Message

# A line is a message as a format writes it; a body is a row without its certificate. Both are JSON.
Line = dict[str, Any]
Body = dict[str, Any]
Row = dict[str, Any]


class TrainingSheet(msgspec.Struct, frozen=True, kw_only=True):
    """Messages and which of them are trained; `seen` is how many the last call saw.

    `token_ids` are the sampled ones, by index, if they were recorded.
    """

    graph: str
    model: str
    messages: tuple[Message, ...]
    seen: int
    trained: tuple[int, ...]
    tools: list[Any] | None = None  # Any: JSON as passed to the call
    template: str | None = None
    token_ids: dict[int, tuple[int, ...]] = {}
    # Whether people liked the answer, for a row that says so.
    label: bool | None = None


def without_none(value: Any) -> Any:  # Any: any JSON
    """Return a JSON value without keys that are None: a table would give them to every row.

    The arguments of a tool call are not changed: a model wrote the null in them.
    """
    if isinstance(value, dict):
        said = isinstance(value.get("name"), str) and isinstance(value.get("arguments"), dict)
        return {
            key: one if said and key == "arguments" else without_none(one)
            for key, one in value.items()
            if one is not None
        }
    if isinstance(value, list | tuple):
        return [without_none(one) for one in value]
    return value
