"""Sends files: gets an address from Slack, uploads the bytes, and shares them with one last call.

Only that last call can have an unknown outcome; everything before it is invisible to people.
"""

from typing import Final

from hermes.channel_kit.attachments import read_attachment
from hermes.channels.slack.client import SlackApi
from hermes.channels.slack.outbound import Json
from hermes.channels.slack.uploads import Uploads
from hermes.errors import (
    AddressRefused,
    DeliveryRejected,
    DeliveryUnknown,
    FailureClass,
    NotDelivered,
    StoreError,
    TryLater,
)
from hermes.message.markup.conversion import converted
from hermes.message.markup.marks import Marks
from hermes.message.markup.parse import parse
from hermes.message.parts import Media, text_of
from hermes.ports.channel import Delivery, Receipt
from hermes.ports.channel_setup import MediaFiles

_MOST_OPENED: Final = 5_000


class FileSender:
    """Shares files in chats, and knows the direct chats of people."""

    def __init__(
        self, api: SlackApi, uploads: Uploads, *, marks: Marks, media: MediaFiles, limit: int
    ) -> None:
        self._api = api
        self._marks = marks
        self.uploads = uploads
        self._media = media
        self._limit = limit
        self._opened: dict[str, str] = {}

    async def channel_of(self, chat_id: str) -> str:
        """Return the chat itself, or the direct chat with a person who is named instead."""
        if not chat_id.startswith(("U", "W")):
            return chat_id
        known = self._opened.get(chat_id)
        if known is None:
            found = await self._api.form("conversations.open", {"users": chat_id})
            channel = found.get("channel")
            told = channel.get("id") if isinstance(channel, dict) else None
            known = told if isinstance(told, str) else chat_id
            if len(self._opened) >= _MOST_OPENED:
                self._opened.clear()
            self._opened[chat_id] = known
        return known

    async def share(
        self, delivery: Delivery, files: tuple[Media, ...], *, channel: str, thread: str | None
    ) -> Receipt:
        """Share the files of a delivery as one message; its receipt is the first file's id."""
        try:
            ready = [await self._put(media) for media in files]
        except DeliveryUnknown as error:
            raise NotDelivered(str(error), error.failure) from error
        file_id = ready[0]["id"]
        await self._note(delivery.key, file_id)
        body: Json = {"files": ready, "channel_id": channel}
        text = text_of(delivery.parts)
        words = await converted(lambda: self._marks.write(parse(text)), chars=len(text))
        if words:
            body["initial_comment"] = words
        if thread is not None:
            body["thread_ts"] = thread
        await self._api.form("files.completeUploadExternal", body)
        return Receipt(file_id)

    async def _note(self, key: str, file_id: str) -> None:
        try:
            await self.uploads.note(key, file_id)
        except (StoreError, TryLater) as error:
            raise NotDelivered(
                f"slack: the upload cannot be recorded, so it is not shared: {error}",
                FailureClass.SERVICE_UNAVAILABLE,
            ) from error

    async def _put(self, media: Media) -> dict[str, str]:
        data = await read_attachment(self._media, media, limit=self._limit, platform="slack")
        name = media.name or "file"
        found = await self._api.form(
            "files.getUploadURLExternal", {"filename": name, "length": len(data)}
        )
        url, file_id = found.get("upload_url"), found.get("file_id")
        if not isinstance(url, str) or not isinstance(file_id, str):
            raise NotDelivered(
                "slack: files.getUploadURLExternal named no address",
                FailureClass.SERVICE_UNAVAILABLE,
            )
        try:
            await self._api.upload(url, data)
        except AddressRefused as error:
            raise DeliveryRejected(str(error), FailureClass.REJECTED) from error
        return {"id": file_id, "title": name}
