"""Cuts a long text into pieces: no single call on one of them keeps the other threads waiting. Pure.

A regular expression holds the interpreter until it is done, in whichever thread it runs.
"""

from collections.abc import Iterator

PIECE_CHARS = 262_144


def pieces(text: str, *, marks: str, size: int = PIECE_CHARS) -> Iterator[str]:
    """Yield the text in pieces of at most `size` characters that end with one of `marks` if possible."""
    at = 0
    while len(text) - at > size:
        end = max(text.rfind(mark, at, at + size) for mark in marks) + 1 or at + size
        yield text[at:end]
        at = end
    if at < len(text):
        yield text[at:]
