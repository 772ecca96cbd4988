"""Decodes HTML character references, whatever strangers write. Pure."""

import html
import re
from typing import Final

# Numbers too long for a character: reading them takes long, and from some length on raises.
_HUGE_NUMBER: Final = re.compile(r"&#(?:[0-9]{9,}+|[xX][0-9a-fA-F]{9,}+);?")


def unescape(text: str) -> str:
    """Return `text` with its character references replaced."""
    return html.unescape(_HUGE_NUMBER.sub("\ufffd", text)) if "&" in text else text
