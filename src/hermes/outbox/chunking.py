"""Splits a reply into messages that a platform takes: by paragraph, line, word, then character.

A code fence that a cut runs through is closed before the cut and opened again after it. The same
text and limit always give the same chunks, so a chunk's number names it across restarts. Pure.
"""

import msgspec

from hermes.message.graphemes import cut_before

# Below this there is no room for a fence around anything worth reading.
_SMALLEST_FENCED = 64
# How full a chunk must be for a cut at this separator to be worth it.
_SEPARATORS = (("\n\n", 0.5), ("\n", 0.25), (" ", 0.1))


class _Fence(msgspec.Struct, frozen=True):
    """An open code block: the line that opens it and the marks that close it."""

    opening: str
    marks: str


class _Cut(msgspec.Struct, frozen=True):
    """Where a chunk ends, where the next one starts, and whether that is the start of a line."""

    end: int
    resume: int
    at_line_start: bool


def split(text: str, *, limit: int) -> tuple[str, ...]:
    """Return `text` as chunks of at most `limit` characters; nothing for a blank text."""
    if not text.strip():
        return ()
    if len(text) <= limit:
        return (text,)
    return tuple(chunk for chunk in _chunks(text, limit) if chunk.strip())


def _chunks(text: str, limit: int) -> list[str]:
    chunks: list[str] = []
    fence: _Fence | None = None
    at_line_start = True
    while text:
        prefix = f"{fence.opening}\n" if fence else ""
        if len(prefix) + len(text) <= limit:
            chunks.append(prefix + text)
            break
        cut = _choose(text, limit - len(prefix), inside=fence is not None)
        after = _fence_after(text[: cut.end], fence, at_line_start=at_line_start, limit=limit)
        if after:
            room = limit - len(prefix) - len(after.marks) - 1
            cut = _before_opening(text, _choose(text, room, inside=True))
            after = _fence_after(text[: cut.end], fence, at_line_start=at_line_start, limit=limit)
        chunks.append(prefix + text[: cut.end] + (f"\n{after.marks}" if after else ""))
        text, fence, at_line_start = text[cut.resume :], after, cut.at_line_start
    return chunks


def _choose(text: str, room: int, *, inside: bool) -> _Cut:
    window = text[: room + 1]
    for separator, fill in _SEPARATORS:
        end = window.rfind(separator, 0, room + len(separator))
        if end < max(1, int(room * fill)):
            continue
        if separator != " ":
            return _Cut(end, end + len(separator), at_line_start=True)
        # A space inside code is part of it; in prose the cut replaces it.
        if not inside:
            return _Cut(end, end + 1, at_line_start=False)
        if end + 1 <= room:
            return _Cut(end + 1, end + 1, at_line_start=False)
    end = max(1, cut_before(text, max(1, room)))
    return _Cut(end, end, at_line_start=False)


def _before_opening(text: str, cut: _Cut) -> _Cut:
    start = text.rfind("\n", 0, cut.end) + 1
    opens_there = start > 1 and _fence_of(text[start : cut.end]) is not None
    if opens_there and _fence_after(text[:start], None, at_line_start=True, limit=1 << 30) is None:
        return _Cut(start - 1, start, at_line_start=True)
    return cut


def _fence_after(
    piece: str, fence: _Fence | None, *, at_line_start: bool, limit: int
) -> _Fence | None:
    if limit < _SMALLEST_FENCED:
        return None
    lines = piece.split("\n")
    for line in lines if at_line_start else lines[1:]:
        found = _fence_of(line)
        if found is None:
            continue
        if fence is None:
            fits = len(found.opening) <= limit // 4
            fence = found if fits else _Fence(found.marks, found.marks)
        elif found.opening.strip() == found.marks and found.marks.startswith(fence.marks):
            fence = None
    return fence


def _fence_of(line: str) -> _Fence | None:
    bare = line.strip()
    for mark in ("`", "~"):
        marks = bare[: len(bare) - len(bare.lstrip(mark))]
        if len(marks) >= 3 and mark not in bare[len(marks) :]:
            return _Fence(bare, marks)
    return None
