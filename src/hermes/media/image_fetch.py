"""Fetches the pictures of a request that are at web addresses and sends them by value instead.

It serves providers whose service accepts pictures only as bytes, and knows no dialect. Addresses
come from strangers, so each goes through the guarded side of the one client. A picture that cannot
be fetched is an error, which names the host and nothing else of the address.
"""

import asyncio
import base64
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Final

import msgspec
from yarl import URL

from hermes.errors import NetError, ProviderRejected
from hermes.media.image_files import is_inline
from hermes.message.chat import ChatMessage
from hermes.message.inline_file import InlineFile
from hermes.message.parts import ImagePart, Media, Part
from hermes.message.picture_kind import HEAD_BYTES, PICTURE_KINDS, picture_kind
from hermes.net.client import NO_LIMIT, HttpClient
from hermes.ports.provider import ModelRequest

if TYPE_CHECKING:
    from hermes.net.calls import Response

_HEADERS = {"Accept": ", ".join(PICTURE_KINDS)}


class FetchLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Limits of fetching: seconds and bytes of one picture, and bytes of a whole request."""

    seconds: float = 10.0
    image_bytes: int = 20_000_000
    request_bytes: int = 60_000_000
    at_once: int = 8


LIMITS: Final = FetchLimits()


async def with_fetched_images(
    request: ModelRequest,
    client: HttpClient,
    *,
    provider: str,
    loaded: Collection[str] = (),
    limits: FetchLimits = LIMITS,
) -> ModelRequest:
    """Return the request with every picture that a person sent by address given by value.

    `loaded` are the files that were already read: their pictures need no fetching. One picture that
    cannot be fetched makes the call impossible: `ProviderRejected`.
    """
    if request.plain_chars is not None:
        return request
    urls = {
        url
        for message in request.messages
        if _is_shown(message)
        for part in message.parts
        if (url := _address(part, loaded)) is not None
    }
    if not urls:
        return request
    found = await _Fetching(client, provider=provider, limits=limits).all(urls)
    messages = tuple(_by_value(message, found, loaded=loaded) for message in request.messages)
    return msgspec.structs.replace(request, messages=messages, plain_chars=None)


def _is_shown(message: ChatMessage) -> bool:
    return message.role not in ("assistant", "tool")


def _address(part: Part, loaded: Collection[str]) -> str | None:
    """Return the address to fetch a picture from, or None if there is none."""
    if not isinstance(part, ImagePart) or part.media.path in loaded:
        return None
    url = part.media.url
    return None if url is None or is_inline(url) else url


def _by_value(
    message: ChatMessage, found: Mapping[str, InlineFile], *, loaded: Collection[str]
) -> ChatMessage:
    if not _is_shown(message):
        return message
    parts = tuple(
        part if (url := _address(part, loaded)) is None else _picture(part, found[url])
        for part in message.parts
    )
    return msgspec.structs.replace(message, parts=parts)


def _picture(part: Part, image: InlineFile) -> Part:
    assert isinstance(part, ImagePart)
    return msgspec.structs.replace(part, media=Media(image.mime, url=image.url))


class _Fetching:
    """Fetches the pictures of one request, some in parallel."""

    def __init__(self, client: HttpClient, *, provider: str, limits: FetchLimits) -> None:
        self._client = client
        self._provider = provider
        self._limits = limits
        self._places = asyncio.Semaphore(limits.at_once)
        self._bytes = 0

    async def all(self, urls: Collection[str]) -> dict[str, InlineFile]:
        """Return every picture; the first failure ends the fetching of all."""
        tasks: dict[str, asyncio.Task[InlineFile]] = {}
        failure: Exception | None = None
        try:
            async with asyncio.TaskGroup() as group:
                tasks = {url: group.create_task(self._one(url)) for url in urls}
        except ExceptionGroup as failed:
            failure = failed.exceptions[0]
        if failure is not None:
            raise failure  # raised here, so that the exception group does not become its cause
        return {url: task.result() for url, task in tasks.items()}

    async def _one(self, url: str) -> InlineFile:
        host = self._host(url)
        limits = self._limits
        try:
            async with (
                self._places,
                asyncio.timeout(limits.seconds),
                self._client.request(
                    "image", "GET", url, headers=_HEADERS, timeout_s=NO_LIMIT, trusted=False
                ) as response,
            ):
                self._check_head(response, host)
                body = await response.read(limits.image_bytes)
        except TimeoutError:
            why = f"it did not come whole within {limits.seconds:g} s"
            raise self._rejected(host, why) from None
        except NetError as error:
            raise self._rejected(host, str(error).removeprefix("image: ")) from error
        self._count(body, host)
        data = await asyncio.to_thread(base64.b64encode, body)
        return InlineFile(self._kind(body, host), data.decode())

    def _host(self, url: str) -> str:
        try:
            host = URL(url).host
        except ValueError as error:
            raise self._rejected("an invalid address", "without a readable host") from error
        return host or "an address without host"

    def _check_head(self, response: "Response", host: str) -> None:
        if response.status != 200:
            raise self._rejected(host, f"the host answered {response.status}")
        kind = response.headers.get("Content-Type", "").partition(";")[0].strip().lower()
        if kind not in PICTURE_KINDS and kind != "image/jpg":
            found = f"the type {kind[:40]!r}" if kind else "no type"
            raise self._rejected(host, f"expected one of {', '.join(PICTURE_KINDS)}, found {found}")

    def _count(self, body: bytes, host: str) -> None:
        self._bytes += len(body)
        limit = self._limits.request_bytes
        if self._bytes > limit:
            raise self._rejected(host, f"with it the pictures of this call exceed {limit} bytes")

    def _kind(self, body: bytes, host: str) -> str:
        """Return the kind by the picture's own bytes, which services check."""
        # Not every server says "jpeg", and some declare the wrong kind.
        kind = picture_kind(body[:HEAD_BYTES])
        if kind is None:
            raise self._rejected(host, f"its bytes are not one of {', '.join(PICTURE_KINDS)}")
        return kind

    def _rejected(self, host: str, why: str) -> ProviderRejected:
        return ProviderRejected(
            f"{self._provider}: the picture at {host} cannot be fetched: {why.rstrip('.')}. Check "
            "its"
            " address, or send the picture's bytes as data:image/TYPE;base64,DATA",
            status=400,
        )
