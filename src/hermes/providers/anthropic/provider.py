"""`AnthropicProvider`: one Messages call over the one HTTP client; no policy, no retries."""

from collections.abc import AsyncGenerator
from typing import Any

from hermes.media.image_files import load_images
from hermes.message.ids import MakeId, make_id
from hermes.net.client import HttpClient
from hermes.ports.provider import ModelEvent, ModelRequest, ProviderInfo
from hermes.provider_kit.sse_parser import SseParser
from hermes.provider_kit.stream import ModelEndpoint, stream_model
from hermes.providers.anthropic.assembly import AnthropicAssembly
from hermes.providers.anthropic.conversation import DIALECT
from hermes.providers.anthropic.settings import AnthropicSettings, build_headers, check
from hermes.providers.anthropic.traits import PREFILL_MODELS
from hermes.providers.anthropic.wire import answer_tool, build_body


class WholeEvents(SseParser):
    """The events of a stream; here, half an event at the end of the bytes is none."""

    __slots__ = ()

    def finish(self) -> list[bytes]:
        """Return nothing: an event is whole only with the empty line behind it."""
        return []


class AnthropicProvider:
    """One configured service that speaks Anthropic Messages."""

    def __init__(
        self, settings: AnthropicSettings, client: HttpClient, *, new_id: MakeId = make_id
    ) -> None:
        check(settings)
        self._settings = settings
        self._client = client
        self._new_id = new_id
        self._endpoint = ModelEndpoint(
            provider=settings.name,
            url=settings.messages_url,
            headers=build_headers(settings),
            secret=settings.secret,
        )
        self._info = ProviderInfo(
            dialect=DIALECT,
            name=settings.name,
            model=settings.model,
            tools=settings.tools,
            vision=settings.vision,
            schema=settings.schema,
            context_tokens=settings.context_tokens,
            local=settings.is_on_this_machine,
            probed=False,
            prefill_models=PREFILL_MODELS,
        )

    @property
    def info(self) -> ProviderInfo:
        """What this service can do."""
        return self._info

    async def available(self) -> bool:
        """Tell whether the service is enabled and has a credential."""
        return self._settings.usable

    def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Run one call; closing the iterator closes its connection."""

        async def prepare() -> tuple[bytes, AnthropicAssembly]:
            images = await load_images(request) if self._settings.vision else {}
            answer = answer_tool(request, self._settings)
            body = build_body(request, self._settings, images=images, answer=answer)
            return body, AnthropicAssembly(
                self._settings, sent_chars=len(body), make_id=self._new_id, answer=answer
            )

        return stream_model(self._client, self._endpoint, prepare=prepare, parser=WholeEvents())

    async def close(self) -> None:
        """Release nothing: the client belongs to the composition root."""


# Any: keyword arguments of the settings above.
def make(settings: dict[str, Any], client: HttpClient) -> AnthropicProvider:
    """Return a provider with these settings."""
    return AnthropicProvider(AnthropicSettings(**settings), client)
