"""How often a preview may be edited: by time or by new text, slower when the platform objects.

Pure; the preview keeps one of these and asks it before every edit.
"""

import msgspec

from hermes.outbox.intervals import PreviewTiming


class EditRate(msgspec.Struct, frozen=True, kw_only=True):
    """The current rhythm: the interval, how often it was too fast, and when it last showed."""

    interval_s: float
    strikes: int = 0
    struck: bool = False
    shown_at: float | None = None
    not_before: float = 0.0


def wait_for(pace: EditRate, now: float, *, new_chars: int, timing: PreviewTiming) -> float:
    """Return how long to wait before showing `new_chars` more; 0 when it may be shown now."""
    held = max(0.0, pace.not_before - now)
    if pace.shown_at is None:
        return held
    # After a complaint only time counts: much text must not bring the next one about.
    if new_chars >= timing.min_chars and not pace.struck:
        return held
    return max(held, pace.shown_at + pace.interval_s - now)


def after_show(pace: EditRate, now: float) -> EditRate:
    """Return the pace after an edit went through; a slower interval stays."""
    return msgspec.structs.replace(pace, shown_at=now, strikes=0)


def after_strike(pace: EditRate, now: float, *, retry_after: float | None) -> EditRate:
    """Return the pace after the platform refused an edit for now: twice as slow."""
    interval_s = pace.interval_s * 2
    return EditRate(
        interval_s=interval_s,
        strikes=pace.strikes + 1,
        struck=True,
        shown_at=pace.shown_at,
        not_before=now + max(interval_s, retry_after or 0.0),
    )
