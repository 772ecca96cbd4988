"""Fetches pages for tools, through the guarded side of the one client and within limits.

It implements the web port and does not interpret pages. A page that is too long is cut, because its
beginning is worth reading; one that takes too long is an error.
"""

from email.message import Message
from typing import TYPE_CHECKING

import msgspec

from hermes.errors import AnswerLost
from hermes.net.client import HttpClient
from hermes.ports.web import WantsKind, WebAsk, WebDocument

if TYPE_CHECKING:
    from hermes.net.calls import Response

_SERVICE_BYTES = 2_000_000
_DECODED = frozenset({"", "identity", "gzip", "deflate"})
_HEADERS = {
    "Accept": "text/html,application/xhtml+xml,text/plain,application/json,text/*;q=0.9",
    "Accept-Encoding": "gzip, deflate",
}


class PageLimits(msgspec.Struct, frozen=True, kw_only=True):
    """What one page may take: seconds over all redirects, and bytes after decompression."""

    seconds: float = 20.0
    body_bytes: int = 2_000_000


class PageFetch:
    """Fetches pages; implements `WebReader`."""

    def __init__(self, client: HttpClient, *, limits: PageLimits | None = None) -> None:
        self._client = client
        self._limits = limits or PageLimits()

    async def fetch(self, url: str, wants: WantsKind) -> WebDocument:
        """Return the document, with its body if it is a 200 of a kind that `wants`; raises
        `NetError`."""
        async with self._client.request(
            "page", "GET", url, headers=_HEADERS, timeout_s=self._limits.seconds, trusted=False
        ) as response:
            kind, charset = _content_type(response.headers.get("Content-Type", ""))
            found = WebDocument(
                url=response.url, status=response.status, kind=kind, charset=charset
            )
            if response.status != 200 or not wants(kind):
                return found
            body, cut = await self._read(response)
        return msgspec.structs.replace(found, body=body, cut=cut)

    async def _read(self, response: "Response") -> tuple[bytes, bool]:
        """Return the body up to the limit, and whether it continues; it comes in small pieces."""
        coding = response.headers.get("Content-Encoding", "").strip().lower()
        if coding not in _DECODED:
            raise AnswerLost(
                f"page: the answer is encoded as {coding[:40]!r}, which was not requested"
            )
        limit = self._limits.body_bytes
        body = bytearray()
        while len(body) <= limit and (piece := await response.read_some()):
            body += piece
        return bytes(body[:limit]), len(body) > limit


def _content_type(header: str) -> tuple[str, str | None]:
    """Return the media type in lower case, and the charset beside it."""
    if not header.strip():
        return "", None
    message = Message()
    message["Content-Type"] = header[:500].replace("\r", " ").replace("\n", " ")
    named = "/" in header.partition(";")[0]
    return message.get_content_type() if named else "", message.get_content_charset()


class ServiceCalls:
    """Calls services of the web for tools; implements `WebCaller`."""

    def __init__(self, client: HttpClient) -> None:
        self._client = client

    async def call(self, ask: WebAsk) -> WebDocument:
        """Return the answer; its body is read only if its status is 200."""
        method = "GET" if ask.body is None else "POST"
        async with self._client.request(
            "search",
            method,
            ask.url,
            headers=ask.headers,
            body=ask.body,
            timeout_s=ask.timeout_s,
            trusted=ask.is_trusted,
        ) as response:
            kind, charset = _content_type(response.headers.get("Content-Type", ""))
            found = WebDocument(
                url=response.url, status=response.status, kind=kind, charset=charset
            )
            if response.status != 200:
                return found
            return msgspec.structs.replace(found, body=await response.read(_SERVICE_BYTES))
