"""Which form of a request each generation of Claude accepts, derived from the model's name: data
only.

A name without a version counts as the newest generation; a name that is not a Claude model counts
as a compatible server that accepts what the earliest generation did.
"""

import re
from functools import lru_cache

import msgspec

# A name without a version is matched too, so that no part of it is read twice.
_VERSION = re.compile(r"claude(?:-[a-z]++)*+(?:-(\d{1,2})(?:[-.](\d{1,2})(?!\d))?)?")
_NEWEST = (99, 0)
_LONGEST_NAME = 400

Version = tuple[int, int]


class Traits(msgspec.Struct, frozen=True, kw_only=True):
    """What a model's requests may contain.

    `budget` is thinking with a number of tokens, `adaptive` thinking by effort; `sampling` are
    temperature and top_p; `schema` is a native output format.
    """

    budget: bool
    adaptive: bool
    sampling: bool
    schema: bool


# Claude 4.6 and later refuse a final assistant turn, and other models may ignore it.
PREFILL_MODELS = (
    "claude-[123]*",
    "claude-*-3-[0-9]*",
    "claude-*-4-[015]",
    "claude-*-4-[015]-*",
    "claude-*-4-20*",
)
_COMPATIBLE = Traits(budget=True, adaptive=False, sampling=True, schema=False)


@lru_cache(maxsize=256)
def traits_of(model: str) -> Traits:
    """Return what requests to `model` may contain."""
    if "claude" not in model:
        return _COMPATIBLE
    version = _version(model)
    return Traits(
        budget=(3, 7) <= version < (4, 7),
        adaptive=version >= (4, 6),
        sampling=version < (4, 7),
        schema=version >= (4, 5),
    )


def _version(model: str) -> Version:
    found = next((one for one in _VERSION.finditer(model[:_LONGEST_NAME]) if one[1]), None)
    if found is None:
        return _NEWEST
    return int(found[1]), int(found[2] or 0)
