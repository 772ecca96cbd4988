"""The end of a text that is still being written: a cursor, and a code block closed for now. Pure."""

from typing import Final

_MARKS: Final = ("```", "~~~")


def with_cursor(text: str, cursor: str, *, is_open: bool = False) -> str:
    """Return `text` with the cursor at its end, inside a code block that is open there.

    `is_open` says that the block goes on: what closes it at the end of a message is put there because
    the next one opens it again.
    """
    head, _, last = text.rpartition("\n")
    fence = open_fence(text)
    if fence:
        return f"{text}{_gap(text, fence)}{cursor}\n{fence}"
    closed = open_fence(head)
    if not closed:
        return text + cursor
    # Behind the marks, on their line, the cursor would make them part of the code.
    if is_open:
        return f"{head}{_gap(head, closed)}{cursor}\n{last}"
    return f"{text}\n{cursor.lstrip()}"


def _gap(text: str, fence: str) -> str:
    """Return what keeps the cursor off the line that opens a block, where the language is named."""
    return "\n" if text.rpartition("\n")[2].strip().startswith(fence) else ""


def open_fence(text: str) -> str:
    """Return the marks that close the code block which is open at the end of `text`, if one is."""
    fence = ""
    for line in text.split("\n"):
        bare = line.strip()
        if not fence and bare.startswith(_MARKS):
            marks = bare[: len(bare) - len(bare.lstrip(bare[0]))]
            # Backticks behind them: code within a line, which opens no block.
            fence = "" if "`" in bare[len(marks) :] and marks[0] == "`" else marks
        elif fence and bare.startswith(fence) and not bare.strip(fence[0]):
            fence = ""
    return fence
