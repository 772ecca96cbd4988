"""`ResponsesProvider`: one Responses call over the one HTTP client; no policy, no retries."""

from collections.abc import AsyncGenerator
from typing import Any

from hermes.media.image_files import load_data_urls
from hermes.message.ids import MakeId, make_id
from hermes.net.client import HttpClient
from hermes.ports.provider import ModelEvent, ModelRequest, ProviderInfo
from hermes.provider_kit.sse_parser import SseParser
from hermes.provider_kit.stream import Assembling, ModelEndpoint, stream_model
from hermes.providers.openai_responses.assembly import ResponsesAssembly
from hermes.providers.openai_responses.settings import ResponsesSettings, check
from hermes.providers.openai_responses.wire import DIALECT, build_body

# The last event repeats the whole answer.
_MAX_EVENT_BYTES = 16_777_216


class ResponsesProvider:
    """One configured service that speaks OpenAI's Responses wire."""

    def __init__(
        self, settings: ResponsesSettings, client: HttpClient, *, new_id: MakeId = make_id
    ) -> None:
        check(settings)
        self._settings = settings
        self._client = client
        self._new_id = new_id
        headers = {
            "Content-Type": "application/json",
            "Accept": "text/event-stream",
            **settings.headers,
        }
        if settings.api_key:
            headers["Authorization"] = f"Bearer {settings.api_key}"
        self._endpoint = ModelEndpoint(
            provider=settings.name,
            url=settings.base_url.rstrip("/") + "/responses",
            headers=headers,
            secret=settings.api_key,
        )
        self._info = ProviderInfo(
            dialect=DIALECT,
            name=settings.name,
            model=settings.model,
            tools=settings.tools,
            vision=settings.vision,
            schema=True,
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

    def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Run one call; closing the iterator closes its connection."""
        return stream_model(
            self._client,
            self._endpoint,
            prepare=lambda: self._prepare(request),
            parser=SseParser(_MAX_EVENT_BYTES),
        )

    async def close(self) -> None:
        """Release nothing: the client belongs to the composition root."""

    async def _prepare(self, request: ModelRequest) -> tuple[bytes, Assembling]:
        settings = self._settings
        images = await load_data_urls(request) if settings.vision else {}
        body = build_body(request, settings, images=images)
        return body, ResponsesAssembly(settings, sent_chars=len(body), make_id=self._new_id)


# Any: keyword arguments of the settings above.
def make(settings: dict[str, Any], client: HttpClient) -> ResponsesProvider:
    """Return a provider with these settings."""
    return ResponsesProvider(ResponsesSettings(**settings), client)
