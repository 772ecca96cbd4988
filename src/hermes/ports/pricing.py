"""How tokens are counted: the service's number within reason, or an estimate if it gives none."""

_CHARS_PER_TOKEN = 4
_MOST_TOKENS = 1_000_000_000


def counted(told: int | None) -> int:
    """Return a service's count within reasonable limits, because it is written into ledgers."""
    if not told:
        return 0
    return told if 0 < told <= _MOST_TOKENS else max(0, min(told, _MOST_TOKENS))


def estimated(chars: int) -> int:
    """Return about how many tokens `chars` characters are."""
    return -(-chars // _CHARS_PER_TOKEN)
