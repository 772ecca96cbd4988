"""Which hosts the links that a model writes may be fetched from. Pure."""

from collections.abc import Collection
from urllib.parse import urlsplit

_ANY_BELOW = "*."


def is_listed(host: str, hosts: Collection[str]) -> bool:
    """Tell whether a host is in a list; an entry `*.example.com` is every name below example.com."""
    name = host.lower().rstrip(".")
    for entry in hosts:
        known = entry.lower().rstrip(".")
        if name == known:
            return True
        if known.startswith(_ANY_BELOW) and name.endswith(known[1:]) and name != known[1:]:
            return True
    return False


def is_listed_link(url: str, hosts: Collection[str]) -> bool:
    """Tell whether the host of an address is in a list."""
    try:
        host = urlsplit(url).hostname
    except ValueError:
        return False
    return host is not None and is_listed(host, hosts)
