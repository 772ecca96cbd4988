"""The web chat: the page, its files, and the small JSON API under `/web/`.

Every request under `/web/` is authenticated first; one that changes something must come from the
page itself. It stores nothing; the gateway does.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any

import msgspec
from starlette.routing import Route

from hermes.channels.web.account import AccountApi
from hermes.channels.web.identity import PATH, IdentityProvider, ProviderPages, with_provider
from hermes.channels.web.inbound import (
    read_message,
    read_stop,
    to_event,
    to_stop_event,
)
from hermes.channels.web.outbound import conversations_json
from hermes.channels.web.signin import SIGN_IN_PAGES, BrowserSignIn, SignInPages
from hermes.errors import BadRequest, NotFound, Refused, TryLater
from hermes.http.assets import Asset, file_response, page_response, read_assets
from hermes.http.body import JSON, media_type
from hermes.http.conversation import conversation_messages, read_page
from hermes.http.errors import error_response
from hermes.http.json_body import json_response
from hermes.http.message_files import (
    UploadedFile,
    file_of,
    kept_parts,
    split_form,
    upload_limits,
)
from hermes.http.multipart import MULTIPART
from hermes.http.route import Answer, Endpoint, HttpExchange, refuse_url_credentials
from hermes.http.same_origin import Origins
from hermes.http.sse import EventStream
from hermes.http.turn import Ticket, turn_frames
from hermes.message.event import MessageEvent
from hermes.message.ids import MakeId
from hermes.ports.channel import Accept, Acceptance, Capabilities
from hermes.ports.clock import Clock
from hermes.ports.gateway_api import Caller, GatewayApi, MessageStatus, chatting
from hermes.ports.message_files import MessageFiles
from hermes.ports.turns import MessageRecord

# Any: printed as it is; the page reads `demo` and `model`, or `commands` and `models`. Read every
# time: operators change models.
Info = Callable[[], Awaitable[Mapping[str, Any]]]
# Any: the report of `hermes why`, printed as it is.
Story = Callable[[str], Awaitable[Any]]
ReadEvent = Callable[[bytes, str], Awaitable[MessageEvent]]


class WebSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Limits and times; the defaults are the manifest's."""

    keep_alive_s: float = 15.0
    body_timeout_s: float = 30.0
    body_bytes: int = 2_097_152
    history: int = 200
    conversations: int = 100


class WebChannel:
    """The web chat as a channel; its transport is the HTTP server itself."""

    name = "web"

    def __init__(
        self,
        settings: WebSettings,
        *,
        capabilities: Capabilities,
        access: BrowserSignIn,
        info: Info,
        story: Story,
        origins: Origins,
        clock: Clock,
        make_id: MakeId,
        provider: IdentityProvider | None = None,
        files: MessageFiles | None = None,
        menu: Info | None = None,
    ) -> None:
        self._menu = menu
        self._settings = settings
        self._provider = provider
        self._files = files
        self._story = story
        self._capabilities = capabilities
        self._access = access
        self._info = info
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
        chat = _Chat(
            gateway_api,
            self._settings,
            origins=self._origins,
            clock=self._clock,
            make_id=self._make_id,
            files=self._files,
        )
        account = AccountApi(
            gateway_api,
            self._access,
            origins=self._origins,
            body_timeout_s=self._settings.body_timeout_s,
        )
        return (
            *self._page_routes(gateway_api),
            *chat.routes(self._info, self._story, self._menu or _no_menu),
            *account.routes(),
        )

    def _page_routes(self, gateway_api: GatewayApi) -> Sequence[Route]:
        assets = read_assets(__package__)
        for name in SIGN_IN_PAGES:
            assets[name] = with_provider(assets[name], self._provider)
        signin = SignInPages(
            gateway_api,
            self._access,
            assets=assets,
            origins=self._origins,
            body_timeout_s=self._settings.body_timeout_s,
        )

        async def page(exchange: HttpExchange) -> Answer:
            return await own_page(exchange, "index.html")

        async def why_page(exchange: HttpExchange) -> Answer:
            return await own_page(exchange, "why.html")

        async def own_page(exchange: HttpExchange, name: str) -> Answer:
            caller = await signin.caller(exchange)
            if caller is None:
                return signin.page()
            return page_response(assets[name] if caller.user else assets["no_chat.html"])

        async def file(exchange: HttpExchange) -> Answer:
            name = exchange.parameter("name")
            if name not in assets or name.endswith(".html"):
                raise NotFound(f"The page has no file {name[:80]!r}.")
            return file_response(assets[name], exchange.headers)

        return (
            Route("/", Endpoint({"GET": page}, head=True)),
            Route("/why/{id}", Endpoint({"GET": why_page}, head=True)),
            Route("/assets/{name}", Endpoint({"GET": file}, head=True)),
            Route("/signin", Endpoint({"GET": signin.open_link, "POST": signin.paste_token})),
            Route("/signout", Endpoint({"POST": signin.sign_out})),
            *self._provider_routes(assets),
        )

    def _provider_routes(self, assets: dict[str, Asset]) -> Sequence[Route]:
        if self._provider is None:
            return ()
        pages = ProviderPages(self._provider, self._access, assets=assets, origins=self._origins)
        return (Route(PATH, Endpoint({"GET": pages.come_back, "POST": pages.leave})),)


