"""Writes the model as canonical Markdown: parsed again, it is the same document. Pure."""

import re

from hermes.message.markup.escape import fence_of, inline
from hermes.message.markup.model import (
    Block,
    CodeBlock,
    Document,
    Heading,
    Items,
    Paragraph,
    Quote,
    Rule,
    Span,
    Table,
)

_BULLETS = "-*+"
_CLOSING = re.compile(r"(?<!\\)((?:\\\\)*)#$")
_HIGHEST_NUMBER = 999_999_999


def write(document: Document) -> str:
    """Return a document as Markdown."""
    return _blocks(document, around="")


def _blocks(blocks: Document, *, around: str) -> str:
    """Write blocks, the first of them on the line of the item's mark `around`, if there is one."""
    written: list[str] = []
    # Two consecutive lists are separate only if their marks differ.
    last = ""
    for block in blocks:
        if isinstance(block, Items):
            mark = _mark(block, last=last, around=around)
            written.append(_items(block, mark))
            last = mark
        else:
            written.append(_block(block, around=around))
            last = ""
        around = ""
    return "\n\n".join(written)


def _block(block: Block, *, around: str) -> str:
    match block:
        case Paragraph():
            return inline(block.spans)
        case Heading():
            return _heading(block)
        case CodeBlock():
            fence = fence_of(block.text, at_least=3)
            body = f"{block.text}\n" if block.text else ""
            return f"{fence}{block.language}\n{body}{fence}"
        case Quote():
            inner = _blocks(block.blocks, around="")
            return "\n".join(f"> {line}" if line else ">" for line in inner.split("\n"))
        case Table():
            return _table(block)
        case Rule():
            # After the mark of an item, dashes would be a rule without an item.
            return "___" if around else "---"
        case Items():
            return _items(block, _mark(block, last="", around=around))


def _mark(block: Items, *, last: str, around: str) -> str:
    if block.start is not None:
        return ")" if last == "." else "."
    return next(bullet for bullet in _BULLETS if bullet not in {last, around})


def _items(block: Items, mark: str) -> str:
    written: list[str] = []
    for number, item in enumerate(block.items, start=block.start or 0):
        is_bullet = block.start is None
        lead = f"{mark} " if is_bullet else f"{min(number, _HIGHEST_NUMBER)}{mark} "
        body = _item(item, around=mark)
        first, *others = body.split("\n")
        pad = " " * len(lead)
        written.append(f"{lead}{first}".rstrip() if not first else f"{lead}{first}")
        written.extend(f"{pad}{line}" if line else "" for line in others)
    return "\n".join(written)


def _item(item: Document, *, around: str) -> str:
    if len(item) == 2 and isinstance(item[0], Paragraph) and _may_follow(item[1]):
        return f"{_block(item[0], around=around)}\n{_block(item[1], around='')}"
    return _blocks(item, around=around)


def _may_follow(block: Block) -> bool:
    """Return whether a list may begin on the line after words."""
    return isinstance(block, Items) and block.start in {None, 1} and all(block.items[:1])


def _heading(block: Heading) -> str:
    # Marks at the end would be read as the closing of the title.
    title = _CLOSING.sub(r"\1\\#", inline(block.spans))
    return f"{'#' * block.level} {title}"


def _table(block: Table) -> str:
    rule = ("---",) * len(block.head)
    rows = (tuple(map(_cell, block.head)), rule, *(tuple(map(_cell, row)) for row in block.rows))
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _cell(spans: tuple[Span, ...]) -> str:
    return inline(spans).replace("|", "\\|")
