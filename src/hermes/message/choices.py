"""What people chose for a session, such as its model."""

from typing import Literal

import msgspec


class SessionChoices(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The choices of one session; they last until it starts again."""

    model: str | None = None
    reasoning: Literal["low", "medium", "high"] | None = None


NO_CHOICES = SessionChoices()
