"""Reads attachments that are to be sent; one rule for every channel of what a failure means."""

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from hermes.channel_kit.events import plain_mime
from hermes.errors import DeliveryRejected, FailureClass, HermesError, NotDelivered, Refused
from hermes.message.parts import AudioPart, FilePart, ImagePart, Media, Part
from hermes.ports.channel_rows import MediaRow
from hermes.ports.channel_setup import ChannelSetup, MediaFiles

_ATTACHED: Final = (ImagePart, AudioPart, FilePart)


class LoadedAttachment(msgspec.Struct, frozen=True):
    """An attachment that is to be sent: its bytes, and which of the platform's kinds it is."""

    kind: str
    data: bytes


def attachments_of(parts: Iterable[Part]) -> tuple[Media, ...]:
    """Return the attachments among the parts of a reply."""
    return tuple(part.media for part in parts if isinstance(part, _ATTACHED))


def kind_for(rows: Mapping[str, MediaRow], mime: str, *, size: int) -> str:
    """Return the first kind whose row takes an attachment, or what its row names otherwise; "" is none."""
    plain = plain_mime(mime)
    for kind, row in rows.items():
        if not any(_is_of(plain, allowed) for allowed in row.mimes):
            continue
        if size <= row.bytes:
            return kind
        other = rows.get(row.otherwise)
        if other is not None and size <= other.bytes:
            return row.otherwise
    return ""


def _is_of(mime: str, allowed: str) -> bool:
    is_family = allowed.endswith("/*") and mime.startswith(allowed[:-1])
    return is_family or allowed in ("*/*", mime)


async def read_attachment(files: MediaFiles, media: Media, *, limit: int, platform: str) -> bytes:
    """Return the bytes of an attachment that is to be sent.

    Raises `DeliveryRejected` if it may never be sent, and `NotDelivered`, so that the outbox tries
    again, if it cannot be read or fetched now.
    """
    try:
        return await files.read(media, limit=limit)
    except Refused as error:
        raise DeliveryRejected(
            f"{platform}: an attachment cannot be sent: {error}", FailureClass.REJECTED
        ) from error
    except (HermesError, OSError) as error:
        raise NotDelivered(
            f"{platform}: an attachment could not be read: {error}",
            FailureClass.SERVICE_UNAVAILABLE,
        ) from error


async def load_attachment(setup: ChannelSetup, media: Media) -> LoadedAttachment:
    """Return an attachment with the kind as which it is sent, by the rows of the manifest.

    Raises as `read_attachment` does, and `DeliveryRejected` if no row takes it.
    """
    limit, rows = setup.capabilities.media_bytes, setup.rows.media
    data = await read_attachment(setup.media, media, limit=limit, platform=setup.name)
    kind = kind_for(rows, media.mime, size=len(data))
    if not kind:
        raise DeliveryRejected(
            f"{setup.name}: {media.mime[:60]} of {len(data)} bytes cannot be sent as an attachment; its "
            f"limits are in docs/channels/{setup.platform}.md",
            FailureClass.REJECTED,
        )
    return LoadedAttachment(kind, data)
