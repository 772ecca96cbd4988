"""What an operator writes about a caller's key, read: how much it may spend, and how long it lasts.

Words in, values out; whoever takes such words, a terminal or a chat, reads them here.
"""

import re

from hermes.errors import BadRequest
from hermes.ports.keys import BudgetPeriod

_USD = re.compile(r"\$?(?P<amount>\d{1,12}(?:\.\d{1,6})?)(?:/(?P<period>day|month))?", re.ASCII)
_TOKENS = re.compile(r"(?P<amount>\d{1,15})(?:/(?P<period>day|month))?", re.ASCII)
_LIFETIME = re.compile(r"(?P<amount>\d{1,6})(?P<unit>[mhdw])", re.ASCII)
_SECONDS = {"m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
_PERIODS: dict[str | None, BudgetPeriod] = {None: "total", "day": "day", "month": "month"}


def usd_budget(text: str) -> tuple[float, BudgetPeriod]:
    """Return the dollars in a text such as `5`, `5/day` or `0.50/month`, and how often."""
    found = _USD.fullmatch(text.strip())
    if found is None:
        raise BadRequest(
            f"{text!r} is no budget: expected dollars, alone (in all), a day or a month, such as "
            "5, 5/day or 0.50/month."
        )
    return float(found["amount"]), _PERIODS[found["period"]]


def token_budget(text: str) -> tuple[int, BudgetPeriod | None]:
    """Return the tokens in a text such as `50000` or `50000/day`, and how often, if it says so."""
    found = _TOKENS.fullmatch(text.strip().replace(",", "").replace("_", ""))
    if found is None:
        raise BadRequest(
            f"{text!r} is no number of tokens: expected a whole number, alone, a day or a month, "
            "such as 50000, 50000/day or 1000000/month."
        )
    return int(found["amount"]), None if found["period"] is None else _PERIODS[found["period"]]


def one_period(usd: str | None, tokens: str | None) -> BudgetPeriod:
    """Return the period of a key with these budgets; they must not name two."""
    of_usd = None if usd is None else usd_budget(usd)[1]
    of_tokens = None if tokens is None else token_budget(tokens)[1]
    if of_usd is not None and of_tokens is not None and of_usd != of_tokens:
        raise BadRequest(
            f"The budgets {usd!r} and {tokens!r} count over different times, and a key has one: "
            "write the same for both, or make two keys."
        )
    return of_usd or of_tokens or "total"


def lifetime(text: str) -> float:
    """Return the seconds in a text such as `30d`, `12h` or `4w`."""
    found = _LIFETIME.fullmatch(text.strip())
    if found is None or int(found["amount"]) == 0:
        raise BadRequest(
            f"{text!r} is no time: expected a number with m (minutes), h (hours), d (days) or w "
            "(weeks), such as 12h or 30d."
        )
    return float(int(found["amount"]) * _SECONDS[found["unit"]])


def model_patterns(text: str) -> tuple[str, ...]:
    """Return the patterns in a text such as `auto, openai:*, agent:main`."""
    patterns = tuple(dict.fromkeys(piece.strip() for piece in text.split(",") if piece.strip()))
    if not patterns:
        raise BadRequest(
            f"{text!r} names no model: expected patterns with commas between them, such as "
            "auto,openai:*,agent:main; without the option a key may use every model."
        )
    return patterns
