"""Reads the card of a remote agent, and checks what it says: cards are written by strangers."""

from typing import Any, Final

import msgspec
from a2a.client.card_resolver import parse_agent_card
from a2a.types import a2a_pb2 as pb
from google.protobuf.json_format import ParseError
from yarl import URL

from hermes.errors import AdapterError, AddressRefused
from hermes.net.client import HttpClient
from hermes.net.untrusted_url import read_url

_PLACES: Final = ("/.well-known/agent-card.json", "/.well-known/agent.json")
_BINDING: Final = "JSONRPC"
_MOST_BYTES: Final = 262_144
_SECONDS: Final = 15.0
_DEEPEST: Final = 30
_MOST_VALUES: Final = 10_000
_LONGEST_NAME: Final = 200


async def fetch_card(url: str, *, key: str, client: HttpClient) -> pb.AgentCard:
    """Return the card at an address: of the card itself, or below which it is.

    Its interfaces are those that may be called: over JSON-RPC, where the card came from.
    """
    try:
        base = read_url(url)
    except AddressRefused as error:
        raise AdapterError(f"{url[:200]!r} is no address of an agent: {error}") from None
    is_card = base.path.endswith(".json")
    places = (str(base),) if is_card else tuple(f"{str(base).rstrip('/')}{one}" for one in _PLACES)
    for place in places:
        body = await _get(place, key=key, client=client)
        if body is not None:
            return _checked(_parsed(body, place), base)
    raise AdapterError(f"there is no agent card at {places[0]}: check the address")


async def _get(url: str, *, key: str, client: HttpClient) -> bytes | None:
    """Return what is at an address; None if nothing is there."""
    host = URL(url).raw_host
    headers = {"accept": "application/json", "accept-encoding": "identity"}
    call = client.request(
        "a2a_card",
        "GET",
        url,
        headers={**headers, "authorization": f"Bearer {key}"} if key else headers,
        timeout_s=_SECONDS,
        trusted=False,
        may_ask=lambda found: found == host,
    )
    async with call as response:
        if response.status == 404:
            return None
        if response.status in (401, 403):
            raise AdapterError(f"{host} shows its agent card only with a key: name a secret")
        if response.status != 200:
            raise AdapterError(f"{host} answered {response.status} instead of its agent card")
        return await response.read(_MOST_BYTES)


def _parsed(body: bytes, place: str) -> pb.AgentCard:
    try:
        content = msgspec.json.decode(body)
        _check_size(content)
        card = parse_agent_card(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, ParseError) as problem:
        raise AdapterError(f"what is at {place} is no agent card: {str(problem)[:300]}") from None
    # The SDK's own reader of old cards raises whatever a wrong type raises.
    except (AttributeError, TypeError, ValueError, KeyError) as problem:
        raise AdapterError(f"what is at {place} is no agent card: {str(problem)[:300]}") from None
    if not card.name or len(card.name) > _LONGEST_NAME:
        raise AdapterError(f"the agent card at {place} has no name, or a very long one")
    return card


# Any: JSON.
def _check_size(content: Any) -> None:
    """Raise for JSON that is too deep or has too many values, which the SDK reads slowly."""
    level, count = [content], 0
    for _ in range(_DEEPEST):
        level = [
            one
            for value in level
            if isinstance(value, dict | list)
            for one in (value.values() if isinstance(value, dict) else value)
        ]
        if not level:
            return
        count += len(level)
        if count > _MOST_VALUES:
            raise AdapterError(f"the agent card has more than {_MOST_VALUES:,} values")
    raise AdapterError(f"the agent card is nested more than {_DEEPEST} levels deep")


def _checked(card: pb.AgentCard, base: URL) -> pb.AgentCard:
    """Return a card with the interfaces alone that may be called."""
    spoken = [one for one in card.supported_interfaces if one.protocol_binding == _BINDING]
    if not spoken:
        raise AdapterError(f"the agent {card.name!r} does not speak JSON-RPC, says its card")
    ours = [one for one in spoken if _origin(one.url) == base.origin()]
    if not ours:
        raise AdapterError(
            f"the card of the agent {card.name!r} names {spoken[0].url[:200]!r} for calls, which is "
            f"not on {base.origin()}: nothing is sent there"
        )
    del card.supported_interfaces[:]
    card.supported_interfaces.extend(ours)
    return card


def _origin(url: str) -> URL | None:
    try:
        return read_url(url).origin()
    except (AddressRefused, ValueError):
        return None
