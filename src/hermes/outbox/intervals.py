"""Timeouts, intervals and numbers of tries of the outbox; `app` fills them from the settings."""

import msgspec


class OutboxTiming(msgspec.Struct, frozen=True, kw_only=True):
    """The sender's numbers, in seconds unless stated otherwise.

    `quick_delays_s` are the delays before each try of one series (the first is before the first
    try); `later_delays_s` are the delays before the later series.
    """

    quick_delays_s: tuple[float, ...] = (0.0, 1.0, 3.0, 9.0)
    later_delays_s: tuple[float, ...] = (60.0, 300.0, 1500.0)
    jitter: float = 0.25
    max_age_s: float = 3600.0
    send_timeout_s: float = 10.0
    breaker_failures: int = 10
    breaker_window_s: float = 300.0
    breaker_open_s: float = 120.0
    parallel_chats: int = 32
    idle_poll_s: float = 5.0
    settle_after_s: float = 1.0
    look_after_s: float = 5.0
    look_again_s: float = 60.0
    store_pause_s: float = 2.0
    drain_s: float = 15.0
    fresh_after_s: float = 60.0
    credential_wait_s: float = 10.0


class PreviewTiming(msgspec.Struct, frozen=True, kw_only=True):
    """The numbers of the previews."""

    interval_s: float = 0.8
    min_chars: int = 24
    cursor: str = " ▉"
    slow_down: float = 2.0
    max_strikes: int = 3
    send_timeout_s: float = 10.0
    close_wait_s: float = 10.0
    idle_poll_s: float = 5.0
    store_pause_s: float = 2.0
    rate_poll_s: float = 0.25
