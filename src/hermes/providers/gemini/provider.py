"""`GeminiProvider`: one generateContent call, or one batch of embeddings; no policy, no retries."""

import asyncio
from collections.abc import AsyncGenerator, Iterable
from typing import Any

import msgspec

from hermes.errors import NetError, ProviderUnavailable, StreamTruncated
from hermes.media.image_fetch import with_fetched_images
from hermes.media.image_files import load_images
from hermes.message.ids import MakeId, make_id
from hermes.message.reply import Usage
from hermes.net.client import HttpClient, Response
from hermes.ports.pricing import estimated
from hermes.ports.provider import Embedding, ModelEvent, ModelRequest, ProviderInfo
from hermes.provider_kit.service_failure import unusable
from hermes.provider_kit.sse_parser import SseParser
from hermes.provider_kit.stream import EVENTS, JSON, ModelEndpoint, call_json, open_call, wire_words
from hermes.providers.gemini.assembly import GeminiAssembly
from hermes.providers.gemini.failures import failure
from hermes.providers.gemini.settings import GeminiSettings, check
from hermes.providers.gemini.wire import DIALECT, build_body, build_embedding_body

_MAX_EMBEDDING_BYTES = 33_554_432
# What one batchEmbedContents call takes at most.
_MAX_BATCH = 100


class _Vector(msgspec.Struct):
    values: tuple[float, ...]


class _Batch(msgspec.Struct):
    embeddings: list[_Vector]


class GeminiProvider:
    """One configured service that speaks Gemini generateContent."""

    def __init__(
        self, settings: GeminiSettings, client: HttpClient, *, new_id: MakeId = make_id
    ) -> None:
        check(settings)
        self._settings = settings
        self._client = client
        self._new_id = new_id
        self._headers = {"Content-Type": "application/json", **settings.headers}
        if settings.api_key:
            self._headers["x-goog-api-key"] = settings.api_key
        self._info = ProviderInfo(
            dialect=DIALECT,
            name=settings.name,
            model=settings.model,
            tools=settings.tools,
            vision=settings.vision,
            schema=settings.schema,
            embeddings=settings.embedding_model is not None,
            context_tokens=settings.context_tokens,
            local=settings.is_on_this_machine,
            probed=False,
        )

    @property
    def info(self) -> ProviderInfo:
        """What this service can do."""
        return self._info

    async def available(self) -> bool:
        """Tell whether the service is enabled and has the key that its address needs."""
        return self._settings.usable

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Run one call; closing the iterator closes its connection.

        Time limits on output are the caller's; only connecting is limited here.
        """
        model = request.model or self._settings.model
        resource = self._settings.resource_of(model)
        url = self._settings.url_of(resource, "streamGenerateContent") + "?alt=sse"
        body = await self._body(request)
        assembly = GeminiAssembly(
            self._settings, model=model, sent_chars=len(body), make_id=self._new_id
        )
        endpoint = self._endpoint(url, EVENTS)
        async with open_call(self._client, endpoint, body=body) as response:
            parser = SseParser()
            more = True
            while more:
                payloads, more = await self._read(response, parser, assembly=assembly)
                for payload in payloads:
                    for event in assembly.feed(payload, is_last=not more):
                        yield event
            yield assembly.end()

    async def embed(self, texts: tuple[str, ...], *, model: str = "") -> Embedding:
        """Return one vector for each text, asking in batches of the size that Gemini takes."""
        chosen = model or self._settings.embedding_model or self._settings.model
        resource = self._settings.resource_of(chosen)
        vectors: list[tuple[float, ...]] = []
        for start in range(0, len(texts), _MAX_BATCH):
            vectors += await self._embed_batch(texts[start : start + _MAX_BATCH], resource)
        # The service does not say what it counted.
        tokens = sum(max(1, estimated(len(text))) for text in texts)
        return Embedding(tuple(vectors), Usage(tokens_in=tokens), chosen)

    async def close(self) -> None:
        """Release nothing: the client belongs to the composition root."""

    async def _embed_batch(
        self, texts: tuple[str, ...], resource: str
    ) -> Iterable[tuple[float, ...]]:
        url = self._settings.url_of(resource, "batchEmbedContents")
        body = build_embedding_body(texts, resource)
        answer = await call_json(
            self._client,
            self._endpoint(url, JSON),
            body=body,
            timeout_s=self._settings.embed_timeout_s,
            limit=_MAX_EMBEDDING_BYTES,
        )
        return (vector.values for vector in self._vectors(answer, len(texts)))

    def _vectors(self, answer: bytes, expected: int) -> list[_Vector]:
        name = self._settings.name
        try:
            found = msgspec.json.decode(answer, type=_Batch).embeddings
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise unusable(
                name,
                answer,
                found="something else",
                expected="a list of embeddings",
                secret=self._settings.api_key,
            ) from error
        if len(found) != expected:
            raise ProviderUnavailable(
                f"{name}: expected {expected} embeddings, the service sent {len(found)}; none of"
                " them is used"
            )
        if not all(vector.values for vector in found):
            raise ProviderUnavailable(
                f"{name}: the service sent an embedding without numbers; none is used"
            )
        return found

    def _endpoint(self, url: str, kinds: tuple[str, ...]) -> ModelEndpoint:
        return ModelEndpoint(
            provider=self._settings.name,
            url=url,
            headers=self._headers,
            secret=self._settings.api_key,
            kinds=kinds,
            failure=failure,
        )

    async def _body(self, request: ModelRequest) -> bytes:
        settings = self._settings
        images = await load_images(request) if settings.vision else {}
        if settings.vision and not settings.fetches_for(request.model or settings.model):
            request = await with_fetched_images(
                request, self._client, provider=settings.name, loaded=images
            )
        return build_body(request, settings, images=images)

    async def _read(
        self, response: Response, parser: SseParser, *, assembly: GeminiAssembly
    ) -> tuple[list[bytes], bool]:
        """Return the next events and whether more may come.

        Gemini hangs up behind the finish reason, its only end marker; what is late or lost behind it
        is not missed.
        """
        try:
            async with asyncio.timeout(self._settings.end_wait_s if assembly.ended else None):
                chunk = await response.read_some()
            return (parser.feed(chunk), True) if chunk else (parser.finish(), False)
        except TimeoutError:
            return [], False
        except NetError as error:
            if assembly.ended:
                return [], False
            if assembly.started:
                words = wire_words(self._settings.name, error)
                raise StreamTruncated(f"{words}; the answer is not whole") from error
            raise


# Any: keyword arguments of the settings above.
def make(settings: dict[str, Any], client: HttpClient) -> GeminiProvider:
    """Return a provider with these settings."""
    return GeminiProvider(GeminiSettings(**settings), client)
