"""What a call costs by its tokens, and how tokens are counted where a service does not; pure."""

import msgspec

from hermes.message.reply import Usage

_CHARS_PER_TOKEN = 4
_MOST_TOKENS = 1_000_000_000
_COST_DIGITS = 9


class Rates(msgspec.Struct, frozen=True, kw_only=True):
    """Dollars per million tokens; without a cached rate, cached tokens cost as much as others."""

    read: float = 0.0
    written: float = 0.0
    cached: float | None = None


def priced(
    rates: Rates, *, tokens_in: int, tokens_out: int, cached_in: int = 0, reasoning_out: int = 0
) -> Usage:
    """Return the usage with its cost; `cached_in` is part of `tokens_in`."""
    cached_rate = rates.read if rates.cached is None else rates.cached
    cost = (
        (tokens_in - cached_in) * rates.read + cached_in * cached_rate + tokens_out * rates.written
    ) / 1_000_000
    return Usage(tokens_in, tokens_out, cached_in, reasoning_out, round(cost, _COST_DIGITS))


def counted(told: int | None) -> int:
    """Return a service's count within reason: what it tells ends up in ledgers."""
    return max(0, min(told or 0, _MOST_TOKENS))


def estimated(chars: int) -> int:
    """Return about how many tokens `chars` characters are."""
    return -(-chars // _CHARS_PER_TOKEN)
