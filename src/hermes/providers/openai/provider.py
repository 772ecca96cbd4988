"""`OpenAIProvider`: one chat-completions call over the one HTTP client; no policy, no retries."""

import asyncio
import base64
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from hermes.errors import ProviderError, ProviderUnavailable, StreamTruncated
from hermes.message.ids import MakeId, make_id
from hermes.net.client import NO_LIMIT, HttpClient, Response
from hermes.net.errors import AnswerTooLarge, NetError
from hermes.net.sse_parser import SseParser
from hermes.ports.provider import ModelEvent, ModelRequest, ProviderInfo
from hermes.providers.openai.assembly import Assembly
from hermes.providers.openai.failures import MAX_ERROR_BYTES, failure
from hermes.providers.openai.settings import OpenAISettings, check
from hermes.providers.openai.wire import build_body, image_files

_MAX_IMAGE_BYTES = 20_000_000
_LINGER_S = 0.1


class OpenAIProvider:
    """One configured service that speaks OpenAI chat completions."""

    def __init__(
        self, settings: OpenAISettings, client: HttpClient, *, new_id: MakeId = make_id
    ) -> None:
        check(settings)
        self._settings = settings
        self._client = client
        self._new_id = new_id
        self._name = f"provider.{settings.name}"
        self._url = settings.base_url.rstrip("/") + "/chat/completions"
        self._headers = {
            "Content-Type": "application/json",
            "Accept": "text/event-stream",
            **settings.headers,
        }
        if settings.api_key:
            self._headers["Authorization"] = f"Bearer {settings.api_key}"
        self._info = ProviderInfo(
            name=settings.name,
            model=settings.model,
            tools=settings.tools,
            vision=settings.vision,
            context_tokens=settings.context_tokens,
            price_in_per_million=settings.price_in_per_million,
            price_out_per_million=settings.price_out_per_million,
            local=settings.is_on_this_machine,
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
        body = await self._body(request)
        assembly = Assembly(self._settings, sent_chars=len(body), make_id=self._new_id)
        async with self._call(body) as response:
            if response.status != 200:
                raise await self._failure(response)
            parser = SseParser()
            more = True
            while more and not assembly.done:
                payloads, more = await _read(response, parser, assembly=assembly)
                for payload in payloads:
                    event = assembly.feed(payload)
                    if event is not None:
                        yield event
            yield assembly.end()
            await _linger(response)

    async def close(self) -> None:
        """Release nothing: the client belongs to the composition root."""

    @asynccontextmanager
    async def _call(self, body: bytes) -> AsyncIterator[Response]:
        try:
            async with self._client.request(
                self._name,
                "POST",
                self._url,
                headers=self._headers,
                body=body,
                timeout_s=NO_LIMIT,
                trusted=True,
            ) as response:
                yield response
        except NetError as error:
            raise ProviderUnavailable(str(error)) from error

    async def _body(self, request: ModelRequest) -> bytes:
        files = image_files(request) if self._settings.vision else {}
        images = await asyncio.to_thread(_load_images, files) if files else {}
        return build_body(request, self._settings, images=images)

    async def _failure(self, response: Response) -> ProviderError:
        try:
            body = await response.read(MAX_ERROR_BYTES)
        except AnswerTooLarge:
            body = b""
        return failure(
            self._settings.name,
            response.status,
            headers=response.headers,
            body=body,
            secret=self._settings.api_key,
        )


async def _read(
    response: Response, parser: SseParser, *, assembly: Assembly
) -> tuple[list[bytes], bool]:
    """Return the next events and whether more may come.

    What is lost behind the announced end is not missed.
    """
    try:
        chunk = await response.read_some()
        return (parser.feed(chunk), True) if chunk else (parser.finish(), False)
    except NetError as error:
        if assembly.ended:
            return [], False
        if assembly.started:
            raise StreamTruncated(f"{error}; the answer is not whole") from error
        raise


async def _linger(response: Response) -> None:
    """Wait shortly for the end of the body, so that the connection can be used again."""
    if response.complete:
        return
    try:
        async with asyncio.timeout(_LINGER_S):
            while await response.read_some():
                pass
    except (TimeoutError, NetError):
        return  # the service keeps the stream open or cut it: leaving the call closes it


def _load_images(files: Mapping[str, str]) -> dict[str, str]:
    """Return each file as a data URL; one that is gone or too large is left out."""
    found: dict[str, str] = {}
    for path, mime in files.items():
        file = Path(path)
        try:
            if file.stat().st_size > _MAX_IMAGE_BYTES:
                continue
            data = file.read_bytes()
        except OSError:
            continue
        found[path] = f"data:{mime};base64,{base64.b64encode(data).decode()}"
    return found
