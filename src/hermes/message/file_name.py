"""Makes file names from strangers safe to show, to store and to send. Pure."""

import unicodedata

_LONGEST = 100
_LONGEST_END = 12
_ODD = frozenset('<>:"|?*`[]()')


def safe_name(name: str | None) -> str | None:
    """Return the last piece of a name without invisible or misleading characters; None if none is
    left."""
    if not name:
        return None
    last = name[-1_000:].replace("\\", "/").rstrip("/").rpartition("/")[2]
    kept = "".join(_shown(letter) for letter in unicodedata.normalize("NFC", last))
    bare = " ".join(kept.split()).strip(". ")
    if len(bare) <= _LONGEST:
        return bare or None
    stem, dot, end = bare.rpartition(".")
    if not dot or len(end) > _LONGEST_END:
        return bare[:_LONGEST].rstrip(". ")
    return f"{stem[: _LONGEST - len(end) - 1].rstrip('. ')}.{end}"


def _shown(letter: str) -> str:
    """Return a letter, a space for line breaks, `_` for special characters, or nothing."""
    if letter in _ODD:
        return "_"
    kind = unicodedata.category(letter)
    if kind in ("Zs", "Zl", "Zp") or letter in "\t\n\r":
        return " "
    return "" if kind in ("Cc", "Cf", "Cs", "Co", "Cn") else letter
