"""Files that `hermes chat --file` sends: their text becomes part of the message.

The message's own limit bounds them, so a file is looked at before it is read.
"""

from collections.abc import Iterable
from pathlib import Path

from hermes.errors import BadRequest, TooLarge
from hermes.media.named_file import read_named_file
from hermes.message.file_name import safe_name

# A message has 100,000 letters; what a person writes beside the files needs some.
MOST_BYTES = 80_000
_FENCE = "```"


def attached_text(paths: Iterable[Path]) -> str:
    """Return the files as they stand in a message; raises for one that cannot be sent so."""
    pieces = [_piece(path) for path in paths]
    text = "\n\n".join(pieces)
    if len(text.encode()) > MOST_BYTES:
        raise TooLarge(
            f"The files have {len(text.encode()):,} bytes together: a message can have at most "
            f"{MOST_BYTES:,}. Send only some of them."
        )
    return text


def _piece(path: Path) -> str:
    text = _text_of(path)
    fence = _FENCE
    while fence in text:
        fence += "`"
    return f"[file: {safe_name(path.name) or 'file'}]\n{fence}\n{text.rstrip()}\n{fence}"


def _text_of(path: Path) -> str:
    data = read_named_file(path, most=MOST_BYTES, limit="fit into a message")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise BadRequest(
            f"{path} is not a text in UTF-8: the terminal sends text files. Send a picture or another "
            "file in the chat of a platform, such as Telegram."
        )
    return text
