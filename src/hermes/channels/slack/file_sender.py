"""Sends files: gets an address from Slack, uploads the bytes, and shares them with one last call.

Only that last call can have an unknown outcome; everything before it is invisible to people.
"""

from typing import Final

import msgspec

from hermes.channel_kit.api import Api
from hermes.channel_kit.attachments import read_attachment
from hermes.channel_kit.bounded_map import BoundedMap
from hermes.channel_kit.kept_map import KeptMap
from hermes.channel_kit.refusals import field_of
from hermes.channels.slack.outbound import Json
from hermes.channels.slack.wire import PLATFORM
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
from hermes.ports.channel_setup import ChannelSetup
from hermes.ports.channel_state import PlatformState

_MOST_OPENED: Final = 5_000
_OPENED_S: Final = 86_400.0
_MOST_UPLOADS: Final = 500
# All of them in one file, as an earlier version wrote it.
_OLD_FILE: Final = "uploads.json"


class Uploads:
    """Which file each of the last sends has uploaded, by their keys; in the store before anyone sees it.

    A file carries no metadata, so a send whose answer was lost is found by its file's id.
    """

    def __init__(self, state: PlatformState) -> None:
        self._state = state
        self._ids = KeptMap(state, "upload/", most=_MOST_UPLOADS)

    async def note(self, key: str, file_id: str) -> None:
        """Record which file a send has uploaded; it is durable when this returns."""
        await self._ids.put(key, file_id)

    async def find(self, key: str) -> str | None:
        """Return the file that a send has uploaded, if any."""
        found = await self._ids.get(key)
        return await self._find_old(key) if found is None else found

    async def _find_old(self, key: str) -> str | None:
        content = await self._state.get(_OLD_FILE)
        try:
            return msgspec.json.decode(content or b"{}", type=dict[str, str]).get(key)
        except (msgspec.DecodeError, RecursionError):
            return None


class FileSender:
    """Shares files in chats, and knows the direct chats of people."""

    def __init__(self, api: Api, setup: ChannelSetup, *, marks: Marks) -> None:
        self._api = api
        self._marks = marks
        self.uploads = Uploads(setup.state)
        self._media = setup.media
        self._limit = setup.capabilities.media_bytes
        self._opened: BoundedMap[str, str] = BoundedMap(
            _MOST_OPENED, lasts_s=_OPENED_S, clock=setup.clock
        )

    async def channel_of(self, chat_id: str) -> str:
        """Return the chat itself, or the direct chat with a person who is named instead."""
        if not chat_id.startswith(("U", "W")):
            return chat_id
        known = self._opened.get(chat_id)
        if known is None:
            found = await self._api.call("POST", "conversations.open", form={"users": chat_id})
            told = field_of(found, "channel.id")
            known = told if isinstance(told, str) else chat_id
            self._opened.put(chat_id, known)
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
        await self._api.call("POST", "files.completeUploadExternal", form=body)
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
        data = await read_attachment(self._media, media, limit=self._limit, platform=PLATFORM)
        name = media.name or "file"
        form = {"filename": name, "length": len(data)}
        found = await self._api.call("POST", "files.getUploadURLExternal", form=form)
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
