"""`GeminiProvider`: one generateContent call, or one batch of embeddings; no policy, no retries."""

from typing import Any

import msgspec

from hermes.media.image_fetch import with_fetched_images
from hermes.media.image_files import load_images
from hermes.message.reply import Usage
from hermes.net.client import HttpClient
from hermes.ports.pricing import estimated
from hermes.ports.provider import Embedding, EmbedInput, ModelRequest, ProviderInfo
from hermes.provider_kit.embeddings import check_vectors, decode_embedding, only_texts
from hermes.provider_kit.provider import WireProvider
from hermes.provider_kit.stream import EVENTS, JSON, AnswerAssembly, ModelEndpoint, call_json
from hermes.providers.gemini.assembly import GeminiAssembly
from hermes.providers.gemini.failures import failure
from hermes.providers.gemini.settings import GeminiSettings
from hermes.providers.gemini.wire import DIALECT, build_body, build_embedding_body

_MAX_EMBEDDING_BYTES = 33_554_432
# The maximum batch size of one batchEmbedContents call.
_MAX_BATCH = 100


class _Vector(msgspec.Struct):
    values: tuple[float, ...]


class _Batch(msgspec.Struct):
    embeddings: list[_Vector]


_decode_batch = msgspec.json.Decoder(_Batch).decode


class GeminiProvider(WireProvider[GeminiSettings]):
    """One configured service that speaks Gemini generateContent."""

    DIALECT = DIALECT

    async def embed(self, texts: tuple[str, ...], *, model: str = "") -> Embedding:
        """Return one vector for each text, in batches of the size that Gemini accepts."""
        return await self.embed_with(texts, model=model, dimensions=None)

    async def embed_with(
        self, inputs: tuple[EmbedInput, ...], *, model: str, dimensions: int | None
    ) -> Embedding:
        """Return one vector for each text, of `dimensions` numbers if that is not None."""
        texts = only_texts(inputs, self._settings)
        chosen = model or self._settings.embedding_model or self._settings.model
        resource = self._settings.resource_of(chosen)
        vectors: list[tuple[float, ...]] = []
        for start in range(0, len(texts), _MAX_BATCH):
            batch = texts[start : start + _MAX_BATCH]
            vectors += await self._embed_batch(batch, resource, dimensions=dimensions)
        # The service does not report its count.
        tokens = sum(max(1, estimated(len(text))) for text in texts)
        return Embedding(tuple(vectors), Usage(tokens_in=tokens), chosen)

    async def _embed_batch(
        self, texts: tuple[str, ...], resource: str, *, dimensions: int | None
    ) -> list[tuple[float, ...]]:
        settings = self._settings
        answer = await call_json(
            self._client,
            self._endpoint(settings.url_of(resource, "batchEmbedContents"), JSON),
            body=build_embedding_body(texts, resource, dimensions=dimensions),
            timeout_s=settings.embed_timeout_s,
            limit=_MAX_EMBEDDING_BYTES,
        )
        batch = decode_embedding(answer, settings, decode=_decode_batch)
        vectors = [vector.values for vector in batch.embeddings]
        check_vectors(vectors, settings, expected=len(texts))
        return vectors

    def _describe(self) -> ProviderInfo:
        return msgspec.structs.replace(
            super()._describe(),
            schema=self._settings.schema,
            embeddings=self._settings.embedding_model is not None,
        )

    def _endpoint_of(self, model: str) -> ModelEndpoint:
        resource = self._settings.resource_of(model)
        return self._endpoint(self._settings.url_of(resource, "streamGenerateContent") + "?alt=sse")

    def _endpoint(self, url: str, kinds: tuple[str, ...] = EVENTS) -> ModelEndpoint:
        # Gemini closes the connection after the finish reason, its only end marker.
        wait = self._settings.end_wait_s
        return msgspec.structs.replace(
            super()._endpoint(url, kinds), failure=failure, end_wait_s=wait
        )

    def _list_url(self) -> str:
        return self._settings.url(f"/{self._settings.api_version}/models?pageSize=1000")

    def _headers(self, accept: str) -> dict[str, str]:
        headers = {"Content-Type": "application/json", **self._settings.headers}
        if self._settings.api_key:
            headers["x-goog-api-key"] = self._settings.api_key
        return headers

    async def _prepare(self, request: ModelRequest) -> tuple[bytes, AnswerAssembly]:
        settings = self._settings
        model = request.model or settings.model
        images = await load_images(request) if settings.vision else {}
        if settings.vision and not settings.has_option("image_address", request):
            request = await with_fetched_images(
                request, self._client, provider=settings.name, loaded=images
            )
        body = build_body(request, settings, images=images)
        return body, GeminiAssembly(
            settings, model=model, sent_chars=len(body), make_id=self._new_id
        )


# Any: keyword arguments of the settings above.
def make(settings: dict[str, Any], client: HttpClient) -> GeminiProvider:
    """Return a provider with these settings."""
    return GeminiProvider(GeminiSettings(**settings), client)
