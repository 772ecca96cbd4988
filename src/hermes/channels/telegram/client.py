"""Telegram's calls: the Bot API over the kit's `Api`, each repeated once if Telegram asks for it.

A group that became a supergroup is written to under its new id; text whose markup is refused goes out
without it, and a picture that is refused goes out as a file.
"""

import math
import re
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

import structlog

from hermes.channel_kit.api import Api
from hermes.channel_kit.bounded_map import BoundedMap
from hermes.channel_kit.refusals import ApiAnswer, as_shape, field_of
from hermes.channels.telegram.outbound import BotCall
from hermes.channels.telegram.settings import TelegramSettings
from hermes.channels.telegram.wire import FileInfo, SentMessage
from hermes.errors import BadRequest, DeliveryError, TooLarge
from hermes.message.parts import Media
from hermes.ports.channel_setup import ChannelSetup

_NOTHING: Final[Mapping[str, Any]] = {}
_MAX_DOWNLOAD_BYTES: Final = 20_000_000
# A whole batch of the longest messages, each with its answered message, must fit: a lower limit
# would block polling.
_MAX_BATCH_BYTES: Final = 32 << 20
# Groups that moved since the start; the platform reports it again when asked.
_MAX_MOVED: Final = 1000
_PATH: Final = re.compile(r"(?!.*\.\.)[A-Za-z0-9_-][A-Za-z0-9_./ -]{0,300}")
_BAD_MARKUP: Final = "can't parse entities"
_BAD_PICTURE: Final = ("photo_invalid_dimensions", "image_process_failed", "photo_ext_invalid")

Result = TypeVar("Result")
log = structlog.get_logger(__name__)


class TelegramClient:
    """The calls of one bot; `on_refused` is called with each refusal before it is raised."""

    def __init__(
        self,
        settings: TelegramSettings,
        setup: ChannelSetup,
        *,
        on_refused: Callable[[DeliveryError], None],
    ) -> None:
        token, url = settings.bot_token, settings.api_url.rstrip("/")
        options: dict[str, Any] = {
            "platform": "telegram",
            "masked": (token, token.partition(":")[2]),
            "on_refused": on_refused,
        }
        self._api = Api.of(setup, f"{url}/bot{token}", **options)
        # Its own name in failpoints, since polls run beside every other call.
        self._polls = Api.of(setup, f"{url}/bot{token}", wire="telegram_poll", **options)
        self._files = f"{url}/file/bot{token}/"
        self._moved: BoundedMap[int, int] = BoundedMap(
            _MAX_MOVED, lasts_s=math.inf, clock=setup.clock
        )

    async def call(
        self, method: str, shape: type[Result], params: Mapping[str, Any] = _NOTHING
    ) -> Result:
        """Return the result of a call, in its shape."""
        return self.result(await self.ask(method, params), shape, method)

    def result(self, said: ApiAnswer, shape: type[Result], method: str) -> Result:
        """Return the result of an answer, in its shape; raise the delivery error of a refusal."""
        found = field_of(self._api.success(said, path=method), "result")
        return as_shape(found, shape, platform="telegram", method=method)

    async def ask(self, method: str, params: Mapping[str, Any] = _NOTHING) -> ApiAnswer:
        """Return the answer to a call, also a refusal."""
        return await self._api.ask("POST", method, json=params)

    # Any: updates, each read on its own.
    async def poll(self, params: Mapping[str, Any], *, timeout_s: float) -> list[Any]:
        """Return the updates that wait."""
        said = await self._polls.ask(
            "POST", "getUpdates", json=params, timeout_s=timeout_s, limit=_MAX_BATCH_BYTES
        )
        return self.result(said, list[Any], "getUpdates")

    async def send(self, call: BotCall) -> str:
        """Send; return the id of the message."""
        return sent_id(await self.carry_out(call), method=call.method)

    async def carry_out(self, call: BotCall) -> Any:
        """Make a call, as Telegram wants it; return its answer."""
        chat = call.params.get("chat_id")
        moved = self._moved.get(chat) if isinstance(chat, int) else None
        if moved is not None:
            call = call.to_chat(moved)
        said = await self._made(call)
        new = field_of(said.found, "parameters.migrate_to_chat_id")
        if isinstance(chat, int) and isinstance(new, int):
            self.move(chat, new)
            call = call.to_chat(new)
            said = await self._made(call)
        if call.method == "sendPhoto" and _says(said, *_BAD_PICTURE):
            call = call.as_document()
            said = await self._made(call)
        if call.text_field and _says(said, _BAD_MARKUP):
            log.warning("telegram.markup_refused", method=call.method, said=said.sentence)
            said = await self._made(call.without_markup())
        return self._api.success(said, path=call.method)

    def move(self, old: int, new: int) -> None:
        """Send what is for a group under its new id."""
        self._moved.put(old, new)

    async def download(self, media: Media, *, limit: int) -> bytes:
        """Return the bytes of an attachment; raise `TooLarge` above the limit."""
        limit = min(limit, _MAX_DOWNLOAD_BYTES)
        _check_size(media.size, limit)
        if not media.ref:
            raise BadRequest("the attachment has no file_id of Telegram")
        said = await self.ask("getFile", {"file_id": media.ref})
        if _says(said, "file is too big"):
            raise TooLarge("the attachment is larger than the 20 MB that bots may download")
        info = self.result(said, FileInfo, "getFile")
        _check_size(info.file_size, limit)
        if _PATH.fullmatch(info.file_path) is None:
            raise BadRequest("Telegram gave no path by which the attachment can be fetched")
        return (await self._api.download(self._files + info.file_path, limit=limit)).body

    async def _made(self, call: BotCall) -> ApiAnswer:
        if not call.files:
            return await self.ask(call.method, call.params)
        return await self._api.ask("POST", call.method, form=call.params, files=call.files)


def sent_id(answer: object, *, method: str) -> str:
    """Return the id of what a call has sent, for an album that of the first message."""
    found = field_of(answer, "result")
    first = found[:1] if isinstance(found, list) else [found]
    sent = as_shape(first or None, list[SentMessage], platform="telegram", method=method)
    return str(sent[0].message_id)


def _says(said: ApiAnswer, *pieces: str) -> bool:
    """Return whether a refusal says one of these."""
    return said.status == 400 and any(piece in said.sentence.lower() for piece in pieces)


def _check_size(size: int | None, limit: int) -> None:
    if size is not None and size > limit:
        raise TooLarge(f"the attachment has {size} bytes, at most {limit} are fetched")
