"""What a program is asked: the newest messages, their attachments as files, and what it cannot know.

A program sees no parts of messages, only text and its working folder. So an attachment becomes a file
there, under a name that depends on its content: what is placed again after a crash is the same file,
and a program's own changes to it stay.
"""

import asyncio
import base64
import binascii
import hashlib
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Final

import structlog

from hermes.errors import BadRequest, HermesError, NotFound, TooLarge
from hermes.message.chat import ChatMessage
from hermes.message.file_name import safe_name
from hermes.message.parts import AudioPart, FilePart, ImagePart, Media, Part, TextPart
from hermes.ports.adapter import AdapterCall
from hermes.tools.terminal.files_beneath import FilesBeneath

FOLDER: Final = "attachments"
# Returns the bytes of a file in the media cache, at most this many.
ReadMedia = Callable[[Media, int], Awaitable[bytes]]
_HISTORY_CHARS: Final = 40_000
_HASH_CHARS: Final = 12
_NO_ROOM: Final = "it does not fit in the working folder"
_CUT_OFF: Final = (
    "[A restart cut you off while you worked on the following message. See what you have done of it "
    "already, do not do that again, and go on.]"
)
_EARLIER: Final = "[This conversation began without you. What was said so far:]"
_Attached = ImagePart | AudioPart | FilePart
_EXTENSIONS: Final[Mapping[str, str]] = {
    "image/png": "png",
    "image/jpeg": "jpg",
    "image/gif": "gif",
    "image/webp": "webp",
    "audio/mpeg": "mp3",
    "audio/ogg": "ogg",
    "audio/wav": "wav",
    "application/pdf": "pdf",
    "text/plain": "txt",
}
_log = structlog.get_logger(__name__)


class AttachmentPlace:
    """Where the attachments of one call become files: below `files`, while they fit in `room` bytes."""

    def __init__(self, files: FilesBeneath, read: ReadMedia, *, room: int) -> None:
        self._files = files
        self._read = read
        self._room = room

    async def placed(self, messages: tuple[ChatMessage, ...]) -> tuple[ChatMessage, ...]:
        """Return messages in which each attachment of the newest ones is the name of its file."""
        newest = _newest_at(messages)
        return (*messages[:newest], *[await self._with_files(one) for one in messages[newest:]])

    async def _with_files(self, message: ChatMessage) -> ChatMessage:
        parts = [await self._replaced(part) for part in message.parts]
        return ChatMessage(message.role, tuple(parts))

    async def _replaced(self, part: Part) -> Part:
        if not isinstance(part, _Attached):
            return part
        media = part.media
        try:
            data = await self._bytes(media)
            path = f"{FOLDER}/{_file_name(media, data)}"
            if await asyncio.to_thread(self._write, path, data):
                self._room -= len(data)
        except (HermesError, OSError) as error:
            _log.warning("attachment_not_placed", problem=str(error))
            return TextPart(f"\n[Attachment {_called(media)} is missing: {_why(error)}.]")
        words = part.transcript if isinstance(part, AudioPart) else None
        said = f"\n[What is said in it: {words}]" if words else ""
        return TextPart(f"\n[Attached file: {path} ({media.mime}, {len(data):,} bytes)]{said}")

    async def _bytes(self, media: Media) -> bytes:
        if media.path is not None:
            return await self._read(media, self._room)
        head, _, data = (media.url or "").partition(",")
        if not head.lower().endswith(";base64"):
            raise NotFound("it was not fetched")
        try:
            found = await asyncio.to_thread(partial(base64.b64decode, data, validate=True))
        except binascii.Error as error:
            raise BadRequest("its bytes are broken") from error
        if len(found) > self._room:
            raise TooLarge(_NO_ROOM)
        return found

    def _write(self, path: str, data: bytes) -> bool:
        """Write a file that is not there yet; return whether it was written."""
        if self._files.has(path):
            return False
        self._files.write(path, data)
        return True


def has_attachments(messages: tuple[ChatMessage, ...]) -> bool:
    """Return whether there are attachments among the newest messages."""
    newest = messages[_newest_at(messages) :]
    return any(isinstance(part, _Attached) for message in newest for part in message.parts)


def prompt_of(call: AdapterCall, *, is_new: bool) -> str:
    """Return what the program is asked."""
    newest = _newest_at(call.messages)
    parts = [_text(message) for message in call.messages[newest:]]
    if call.was_cut_off:
        parts.insert(0, _CUT_OFF)
    if is_new and newest:
        parts.insert(0, _earlier(call.messages[:newest]))
    return "\n\n".join(filter(None, parts))


def _newest_at(messages: tuple[ChatMessage, ...]) -> int:
    """Return where the messages begin that nobody has answered yet."""
    newest = len(messages)
    while newest and messages[newest - 1].role == "user":
        newest -= 1
    return newest


def _earlier(messages: tuple[ChatMessage, ...]) -> str:
    lines = [f"{message.role}: {_text(message)}" for message in messages if _text(message)]
    return f"{_EARLIER}\n" + "\n".join(lines)[-_HISTORY_CHARS:] + "\n"


def _text(message: ChatMessage) -> str:
    """Return the text of a message; of one before the newest the attachments are only counted."""
    others = sum(not isinstance(part, TextPart) for part in message.parts)
    note = (
        f"\n[{others} attachments are not shown here]" if others and message.role == "user" else ""
    )
    return f"{message.text}{note}"


def _file_name(media: Media, data: bytes) -> str:
    """Return the name of an attachment's file: its own behind the hash of its content."""
    name = safe_name(media.name) or f"file.{_EXTENSIONS.get(media.mime, 'bin')}"
    return f"{hashlib.sha256(data).hexdigest()[:_HASH_CHARS]}-{name}"


def _called(media: Media) -> str:
    return f"{safe_name(media.name) or 'without a name'} ({media.mime})"


def _why(error: HermesError | OSError) -> str:
    """Return in words why an attachment is no file."""
    if isinstance(error, TooLarge):
        return _NO_ROOM
    if isinstance(error, NotFound):
        return "it is gone"
    return "it could not be written" if isinstance(error, OSError) else str(error).rstrip(".")
