"""`OllamaProvider`: one chat with an Ollama server over the one HTTP client; no policy, no retries."""

from typing import Any

import msgspec

from hermes.media.image_fetch import with_fetched_images
from hermes.media.image_files import load_images
from hermes.net.client import HttpClient
from hermes.ports.provider import Embedding, EmbedInput, ModelRequest, ProviderInfo
from hermes.provider_kit.embeddings import (
    MAX_EMBEDDING_BYTES,
    check_vectors,
    decode_embedding,
    embedding_usage,
    only_texts,
)
from hermes.provider_kit.ndjson_parser import NdjsonParser
from hermes.provider_kit.provider import WireProvider
from hermes.provider_kit.stream import JSON, AnswerAssembly, ModelEndpoint, call_json, probe
from hermes.providers.ollama.assembly import OllamaAssembly
from hermes.providers.ollama.settings import OllamaSettings
from hermes.providers.ollama.wire import DIALECT, build_body, build_embedding

# Some proxies label the lines by their parts.
_LINES = ("application/x-ndjson", "application/ndjson", "application/jsonl", "application/json")
_ACCEPT = "application/x-ndjson, application/json"
_MAX_PROBE_BYTES = 4_194_304


class OllamaProvider(WireProvider[OllamaSettings]):
    """One configured Ollama server."""

    DIALECT = DIALECT

    async def available(self) -> bool:
        """Return whether the server is enabled, answers in time and has at least one model."""
        settings = self._settings
        if not settings.enabled:
            return False
        tags = self._endpoint(settings.url("/api/tags"), JSON)
        answer = await probe(
            self._client, tags, timeout_s=settings.probe_timeout_s, limit=_MAX_PROBE_BYTES
        )
        return answer is not None and bool(read_tags(answer))

    async def embed(self, texts: tuple[str, ...], *, model: str) -> Embedding:
        """Return one vector for each text; an empty `model` takes the configured one."""
        return await self.embed_with(texts, model=model, dimensions=None)

    async def embed_with(
        self, inputs: tuple[EmbedInput, ...], *, model: str, dimensions: int | None
    ) -> Embedding:
        """Return one vector for each text, of `dimensions` numbers if that is not None."""
        settings = self._settings
        texts = only_texts(inputs, settings)
        chosen = model or settings.embedding_model
        answer = await call_json(
            self._client,
            _pullable(self._endpoint(settings.url("/api/embed"), JSON), chosen),
            body=build_embedding(texts, chosen, dimensions=dimensions),
            timeout_s=settings.embed_timeout_s,
            limit=MAX_EMBEDDING_BYTES,
        )
        return read_embedding(answer, settings, texts=texts, model=chosen)

    def _describe(self) -> ProviderInfo:
        return msgspec.structs.replace(
            super()._describe(), embeddings=True, probed=True, forces_tools=False
        )

    def _endpoint_of(self, model: str) -> ModelEndpoint:
        return _pullable(self._endpoint(self._settings.url("/api/chat"), _LINES), model)

    def _list_url(self) -> str:
        return self._settings.url("/api/tags")

    def _headers(self, accept: str) -> dict[str, str]:
        return super()._headers(_ACCEPT)

    def _parser(self) -> NdjsonParser:
        return NdjsonParser()

    async def _prepare(self, request: ModelRequest) -> tuple[bytes, AnswerAssembly]:
        settings = self._settings
        images: dict[str, str] = {}
        if settings.vision:
            images = await load_images(request)
            request = await with_fetched_images(
                request, self._client, provider=settings.name, loaded=images
            )
        body = build_body(request, settings, images=images)
        return body, OllamaAssembly(
            settings, sent_chars=len(body), make_id=self._new_id, model=request.model
        )


def _pullable(endpoint: ModelEndpoint, model: str) -> ModelEndpoint:
    """Return the endpoint with the advice for a missing `model`."""
    advice = f"run `ollama pull {model[:80]}` where the server runs, or name a model that it has"
    return msgspec.structs.replace(endpoint, absent=advice)


# Any: keyword arguments of the settings above.
def make(settings: dict[str, Any], client: HttpClient) -> OllamaProvider:
    """Return a provider with these settings."""
    return OllamaProvider(OllamaSettings(**settings), client)


class _Model(msgspec.Struct):
    name: str


class _Tags(msgspec.Struct):
    models: list[_Model] | None = None


class _Vectors(msgspec.Struct):
    embeddings: tuple[tuple[float, ...], ...]
    model: str | None = None
    prompt_eval_count: int | None = None


_decode_vectors = msgspec.json.Decoder(_Vectors).decode


def read_tags(answer: bytes) -> tuple[str, ...]:
    """Return the names of the installed models; none if the answer is not a list of them."""
    try:
        found = msgspec.json.decode(answer, type=_Tags)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return ()
    return tuple(model.name for model in found.models or ())


def read_embedding(
    answer: bytes, settings: OllamaSettings, *, texts: tuple[str, ...], model: str
) -> Embedding:
    """Return the vectors in the order of `texts`; raise unless there is one for each."""
    found = decode_embedding(answer, settings, decode=_decode_vectors)
    check_vectors(found.embeddings, settings, expected=len(texts))
    usage = embedding_usage(found.prompt_eval_count, texts)
    return Embedding(found.embeddings, usage, found.model or model)
