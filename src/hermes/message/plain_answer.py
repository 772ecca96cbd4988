"""Parses a yes/no answer to a pending question. Pure."""

_YES = frozenset({"yes", "y", "yep", "yeah", "ja", "oui", "si", "sí", "sim", "да", "はい", "是"})
_NO = frozenset({"no", "n", "nope", "nein", "non", "não", "нет", "いいえ", "否"})
_LONGEST = 12
_AROUND = " \t\n.!,;。！、"


def plain_answer(text: str) -> bool | None:
    """Return True for a yes, False for a no, None for everything else."""
    if len(text) > _LONGEST:
        return None
    word = text.strip(_AROUND).casefold()
    if word in _YES:
        return True
    return False if word in _NO else None
