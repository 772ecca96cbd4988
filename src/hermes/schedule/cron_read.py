"""Reading a schedule, in cron syntax or plain words, with its time zone. Pure."""

import re
from typing import Final

from hermes.errors import BadRequest
from hermes.ports.cron import Rule
from hermes.schedule.cron_fields import is_cron, read_cron
from hermes.schedule.cron_words import EXAMPLES, read_words
from hermes.schedule.cron_zone import zone_of

_LONGEST: Final = 300
_SET_ZONE: Final = re.compile(r"(?:cron_)?tz=(\S+)\s+(.*)", re.IGNORECASE)
_CRON_ZONE: Final = re.compile(r"((?:\S+\s+){4}\S+|@\w+)\s+(?:in\s+)?\(?([A-Za-z][\w /+-]*)\)?")


def read_rule(text: str, *, zone: str, now: float) -> Rule:
    """Return the rule that a schedule means; `zone` holds where it names none.

    Raises `BadRequest`, which says what was not understood and shows how it can be written.
    """
    text = " ".join(text.split())
    if not text:
        shown = ", ".join(f"'{example}'" for example in EXAMPLES)
        raise BadRequest(f"The schedule is empty. Write it like {shown}.")
    if len(text) > _LONGEST:
        raise BadRequest(f"The schedule has {len(text)} characters; {_LONGEST} are enough for any.")
    named = _SET_ZONE.fullmatch(text)
    if named is not None:
        zone, text = zone_of(named[1]), named[2]
    if not is_cron(text):
        return read_words(text, zone=zone, now=now)
    placed = _CRON_ZONE.fullmatch(text)
    if placed is not None:
        return read_cron(placed[1], zone=zone_of(placed[2]))
    return read_cron(text, zone=zone)
