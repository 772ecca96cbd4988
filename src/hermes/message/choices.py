"""What people chose for a session, such as its model."""

from typing import Literal

import msgspec

TaskType = Literal[
    "batch_processing",
    "code_generation",
    "automation_pipeline",
    "deep_reasoning",
    "large_reasoning",
]
"""What a prompt asks for, the more specific first; `large_reasoning` is asked for by name only."""


class SessionChoices(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The choices of one session; they last until it starts again. With a `task`, its route is used."""

    model: str | None = None
    reasoning: Literal["low", "medium", "high"] | None = None
    task: TaskType | None = None


NO_CHOICES = SessionChoices()
