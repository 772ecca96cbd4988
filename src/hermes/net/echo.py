"""Keeps what was sent to a service out of the words with which it fails.

Services like to quote a request that they refuse, and some show its headers. What they say is
logged, kept and told; neither people's words nor credentials are to be read there. It knows no
dialect: it compares texts, and only after a failure.
"""

from collections.abc import Mapping

MASK = "****"
# Shorter runs are alike by chance; a run without a space is a name, such as a model's.
_RUN = 16
# So much of the beginning of a credential gives it away: what a service says is cut somewhere.
_BEGINNING = 8
_NO_SECRETS = frozenset({"accept", "content-type", "user-agent"})


def without_echo(words: str, sent: bytes, *, headers: Mapping[str, str]) -> str:
    """Return a failure's words without what they quote of the request that caused it."""
    for name, value in headers.items():
        if name.lower() not in _NO_SECRETS:
            for part in value.split():
                words = _without(words, part)
    return _unquoted(words, sent.decode(errors="replace"))


def _without(words: str, secret: str) -> str:
    """Return the words without a secret, whole or cut off at its end."""
    if len(secret) < _BEGINNING:
        return words
    at = words.find(secret[:_BEGINNING])
    while at >= 0:
        end = at + _BEGINNING
        while end - at < len(secret) and words[at : end + 1] == secret[: end + 1 - at]:
            end += 1
        words = words[:at] + MASK + words[end:]
        at = words.find(secret[:_BEGINNING], at + len(MASK))
    return words


def _unquoted(words: str, sent: str) -> str:
    kept: list[str] = []
    at = 0
    while at < len(words):
        end = _end_of_run(words, at, sent=sent)
        if " " in words[at:end].strip():
            kept.append(MASK)
            at = end
        else:
            kept.append(words[at])
            at += 1
    return "".join(kept)


def _end_of_run(words: str, at: int, *, sent: str) -> int:
    """Return where that ends which stands in both, or `at` where too little does."""
    end = at + _RUN
    if end > len(words) or words[at:end] not in sent:
        return at
    while end < len(words) and words[at : end + 1] in sent:
        end += 1
    return end
