"""`/v1/responses/{id}`: returns a stored response and what it answers, and deletes it."""

from collections.abc import Awaitable, Callable

import msgspec

from hermes.errors import BadRequest, HermesError
from hermes.http.route import Answer, HttpExchange, refuse_url_credentials
from hermes.ports.channel import HttpResponse
from hermes.server.v1.callers import ApiCaller, Callers
from hermes.server.v1.input_items import write_input_items
from hermes.server.v1.openai_errors import openai_refusal
from hermes.server.v1.rate_headers import openai_rate, rate_behind, with_headers
from hermes.server.v1.stored_responses import StoredResponses

_encode = msgspec.json.Encoder().encode
_Work = Callable[[str, ApiCaller], Awaitable[bytes]]


class ResponsesById:
    """The endpoints of one stored response; every error has OpenAI's shape."""

    def __init__(self, stored: StoredResponses, callers: Callers) -> None:
        self._stored = stored
        self._callers = callers

    async def get(self, exchange: HttpExchange) -> Answer:
        """Return the response as it was sent."""

        async def work(response_id: str, caller: ApiCaller) -> bytes:
            if exchange.query().get("stream", "false") != "false":
                raise BadRequest(
                    "stream cannot be honoured here: a stored response is whole; leave it out."
                )
            return await self._stored.answer(response_id, caller=caller)

        return await self._answer(exchange, work)

    async def delete(self, exchange: HttpExchange) -> Answer:
        """Delete the response."""

        async def work(response_id: str, caller: ApiCaller) -> bytes:
            await self._stored.delete(response_id, caller=caller)
            return _encode({"id": response_id, "object": "response", "deleted": True})

        return await self._answer(exchange, work)

    async def input_items(self, exchange: HttpExchange) -> Answer:
        """Return a page of the items that the response answers."""

        async def work(response_id: str, caller: ApiCaller) -> bytes:
            found = await self._stored.conversation(response_id, caller=caller)
            return write_input_items(found, exchange.query())

        return await self._answer(exchange, work)

    async def _answer(self, exchange: HttpExchange, work: _Work) -> Answer:
        try:
            refuse_url_credentials(exchange)
            caller = await self._callers.check(exchange.headers)
            body = await work(exchange.parameter("id"), caller)
            return HttpResponse(body=body, headers=openai_rate(caller.rate))
        except HermesError as error:
            # OpenAI's headers say how long, not until when.
            return with_headers(openai_refusal(error), openai_rate(rate_behind(error, at=0.0)))
