"""The SDK's own clients of both versions, pointed at a live gateway."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import httpx
from a2a.client import ClientConfig, ClientFactory
from a2a.client.card_resolver import A2ACardResolver
from a2a.client.client import Client
from a2a.types import a2a_pb2 as pb

from tests.system.live import Live

VERSIONS = ("1.0", "0.3")


@asynccontextmanager
async def a2a_client(
    live: Live,
    version: str,
    *,
    agent: str = "main",
    token: str = "",
    streaming: bool = False,
    **config: Any,
) -> AsyncIterator[Client]:
    """Yield a client that found the agent by its card and speaks one version."""
    bearer = {"authorization": f"Bearer {token or live.token}"}
    async with httpx.AsyncClient(headers=bearer, timeout=60) as http:
        card = await A2ACardResolver(http, f"{live.url}/workspaces/{agent}").get_agent_card()
        kept = [one for one in card.supported_interfaces if one.protocol_version == version]
        del card.supported_interfaces[:]
        card.supported_interfaces.extend(kept)
        settings = ClientConfig(httpx_client=http, streaming=streaming, **config)
        async with ClientFactory(settings).create(card) as client:
            yield client


def ask(text: str, *parts: pb.Part, **more: Any) -> pb.SendMessageRequest:
    """Return a request that sends a text, and further parts."""
    configuration = more.pop("configuration", None)
    message = pb.Message(
        role=pb.Role.ROLE_USER,
        message_id=more.pop("message_id", f"x-{text}"),
        parts=[pb.Part(text=text), *parts],
        **more,
    )
    return pb.SendMessageRequest(message=message, configuration=configuration)


async def said(client: Client, request: pb.SendMessageRequest) -> list[pb.StreamResponse]:
    """Return everything that is answered to a message."""
    return [event async for event in client.send_message(request)]


async def reply(client: Client, text: str, **more: Any) -> pb.Message:
    """Return the reply to a text."""
    (event,) = await said(client, ask(text, **more))
    return event.message


# Any: JSON.
async def raw(
    live: Live,
    body: Any,
    *,
    agent: str = "main",
    token: str = "",
    headers: Mapping[str, str] | None = None,
) -> Any:
    """Return the JSON that answers a raw request."""
    bearer = {"authorization": f"Bearer {token or live.token}", **(headers or {})}
    content = body if isinstance(body, bytes) else None
    async with httpx.AsyncClient(headers=bearer, timeout=60) as http:
        url = f"{live.url}/workspaces/{agent}/a2a"
        sent = await http.post(url, content=content, json=None if content is not None else body)
        return sent.json()