class _Chat:
    def __init__(
        self,
        gateway_api: GatewayApi,
        settings: WebSettings,
        *,
        origins: Origins,
        clock: Clock,
        make_id: MakeId,
        files: MessageFiles | None,
    ) -> None:
        self._gateway_api = gateway_api
        self._settings = settings
        self._origins = origins
        self._clock = clock
        self._make_id = make_id
        self._files = files

    def routes(self, info: Info, story: Story, menu: Info) -> Sequence[Route]:
        async def tell_info(exchange: HttpExchange) -> Answer:
            await self._enter(exchange)
            return json_response(await info())

        async def tell_menu(exchange: HttpExchange) -> Answer:
            await self._enter(exchange)
            return json_response(await menu())

        async def tell_story(exchange: HttpExchange) -> Answer:
            record = (await self._own_message(exchange)).record
            found = await story(record.id)
            return json_response({"conversation": _conversation_of(record), "story": found})

        return (
            Route("/web/messages", Endpoint({"POST": self._post})),
            Route("/web/messages/{id}/events", Endpoint({"GET": self._events})),
            Route("/web/messages/{id}/files/{side}/{number}", Endpoint({"GET": self._file})),
            Route("/web/messages/{id}/why", Endpoint({"GET": tell_story})),
            Route("/web/conversations", Endpoint({"GET": self._conversations})),
            Route("/web/conversations/{id}", Endpoint({"GET": self._conversation})),
            Route("/web/stop", Endpoint({"POST": self._stop})),
            Route("/web/info", Endpoint({"GET": tell_info})),
            Route("/web/menu", Endpoint({"GET": tell_menu})),
        )

    async def _enter(self, exchange: HttpExchange) -> Caller:
        """Return who is signed in; raise `Unauthenticated` or `Forbidden`."""
        refuse_url_credentials(exchange)
        caller = chatting(await self._gateway_api.signed_in(exchange.headers))
        if exchange.method != "GET":
            self._origins.check(caller, exchange.headers)
        return caller

    async def _post(self, exchange: HttpExchange) -> Answer:
        is_form = self._files is not None and media_type(exchange.headers) == MULTIPART

        async def read(raw: bytes, user: str) -> MessageEvent:
            now, sent = self._clock.now(), tuple[UploadedFile, ...]()
            if is_form and self._files is not None:
                raw, sent = split_form(raw, exchange.headers, self._files)
            message = read_message(raw, has_files=bool(sent))
            key = f"web\n{user}\n{message.conversation}\n{message.id}"
            attached = await kept_parts(self._files, sent, key=key)
            return to_event(message, user=user, now=now, attached=attached)

        answer = await self._accept(exchange, read, is_form=is_form)
        return answer if not isinstance(answer, Ticket) else self._stream(answer, exchange)

    async def _stop(self, exchange: HttpExchange) -> Answer:
        async def read(raw: bytes, user: str) -> MessageEvent:
            now, make_id = self._clock.now(), self._make_id
            return to_stop_event(read_stop(raw), user=user, now=now, make_id=make_id)

        answer = await self._accept(exchange, read)
        return answer if not isinstance(answer, Ticket) else json_response({"id": answer.id}, 202)

    async def _accept(
        self, exchange: HttpExchange, read: ReadEvent, *, is_form: bool = False
    ) -> Answer | Ticket:
        caller = await self._enter(exchange)
        event: MessageEvent | None = None
        limit, timeout_s = self._settings.body_bytes, self._settings.body_timeout_s
        try:
            if is_form and self._files is not None:
                limit, timeout_s = upload_limits(
                    self._files, body_bytes=limit, body_timeout_s=timeout_s
                )
            else:
                _check_type(exchange)
            raw = await exchange.body(limit=limit, timeout_s=timeout_s)
            event = await read(raw, caller.user)
            return _ticket(event, await self._gateway_api.accept(event))
        except (Refused, TryLater) as error:
            external_id = event.external_id if event is not None else None
            refusal = await self._gateway_api.refuse("web", error, external_id=external_id)
            return error_response(error, refusal=refusal)

    async def _events(self, exchange: HttpExchange) -> Answer:
        record = (await self._own_message(exchange)).record
        ticket = Ticket(id=record.id, conversation=_conversation_of(record), duplicate=True)
        return self._stream(ticket, exchange)

    async def _file(self, exchange: HttpExchange) -> Answer:
        status = await self._own_message(exchange)
        side, number = exchange.parameter("side"), exchange.parameter("number")
        return await file_of(self._files, status, side=side, number=number)

    async def _own_message(self, exchange: HttpExchange) -> MessageStatus:
        """Return the message that a path names if whoever is signed in wrote it on this page."""
        caller = await self._enter(exchange)
        message_id = exchange.parameter("id")
        status = await self._gateway_api.message(message_id)
        if status is None or not _is_own(status.record, caller):
            raise NotFound(f"No message {message_id[:80]!r} of yours came through this page.")
        return status

    async def _conversation(self, exchange: HttpExchange) -> Answer:
        caller = await self._enter(exchange)
        conversation = exchange.parameter("id")
        asked = read_page(exchange.query(), most=self._settings.history)
        page = await self._gateway_api.conversation(
            "web", conversation, limit=asked.limit, user_id=caller.user, before=asked.before
        )
        return json_response(conversation_messages(conversation, page))

    async def _conversations(self, exchange: HttpExchange) -> Answer:
        caller = await self._enter(exchange)
        most = self._settings.conversations
        rows = await self._gateway_api.conversations("web", limit=most, user_id=caller.user)
        return json_response(conversations_json(rows))

    def _stream(self, ticket: Ticket, exchange: HttpExchange) -> EventStream:
        return EventStream(
            turn_frames(self._gateway_api, ticket),
            keep_alive_s=self._settings.keep_alive_s,
            may_go_on=partial(_is_still_signed_in, self._gateway_api, exchange.headers),
        )


async def _no_menu() -> Mapping[str, Any]:
    return {"commands": (), "models": ()}


async def _is_still_signed_in(gateway_api: GatewayApi, headers: Mapping[str, str]) -> bool:
    try:
        chatting(await gateway_api.signed_in(headers))
    except Refused:
        return False
    return True


def _is_own(record: MessageRecord, caller: Caller) -> bool:
    """Return whether a message came through this page from its user; nobody else may see it."""
    event = record.event
    return record.platform == "web" and event is not None and event.source.user_id == caller.user


def _conversation_of(record: MessageRecord) -> str:
    return "" if record.event is None else record.event.source.chat_id


def _check_type(exchange: HttpExchange) -> None:
    # Another site's form can send plain text or a form without a preflight; it cannot send this.
    if media_type(exchange.headers) != JSON:
        raise BadRequest(f"The content type must be {JSON}.")


def _ticket(event: MessageEvent, accepted: Acceptance) -> Ticket:
    return Ticket(
        id=accepted.message_id,
        conversation=event.source.chat_id,
        duplicate=accepted.duplicate,
        denied=accepted.denied,
    )
