"""`WireProvider`: one model service over the one HTTP client; no policy, no retries.

A wire declares what its service can do and where a call goes, and makes the body and the assembly
of each call. The call itself is the same on every wire.
"""

from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Mapping
from typing import ClassVar, Generic
from urllib.parse import urlsplit

from hermes.errors import AddressRefused, ProviderRejected
from hermes.message.ids import MakeId, make_id
from hermes.message.parts import FilePart, ImagePart
from hermes.net.client import HttpClient
from hermes.net.untrusted_url import read_url
from hermes.ports.model_lists import ServedModel
from hermes.ports.provider import ModelEvent, ModelRequest, ProviderInfo
from hermes.provider_kit.assembly import SettingsT
from hermes.provider_kit.model_list import ask_for_list
from hermes.provider_kit.sse_parser import SseParser
from hermes.provider_kit.stream import (
    EVENTS,
    JSON,
    AnswerAssembly,
    ModelEndpoint,
    PayloadParser,
    stream_model,
)

_BAD_REQUEST = 400
_WEB = ("http://", "https://")
_WORDS = {ImagePart: "picture", FilePart: "document"}
# Callers may name any model, so the endpoints that are kept are limited.
_MOST_ENDPOINTS = 256


class WireProvider(ABC, Generic[SettingsT]):
    """One configured service; `info` is what it can do, and `DIALECT` names its wire."""

    DIALECT: ClassVar[str]

    def __init__(
        self, settings: SettingsT, client: HttpClient, *, new_id: MakeId = make_id
    ) -> None:
        settings.check()
        self._settings = settings
        self._client = client
        self._new_id = new_id
        self._endpoints: dict[str, ModelEndpoint] = {}
        self.info: ProviderInfo = self._describe()

    async def available(self) -> bool:
        """Return whether the service is enabled and has the key that its address needs."""
        return self._settings.usable

    def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Run one call; closing the iterator closes its connection.

        Time limits on output are the caller's; only connecting is limited here.
        """

        async def prepare() -> tuple[ModelEndpoint, bytes, AnswerAssembly]:
            endpoint = self._known_endpoint(request.model or self._settings.model)
            self._check_addresses(request)
            body, assembly = await self._prepare(request)
            return endpoint, body, assembly

        return stream_model(self._client, prepare=prepare, parser=self._parser())

    async def list_models(self) -> Mapping[str, ServedModel]:
        """Return the models that the service lists itself; raises `ProviderError`."""
        return await ask_for_list(self._client, self._endpoint(self._list_url(), JSON))

    async def close(self) -> None:
        """Release nothing: the client belongs to the composition root."""

    def _check_addresses(self, request: ModelRequest) -> None:
        """Refuse files at addresses that Hermes would not fetch: the service would fetch them for it."""
        if request.plain_chars is not None:
            return
        for message in request.messages:
            for part in message.parts:
                if isinstance(part, ImagePart | FilePart):
                    url = part.media.url or ""
                    if url[:8].lower().startswith(_WEB):
                        self._check_address(url, _WORDS[type(part)])

    def _check_address(self, url: str, what: str) -> None:
        try:
            self._client.guard.check_url(read_url(url))
        except AddressRefused as error:
            raise ProviderRejected(
                f"{self._settings.name}: the {what} at {urlsplit(url).hostname} cannot be fetched: "
                f"{error}; send its bytes instead",
                status=_BAD_REQUEST,
            ) from error

    def _known_endpoint(self, model: str) -> ModelEndpoint:
        """Return where a call to `model` goes, made once for each model."""
        endpoint = self._endpoints.get(model)
        if endpoint is None:
            if len(self._endpoints) >= _MOST_ENDPOINTS:
                self._endpoints.clear()
            endpoint = self._endpoints[model] = self._endpoint_of(model)
        return endpoint

    @abstractmethod
    def _endpoint_of(self, model: str) -> ModelEndpoint:
        """Return where a call to `model` goes."""

    @abstractmethod
    async def _prepare(self, request: ModelRequest) -> tuple[bytes, AnswerAssembly]:
        """Return the body of a call and the assembly of its answer."""

    def _describe(self) -> ProviderInfo:
        """Return what the service can do; here, a cloud that enforces schemas."""
        settings = self._settings
        return ProviderInfo(
            dialect=self.DIALECT,
            name=settings.name,
            model=settings.model,
            tools=settings.tools,
            vision=settings.vision,
            schema=True,
            context_tokens=settings.context_tokens,
            local=settings.is_on_this_machine,
            probed=False,
            options=settings.options,
        )

    def _list_url(self) -> str:
        """Return where the service lists its models."""
        return self._settings.url("/models")

    def _parser(self) -> PayloadParser:
        return SseParser()

    def _headers(self, accept: str) -> dict[str, str]:
        """Return the headers of a call: here, the key goes out as a bearer token."""
        settings = self._settings
        headers = {"Content-Type": "application/json", "Accept": accept, **settings.headers}
        if settings.secret:
            headers["Authorization"] = f"Bearer {settings.secret}"
        return headers

    def _endpoint(self, url: str, kinds: tuple[str, ...] = EVENTS) -> ModelEndpoint:
        settings = self._settings
        return ModelEndpoint(
            provider=settings.name,
            url=url,
            headers=self._headers(kinds[0]),
            secret=settings.secret,
            kinds=kinds,
        )
