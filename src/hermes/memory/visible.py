"""A text as a person sees it: composed, without invisible characters, whitespace as one space.

What only a machine can see is removed: controls, zero-width and direction marks, tags, fillers,
variation selectors without effect. What makes a visible difference stays: joiners inside emoji and
between letters that join, and the colours of emoji. Pure.
"""

import re
import unicodedata

# Flags of parts of a country are spelt in tags: the only ones that anybody sees.
_TAG_FLAGS = "|".join(
    "\U0001f3f4" + "".join(chr(0xE0000 + ord(letter)) for letter in place) + "\U000e007f"
    for place in ("gbeng", "gbsct", "gbwls")
)
_HIDDEN = re.compile(
    f"({_TAG_FLAGS})|"
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_PICTURE = "\u2190-\u2bff\U0001f000-\U0001faff"
_JOINING = f"\u0600-\u109f\u1780-\u17ff{_PICTURE}"
_STRAY_JOINER = re.compile(
    f"[\u200c\u200d](?![{_JOINING}])|(?<![{_JOINING}\ufe0f])[\u200c\u200d]|"
    f"(?<![#*0-9\xa9\xae\u203c\u2049\u2100-\u214f\u3000-\u32ff{_PICTURE}])[\ufe0e\ufe0f]"
)
_SURROGATE = re.compile("[\ud800-\udfff]")
_BLANKS = re.compile(r"[^\S\n\v\f\r\x85\u2028\u2029]{2,}|[^\S\n ]|\u2800")
_LINE_END = re.compile(r"[\n\v\f\r\x85\u2028\u2029]")
_GAP = re.compile(rf"\s{{2,}}|{_LINE_END.pattern}")
# No script piles more marks on one letter.
_MOST_MARKS = 4
# How many characters are read for each visible one: the others are hidden ones and blanks.
_MOST_UNSEEN = 64


def visible(text: str, most: int) -> str:
    """Return the first `most` characters of the visible text; line breaks stay, one each.

    After very many invisible characters the rest is not read.
    """
    seen = _SURROGATE.sub("\ufffd", text[: most * _MOST_UNSEEN])
    seen = _STRAY_JOINER.sub("", _HIDDEN.sub(r"\1", seen))
    seen = _GAP.sub(_gap, _BLANKS.sub(" ", seen)).strip()[:most]
    return seen if seen.isascii() else unicodedata.normalize("NFC", _thinned(seen))


def _gap(found: re.Match[str]) -> str:
    """Return one line break for whitespace that contains any, and other whitespace unchanged."""
    return "\n" if _LINE_END.search(found[0]) else found[0]


def _thinned(text: str) -> str:
    """Return a text without stacks of combining marks; composing a high one takes forever."""
    kept: list[str] = []
    height = 0
    for char in text:
        height = height + 1 if unicodedata.combining(char) else 0
        if height <= _MOST_MARKS:
            kept.append(char)
    return "".join(kept)
