"""Files of messages over HTTP: those that come with a message, and the answer that shows one.

Shared by the channels that serve HTTP themselves (REST, web). What a file is is decided by its
bytes; only pictures are shown by browsers, everything else is saved.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Final
from urllib.parse import quote

import msgspec

from hermes.errors import BadRequest, HermesError, NotFound, Refused, TooLarge
from hermes.http.multipart import decode_multipart
from hermes.message.media_kind import file_kind
from hermes.message.parts import AudioPart, FilePart, ImagePart, Media, Part, files_of
from hermes.message.picture_kind import PICTURE_KINDS
from hermes.ports.channel import HttpResponse
from hermes.ports.gateway_api import MessageStatus
from hermes.ports.media import MediaOwner
from hermes.ports.message_files import MessageFiles

# The time for a body with files is that of another one, and what a slow line needs.
_SLOW_BYTES_PER_S: Final = 100_000
_MESSAGE: Final = "message"
_BYTES: Final = "application/octet-stream"


class UploadedFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A file in a JSON body: its name, and its bytes in base64."""

    data: bytes
    name: Annotated[str, msgspec.Meta(max_length=200)] = ""


class FileView(msgspec.Struct, frozen=True, kw_only=True):
    """A file of a message; one that is elsewhere has an `url`."""

    name: str
    mime: str
    size: int | None
    url: str | msgspec.UnsetType = msgspec.UNSET


def upload_limits(
    files: MessageFiles, *, body_bytes: int, body_timeout_s: float
) -> tuple[int, float]:
    """Return the size of the largest body with files, and how long it may take."""
    limit = body_bytes + files.most_bytes
    return limit, body_timeout_s + limit / _SLOW_BYTES_PER_S


def split_form(
    raw: bytes, headers: Mapping[str, str], files: MessageFiles
) -> tuple[bytes, tuple[UploadedFile, ...]]:
    """Return the JSON of the part `message`, and the files; raises `BadRequest`."""
    parts = decode_multipart(raw, headers, most_parts=files.most_files + 1)
    messages = [part.data for part in parts if part.name == _MESSAGE]
    others = [part for part in parts if part.name != _MESSAGE]
    if len(messages) != 1:
        raise BadRequest("The form needs exactly one part 'message': the JSON of the message.")
    for part in others:
        if part.file_name is None or part.name != "file":
            raise BadRequest(
                f"The form has the part {part.name[:80]!r}: send 'message', and every file as 'file'"
                " with a file name."
            )
    return messages[0], tuple(UploadedFile(part.data, part.file_name or "") for part in others)


async def kept_parts(
    files: MessageFiles | None, sent: Sequence[UploadedFile], *, key: str
) -> tuple[Part, ...]:
    """Keep the files of a message and return its parts; raises a `Refused` that names the file.

    `key` is of the message: a repeated request has the same parts.
    """
    if not sent:
        return ()
    if files is None:
        raise BadRequest("This gateway takes no files here.")
    if len(sent) > files.most_files:
        raise BadRequest(
            f"The message has {len(sent)} files; at most {files.most_files} are accepted "
            "(media.max_files)."
        )
    return tuple(
        [await _kept(files, file, key=f"{key}\n{number}") for number, file in enumerate(sent)]
    )


async def _kept(files: MessageFiles, file: UploadedFile, *, key: str) -> Part:
    shown = file.name[:80] or "without a name"
    if not file.data:
        raise BadRequest(f"The file {shown!r} is empty.")
    try:
        media = await files.keep_sent(file.data, name=file.name or None, key=key)
    except TooLarge as error:
        raise TooLarge(f"The file {shown!r} is refused: {error}.") from None
    except Refused as error:
        raise BadRequest(f"The file {shown!r} is refused: {error}.") from None
    if media.mime in PICTURE_KINDS:
        return ImagePart(media)
    return AudioPart(media) if media.mime.startswith("audio/") else FilePart(media)


def file_views(media: Iterable[Media]) -> tuple[FileView, ...]:
    """Return files as callers see them; an address is shown only if browsers may open it."""
    return tuple(
        FileView(name=one.name or "", mime=one.mime, size=one.size, url=_address(one))
        for one in media
    )


def _address(media: Media) -> str | msgspec.UnsetType:
    is_open = media.path is None and media.url is not None and media.url.startswith("https://")
    return media.url if is_open and media.url is not None else msgspec.UNSET


async def file_of(
    files: MessageFiles | None, status: MessageStatus, *, side: str, number: str
) -> HttpResponse:
    """Return one file of a message: of what was `sent`, or of the `reply`; raises `NotFound`."""
    record = status.record
    found: tuple[Media, ...] = ()
    if side == "sent" and record.event is not None:
        found = files_of(record.event.parts)
    elif side == "reply" and status.result is not None:
        found = status.result.files
    is_number = number.isascii() and number.isdecimal() and len(number) < 4
    if files is None or not is_number or int(number) >= len(found):
        raise NotFound("This message has no such file.")
    media = found[int(number)]
    if media.path is None:
        raise NotFound("This file is not kept here.")
    owner = MediaOwner(record.person_id, record.merged_into or record.id)
    try:
        data = await files.open_sent(media, owner=owner)
    except (HermesError, OSError):
        raise NotFound("The file is no longer kept: media.keep_days have passed.") from None
    return _file_response(data, media.name)


def _file_response(data: bytes, name: str | None) -> HttpResponse:
    """Return bytes so that a browser shows a picture, saves anything else, and runs nothing."""
    mime = file_kind(data).mime
    is_shown = mime in PICTURE_KINDS
    how = "inline" if is_shown else "attachment"
    named = f"; filename*=UTF-8''{quote(name, safe='')}" if name else ""
    headers = {
        "content-disposition": how + named,
        "content-security-policy": "default-src 'none'; sandbox",
        "cross-origin-resource-policy": "same-origin",
    }
    return HttpResponse(body=data, content_type=mime if is_shown else _BYTES, headers=headers)
