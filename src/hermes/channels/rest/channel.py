"""The REST channel: messages, conversations and their files.

The order on every request is fixed: authenticate, check the size, parse, accept. It stores nothing;
the gateway does.
"""

from collections.abc import Sequence
from functools import partial

import msgspec
from starlette.routing import Route

from hermes.channels.rest.conversations import ConversationsApi, conversation_endpoints
from hermes.channels.rest.files import FilesApi, file_endpoints
from hermes.channels.rest.inbound import (
    RestMessage,
    check_sender,
    read_form,
    read_message,
    source_of,
    to_event,
)
from hermes.errors import BadRequest, HermesError, NotFound, Refused, TryLater
from hermes.http.body import JSON, media_type
from hermes.http.errors import error_response, plain_error
from hermes.http.json_body import json_response
from hermes.http.message_files import file_of, kept_parts, upload_limits
from hermes.http.multipart import MULTIPART
from hermes.http.route import Answer, Endpoint, HttpExchange, refuse_url_credentials
from hermes.http.same_origin import Origins
from hermes.http.sse import EventStream, wants_events
from hermes.http.turn import (
    Ticket,
    TurnView,
    accepted_view,
    ended_view,
    is_still_known,
    last_progress,
    status_view,
    turn_frames,
)
from hermes.message.ids import MakeId
from hermes.message.outcome import MessageState
from hermes.message.source import Source
from hermes.ports.channel import Accept, Capabilities, HttpResponse
from hermes.ports.clock import Clock
from hermes.ports.gateway_api import ApiEndpoint, Caller, GatewayApi, MessageStatus
from hermes.ports.message_files import MessageFiles
from hermes.ports.work_files import WorkFiles


class RestSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Limits and times; the defaults are the manifest's."""

    wait_s: float = 600.0
    keep_alive_s: float = 15.0
    body_timeout_s: float = 30.0
    body_bytes: int = 2_097_152


class RestChannel:
    """The REST API as a channel; its transport is the HTTP server itself."""

    name = "rest"

    def __init__(
        self,
        settings: RestSettings,
        *,
        capabilities: Capabilities,
        origins: Origins,
        clock: Clock,
        make_id: MakeId,
        files: WorkFiles | None = None,
        attachments: MessageFiles | None = None,
    ) -> None:
        self._files = files
        self._attachments = attachments
        self._settings = settings
        self._capabilities = capabilities
        self._origins = origins
        self._clock = clock
        self._make_id = make_id

    @property
    def capabilities(self) -> Capabilities:
        """What the platform can do."""
        return self._capabilities

    async def connect(self, accept: Accept) -> None:
        """Nothing to start: the server delivers the requests."""

    async def disconnect(self) -> None:
        """Nothing to release."""

    def routes(self, gateway_api: GatewayApi) -> Sequence[Route]:
        """Return the routes to mount."""
        api = _Api(
            gateway_api,
            self._settings,
            origins=self._origins,
            clock=self._clock,
            make_id=self._make_id,
            attachments=self._attachments,
        )
        file = "/api/messages/{id}/files/{side}/{number}"
        return (
            Route("/api/messages", Endpoint({"POST": api.post})),
            Route("/api/messages/{id}", Endpoint({"GET": api.get})),
            Route(file, Endpoint({"GET": api.get_file}, head=True)),
            *ConversationsApi(gateway_api).routes(),
            *self._file_routes(gateway_api),
        )

    def _file_routes(self, gateway_api: GatewayApi) -> Sequence[Route]:
        files, timeout_s = self._files, self._settings.body_timeout_s
        return FilesApi(gateway_api, files, origins=self._origins, timeout_s=timeout_s).routes()

    def endpoints(self) -> Sequence[ApiEndpoint]:
        """Return the endpoints, for OpenAPI."""
        return (
            ApiEndpoint(
                name="messages.send",
                method="POST",
                path="/api/messages",
                group="Messages",
                summary="Send a message to an agent and wait for the reply; 202 if it is not there yet.",
                request=RestMessage,
                report=TurnView,
                query={"wait": "`false` returns at once with 202; `true` is the default"},
                streams=True,
            ),
            ApiEndpoint(
                name="messages.get",
                method="GET",
                path="/api/messages/{id}",
                group="Messages",
                summary="Return a message and its reply.",
                report=TurnView,
            ),
            ApiEndpoint(
                name="messages.file",
                method="GET",
                path="/api/messages/{id}/files/{side}/{number}",
                group="Messages",
                summary="Return a file of a message; `side` is `sent` or `reply`.",
                report=bytes,
            ),
            *conversation_endpoints(),
            *file_endpoints(),
        )


