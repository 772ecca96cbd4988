"""Makes text from an MCP server safe to store, log and show to models.

A server's text is untrusted. Here invisible characters, excess length and the secrets that the
server was given are removed.
"""

import re
from collections.abc import Callable, Iterable

# Control codes except tab and line feed, direction marks, invisible characters and the tag block,
# in which whole hidden messages can be written. Joiners stay: emoji need them.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e0fff]"
)
_CUT = "…"
MASK = "****"
# A shorter secret would mask ordinary words.
_SHORTEST_SECRET = 6


def cleaned(text: str, limit: int) -> str:
    """Return text without invisible characters, at most `limit` characters long."""
    # Cut first, with room for what is removed: a long text is not worth searching to its end.
    seen = _UNSEEN.sub("", text[: 2 * limit].replace("\r\n", "\n"))
    return seen if len(seen) <= limit and len(text) <= 2 * limit else seen[: limit - 1] + _CUT


def one_line(text: str, limit: int) -> str:
    """Return text on one line, for logs, lists and errors."""
    return cleaned(" ".join(text[: 4 * limit].split()), limit)


class Scrubber:
    """Masks secrets in the texts of a server: those that it was given, after what `mask` masks."""

    def __init__(self, secrets: Iterable[str], *, mask: Callable[[str], str] = str) -> None:
        self._mask = mask
        self._secrets: list[str] = []
        self.add(*secrets)

    def add(self, *secrets: str) -> None:
        """Mask these, too."""
        # `Bearer abc` is two words: the server knows the second alone.
        words = {word for secret in secrets for word in (secret, *secret.split())}
        kept = {word for word in words if len(word) >= _SHORTEST_SECRET}
        self._secrets = sorted(kept.union(self._secrets), key=len, reverse=True)

    def scrub(self, text: str) -> str:
        """Return text with every secret masked."""
        text = self._mask(text)
        for secret in self._secrets:
            if secret in text:
                text = text.replace(secret, MASK)
        return text
