"""`OpenAIProvider`: one chat-completions call over the one HTTP client; no policy, no retries."""

from collections.abc import AsyncGenerator
from typing import Any

import msgspec

from hermes.errors import ProviderRejected, ProviderUnavailable
from hermes.media.image_files import load_data_urls
from hermes.message.ids import MakeId, make_id
from hermes.message.reply import Usage
from hermes.net.client import HttpClient
from hermes.ports.pricing import counted, estimated
from hermes.ports.provider import Embedding, ModelEvent, ModelRequest, ProviderInfo
from hermes.provider_kit.service_failure import unusable
from hermes.provider_kit.sse_parser import SseParser
from hermes.provider_kit.stream import (
    EVENTS,
    JSON,
    Assembling,
    ModelEndpoint,
    call_json,
    probe,
    stream_model,
)
from hermes.providers.openai.assembly import OpenAIAssembly
from hermes.providers.openai.chunks import WireUsage
from hermes.providers.openai.settings import OpenAISettings, check, complete
from hermes.providers.openai.wire import DIALECT, build_body

_MAX_PROBE_BYTES = 4_194_304


class OpenAIProvider:
    """One configured service that speaks OpenAI chat completions."""

    def __init__(
        self, settings: OpenAISettings, client: HttpClient, *, new_id: MakeId = make_id
    ) -> None:
        check(settings)
        settings = self._settings = complete(settings)
        self._client = client
        self._new_id = new_id
        self._chat = self._endpoint("/chat/completions", kinds=EVENTS)
        self._embeddings = self._endpoint("/embeddings", kinds=JSON)
        self._models = self._endpoint("/models", kinds=JSON)
        self._info = ProviderInfo(
            dialect=DIALECT,
            name=settings.name,
            model=settings.model,
            tools=settings.tools,
            vision=settings.vision,
            schema=settings.rules.schema,
            embeddings=settings.embeds,
            context_tokens=settings.context_tokens,
            local=settings.is_on_this_machine,
            probed=settings.rules.probe,
            prefill_models=("*",) if settings.rules.prefill is not None else (),
        )

    @property
    def info(self) -> ProviderInfo:
        """What this service can do."""
        return self._info

    async def available(self) -> bool:
        """Tell whether the service is enabled, has its key and, if self-hosted, is there."""
        settings = self._settings
        if not settings.usable or not settings.rules.probe:
            return settings.usable
        answer = await probe(
            self._client,
            self._models,
            timeout_s=settings.probe_timeout_s,
            limit=_MAX_PROBE_BYTES,
        )
        return answer is not None

    def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Run one call; closing the iterator closes its connection.

        Time limits on output are the caller's; only connecting is limited here.
        """
        return stream_model(
            self._client, self._chat, prepare=lambda: self._prepare(request), parser=SseParser()
        )

    async def embed(self, texts: tuple[str, ...], *, model: str) -> Embedding:
        """Return one vector for each text; an empty `model` takes the service's own."""
        settings = self._settings
        chosen = model or settings.embedding_model
        if not chosen:
            raise ProviderRejected(
                f"{settings.name}: no embedding model was named, and the service has none that is"
                " known: name one"
            )
        size = settings.rules.embed_batch
        batches = [texts[start : start + size] for start in range(0, len(texts), size)]
        return joined([await self._embed(batch, chosen) for batch in batches], chosen)

    async def close(self) -> None:
        """Release nothing: the client belongs to the composition root."""

    async def _embed(self, texts: tuple[str, ...], model: str) -> Embedding:
        answer = await call_json(
            self._client,
            self._embeddings,
            body=build_embedding(texts, model),
            timeout_s=self._settings.embed_timeout_s,
            limit=MAX_ANSWER_BYTES,
        )
        return read_embedding(answer, self._settings, texts=texts, model=model)

    async def _prepare(self, request: ModelRequest) -> tuple[bytes, Assembling]:
        settings = self._settings
        images = await load_data_urls(request) if settings.vision else {}
        body = build_body(request, settings, images=images)
        return body, OpenAIAssembly(settings, sent_chars=len(body), make_id=self._new_id)

    def _endpoint(self, path: str, *, kinds: tuple[str, ...]) -> ModelEndpoint:
        settings = self._settings
        headers = {"Content-Type": "application/json", "Accept": kinds[0], **settings.headers}
        if settings.api_key:
            headers["Authorization"] = f"Bearer {settings.api_key}"
        return ModelEndpoint(
            provider=settings.name,
            url=settings.base_url.rstrip("/") + path,
            headers=headers,
            secret=settings.api_key,
            kinds=kinds,
        )


# Any: keyword arguments of the settings above.
def make(settings: dict[str, Any], client: HttpClient) -> OpenAIProvider:
    """Return a provider with these settings."""
    return OpenAIProvider(OpenAISettings(**settings), client)


MAX_ANSWER_BYTES = 268_435_456


class _Vector(msgspec.Struct):
    embedding: tuple[float, ...]
    index: int | None = None


class _Answer(msgspec.Struct):
    data: list[_Vector]
    model: str | None = None
    usage: WireUsage | None = None


_decode = msgspec.json.Decoder(_Answer).decode


def build_embedding(texts: tuple[str, ...], model: str) -> bytes:
    """Return the JSON that asks for the vectors of `texts`."""
    return msgspec.json.encode({"model": model, "input": texts, "encoding_format": "float"})


def read_embedding(
    answer: bytes, settings: OpenAISettings, *, texts: tuple[str, ...], model: str
) -> Embedding:
    """Return the vectors in the order of `texts`; raise when there is not one for each."""
    try:
        found = _decode(answer)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise unusable(
            settings.name,
            answer,
            found="something else",
            expected="a list of embeddings",
            secret=settings.api_key,
        ) from error
    if len(found.data) != len(texts):
        raise ProviderUnavailable(
            f"{settings.name}: the service answered {len(found.data)} embeddings, expected"
            f" {len(texts)}: one for each text"
        )
    if not all(row.embedding for row in found.data):
        raise ProviderUnavailable(
            f"{settings.name}: the service answered an embedding without numbers; none is used"
        )
    rows = sorted(enumerate(found.data), key=lambda row: _place(row[0], row[1]))
    usage = _measure(found.usage, texts)
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


def _measure(usage: WireUsage | None, texts: tuple[str, ...]) -> Usage:
    told = None if usage is None else usage.prompt_tokens
    tokens = estimated(sum(map(len, texts))) if told is None else counted(told)
    return Usage(tokens_in=tokens)