class _Api:
    def __init__(
        self,
        gateway_api: GatewayApi,
        settings: RestSettings,
        *,
        origins: Origins,
        clock: Clock,
        make_id: MakeId,
        attachments: MessageFiles | None,
    ) -> None:
        self._gateway_api = gateway_api
        self._settings = settings
        self._origins = origins
        self._clock = clock
        self._make_id = make_id
        self._attachments = attachments

    async def post(self, exchange: HttpExchange) -> Answer:
        refuse_url_credentials(exchange)
        caller = await self._gateway_api.authenticate(exchange.headers)
        self._origins.check(caller, exchange.headers)
        message: RestMessage | None = None
        try:
            wait = _wants_to_wait(exchange)
            if media_type(exchange.headers) not in {JSON, MULTIPART}:
                return await self._wrong_type(exchange)
            message = await self._read(exchange)
            sender = message.sender or caller.sender
            check_sender(sender, caller)
            ticket = await self._accept(message, sender=sender, caller=caller)
        except (Refused, TryLater) as error:
            return error_response(error, refusal=await self._note(error, message))
        if wants_events(exchange.headers):
            return EventStream(
                turn_frames(self._gateway_api, ticket),
                keep_alive_s=self._settings.keep_alive_s,
                may_go_on=partial(is_still_known, self._gateway_api, exchange.headers),
            )
        if wait:
            return await self._wait(ticket)
        return await self._unfinished(ticket) if ticket.duplicate else accepted_response(ticket)

    async def _read(self, exchange: HttpExchange) -> RestMessage:
        settings, files = self._settings, self._attachments
        limit, timeout_s = settings.body_bytes, settings.body_timeout_s
        is_form = media_type(exchange.headers) == MULTIPART
        if is_form and files is not None:
            limit, timeout_s = upload_limits(files, body_bytes=limit, body_timeout_s=timeout_s)
        raw = await exchange.body(limit=limit, timeout_s=timeout_s)
        return read_form(raw, exchange.headers, files) if is_form else read_message(raw)

    async def get(self, exchange: HttpExchange) -> Answer:
        return json_response(status_view(await self._status(exchange)))

    async def get_file(self, exchange: HttpExchange) -> Answer:
        status = await self._status(exchange)
        side, number = exchange.parameter("side"), exchange.parameter("number")
        return await file_of(self._attachments, status, side=side, number=number)

    async def _status(self, exchange: HttpExchange) -> MessageStatus:
        refuse_url_credentials(exchange)
        await self._gateway_api.authenticate(exchange.headers)
        message_id = exchange.parameter("id")
        status = await self._gateway_api.message(message_id)
        if status is None or status.record.platform != "rest":
            raise NotFound(
                f"No message {message_id[:80]!r} came through this API, or it is older than the "
                "days that messages are kept."
            )
        return status

    async def _accept(self, message: RestMessage, *, sender: str, caller: Caller) -> Ticket:
        now, source = self._clock.now(), await self._source(message, sender=sender)
        message = msgspec.structs.replace(message, id=message.id or self._make_id("x"))
        key = "\n".join(("rest", sender, source.chat_id, message.id or ""))
        event = to_event(
            message,
            source=source,
            now=now,
            make_id=self._make_id,
            token=caller.id,
            may_delegate=caller.may_delegate,
            attached=await kept_parts(self._attachments, message.files, key=key),
        )
        accepted = await self._gateway_api.accept(event)
        return Ticket(
            id=accepted.message_id,
            conversation=event.source.chat_id,
            duplicate=accepted.duplicate,
            is_new=accepted.is_new,
            denied=accepted.denied,
        )

    async def _source(self, message: RestMessage, *, sender: str) -> Source:
        """Return where a message belongs; an agent that is named may share its conversations."""
        if message.agent is None or message.shared:
            return source_of(sender, message.context, shared=message.shared)
        return await self._gateway_api.call_source(
            message.agent, platform="rest", caller=sender, context_id=message.context
        )

    async def _wait(self, ticket: Ticket) -> Answer:
        progress = await last_progress(self._gateway_api, ticket, wait_s=self._settings.wait_s)
        if progress is None:
            return await self._unfinished(ticket)
        return turn_response(await ended_view(self._gateway_api, ticket, progress=progress))

    async def _unfinished(self, ticket: Ticket) -> Answer:
        status = await self._gateway_api.message(ticket.id)
        state = MessageState.NEW if status is None else status.record.state
        return accepted_response(ticket, state=state)

    async def _wrong_type(self, exchange: HttpExchange) -> Answer:
        found = media_type(exchange.headers) or "none"
        text = f"The content type is {found[:80]!r}: send the message as {JSON} or {MULTIPART}."
        refusal = await self._note(BadRequest(text), None)
        return plain_error(415, "unsupported_media_type", text=text, refusal=refusal)

    async def _note(self, error: HermesError, message: RestMessage | None) -> str | None:
        external_id = message.id if message is not None else None
        return await self._gateway_api.refuse("rest", error, external_id=external_id)


def _wants_to_wait(exchange: HttpExchange) -> bool:
    wait = exchange.query().get("wait", "true")
    if wait not in {"true", "false"}:
        raise BadRequest(f"The query 'wait' is {wait[:80]!r}: use wait=true or wait=false.")
    return wait == "true"


def accepted_response(ticket: Ticket, *, state: MessageState = MessageState.NEW) -> HttpResponse:
    """Return the answer for a message that is stored and not waited for."""
    return json_response(
        {"id": ticket.id, "state": state, **accepted_view(ticket)},
        202,
        headers={"location": f"/api/messages/{ticket.id}"},
    )


def turn_response(view: TurnView) -> HttpResponse:
    """Return the answer for a turn that was waited for."""
    return json_response(view, 200 if view.state is MessageState.DONE else 202)
