"""Imports the export of ChatGPT: a zip file, or the `conversations.json` in it.

Each conversation is a tree there, because people edit their messages and ask again. The path that
was shown last becomes the branch `main`, every other path a branch of its own. The answers do not
count as sampled: the export does not say what the models saw.
"""

import os
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from hermes.errors import BadRequest, HermesError, NotFound
from hermes.graph.blob import Message
from hermes.graph.imports.source_file import MAX_MESSAGES, decoded, read_whole
from hermes.graph.message_graph import MessageGraph

MAX_BRANCHES = 200
_SPOKEN = frozenset({"user", "assistant", "system", "tool"})
# What ChatGPT adds for itself and shows nobody.
_HIDDEN = frozenset({"user_editable_context", "model_editable_context"})


class _Author(msgspec.Struct):
    role: str = ""
    name: str | None = None


class _Message(msgspec.Struct):
    author: _Author
    content: dict[str, Any] = {}  # Any: its fields depend on its type
    recipient: str | None = None


class _Node(msgspec.Struct):
    id: str = ""
    message: _Message | None = None
    parent: str | None = None


class _Conversation(msgspec.Struct):
    mapping: dict[str, _Node]
    title: str | None = None
    id: str = ""
    conversation_id: str = ""
    current_node: str | None = None


def read_chatgpt(
    path: str | os.PathLike[str], *, problems: list[str] | None = None
) -> Iterator[MessageGraph]:
    """Iterate over the conversations of an export.

    With `problems`, what cannot be read is added there and left out; otherwise it raises BadRequest
    with the number of the conversation.
    """
    for name, data in _files(Path(path)):
        found = decoded(data, name)
        for number, item in enumerate(found if isinstance(found, list) else [found], 1):
            place = f"conversation {number} of {name}"
            try:
                yield _graph(msgspec.convert(item, _Conversation), place)
            except (HermesError, msgspec.ValidationError) as problem:
                if problems is None:
                    raise BadRequest(f"{place}: {problem}") from problem
                problems.append(f"{place}: {problem}")


def _files(path: Path) -> Iterator[tuple[str, bytes]]:
    try:
        if not zipfile.is_zipfile(path):
            with path.open("rb") as stream:
                yield path.name, read_whole(stream, path.name)
            return
        with zipfile.ZipFile(path) as archive:
            names = sorted(name for name in archive.namelist() if _is_conversations(name))
            if not names:
                raise BadRequest(
                    f"{path.name} has no conversations.json: it is no export of ChatGPT."
                )
            for name in names:
                # Read with a limit: the sizes in the archive may be false.
                with archive.open(name) as member:
                    yield f"{path.name}/{name}", read_whole(member, name)
    except (OSError, zipfile.BadZipFile) as problem:
        raise NotFound(f"{path} cannot be read: {problem}.") from problem


def _is_conversations(name: str) -> bool:
    last = name.rpartition("/")[2]
    return last.startswith("conversations") and last.endswith(".json")


def _graph(found: _Conversation, place: str) -> MessageGraph:
    if len(found.mapping) > MAX_MESSAGES:
        raise BadRequest(f"It has {len(found.mapping)} messages; at most {MAX_MESSAGES} are read.")
    parents = {node.parent for node in found.mapping.values()}
    leaves = [name for name in found.mapping if name not in parents]
    if found.current_node in found.mapping:
        leaves = [found.current_node, *(one for one in leaves if one != found.current_node)]
    paths = [_messages(_path(found.mapping, leaf)) for leaf in leaves[:MAX_BRANCHES]]
    name = f"{found.title or 'untitled'} {found.conversation_id or found.id or place}"
    graph = MessageGraph(paths[0] if paths else (), name=name)
    for number, messages in enumerate(paths[1:], 1):
        branch = graph.branch(f"path-{number}")
        branch[:] = messages
    return graph


def _path(nodes: dict[str, _Node], leaf: str) -> list[tuple[str, _Message]]:
    """Return the messages from the root to a leaf."""
    found, seen = list[tuple[str, _Message]](), set[str]()
    name: str | None = leaf
    while name is not None and name in nodes:
        if name in seen:
            raise BadRequest(f"The message {name[:40]!r} is its own ancestor.")
        seen.add(name)
        node = nodes[name]
        if node.message is not None:
            found.append((name, node.message))
        name = node.parent
    return found[::-1]


def _messages(path: list[tuple[str, _Message]]) -> list[Message]:
    """Return the messages of a path; a result belongs to the last tool call without one."""
    made: list[Message] = []
    waiting = ""
    for name, message in path:
        role, text = message.author.role, _text(message.content)
        if role not in _SPOKEN or not text:
            continue
        recipient = message.recipient or "all"
        if role == "assistant" and recipient != "all":
            waiting = name
            function = {"name": recipient, "arguments": text}
            call = {"id": name, "type": "function", "function": function}
            made.append({"role": role, "tool_calls": [call]})
        elif role == "tool" and waiting:
            made.append({"role": role, "tool_call_id": waiting, "content": text})
            waiting = ""
        else:
            # A tool that nobody called tells something on its own.
            made.append({"role": "system" if role == "tool" else role, "content": text})
    return made


def _text(content: dict[str, Any]) -> str:  # Any: JSON
    """Return what a message says; pictures and files are named."""
    if content.get("content_type") in _HIDDEN:
        return ""
    parts = content.get("parts")
    if not isinstance(parts, list):
        text = content.get("text")
        return text if isinstance(text, str) else ""
    return "\n".join(told for told in map(_part, parts) if told)


def _part(part: Any) -> str:  # Any: JSON
    if isinstance(part, str):
        return part
    if not isinstance(part, dict):
        return ""
    text = part.get("text")
    return text if isinstance(text, str) else f"[{part.get('content_type', 'file')}]"
