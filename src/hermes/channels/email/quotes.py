"""Separates what a person wrote from the quoted text below it and from their signature. Pure.

Only quotes at the end are cut: an answer between quoted lines is left as it is, because it cannot
be understood without them.
"""

import re
from typing import Final, NamedTuple

_ORIGINAL: Final = re.compile(
    r"\s*-{2,}\s*(?:original message|forwarded message|ursprüngliche nachricht|message d'origine|"
    r"mensaje original|messaggio originale|oorspronkelijk bericht)\s*-{2,}\s*",
    re.I,
)
# "On Monday Ada wrote:" in the most common languages; it ends with a colon in all of them.
_SAID: Final = re.compile(
    r"(?:on|am|le|el|il|op|em|den|dnia|w dniu|pe|à|at)\b.{0,300}"
    r"(?:wrote|writes|schrieb|a écrit|escribió|ha scritto|schreef|escreveu|skrev|napisał\w*|scris).{0,200}[::]",
    re.I,
)  # fmt: skip
_FIELD: Final = re.compile(
    r"\*?(?:from|von|de|da|van|sent|gesendet|envoyé|enviado|inviato|verzonden|date|datum|to|an|à|para|a|aan|subject|betreff|objet|asunto|oggetto|onderwerp|cc)\s?:\*?\s.*",
    re.I,
)  # fmt: skip
_RULE: Final = re.compile(r"\s*_{10,}\s*")
_HEADERS_OF_A_QUOTE: Final = 3
_MAX_QUOTED: Final = 4000
_MAX_SIGNATURE_LINES: Final = 15


class MailText(NamedTuple):
    """The text of a mail, and the quote at its end."""

    text: str
    quoted: str


def cut(text: str) -> MailText:
    """Return the new and the quoted text; a mail that only quotes is left whole."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    end = _end_of_new(lines)
    new = "\n".join(_without_signature(lines[:end])).strip()
    if not new:
        return MailText(text.strip(), "")
    quoted = "\n".join(line.lstrip("> ") for line in lines[end:]).strip()
    return MailText(new, quoted[:_MAX_QUOTED])


def _end_of_new(lines: list[str]) -> int:
    for number, line in enumerate(lines):
        if _ORIGINAL.fullmatch(line[:200]) or _is_outlook(lines, number):
            return number
    return _before_quote(lines)


def _is_outlook(lines: list[str], number: int) -> bool:
    """Return whether a block of From, Sent, To and Subject begins here, perhaps under a rule."""
    first = number + 1 if _RULE.fullmatch(lines[number][:200]) else number
    block = [line[:400].strip() for line in lines[first : first + 6] if line.strip()]
    fields = sum(_FIELD.fullmatch(line) is not None for line in block[:5])
    is_first = bool(block) and _FIELD.fullmatch(block[0]) is not None
    return is_first and fields > _HEADERS_OF_A_QUOTE


def _before_quote(lines: list[str]) -> int:
    """Return where the quoted lines at the end begin, including the line that names the quoted
    person.
    """
    at = len(lines)
    has_quote = False
    while at and (not lines[at - 1].strip() or lines[at - 1].lstrip().startswith(">")):
        has_quote = has_quote or bool(lines[at - 1].strip())
        at -= 1
    if not has_quote:
        return len(lines)
    # The attribution line may be broken into two or three.
    for height in (1, 2, 3):
        said = " ".join(line.strip() for line in lines[max(0, at - height) : at])
        if _SAID.fullmatch(said[:600]):
            return max(0, at - height)
    return at


def _without_signature(lines: list[str]) -> list[str]:
    for number in range(len(lines) - 1, max(-1, len(lines) - _MAX_SIGNATURE_LINES - 2), -1):
        if lines[number] in {"-- ", "--", "—"}:
            return lines[:number]
    return lines
