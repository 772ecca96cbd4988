"""`/v1` as a channel: its routes, and the channel of the turns that `agent:NAME` runs.

`/mcp` is another door to it: the same keys, the same people, the same conversations.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import cache, cached_property
from typing import TYPE_CHECKING

from starlette.routing import Route

from hermes.control.models import ModelLine, models_report, with_bare_names
from hermes.errors import HermesError
from hermes.http.route import Answer, Endpoint, HttpExchange, refuse_url_credentials
from hermes.lazy import lazy
from hermes.ports.channel import Accept, Capabilities, HttpResponse
from hermes.ports.gateway_api import ApiEndpoint, GatewayApi
from hermes.routing.plan import CallNeeds
from hermes.server.mcp.endpoint import PATH as MCP_PATH
from hermes.server.mcp.endpoint import McpEndpoint
from hermes.server.v1.anthropic_errors import anthropic_refusal
from hermes.server.v1.callers import ApiCaller
from hermes.server.v1.embeddings import demands_of, read_embeddings, write_embeddings
from hermes.server.v1.models_list import ListedModel, speaks_anthropic, write_model, write_models
from hermes.server.v1.openai_errors import openai_refusal
from hermes.server.v1.rate_headers import (
    anthropic_rate,
    openai_rate,
    rate_behind,
    with_headers,
)
from hermes.server.v1.record import Record
from hermes.server.v1.serve import AUTO, V1Parts, allowed_plan, handler_of, new_record, stopping

if TYPE_CHECKING:
    from hermes.server.mcp.endpoints import mcp_endpoints
    from hermes.server.v1.chat import ChatDialect
    from hermes.server.v1.completions import CompletionsDialect
    from hermes.server.v1.endpoints import v1_endpoints
    from hermes.server.v1.messages import MessagesDialect
    from hermes.server.v1.responses import ResponsesDialect
    from hermes.server.v1.responses_by_id import ResponsesById
    from hermes.server.v1.stored_responses import StoredResponses
else:
    # Each is imported by the first call of its wire.
    ChatDialect = lazy("hermes.server.v1.chat:ChatDialect")
    CompletionsDialect = lazy("hermes.server.v1.completions:CompletionsDialect")
    MessagesDialect = lazy("hermes.server.v1.messages:MessagesDialect")
    ResponsesDialect = lazy("hermes.server.v1.responses:ResponsesDialect")
    ResponsesById = lazy("hermes.server.v1.responses_by_id:ResponsesById")
    StoredResponses = lazy("hermes.server.v1.stored_responses:StoredResponses")
    mcp_endpoints = lazy("hermes.server.mcp.endpoints:mcp_endpoints")
    v1_endpoints = lazy("hermes.server.v1.endpoints:v1_endpoints")

_BODY_S = 60.0
# More agents than these answer, but are not listed.
_MOST_AGENTS = 1_000

MakeParts = Callable[[GatewayApi], V1Parts]
MakeMcp = Callable[[V1Parts, GatewayApi], McpEndpoint]


class V1Channel:
    """The compatible endpoints as a channel; its transport is the HTTP server itself."""

    name = "v1"
    capabilities = Capabilities(delivery="pull", busy="queue", max_chars=1_000_000, answers=False)

    def __init__(self, make_parts: MakeParts, make_mcp: MakeMcp | None = None) -> None:
        self._make_parts = make_parts
        self._make_mcp = make_mcp
        self._mcp: McpEndpoint | None = None

    async def connect(self, accept: Accept) -> None:
        """Nothing to start: the server brings the requests."""

    async def disconnect(self) -> None:
        """End what still runs over MCP."""
        if self._mcp is not None:
            await self._mcp.close()

    def routes(self, gateway_api: GatewayApi) -> Sequence[Route]:
        """Return the routes to mount."""
        parts = self._make_parts(gateway_api)
        return (*_model_routes(parts), *self._mcp_routes(parts, gateway_api))

    def model_routes(self, gateway_api: GatewayApi) -> Sequence[Route]:
        """Return the routes under `/v1` alone, for programs that may call models and nothing else."""
        return _model_routes(self._make_parts(gateway_api))

    def _mcp_routes(self, parts: V1Parts, gateway_api: GatewayApi) -> Sequence[Route]:
        if self._make_mcp is None:
            return ()
        self._mcp = self._make_mcp(parts, gateway_api)
        return (Route(MCP_PATH, self._mcp),)

    def endpoints(self) -> Sequence[ApiEndpoint]:
        """Return the endpoints, for OpenAPI; only then are their shapes imported."""
        return (*v1_endpoints(), *(() if self._make_mcp is None else mcp_endpoints()))


def _model_routes(parts: V1Parts) -> Sequence[Route]:
    messages = cache(MessagesDialect)
    other = _Other(parts, messages)
    by_id = _ById(parts)
    return (
        Route(
            "/v1/chat/completions",
            Endpoint({"POST": handler_of(cache(ChatDialect), parts)}),
        ),
        Route(
            "/v1/completions",
            Endpoint({"POST": handler_of(cache(CompletionsDialect), parts)}),
        ),
        Route(
            "/v1/responses",
            Endpoint(
                {"POST": handler_of(cache(ResponsesDialect), parts, load_storage=by_id.load_stored)}
            ),
        ),
        Route("/v1/responses/{id}", Endpoint({"GET": by_id.get, "DELETE": by_id.delete})),
        Route("/v1/responses/{id}/input_items", Endpoint({"GET": by_id.input_items})),
        Route(
            "/v1/messages",
            Endpoint({"POST": handler_of(messages, parts, rates=anthropic_rate)}),
        ),
        Route("/v1/messages/count_tokens", Endpoint({"POST": other.count})),
        Route("/v1/embeddings", Endpoint({"POST": other.embed})),
        Route("/v1/models", Endpoint({"GET": other.models}, head=True)),
        Route("/v1/models/{id:path}", Endpoint({"GET": other.model})),
    )


class _ById:
    """The endpoints of stored responses, whose modules are imported by the first call."""

    def __init__(self, parts: V1Parts) -> None:
        self._parts = parts

    def load_stored(self) -> "StoredResponses":
        parts = self._parts
        return StoredResponses(parts.responses, settings=parts.settings.v1, clock=parts.clock)

    @cached_property
    def _responses(self) -> "ResponsesById":
        return ResponsesById(self.load_stored(), self._parts.callers)

    async def get(self, exchange: HttpExchange) -> Answer:
        return await self._responses.get(exchange)

    async def delete(self, exchange: HttpExchange) -> Answer:
        return await self._responses.delete(exchange)

    async def input_items(self, exchange: HttpExchange) -> Answer:
        return await self._responses.input_items(exchange)


class _Other:
    """The endpoints that are not conversations."""

    def __init__(self, parts: V1Parts, messages: Callable[[], "MessagesDialect"]) -> None:
        self._parts = parts
        self._messages = messages

    async def count(self, exchange: HttpExchange) -> Answer:
        try:
            caller = await self._caller(exchange)
            body = self._messages().count(await self._body(exchange))
            return HttpResponse(body=body, headers=anthropic_rate(caller.rate))
        except HermesError as error:
            return self._refusal(error, is_anthropic=True)

    async def models(self, exchange: HttpExchange) -> Answer:
        try:
            caller = await self._caller(exchange)
            listed = await self._listed(caller)
            body = write_models(listed, exchange.headers, query=exchange.query())
            return HttpResponse(body=body, headers=_rates(exchange, caller))
        except HermesError as error:
            return self._refusal(error, is_anthropic=speaks_anthropic(exchange.headers))

    async def model(self, exchange: HttpExchange) -> Answer:
        try:
            caller = await self._caller(exchange)
            listed = await self._listed(caller)
            body = write_model(listed, exchange.headers, model_id=exchange.parameter("id"))
            return HttpResponse(body=body, headers=_rates(exchange, caller))
        except HermesError as error:
            return self._refusal(error, is_anthropic=speaks_anthropic(exchange.headers))

    async def embed(self, exchange: HttpExchange) -> Answer:
        try:
            caller = await self._caller(exchange)
        except HermesError as error:
            return self._refusal(error, is_anthropic=False)
        record = new_record(self._parts, caller)
        try:
            return await self._embed(exchange, caller, record=record)
        except HermesError as error:
            record.failed(error)
            return record.refused(openai_refusal(error))
        except asyncio.CancelledError:
            record.failed(stopping())
            return record.refused(openai_refusal(stopping()))
        finally:
            record.write()

    async def _embed(self, exchange: HttpExchange, caller: ApiCaller, *, record: Record) -> Answer:
        parts = self._parts
        limit = parts.settings.v1.max_embedding_tokens
        call = read_embeddings(await self._body(exchange), max_tokens=limit)
        record.wanted = call.model
        ask = CallNeeds(capability="embeddings", model=call.model, options=demands_of(call))
        plan = allowed_plan(caller, call.model, await parts.planner.plan(ask))
        embedding = await parts.embeddings.run(
            call.texts,
            plan,
            payer=caller.payer(),
            receipt=record.receipt,
            tell=record.hear,
            dimensions=call.dimensions,
        )
        record.answered()
        headers = {"x-request-id": record.stamp.id, **openai_rate(caller.rate)}
        if call.ignored:
            headers["x-hermes-ignored"] = ", ".join(call.ignored)[:500]
        return HttpResponse(body=write_embeddings(call, embedding), headers=headers)

    def _refusal(self, error: HermesError, *, is_anthropic: bool) -> HttpResponse:
        rate = rate_behind(error, at=self._parts.clock.now())
        if is_anthropic:
            return with_headers(anthropic_refusal(error), anthropic_rate(rate))
        return with_headers(openai_refusal(error), openai_rate(rate))

    async def _caller(self, exchange: HttpExchange) -> ApiCaller:
        refuse_url_credentials(exchange)
        return await self._parts.callers.check(exchange.headers)

    async def _body(self, exchange: HttpExchange) -> bytes:
        limit = self._parts.settings.v1.max_body_bytes
        return await exchange.body(limit=limit, timeout_s=_BODY_S)

    async def _listed(self, caller: ApiCaller) -> list[ListedModel]:
        """Return the models the caller may use, without those that cannot be called now."""
        settings = self._parts.settings
        planner = self._parts.planner
        report = models_report(settings, await planner.offers(), planner.policy.facts)
        usable = [line for line in report.models if line.available and line.chat]
        listed = [ListedModel(id=AUTO, owner="hermes", display_name="Routed by Hermes")]
        listed += [_listed_model(line, f"{line.provider}:{line.model}") for line in usable]
        listed += [_listed_model(line, line.model) for line in with_bare_names(usable)]
        listed += [
            ListedModel(id=f"agent:{agent.name}", owner="hermes", display_name=agent.settings.name)
            for agent in await self._parts.roster.answering(limit=_MOST_AGENTS)
        ]
        return [one for one in listed if one.id == AUTO or caller.may_use(one.id, one.display_name)]


def _listed_model(line: ModelLine, model_id: str) -> ListedModel:
    return ListedModel(
        id=model_id,
        owner=line.provider,
        display_name=line.model,
        context_tokens=line.context_tokens,
    )


def _rates(exchange: HttpExchange, caller: ApiCaller) -> Mapping[str, str]:
    name = anthropic_rate if speaks_anthropic(exchange.headers) else openai_rate
    return name(caller.rate)
