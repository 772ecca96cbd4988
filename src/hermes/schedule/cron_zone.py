"""Finds time zones by the names people use: `Europe/Berlin`, `Berlin`, `new york`, `UTC`.

Reads the time zones of this system, or of the package tzdata. Cities without a zone of their own
are listed here.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Final
from zoneinfo import ZoneInfo, available_timezones

from hermes.errors import BadRequest
from hermes.similar_words import near_words

_CITIES: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "America/Los_Angeles": ("san francisco", "seattle", "san diego", "las vegas", "portland"),
        "America/New_York": (
            *("boston", "washington", "miami", "atlanta", "philadelphia", "nyc"),
            *("washington dc", "brooklyn", "orlando"),
        ),
        "America/Chicago": ("dallas", "houston", "austin", "san antonio", "new orleans"),
        "America/Denver": ("salt lake city", "boulder", "santa fe"),
        "America/Toronto": ("montreal", "ottawa", "quebec"),
        "America/Edmonton": ("calgary",),
        "America/Sao_Paulo": ("rio de janeiro", "rio", "brasilia"),
        "Europe/London": ("edinburgh", "manchester", "glasgow", "cardiff", "liverpool"),
        "Europe/Berlin": ("munich", "hamburg", "frankfurt", "cologne", "stuttgart", "leipzig"),
        "Europe/Paris": ("lyon", "marseille", "nice", "toulouse", "bordeaux"),
        "Europe/Madrid": ("barcelona", "valencia", "seville"),
        "Europe/Rome": ("milan", "naples", "turin", "florence", "venice"),
        "Europe/Zurich": ("geneva", "basel", "bern"),
        "Europe/Vienna": ("salzburg", "graz"),
        "Europe/Warsaw": ("krakow", "gdansk"),
        "Europe/Kiev": ("kyiv", "lviv", "odesa"),
        "Europe/Lisbon": ("porto",),
        "Europe/Amsterdam": ("rotterdam", "the hague"),
        "Europe/Moscow": ("saint petersburg", "st petersburg"),
        "Asia/Kolkata": ("mumbai", "delhi", "new delhi", "bangalore", "bengaluru", "chennai"),
        "Asia/Shanghai": ("beijing", "shenzhen", "guangzhou"),
        "Asia/Tokyo": ("osaka", "kyoto", "yokohama"),
        "Asia/Makassar": ("bali", "ubud", "denpasar", "canggu"),
        "Asia/Ho_Chi_Minh": ("hanoi", "saigon", "ho chi minh city"),
        "Asia/Bangkok": ("chiang mai", "phuket"),
        "Asia/Dubai": ("abu dhabi",),
        "Asia/Jerusalem": ("tel aviv",),
        "Asia/Riyadh": ("jeddah", "mecca"),
        "Asia/Karachi": ("islamabad", "lahore"),
        "Australia/Sydney": ("canberra",),
        "Australia/Brisbane": ("gold coast",),
        "Africa/Johannesburg": ("cape town", "pretoria"),
        "Pacific/Auckland": ("wellington",),
        "UTC": ("gmt", "z", "zulu"),
    }
)


def find_zone(name: str) -> str | None:
    """Return the zone that a name means; None if it is unknown."""
    wanted = _common(name)
    return _names().get(wanted) if wanted else None


def zone_of(name: str) -> str:
    """Return the zone that a name means; raises with the most similar names."""
    found = find_zone(name)
    if found is None:
        near = near_words(_common(name), _names(), most=3)
        hint = f" Did you mean {' or '.join(_names()[one] for one in near)}?" if near else ""
        raise BadRequest(
            f"{name[:60]!r} is not a known time zone: name a large city, such as Berlin, or a "
            f"zone, such as Europe/Berlin or UTC.{hint}"
        )
    return found


def _common(name: str) -> str:
    return " ".join(name.casefold().replace("_", " ").replace(".", " ").split())


@lru_cache(maxsize=1)
def _names() -> Mapping[str, str]:
    zones = sorted(available_timezones())
    known = dict(_last_words(zones))
    for zone, cities in _CITIES.items():
        if zone in zones:
            known |= {city: zone for city in cities if zone == "UTC" or city not in known}
    known |= {_common(zone): zone for zone in zones if _is_zone(zone)}
    return MappingProxyType(known | {"utc": "UTC", "gmt": "UTC"})


def _last_words(zones: Iterable[str]) -> Iterable[tuple[str, str]]:
    """Return zones by their cities; a city on two continents is left out."""
    seen: dict[str, str] = {}
    for zone in zones:
        area, _, city = zone.rpartition("/")
        if area and not area.startswith(("Etc", "posix", "right", "SystemV", "US", "Canada")):
            key = _common(city)
            seen[key] = "" if key in seen and not _is_alias(seen[key], zone) else zone
    return ((city, zone) for city, zone in seen.items() if zone)


def _is_alias(first: str, second: str) -> bool:
    """Return whether two zones of one city are equal, such as America/Argentina/X and America/X."""
    return bool(first) and first.partition("/")[0] == second.partition("/")[0]


def _is_zone(name: str) -> bool:
    try:
        ZoneInfo(name)
    except (ValueError, OSError, KeyError):  # not found is a KeyError, a folder an OSError
        return False
    return True
