"""`OpenAIProvider`: one chat-completions call over the one HTTP client; no policy, no retries."""

from typing import Any

import msgspec

from hermes.errors import ProviderRejected
from hermes.media.image_fetch import with_fetched_images
from hermes.media.image_files import load_data_urls
from hermes.message.ids import MakeId, make_id
from hermes.message.reply import Usage
from hermes.net.client import HttpClient
from hermes.ports.provider import Embedding, EmbedInput, ModelRequest, ProviderInfo
from hermes.provider_kit.embeddings import (
    MAX_EMBEDDING_BYTES,
    check_vectors,
    decode_embedding,
    embedding_usage,
)
from hermes.provider_kit.provider import WireProvider
from hermes.provider_kit.stream import JSON, AnswerAssembly, ModelEndpoint, call_json, probe
from hermes.providers.openai.assembly import OpenAIAssembly
from hermes.providers.openai.chunks import WireUsage
from hermes.providers.openai.settings import OpenAISettings, complete
from hermes.providers.openai.wire import DIALECT, build_body

_MAX_PROBE_BYTES = 4_194_304


class OpenAIProvider(WireProvider[OpenAISettings]):
    """One configured service that speaks OpenAI chat completions."""

    DIALECT = DIALECT

    def __init__(
        self, settings: OpenAISettings, client: HttpClient, *, new_id: MakeId = make_id
    ) -> None:
        super().__init__(complete(settings), client, new_id=new_id)

    async def available(self) -> bool:
        """Return whether the service is enabled, has its key and, if self-hosted, responds."""
        settings = self._settings
        if not settings.usable or not settings.rules.probe:
            return settings.usable
        answer = await probe(
            self._client,
            self._endpoint(settings.url("/models"), JSON),
            timeout_s=settings.probe_timeout_s,
            limit=_MAX_PROBE_BYTES,
        )
        return answer is not None

    async def embed(self, texts: tuple[str, ...], *, model: str) -> Embedding:
        """Return one vector for each text; an empty `model` takes the service's own."""
        return await self.embed_with(texts, model=model, dimensions=None)

    async def embed_with(
        self, inputs: tuple[EmbedInput, ...], *, model: str, dimensions: int | None
    ) -> Embedding:
        """Return one vector for each input, of `dimensions` numbers if that is not None."""
        settings = self._settings
        chosen = model or settings.embedding_model
        if not chosen:
            raise ProviderRejected(
                f"{settings.name}: no embedding model was named, and none is known for the "
                "service: name one"
            )
        size = settings.rules.embed_batch
        batches = [inputs[start : start + size] for start in range(0, len(inputs), size)]
        made = [await self._embed(one, chosen, dimensions=dimensions) for one in batches]
        return joined(made, chosen)

    async def _embed(
        self, inputs: tuple[EmbedInput, ...], model: str, *, dimensions: int | None
    ) -> Embedding:
        answer = await call_json(
            self._client,
            self._endpoint(self._settings.url("/embeddings"), JSON),
            body=build_embedding(
                inputs, model, dimensions=dimensions, field=self._settings.dimensions_field
            ),
            timeout_s=self._settings.embed_timeout_s,
            limit=MAX_EMBEDDING_BYTES,
        )
        return read_embedding(answer, self._settings, texts=inputs, model=model)

    def _describe(self) -> ProviderInfo:
        rules = self._settings.rules
        return msgspec.structs.replace(
            super()._describe(),
            schema=rules.schema,
            embeddings=self._settings.embeds,
            probed=rules.probe,
            prefill_models=("*",) if rules.prefill is not None else (),
        )

    def _endpoint_of(self, model: str) -> ModelEndpoint:
        return self._endpoint(self._settings.url("/chat/completions"))

    async def _prepare(self, request: ModelRequest) -> tuple[bytes, AnswerAssembly]:
        settings = self._settings
        images = await load_data_urls(request) if settings.vision else {}
        if settings.vision and not settings.has_option("image_address", request):
            request = await with_fetched_images(
                request, self._client, provider=settings.name, loaded=images
            )
        body = build_body(request, settings, images=images)
        assembly = OpenAIAssembly(
            settings, sent_chars=len(body), make_id=self._new_id, model=request.model
        )
        if request.extras is not None:
            assembly.wants_logprobs = request.extras.top_logprobs is not None
        return body, assembly


# Any: keyword arguments of the settings above.
def make(settings: dict[str, Any], client: HttpClient) -> OpenAIProvider:
    """Return a provider with these settings."""
    return OpenAIProvider(OpenAISettings(**settings), client)


class _Vector(msgspec.Struct):
    embedding: tuple[float, ...]
    index: int | None = None


class _Answer(msgspec.Struct):
    data: list[_Vector]
    model: str | None = None
    usage: WireUsage | None = None


_decode = msgspec.json.Decoder(_Answer).decode


def build_embedding(
    inputs: tuple[EmbedInput, ...],
    model: str,
    *,
    dimensions: int | None = None,
    field: str = "dimensions",
) -> bytes:
    """Return the JSON that asks for vectors of `inputs`; `field` is the service's for their size."""
    body: dict[str, Any] = {"model": model, "input": inputs, "encoding_format": "float"}
    return msgspec.json.encode(body if dimensions is None else body | {field: dimensions})


def read_embedding(
    answer: bytes, settings: OpenAISettings, *, texts: tuple[EmbedInput, ...], model: str
) -> Embedding:
    """Return the vectors in the order of `texts`; raise unless there is one for each."""
    found = decode_embedding(answer, settings, decode=_decode)
    check_vectors([row.embedding for row in found.data], settings, expected=len(texts))
    rows = sorted(enumerate(found.data), key=lambda row: _place(row[0], row[1]))
    usage = embedding_usage(found.usage.prompt_tokens if found.usage else None, texts)
    return Embedding(tuple(row.embedding for _, row in rows), usage, found.model or model)


def joined(pieces: list[Embedding], model: str) -> Embedding:
    """Return several batches as one."""
    usage = Usage()
    for piece in pieces:
        usage = usage.plus(piece.usage)
    vectors = tuple(vector for piece in pieces for vector in piece.vectors)
    return Embedding(vectors, usage, pieces[-1].model if pieces else model)


def _place(position: int, row: _Vector) -> int:
    return position if row.index is None else row.index
