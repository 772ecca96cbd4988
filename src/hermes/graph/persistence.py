"""Opens, saves and branches off a stored branch.

A save collects the versions that the storage does not have yet; the storage takes all of it or
nothing.
"""

from collections.abc import Iterable

import msgspec

from hermes.errors import BadRequest, Conflict, NotFound, StoreError
from hermes.graph.blob import Blob
from hermes.graph.chunk import Chunk, blobs_of, chunks_of, encode
from hermes.graph.family import GraphFamily
from hermes.graph.hasher import Hasher
from hermes.graph.history import History
from hermes.graph.records import Edit, Move, Origin
from hermes.graph.sequence import Sequence
from hermes.graph.storage import Batch
from hermes.graph.version import Version, version_of


def start_history(family: GraphFamily, branch: str, blobs: Iterable[Blob]) -> History:
    """Return a new branch that begins with these messages."""
    sequence = Sequence.of(blobs, family.reader)
    length = len(sequence)
    edit = Edit("start", 0, 0, length)
    first = Version(number=0, edit=edit, content=0, kept=sequence, length=length, at=family.time())
    history = History(family, branch, [first])
    history.marks = bytearray(length)
    return history


def open_history(family: GraphFamily, branch: str) -> History:
    """Return a branch as the storage has it; its messages are read when they are needed."""
    moves = family.storage.moves(family.name, branch)
    if not moves:
        names = {*family.branches, *family.storage.branches(family.name)}
        known = ", ".join(sorted(names)) or "none"
        raise NotFound(
            f"Graph {family.name!r} has no branch {branch!r}; its branches are: "
            f"{known}. Check the name, or make the graph with MessageGraph(name=...)."
        )
    for number, move in enumerate(moves):
        if move.number != number:
            raise StoreError(
                f"The log of branch {branch!r} of graph {family.name!r} lacks version {number}: it "
                "was removed. Run `hermes graph verify`, and restore a backup with `hermes restore`."
            )
    _load_records(family)
    history = History(family, branch, [version_of(move) for move in moves])
    history.saved = len(moves)
    return history


def histories(family: GraphFamily) -> dict[str, History]:
    """Return the branches of a graph that are open, by name."""
    return {name: one for name, one in family.branches.items() if isinstance(one, History)}


def checkout(family: GraphFamily, branch: str) -> History:
    """Return a branch that is open, or else as the storage has it."""
    return histories(family).get(branch) or open_history(family, branch)


def _load_records(family: GraphFamily) -> None:
    """Add the calls, links and thumbs that the storage has and this graph does not know yet."""
    known = len(family.calls), len(family.links), len(family.feedback)
    if not any(known):
        family.calls[:] = family.storage.calls(family.name)
        family.links[:] = family.storage.links(family.name)
        family.feedback[:] = family.storage.feedback(family.name)
        return
    family.calls += [
        one for one in family.storage.calls(family.name) if not family.has_call(one.id)
    ]
    family.links += [one for one in family.storage.links(family.name) if one not in family.links]
    family.feedback += [
        one for one in family.storage.feedback(family.name) if one not in family.feedback
    ]


def save(history: History) -> None:
    """Write what is new in one transaction; raises Conflict and changes nothing otherwise."""
    if not history.family.is_stored:
        raise BadRequest(
            f"Graph {history.family.name!r} is only in memory, so there is no place to save it. Name "
            "a file, as in save('talk.db'), or make the graph with MessageGraph(storage=...)."
        )
    batch = Batch(blobs=dict(history.new_blobs), chunks={}, calls=[])
    fresh: list[Chunk] = []
    for version in history.versions[history.saved :]:
        if isinstance(version.kept, Sequence):
            collect(version.kept, batch, fresh)
    for call, context in history.new_calls:
        collect(context, batch, fresh)
        batch.calls.append(call)
    batch.moves = moves_of(history, history.saved)
    batch.links, batch.feedback = list(history.new_links), list(history.new_feedback)
    try:
        history.family.storage.write(batch)
    except Conflict:
        history.lost_race = True
        raise
    mark_kept(fresh)
    note_saved(history)


