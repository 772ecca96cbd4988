"""The hosts from which links in a model's answer may be fetched. Pure.

Names are compared in their ASCII form (IDNA), as the HTTP client looks them up.
"""

from collections.abc import Collection
from functools import lru_cache

from yarl import URL

_ANY_BELOW = "*."


def is_listed(host: str, hosts: Collection[str]) -> bool:
    """Return whether a host, by its ASCII name, is in a list.

    An entry `*.example.com` is every name below example.com. It may be in ASCII or not.
    """
    name = host.lower().rstrip(".")
    for known in map(_ascii, hosts):
        if name and name == known:
            return True
        if known.startswith(_ANY_BELOW) and name.endswith(known[1:]) and name != known[1:]:
            return True
    return False


def is_listed_link(url: str, hosts: Collection[str]) -> bool:
    """Return whether the host of an address is in a list."""
    try:
        host = URL(url).raw_host
    except ValueError:
        return False
    return host is not None and is_listed(host, hosts)


@lru_cache(maxsize=1_000)
def _ascii(entry: str) -> str:
    """Return the ASCII form of an entry, without a final dot; empty if it is not a host."""
    below = _ANY_BELOW if entry.startswith(_ANY_BELOW) else ""
    try:
        name = URL.build(scheme="https", host=entry.removeprefix(below)).raw_host
    except ValueError:
        return ""
    return f"{below}{name.rstrip('.')}" if name else ""
