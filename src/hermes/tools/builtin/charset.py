"""From a document's bytes to its text: which characters they stand for.

Pure. In the order of the HTML standard: a byte order mark, what the server said, what the page says
of itself; then UTF-8 where it fits, and Windows' Latin letters, which fit everything, as the last.
"""

import codecs
import re
from typing import Final

_LOOKED_AT: Final = 1024
_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_DECLARED: Final = re.compile(
    rb"""<(?:meta|\?xml)\s[^>]{0,300}?(?:charset|encoding)\s{0,9}=\s{0,9}["']?([\w.:-]{1,40})""",
    re.IGNORECASE,
)
# The web says Latin-1 and means Windows' code page; a page that calls itself UTF-16 was readable as
# ASCII, so it is none.
_MEANT: Final = {"iso8859-1": "cp1252", "ascii": "cp1252"}
# Encodings of names and of source text, which no page is written in.
_OF_PYTHON: Final = ("idna", "punycode", "unicode-escape", "undefined", "utf-7", "mbcs", "oem")


def decode_text(body: bytes, *, declared: str | None, is_markup: bool) -> str:
    """Return the text of `body`; what does not fit its characters is shown as U+FFFD."""
    for mark, name in _MARKS:
        if body.startswith(mark):
            return body[len(mark) :].decode(name, "replace")
    said = _known(declared)
    if said is None and is_markup:
        found = _DECLARED.search(body[:_LOOKED_AT])
        said = None if found is None else _known(found.group(1).decode("ascii"))
        said = "utf-8" if said is not None and said.startswith("utf-16") else said
    if said is not None:
        return body.decode(said, "replace")
    try:
        # Not the final piece: a cut may have halved the last character.
        codecs.getincrementaldecoder("utf-8")().decode(body, final=False)
    except UnicodeDecodeError:
        return body.decode("cp1252", "replace")
    return body.decode("utf-8", "replace")


def _known(name: str | None) -> str | None:
    """Return Python's name of a charset for texts, or None if it knows none."""
    if not name:
        return None
    try:
        found = codecs.lookup(name.strip("\"' "))
    except (LookupError, ValueError):
        return None
    is_for_text: bool = getattr(found, "_is_text_encoding", True)
    is_web = is_for_text and not found.name.replace("_", "-").endswith(_OF_PYTHON)
    return _MEANT.get(found.name, found.name) if is_web else None
