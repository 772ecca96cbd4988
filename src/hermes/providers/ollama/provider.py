"""`OllamaProvider`: one chat with an Ollama server over the one HTTP client; no policy, no retries."""

from collections.abc import AsyncGenerator
from typing import Any

import msgspec

from hermes.errors import ProviderUnavailable
from hermes.media.image_fetch import with_fetched_images
from hermes.media.image_files import load_images
from hermes.message.ids import MakeId, make_id
from hermes.message.reply import Usage
from hermes.net.client import HttpClient
from hermes.ports.pricing import counted, estimated
from hermes.ports.provider import Embedding, ModelEvent, ModelRequest, ProviderInfo
from hermes.provider_kit.ndjson_parser import NdjsonParser
from hermes.provider_kit.service_failure import unusable
from hermes.provider_kit.stream import (
    JSON,
    Assembling,
    ModelEndpoint,
    call_json,
    probe,
    stream_model,
)
from hermes.providers.ollama.assembly import OllamaAssembly
from hermes.providers.ollama.settings import OllamaSettings, check
from hermes.providers.ollama.wire import DIALECT, build_body, build_embedding

# Some proxies call the lines by their parts.
_LINES = ("application/x-ndjson", "application/ndjson", "application/jsonl", "application/json")
_MAX_PROBE_BYTES = 4_194_304
_MAX_EMBEDDING_BYTES = 268_435_456


class OllamaProvider:
    """One configured Ollama server."""

    def __init__(
        self, settings: OllamaSettings, client: HttpClient, *, new_id: MakeId = make_id
    ) -> None:
        check(settings)
        self._settings = settings
        self._client = client
        self._new_id = new_id
        self._chat = self._endpoint("/api/chat", kinds=_LINES)
        self._embed = self._endpoint("/api/embed", kinds=JSON)
        self._tags = self._endpoint("/api/tags", kinds=JSON)
        self._info = ProviderInfo(
            dialect=DIALECT,
            name=settings.name,
            model=settings.model,
            tools=settings.tools,
            vision=settings.vision,
            schema=True,
            embeddings=True,
            context_tokens=settings.context_tokens,
            local=settings.is_on_this_machine,
            forces_tools=False,
        )

    @property
    def info(self) -> ProviderInfo:
        """What this server can do."""
        return self._info

    async def available(self) -> bool:
        """Tell whether the server is enabled, answers in time and has at least one model."""
        settings = self._settings
        if not settings.enabled:
            return False
        answer = await probe(
            self._client, self._tags, timeout_s=settings.probe_timeout_s, limit=_MAX_PROBE_BYTES
        )
        return answer is not None and bool(read_tags(answer))

    def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Run one call; closing the iterator closes its connection."""
        model = request.model or self._settings.model
        return stream_model(
            self._client,
            _pullable(self._chat, model),
            prepare=lambda: self._prepare(request),
            parser=NdjsonParser(),
        )

    async def embed(self, texts: tuple[str, ...], *, model: str) -> Embedding:
        """Return one vector for each text; an empty `model` takes the configured one."""
        settings = self._settings
        chosen = model or settings.embedding_model
        answer = await call_json(
            self._client,
            _pullable(self._embed, chosen),
            body=build_embedding(texts, chosen),
            timeout_s=settings.embed_timeout_s,
            limit=_MAX_EMBEDDING_BYTES,
        )
        return read_embedding(answer, settings, texts=texts, model=chosen)

    async def close(self) -> None:
        """Release nothing: the client belongs to the composition root."""

    async def _prepare(self, request: ModelRequest) -> tuple[bytes, Assembling]:
        settings = self._settings
        images: dict[str, str] = {}
        if settings.vision:
            images = await load_images(request)
            request = await with_fetched_images(
                request, self._client, provider=settings.name, loaded=images
            )
        body = build_body(request, settings, images=images)
        return body, OllamaAssembly(settings, sent_chars=len(body), make_id=self._new_id)

    def _endpoint(self, path: str, *, kinds: tuple[str, ...]) -> ModelEndpoint:
        settings = self._settings
        headers = {
            "Content-Type": "application/json",
            "Accept": "application/x-ndjson, application/json",
            **settings.headers,
        }
        if settings.api_key:
            headers["Authorization"] = f"Bearer {settings.api_key}"
        return ModelEndpoint(
            provider=settings.name,
            url=settings.base_url.rstrip("/") + path,
            headers=headers,
            secret=settings.api_key,
            kinds=kinds,
        )


def _pullable(endpoint: ModelEndpoint, model: str) -> ModelEndpoint:
    """Return the endpoint with what helps when `model` is not there."""
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


def read_tags(answer: bytes) -> tuple[str, ...]:
    """Return the names of the models that are there; none when the answer is no list of them."""
    try:
        found = msgspec.json.decode(answer, type=_Tags)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return ()
    return tuple(model.name for model in found.models or ())


def read_embedding(
    answer: bytes, settings: OllamaSettings, *, texts: tuple[str, ...], model: str
) -> Embedding:
    """Return the vectors in the order of `texts`; raise when there is not one for each."""
    try:
        found = msgspec.json.decode(answer, type=_Vectors)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise unusable(
            settings.name,
            answer,
            found="something else",
            expected="a list of embeddings",
            secret=settings.api_key,
        ) from error
    if len(found.embeddings) != len(texts):
        raise ProviderUnavailable(
            f"{settings.name}: the server answered {len(found.embeddings)} embeddings, expected"
            f" {len(texts)}: one for each text"
        )
    if not all(found.embeddings):
        raise ProviderUnavailable(
            f"{settings.name}: the server answered an embedding without numbers; none is used"
        )
    told = found.prompt_eval_count
    tokens = estimated(sum(map(len, texts))) if told is None else counted(told)
    return Embedding(found.embeddings, Usage(tokens_in=tokens), found.model or model)
