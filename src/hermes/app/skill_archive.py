"""Fetches the archive of a skill for a command, through the guarded side of the HTTP client."""

from collections.abc import Iterable
from ipaddress import ip_address, ip_network
from urllib.parse import urlsplit

from hermes.app.adapters import make_client
from hermes.config import Settings
from hermes.errors import BadRequest, TooLarge
from hermes.net.client import HttpClient
from hermes.skills.package import MOST_DOWNLOADED

_SECONDS = 60.0
_SECURE = "https://"


async def fetch_archive(settings: Settings, url: str) -> bytes:
    """Return the archive at an address; raises `BadRequest`, `TooLarge` or `NetError`."""
    if not url.startswith(_SECURE) and not _is_exempt(url, settings.net.exempt):
        raise BadRequest(
            "Skills are fetched over https only, so that nobody on the way can change them: give an address that "
            f"begins with {_SECURE}"
        )
    client = make_client(settings)
    try:
        return await _fetched(client, url)
    finally:
        await client.close()


def _is_exempt(url: str, networks: Iterable[str]) -> bool:
    """Return whether an address is a number in a network that the settings open."""
    try:
        host = ip_address(urlsplit(url).hostname or "")
    except ValueError:
        return False
    return any(host in ip_network(network) for network in networks)


async def _fetched(client: HttpClient, url: str) -> bytes:
    async with client.request(
        "skill", "GET", url, headers={}, timeout_s=_SECONDS, trusted=False
    ) as response:
        if response.status != 200:
            raise BadRequest(
                f"The address answered with the status {response.status}, expected 200."
            )
        content = bytearray()
        while piece := await response.read_some():
            content += piece
            if len(content) > MOST_DOWNLOADED:
                raise TooLarge(f"The archive has more than {MOST_DOWNLOADED:,} bytes.")
        return bytes(content)
