"""Telegram's sockets: calls of the Bot API over the one client, and downloads.

The bot token is part of every address, so no error raised here contains an address or is chained to
the HTTP library's error, whose text may contain it.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from hermes.channels.telegram.outbound import BotUpload, encode_multipart
from hermes.channels.telegram.refusals import BotAnswer, read_reply
from hermes.errors import DeliveryUnknown, FailureClass, NotDelivered
from hermes.net.client import HttpClient
from hermes.net.platform_call import MAX_ANSWER_BYTES, PlatformAnswer, call

_NOTHING: Final[Mapping[str, Any]] = {}
_NO_FILES: Final[Mapping[str, BotUpload]] = {}
_MASK: Final = "****"
# A slow line carries a megabyte per second; an upload may take that long.
_UPLOAD_BYTES_PER_S: Final = 1_000_000


class TelegramClient:
    """The calls of one bot."""

    def __init__(
        self, client: HttpClient, *, api_url: str, token: str, make_id: Callable[[str], str]
    ) -> None:
        self._client = client
        self._base = f"{api_url}/bot{token}/"
        self._files = f"{api_url}/file/bot{token}/"
        self._token = token
        self._make_id = make_id

    def __repr__(self) -> str:
        return "TelegramClient()"

    async def ask(
        self,
        method: str,
        params: Mapping[str, Any] = _NOTHING,
        *,
        files: Mapping[str, BotUpload] = _NO_FILES,
        timeout_s: float | None = None,
        limit: int = MAX_ANSWER_BYTES,
        name: str = "telegram",
    ) -> BotAnswer:
        """Call a method and return its answer, also a refusal; raise if there is none."""
        if files:
            boundary = self._make_id("part")
            body = encode_multipart(params, files, boundary=boundary)
            kind = f"multipart/form-data; boundary={boundary}"
            timeout_s = (
                timeout_s or self._client.settings.timeout_s + len(body) / _UPLOAD_BYTES_PER_S
            )
        else:
            body, kind = msgspec.json.encode(params), "application/json"
        headers = {"Content-Type": kind}
        answer = await self._call(
            "POST",
            self._base + method,
            name=name,
            headers=headers,
            body=body,
            timeout_s=timeout_s,
            limit=limit,
        )
        reply = read_reply(answer)
        return msgspec.structs.replace(reply, said=self._masked(reply.said))

    async def download(self, path: str, *, limit: int) -> PlatformAnswer:
        """Download a file by the path from getFile, at most `limit` bytes."""
        return await self._call("GET", self._files + path, name="telegram", limit=limit)

    async def _call(self, method: str, url: str, *, name: str, **options: Any) -> PlatformAnswer:
        # Any: the options of `platform_call.call`, which checks them.
        try:
            return await call(self._client, method, url, platform=name, **options)
        except NotDelivered as error:
            failure: NotDelivered | DeliveryUnknown = NotDelivered(
                self._masked(str(error)), FailureClass.SERVICE_UNAVAILABLE
            )
        except DeliveryUnknown as error:
            failure = DeliveryUnknown(self._masked(str(error)), FailureClass.NETWORK_TIMEOUT)
        # Outside of the handlers: what is raised must not lead back to the address.
        raise failure

    def _masked(self, text: str) -> str:
        secret = self._token.partition(":")[2]
        return text.replace(self._token, _MASK).replace(secret, _MASK)
