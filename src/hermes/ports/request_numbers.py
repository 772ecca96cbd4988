"""Bounds of the numbers in operator requests.

Each fits a column of the database, a clock and JSON. What is sensible for a field is checked by the
function of its order, in words of its own; these bounds keep everything before it countable.
"""

from typing import Annotated

from msgspec import Meta

_LARGEST = 2**53
# The last second of the year 9999, after which no date can be written.
_LAST_SECOND = 253_402_300_799

WholeNumber = Annotated[int, Meta(ge=-_LARGEST, le=_LARGEST)]
Quantity = Annotated[float, Meta(ge=-_LARGEST, le=_LARGEST)]
Instant = Annotated[float, Meta(ge=-_LAST_SECOND, le=_LAST_SECOND)]
