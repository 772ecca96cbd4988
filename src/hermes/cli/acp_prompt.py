"""What an editor sends as a prompt, as the text of a message. Pure."""

from collections.abc import Iterable, Sequence
from typing import TypeAlias
from urllib.parse import unquote, urlsplit

from acp.schema import (
    AudioContentBlock,
    EmbeddedResourceContentBlock,
    ImageContentBlock,
    ResourceContentBlock,
    TextContentBlock,
    TextResourceContents,
)

from hermes.errors import BadRequest, TooLarge

Block: TypeAlias = (
    TextContentBlock
    | ImageContentBlock
    | AudioContentBlock
    | ResourceContentBlock
    | EmbeddedResourceContentBlock
)
# The limit of a message, and of a name in it.
MOST_LETTERS = 100_000
_MOST_NAME = 1_000
_FENCE = "```"


def prompt_text(blocks: Sequence[Block]) -> str:
    """Return a prompt as one text; raises for one that is empty, too long, or has more than text."""
    said = "".join(map(_said, blocks)).strip()
    text = "\n\n".join(filter(None, (said, *_attached(blocks))))
    if not text:
        raise BadRequest("The prompt is empty: write something.")
    if len(text) > MOST_LETTERS:
        raise TooLarge(
            f"The prompt has {len(text):,} letters with its files; a message can have at most "
            f"{MOST_LETTERS:,}. Attach less."
        )
    return text


def _said(block: Block) -> str:
    """Return what stands in the sentence itself: words, and the names of files."""
    match block:
        case TextContentBlock():
            return block.text
        case ResourceContentBlock():
            return f"[{_one_line(block.name)}]({_one_line(block.uri)})"
        case EmbeddedResourceContentBlock(resource=TextResourceContents()):
            return f"[{_name(block.resource.uri)}]"
        case EmbeddedResourceContentBlock():
            raise BadRequest(
                f"{_name(block.resource.uri)} is not a text: this agent takes texts from editors."
            )
    raise BadRequest("Pictures and sound cannot be sent from an editor; send a text.")


def _attached(blocks: Iterable[Block]) -> Iterable[str]:
    for block in blocks:
        if isinstance(block, EmbeddedResourceContentBlock):
            resource = block.resource
            if isinstance(resource, TextResourceContents):
                yield _fenced(_one_line(resource.uri), resource.text)


def _fenced(name: str, text: str) -> str:
    fence = _FENCE
    while fence in text:
        fence += "`"
    return f"[file: {name}]\n{fence}\n{text.rstrip()}\n{fence}"


def _name(uri: str) -> str:
    """Return the last part of an address."""
    return _one_line(unquote(urlsplit(uri).path.rpartition("/")[2]) or uri)


def _one_line(text: str) -> str:
    return " ".join(text.split())[:_MOST_NAME]
