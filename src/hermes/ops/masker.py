"""Masks secrets in log lines: known ones by value, unknown ones by their form or their key.

Runs on every line, so each form is first searched for as a plain substring; the patterns run only
on a hit. It knows no settings: the composition root passes in the secrets.
"""

import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

import msgspec

MASK = "****"
# A longer value of a log field is shortened in the middle. Nothing else limits a line, and every
# pattern reads all of it.
LONGEST_VALUE = 16_384
# What is read beyond a cut, at least, so that a secret across it is seen whole.
_BEYOND_CUT = 4096
# A shorter secret would mask ordinary words; it is masked only if it is the whole value.
_SHORTEST_PART = 6
# No plural for tokens: a count of tokens is not a secret.
_KEY = re.compile(
    r"(?:^|[_.-])(?:token|(?:secret|password|passphrase|api[_-]?key|authorization|cookie|credential)s?)$"
)
# What is never inside a token, and often beside one.
_BESIDE_TOKENS = " \t\n\"'`,;:&?()<>[]{}|\\"
_TOKEN_CHARS = re.compile(r"[A-Za-z0-9._-]*+")
_ASSIGNED = re.compile(r"(?i)(\b\w*(?:token|secret|password|key)=)[^\s&\"'\\]+")
# Each pattern with a plain substring of every match. There are few substrings, because every line
# is searched for each; the keys that Hermes is configured with are known by value anyway.
_LOOKS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("k-", re.compile(r"\b(?:sk|rk|pk)-[A-Za-z0-9_-]{8,}")),
    ("hk_", re.compile(r"\bhk_[A-Za-z0-9_-]{20,}")),
    ("hermes_", re.compile(r"\bhermes_[A-Za-z0-9_-]{43}\b")),
    ("earer ", re.compile(r"(?<=[Bb]earer )[A-Za-z0-9._~+/=-]{8,}")),
    ("asic ", re.compile(r"(?<=[Bb]asic )[A-Za-z0-9+/=]{12,}")),
    (
        # The second half is a token, the first is text that only begins like one: read once, and
        # kept.
        "eyJ",
        re.compile(
            r"(?P<kept>\beyJ[A-Za-z0-9_-]{8,}+(?!\.[A-Za-z0-9_-]++\.))"
            r"|\beyJ[A-Za-z0-9_-]{8,}+\.[A-Za-z0-9_-]++\.[A-Za-z0-9_-]*+"
        ),
    ),
    ("xox", re.compile(r"\bxox[a-z]-[A-Za-z0-9-]{8,}")),
    ("xapp-", re.compile(r"\bxapp-[A-Za-z0-9-]{8,}")),
    ("AIza", re.compile(r"\bAIza[A-Za-z0-9_-]{20,}")),
    (":AA", re.compile(r"(?<!\d)\d{6,}+:AA[A-Za-z0-9_-]{20,}")),
    *((hint, _ASSIGNED) for hint in ("oken=", "ecret=", "assword=", "ey=")),
    ("@", re.compile(r"(://)[^/@\s\"'][^:/@\s\"']*+:[^/@\s\"']++(?=@)")),
)


class Masker:
    """Masks secrets in log fields and in finished lines."""

    def __init__(self, secrets: Iterable[str]) -> None:
        self._whole: frozenset[str] = frozenset()
        self._pieces: tuple[str, ...] = ()
        self._beyond_cut = _BEYOND_CUT
        # Names the secrets that operators have stored; which they are changes while it runs.
        self.name_stored: Callable[[str], str] = str
        self.add(secrets)

    def add(self, secrets: Iterable[str]) -> None:
        """Also mask these secrets from now on."""
        known = self._whole | {secret for secret in secrets if secret}
        pieces = {
            form for secret in known if len(secret) >= _SHORTEST_PART for form in _forms(secret)
        }
        # Longest first, so that a secret that contains another one is masked whole.
        self._whole, self._pieces = known, tuple(sorted(pieces, key=len, reverse=True))
        self._beyond_cut = max(_BEYOND_CUT, len(self._pieces[0]) if self._pieces else 0)

    def fields(self, fields: dict[str, Any]) -> dict[str, Any]:
        """Return the fields, masking each value that is a secret or whose key names one."""
        for key, value in fields.items():
            if names_a_secret(key):
                return {name: self._field(name, item) for name, item in fields.items()}
            kind = type(value)
            if kind is str:
                if len(value) > LONGEST_VALUE or value in self._whole:
                    return {name: self._field(name, item) for name, item in fields.items()}
            elif kind in _CONTAINERS:
                return {name: self._field(name, item) for name, item in fields.items()}
        return fields

    def line(self, line: str) -> str:
        """Return the finished line with every known secret and everything that looks like one
        masked.
        """
        line = self.name_stored(line)
        for piece in self._pieces:
            if piece in line:
                line = line.replace(piece, MASK)
        for hint, pattern in _LOOKS:
            if hint in line:
                line = pattern.sub(_hide, line)
        return line

    # Any: log fields hold whatever the caller logged.
    def _field(self, key: str, value: Any) -> Any:
        if value is not None and names_a_secret(key):
            return MASK
        if isinstance(value, str):
            return MASK if value in self._whole else self._fitted(value)
        if isinstance(value, dict):
            return {name: self._field(str(name), item) for name, item in value.items()}
        if isinstance(value, list | tuple | set | frozenset):
            return [self._field("", item) for item in value]
        return value

    def _fitted(self, text: str) -> str:
        """Return a text with its middle left out if it is too long for a log line."""
        if len(text) <= LONGEST_VALUE:
            return text
        # As a whole: a stored secret may be longer than what is read beyond a cut.
        text = self.name_stored(text)
        half, beyond = LONGEST_VALUE // 2, self._beyond_cut
        first, last = _token_at(text, half), _token_at(text, len(text) - half)
        left_out = f" … {len(text) - 2 * half} characters left out … "
        # A mask is shorter than its secret, so what was read beyond the cut moves into the half: it
        # is dropped first, because it ends in the middle of whatever stands there.
        head = self.line(text[: half + beyond])[:-beyond][:half]
        if first is not None and first[1] > half + beyond:
            head = self.line(text[: first[0]]) + MASK
        tail = self.line(text[-half - beyond :])[beyond:][-half:]
        if last is not None and last[0] < len(text) - half - beyond:
            tail = MASK + self.line(text[last[1] :])
        return f"{head}{left_out}{tail}"


_CONTAINERS = frozenset({dict, list, tuple, set, frozenset})


@lru_cache(maxsize=2048)
def names_a_secret(key: str) -> bool:
    """Return whether a log key names a secret."""
    return _KEY.search(key.lower()) is not None


def _token_at(text: str, place: int) -> tuple[int, int] | None:
    """Return where the token begins and ends that a place is inside of, if it may be a JWT."""
    word = 1 + max(text.rfind(one, 0, place) for one in _BESIDE_TOKENS)
    begin = text.find("eyJ", word, place)
    found = _TOKEN_CHARS.match(text, place)
    return None if begin < 0 or found is None else (begin, found.end())


def _hide(found: re.Match[str]) -> str:
    if found.lastgroup == "kept":
        return found[0]
    kept = found[1] if found.re.groups else None
    return (kept or "") + MASK


def _forms(secret: str) -> tuple[str, ...]:
    """A secret in plain text, inside a JSON string, and inside Python's two kinds of quotes."""
    in_json = msgspec.json.encode(secret)[1:-1].decode()
    # With both kinds of quotes in a text, `repr` escapes the single ones.
    return secret, in_json, repr(secret)[1:-1], repr(f"{secret}\"'")[1:-4]
