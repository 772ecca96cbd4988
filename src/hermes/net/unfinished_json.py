"""Whether a text of JSON stops in the middle: what was cut off, told apart from what is malformed.

A model may write malformed arguments, and is told so by the tool; arguments that stop in the
middle are the sign of an answer that is not whole, whatever its end says.
"""

import re

import msgspec

_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)


def is_unfinished(text: str) -> bool:
    """Tell whether `text` has begun a string, an object or a list that it does not end."""
    try:
        msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError):
        bare = _STRING.sub("", text)
        return '"' in bare or sum(map(bare.count, "{[")) > sum(map(bare.count, "}]"))
    return False
