"""Referral codes: short enough to read aloud, but not guessable.

A code is a keyed digest. It has no vowels, which keeps words out of it, and no characters that look
alike.
"""

from hermes.errors import BadRequest

LETTERS = "34679CDFGHJKMNPQRTWXY"
LENGTH = 10


def code_from(digest: bytes) -> str:
    """Return the code of a digest."""
    number, letters = int.from_bytes(digest, "big"), []
    for _ in range(LENGTH):
        number, rest = divmod(number, len(LETTERS))
        letters.append(LETTERS[rest])
    return "".join(letters)


def spoken(code: str) -> str:
    """Return a code in the form that people are shown."""
    middle = LENGTH // 2
    return f"{code[:middle]}-{code[middle:]}"


def read_code(text: str) -> str:
    """Return the code that somebody wrote; raises `BadRequest` if it cannot be one."""
    code = "".join(text.upper().replace("-", " ").split())
    if len(code) != LENGTH or not set(code) <= set(LETTERS):
        raise BadRequest(
            f"{text.strip()[:40]!r} is not a referral code: a code has {LENGTH} letters and digits, "
            "such as K7QM4-XWP3H."
        )
    return code
