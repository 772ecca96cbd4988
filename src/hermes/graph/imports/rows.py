"""Imports rows of chats: JSON lines as OpenAI and TRL take them, and ShareGPT.

An imported answer counts as sampled only if the caller names the `model` that wrote it, having seen
exactly the messages before it.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from hermes.errors import BadRequest, HermesError, TooLarge
from hermes.graph.blob import NEVER_SEEN, Message
from hermes.graph.imports.sharegpt_turns import messages_of_turns
from hermes.graph.imports.source_file import MAX_MESSAGES, decoded, items_of
from hermes.graph.message_graph import MessageGraph

# Any: rows are JSON.
Row = tuple[list[Any], list[Any] | None]
_ANSWERS = frozenset({"assistant", "model"})


def read_jsonl(
    path: str | os.PathLike[str], *, model: str = "", problems: list[str] | None = None
) -> Iterator[MessageGraph]:
    """Iterate over the conversations of a file of JSON lines, or of one JSON list.

    A line has `messages`, or `prompt` and `completion`, or is a list of messages; `tools` if there
    were any. With `problems`, what cannot be read is added there and left out; otherwise it raises
    BadRequest with the line's number.
    """
    return _read(path, _chat_row, "jsonl", model=model, problems=problems)


def read_sharegpt(
    path: str | os.PathLike[str], *, model: str = "", problems: list[str] | None = None
) -> Iterator[MessageGraph]:
    """Iterate over the conversations of a ShareGPT file: `conversations` of `from` and `value`."""
    return _read(path, _sharegpt_row, "sharegpt", model=model, problems=problems)


def _read(
    path: str | os.PathLike[str],
    read_row: Callable[[Any], Row],
    kind: str,
    *,
    model: str,
    problems: list[str] | None,
) -> Iterator[MessageGraph]:
    for place, found in items_of(path):
        number = place.split()[1]
        try:
            row = decoded(found, place) if isinstance(found, bytes) else found
            yield _graph(read_row(row), f"{Path(path).stem}-{number}", kind, model=model)
        except HermesError as problem:
            text = str(problem)
            text = text if text.startswith(place) else f"{place}: {text}"
            if problems is None:
                raise BadRequest(text) from problem
            problems.append(text)


def _graph(row: Row, name: str, kind: str, *, model: str) -> MessageGraph:
    messages, tools = row
    if len(messages) > MAX_MESSAGES:
        raise TooLarge(f"It has {len(messages)} messages; at most {MAX_MESSAGES} are read.")
    if not model:
        return MessageGraph([_seen(message) for message in messages], name=name)
    graph = MessageGraph(name=name)
    for message in messages:
        if _is_answer(message):
            graph.record_call(
                _seen(message),
                model=model,
                tools=tools,
                metadata={"imported": kind},
                sampled=message.get("weight", 1) != 0,
            )
        else:
            graph.append(_seen(message))
    return graph


def _is_answer(message: Any) -> bool:
    role = message.get("role") if isinstance(message, Mapping) else None
    return isinstance(role, str) and role in _ANSWERS


def _seen(message: Any) -> Message:
    """Return a message without what no model sees, and without keys that say nothing."""
    if not isinstance(message, Mapping):
        raise BadRequest(f"A message is an object, this one is {type(message).__name__}.")
    return {
        key: value for key, value in message.items() if value is not None and key not in NEVER_SEEN
    }


def _chat_row(row: Any) -> Row:
    if isinstance(row, list):
        return row, None
    if not isinstance(row, dict):
        raise BadRequest(f"A row is an object with messages, this one is {type(row).__name__}.")
    tools = row.get("tools")
    listed = tools if isinstance(tools, list) else None
    if isinstance(row.get("messages"), list):
        return row["messages"], listed
    parts = [row.get("prompt"), row.get("completion")]
    if all(isinstance(part, list) for part in parts):
        return [message for part in parts for message in part or ()], listed
    raise BadRequest(
        "A row needs `messages`, or `prompt` and `completion`, as lists of messages; it has: "
        f"{', '.join(sorted(map(str, row))[:10]) or 'nothing'}."
    )


def _sharegpt_row(row: Any) -> Row:
    if not isinstance(row, dict) or not isinstance(row.get("conversations"), list):
        raise BadRequest("A ShareGPT row needs `conversations`, a list of turns.")
    turns = row["conversations"]
    if isinstance(row.get("system"), str) and row["system"]:
        turns = [{"from": "system", "value": row["system"]}, *turns]
    tools = row.get("tools")
    if isinstance(tools, str) and tools:
        tools = decoded(tools.encode(), "`tools`")
    return messages_of_turns(turns), tools if isinstance(tools, list) else None
