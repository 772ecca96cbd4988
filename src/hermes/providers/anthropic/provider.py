"""`AnthropicProvider`: one Messages call over the one HTTP client; no policy, no retries."""

from typing import Any

import msgspec

from hermes.media.image_files import load_images
from hermes.net.client import HttpClient
from hermes.ports.provider import ModelRequest, ProviderInfo
from hermes.provider_kit.provider import WireProvider
from hermes.provider_kit.sse_parser import SseParser
from hermes.provider_kit.stream import AnswerAssembly, ModelEndpoint
from hermes.providers.anthropic.assembly import AnthropicAssembly
from hermes.providers.anthropic.conversation import DIALECT
from hermes.providers.anthropic.settings import AnthropicSettings, build_headers
from hermes.providers.anthropic.traits import PREFILL_MODELS
from hermes.providers.anthropic.wire import answer_tool, build_body


class WholeEvents(SseParser):
    """The events of a stream; an incomplete event at the end of the bytes is dropped."""

    __slots__ = ()

    def finish(self) -> list[bytes]:
        """Return nothing: an event is complete only with the empty line after it."""
        return []


class AnthropicProvider(WireProvider[AnthropicSettings]):
    """One configured service that speaks Anthropic Messages."""

    DIALECT = DIALECT

    def _describe(self) -> ProviderInfo:
        return msgspec.structs.replace(
            super()._describe(), schema=self._settings.schema, prefill_models=PREFILL_MODELS
        )

    def _endpoint_of(self, model: str) -> ModelEndpoint:
        return self._endpoint(self._settings.messages_url)

    def _list_url(self) -> str:
        return self._settings.messages_url.removesuffix("messages") + "models?limit=1000"

    def _headers(self, accept: str) -> dict[str, str]:
        return build_headers(self._settings)

    def _parser(self) -> WholeEvents:
        return WholeEvents()

    async def _prepare(self, request: ModelRequest) -> tuple[bytes, AnswerAssembly]:
        settings = self._settings
        images = await load_images(request) if settings.vision else {}
        answer = answer_tool(request, settings)
        body = build_body(request, settings, images=images, answer=answer)
        return body, AnthropicAssembly(
            settings, sent_chars=len(body), make_id=self._new_id, answer=answer
        )


# Any: keyword arguments of the settings above.
def make(settings: dict[str, Any], client: HttpClient) -> AnthropicProvider:
    """Return a provider with these settings."""
    return AnthropicProvider(AnthropicSettings(**settings), client)
