"""Imports the export of ChatGPT: a zip file, or the `conversations.json` in it.

Each conversation is a tree there, because people edit their messages and ask again. The path that
was shown last becomes the branch `main`, every other path a branch of its own. The answers do not
count as sampled: the export does not say what the models saw.
"""

import os
import zipfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from hermes.errors import BadRequest, HermesError, NotFound, TooLarge
from hermes.graph.blob import Message
from hermes.graph.imports.source_file import MAX_MESSAGES, decoded, read_whole
from hermes.graph.message_graph import MessageGraph

MAX_BRANCHES = 200
# Of all paths together: what many paths share counts for each of them.
MAX_PATH_MESSAGES = 200_000
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
    with the number of the conversation. Paths after the first 200 of a conversation are left out, too.
    """
    for name, data in _files(Path(path)):
        found = decoded(data, name)
        for number, item in enumerate(found if isinstance(found, list) else [found], 1):
            place = f"conversation {number} of {name}"
            try:
                graph, left_out = _graph(msgspec.convert(item, _Conversation), place)
            except (HermesError, msgspec.ValidationError) as problem:
                _report(place, problem, problems)
                continue
            if left_out:
                _report(place, _too_many_paths(left_out), problems)
            yield graph


def _report(place: str, problem: Exception, problems: list[str] | None) -> None:
    if problems is None:
        raise BadRequest(f"{place}: {problem}") from problem
    problems.append(f"{place}: {problem}")


def _too_many_paths(left_out: int) -> TooLarge:
    return TooLarge(
        f"It has {MAX_BRANCHES + left_out} paths; the {MAX_BRANCHES} that were found first are read, "
        f"{left_out} are left out."
    )


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


def _graph(found: _Conversation, place: str) -> tuple[MessageGraph, int]:
    """Return a conversation, and how many of its paths are left out."""
    if len(found.mapping) > MAX_MESSAGES:
        raise BadRequest(f"It has {len(found.mapping)} messages; at most {MAX_MESSAGES} are read.")
    leaves = _leaves(found)
    paths = _paths(found, leaves[:MAX_BRANCHES])
    main = next(paths, [])
    name = f"{found.title or 'untitled'} {found.conversation_id or found.id or place}"
    graph = MessageGraph(main, name=name)
    for number, messages in enumerate(paths, 1):
        branch, fork = graph.branch(f"path-{number}"), _shared(main, messages)
        branch[fork:] = messages[fork:]
    return graph, max(0, len(leaves) - MAX_BRANCHES)


def _leaves(found: _Conversation) -> list[str]:
    """Return the last message of each path, first the one that was shown last."""
    parents = {node.parent for node in found.mapping.values()}
    leaves = [name for name in found.mapping if name not in parents]
    if found.current_node not in found.mapping:
        return leaves
    return [found.current_node, *(one for one in leaves if one != found.current_node)]


def _paths(found: _Conversation, leaves: list[str]) -> Iterator[list[Message]]:
    """Iterate over the paths to some messages; one path is in memory."""
    nodes, depths = found.mapping, _depths(found.mapping)
    length = sum(depths[leaf] for leaf in leaves)
    if length > MAX_PATH_MESSAGES:
        raise TooLarge(
            f"Its {len(leaves)} paths have {length} messages together; at most {MAX_PATH_MESSAGES} "
            "are read."
        )
    return (_messages(_path(nodes, leaf, depths[leaf])) for leaf in leaves)


def _depths(nodes: dict[str, _Node]) -> dict[str, int]:
    """Return how many nodes lead to each node, itself included; a circle is refused."""
    children = defaultdict[str | None, list[str]](list)
    for name, node in nodes.items():
        children[node.parent if node.parent in nodes else None].append(name)
    depths, level, depth = dict[str, int](), children[None], 0
    while level:
        depth += 1
        depths |= dict.fromkeys(level, depth)
        level = [child for name in level for child in children[name]]
    for name in nodes:
        if name not in depths:
            raise BadRequest(f"The message {name[:40]!r}, or one before it, is its own ancestor.")
    return depths


def _path(nodes: dict[str, _Node], leaf: str, length: int) -> list[tuple[str, _Message]]:
    """Return the messages from the root to a leaf."""
    found, name = list[tuple[str, _Message]](), leaf
    for _ in range(length):
        node = nodes[name]
        if node.message is not None:
            found.append((name, node.message))
        name = node.parent or ""
    return found[::-1]


def _shared(one: list[Message], other: list[Message]) -> int:
    """Return how many messages at the beginning are the same."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))


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
    kind = content.get("content_type")
    if isinstance(kind, str) and kind in _HIDDEN:
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
    text, kind = part.get("text"), part.get("content_type")
    if isinstance(text, str):
        return text
    return f"[{kind if isinstance(kind, str) else 'file'}]"
