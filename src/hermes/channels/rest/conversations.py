"""`GET /api/conversations/{name}`: what was said in a conversation of a sender."""

from collections.abc import Mapping, Sequence
from typing import Final

from starlette.routing import Route

from hermes.channels.rest.inbound import check_sender
from hermes.errors import BadRequest
from hermes.http.conversation import ConversationMessages, conversation_messages, read_page
from hermes.http.json_body import json_response
from hermes.http.route import Answer, Endpoint, HttpExchange, refuse_url_credentials
from hermes.ports.gateway_api import ApiEndpoint, GatewayApi

_LONGEST: Final = 200
_MOST: Final = 100
_QUERY: Final[Mapping[str, str]] = {
    "sender": "whose conversation, as in a message; required",
    "agent": "the agent, if the conversation is with another than the rules choose",
    "limit": f"how many messages, at most and by default {_MOST}",
    "before": "the `earlier` of another answer: what was said before that",
}


class ConversationsApi:
    """The routes under `/api/conversations`."""

    def __init__(self, gateway_api: GatewayApi) -> None:
        self._gateway_api = gateway_api

    def routes(self) -> Sequence[Route]:
        """Return the routes to mount."""
        return (Route("/api/conversations/{name}", Endpoint({"GET": self.get})),)

    async def get(self, exchange: HttpExchange) -> Answer:
        """Return the newest messages of a conversation, oldest first."""
        refuse_url_credentials(exchange)
        caller = await self._gateway_api.authenticate(exchange.headers)
        query = exchange.query()
        if unknown := sorted(query.keys() - _QUERY.keys()):
            raise BadRequest(
                f"The query {unknown[0][:80]!r} is not known: use {', '.join(_QUERY)}."
            )
        sender = query.get("sender", "")
        if not 0 < len(sender) <= _LONGEST:
            raise BadRequest(
                f"Name the 'sender' whose conversation it is, in at most {_LONGEST} letters."
            )
        check_sender(sender, caller)
        name, agent = exchange.parameter("name"), query.get("agent") or None
        chat = name
        if agent is not None:
            source = await self._gateway_api.call_source(
                agent, platform="rest", caller=sender, context_id=name
            )
            chat = source.chat_id
        asked = read_page(query, most=_MOST)
        page = await self._gateway_api.conversation(
            "rest", chat, limit=asked.limit, user_id=sender, before=asked.before, agent=agent
        )
        return json_response(conversation_messages(name, page))


def conversation_endpoints() -> Sequence[ApiEndpoint]:
    """Return the endpoints, for OpenAPI."""
    return (
        ApiEndpoint(
            name="conversations.get",
            method="GET",
            path="/api/conversations/{name}",
            group="Messages",
            summary="Return the newest messages of a sender's conversation, oldest first.",
            report=ConversationMessages,
            query=_QUERY,
        ),
    )
