"""Decodes HTML character references from strangers safely. Pure."""

import re
from typing import TYPE_CHECKING, Final

from hermes.lazy import lazy

if TYPE_CHECKING:
    from html import unescape as unescape_known
else:
    # Its table of 2,231 names takes half a megabyte.
    unescape_known = lazy("html:unescape")

# Numbers too long for a character: parsing them takes long, and beyond some length raises.
_HUGE_NUMBER: Final = re.compile(r"&#(?:[0-9]{9,}+|[xX][0-9a-fA-F]{9,}+);?")


def unescape(text: str) -> str:
    """Return `text` with its character references replaced."""
    return unescape_known(_HUGE_NUMBER.sub("\ufffd", text)) if "&" in text else text