def note_saved(history: History) -> None:
    """Record that the storage has all of a branch."""
    history.saved = len(history.versions)
    history.lost_race = False
    for name in history.new_blobs:
        history.family.unsaved_blobs.pop(name, None)
    for call, _ in history.new_calls:
        history.family.unsaved_contexts.pop(call.context, None)
    history.new_blobs.clear()
    history.new_calls.clear()
    history.new_links.clear()
    history.new_feedback.clear()


def branch_off(history: History, name: str) -> History:
    """Return a new branch that begins here.

    If the storage has refused this branch because another writer was first, the new one begins at
    the last saved version and includes the later ones.
    """
    family = history.family
    taken = {*family.branches, *family.storage.branches(family.name)}
    if name in taken:
        raise Conflict(
            f"Graph {family.name!r} has a branch {name!r} already. Choose another name, or open it "
            "with MessageGraph.open(...)."
        )
    point = history.saved - 1 if history.lost_race else history.number
    base = history.versions[point]
    first = Version(
        number=0,
        edit=Edit("branch", 0, 0, 0, actor=history.actor, reason=history.reason),
        content=0,
        kept=base.kept,
        length=base.length,
        at=family.time(),
        origin=Origin(history.branch, point),
    )
    later = [_moved_version(version, point) for version in history.versions[point + 1 :]]
    made = History(family, name, [first, *later])
    family.kept += [one for one in (history, made) if one not in family.kept]
    made.actor, made.reason = history.actor, history.reason
    made.marks = bytearray(history.known_marks())
    if history.lost_race:
        _take_along(history, made, point)
    return made


def _take_along(history: History, made: History, point: int) -> None:
    made.new_blobs.update(history.new_blobs)
    made.new_links.extend(history.new_links)
    made.new_feedback.extend(history.new_feedback)
    for call, context in history.new_calls:
        moved = msgspec.structs.replace(
            call, branch=made.branch, version=max(0, call.version - point)
        )
        made.new_calls.append((moved, context))


def _moved_version(version: Version, point: int) -> Version:
    number = version.number - point
    content = version.content - point if version.content >= point else number
    return msgspec.structs.replace(version, number=number, content=content)


def moves_of(history: History, first: int = 0) -> list[Move]:
    """Return the log of a branch from a version on."""
    before = history.versions[first - 1].root if first else None
    moves = []
    for version in history.versions[first:]:
        after = version.root
        moves.append(
            Move(
                graph=history.family.name,
                branch=history.branch,
                number=version.number,
                before=before,
                after=after,
                length=version.length,
                content=version.content,
                edit=version.edit,
                origin=version.origin,
                at=version.at,
            )
        )
        before = after
    return moves


def collect(sequence: Sequence, batch: Batch, fresh: list[Chunk]) -> None:
    """Add the parts of a sequence that the storage lacks to a batch; `fresh` are its chunks."""
    if not sequence.top.kept:
        _collect_chunk(sequence.top, batch, fresh, hasher=sequence.reader.hasher)


def _collect_chunk(chunk: Chunk, batch: Batch, fresh: list[Chunk], *, hasher: Hasher) -> None:
    # From the bottom up, so that each chunk is encoded once; a tree has at most seven levels.
    if chunk.id is not None and chunk.id in batch.chunks:
        return
    if chunk.level:
        for below in chunks_of(chunk):
            if not below.kept:
                _collect_chunk(below, batch, fresh, hasher=hasher)
    else:
        for blob in blobs_of(chunk):
            if not blob.kept and blob.data is not None:
                batch.blobs[blob.id] = blob.data
    data = encode(chunk, hasher)
    chunk.id = chunk.id or hasher.chunk(data)
    batch.chunks[chunk.id] = data
    fresh.append(chunk)


def mark_kept(chunks: Iterable[Chunk]) -> None:
    """Record that the storage has these chunks, and the blobs of the leaves among them."""
    for chunk in chunks:
        chunk.kept = True
        if chunk.level == 0:
            for blob in blobs_of(chunk):
                blob.kept = True
