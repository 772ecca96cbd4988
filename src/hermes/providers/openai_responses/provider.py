"""`ResponsesProvider`: one Responses call over the one HTTP client; no policy, no retries."""

from typing import Any

from hermes.media.image_files import load_data_urls
from hermes.net.client import HttpClient
from hermes.ports.provider import ModelRequest
from hermes.provider_kit.provider import WireProvider
from hermes.provider_kit.sse_parser import SseParser
from hermes.provider_kit.stream import AnswerAssembly, ModelEndpoint
from hermes.providers.openai_responses.assembly import ResponsesAssembly
from hermes.providers.openai_responses.settings import ResponsesSettings
from hermes.providers.openai_responses.wire import DIALECT, build_body

# The last event repeats the whole answer.
_MAX_EVENT_BYTES = 16_777_216


class ResponsesProvider(WireProvider[ResponsesSettings]):
    """One configured service that speaks OpenAI's Responses wire."""

    DIALECT = DIALECT

    def _endpoint_of(self, model: str) -> ModelEndpoint:
        return self._endpoint(self._settings.url("/responses"))

    def _parser(self) -> SseParser:
        return SseParser(_MAX_EVENT_BYTES)

    async def _prepare(self, request: ModelRequest) -> tuple[bytes, AnswerAssembly]:
        settings = self._settings
        images = await load_data_urls(request) if settings.vision else {}
        body = build_body(request, settings, images=images)
        assembly = ResponsesAssembly(settings, sent_chars=len(body), make_id=self._new_id)
        if request.extras is not None:
            assembly.wants_logprobs = request.extras.top_logprobs is not None
        return body, assembly


# Any: keyword arguments of the settings above.
def make(settings: dict[str, Any], client: HttpClient) -> ResponsesProvider:
    """Return a provider with these settings."""
    return ResponsesProvider(ResponsesSettings(**settings), client)
