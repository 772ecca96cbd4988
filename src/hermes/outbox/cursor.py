"""The end of a text that is still being written: a cursor, and a code block closed for now. Pure."""

from typing import Final

_MARKS: Final = ("```", "~~~")


def with_cursor(text: str, cursor: str) -> str:
    """Return `text` with the cursor at its end, inside a code block that is open there."""
    fence = open_fence(text)
    if not fence:
        return text + cursor
    # The line that opens the block names its language: the cursor would become part of that.
    gap = "\n" if text.rpartition("\n")[2].strip().startswith(fence) else ""
    return f"{text}{gap}{cursor}\n{fence}"


def open_fence(text: str) -> str:
    """Return the marks that close the code block which is open at the end of `text`, if one is."""
    fence = ""
    for line in text.split("\n"):
        bare = line.strip()
        if not fence and bare.startswith(_MARKS):
            fence = bare[: len(bare) - len(bare.lstrip(bare[0]))]
        elif fence and bare.startswith(fence) and not bare.strip(fence[0]):
            fence = ""
    return fence
