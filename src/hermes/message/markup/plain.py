"""Formatted text as readable plain text: for platforms without formatting, and previews. Pure."""

from hermes.message.markup.model import (
    Block,
    CodeBlock,
    Document,
    Heading,
    Items,
    Paragraph,
    Quote,
    Rule,
    Table,
)
from hermes.message.markup.span_text import words
from hermes.message.markup.tables import as_lines


def plain(document: Document) -> str:
    """Return a document as plain text."""
    return "\n".join(_lines(document))


def _lines(blocks: Document) -> list[str]:
    lines: list[str] = []
    for block in blocks:
        said = _block(block)
        if lines and said:
            lines.append("")
        lines.extend(said)
    return lines


def _block(block: Block) -> list[str]:
    match block:
        case Paragraph() | Heading():
            return words(block.spans).split("\n")
        case CodeBlock():
            return block.text.split("\n") if block.text.strip() else []
        case Quote():
            return [f"> {line}".rstrip() for line in _lines(block.blocks)]
        case Items():
            return _items(block)
        case Table():
            return list(as_lines(block))
        case Rule():
            return ["---"]


def _items(block: Items) -> list[str]:
    lines: list[str] = []
    for number, item in enumerate(block.items, start=block.start or 0):
        mark = "- " if block.start is None else f"{number}. "
        first, *others = _tight(item) or [""]
        lines.append(f"{mark}{first}".rstrip())
        lines.extend(f"{' ' * len(mark)}{line}".rstrip() for line in others)
    return lines


def _tight(item: Document) -> list[str]:
    """Return an item's lines, without an empty one before a list that belongs to its words."""
    lines: list[str] = []
    for block in item:
        said = _block(block)
        if lines and said and not isinstance(block, Items):
            lines.append("")
        lines.extend(said)
    return lines
