"""The settings of scheduled jobs, and the time zone of this machine.

Part of config; what a schedule means is decided in `schedule`.
"""

from pathlib import Path
from typing import Annotated

from pydantic import Field

from hermes.config.section import Count, Section

_LOCAL_TIME = Path("/etc/localtime")
_ZONES = "zoneinfo/"
_UNIVERSAL = ("Etc/UTC", "Etc/UCT", "Etc/GMT", "Etc/Universal", "Etc/Zulu")


class CronSettings(Section):
    """Jobs that people schedule."""

    enabled: bool = Field(
        default=True,
        description="Whether scheduled jobs run; existing jobs are kept in either case.",
    )
    jobs_per_person: Annotated[int, Field(ge=0, le=100_000)] = Field(
        default=50, description="One person has at most this many jobs at a time."
    )
    text_chars: Count = Field(
        default=8_000, description="The text of a job has at most this many characters."
    )
    least_gap_s: Annotated[int, Field(ge=60, le=31_536_000)] = Field(
        default=60, description="Two runs of a job are at least this far apart."
    )


def system_zone() -> str:
    """Return the name of this machine's time zone; UTC where it has none."""
    _, found, name = str(_LOCAL_TIME.resolve()).partition(_ZONES)
    return name if found and name not in _UNIVERSAL else "UTC"
