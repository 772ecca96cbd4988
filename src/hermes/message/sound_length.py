"""Reads the length of a sound from its headers, if they contain it. Pure."""

_TAIL = 65_536
_PAGE = b"OggS"


def sound_seconds(data: bytes, mime: str) -> float | None:
    """Return the length of a sound in seconds; None if only decoding it would tell."""
    if mime == "audio/ogg":
        return _ogg(data)
    return _wav(data) if mime == "audio/wav" else None


def _ogg(data: bytes) -> float | None:
    """Read it from the last page, which states the number of samples up to its end."""
    last = data.rfind(_PAGE, max(0, len(data) - _TAIL))
    if last < 0 or len(data) < last + 14:
        return None
    samples = int.from_bytes(data[last + 6 : last + 14], "little")
    opus = data.find(b"OpusHead", 0, 512)
    if opus >= 0:
        skipped = int.from_bytes(data[opus + 10 : opus + 12], "little")
        return _plausible((samples - skipped) / 48_000)
    vorbis = data.find(b"\x01vorbis", 0, 512)
    rate = int.from_bytes(data[vorbis + 12 : vorbis + 16], "little") if vorbis >= 0 else 0
    return _plausible(samples / rate) if rate else None


def _wav(data: bytes) -> float | None:
    at, rate = 12, 0
    while at + 8 <= len(data):
        size = int.from_bytes(data[at + 4 : at + 8], "little")
        if data[at : at + 4] == b"fmt ":
            rate = int.from_bytes(data[at + 16 : at + 20], "little")
        if data[at : at + 4] == b"data":
            held = min(size, len(data) - at - 8)
            return _plausible(held / rate) if rate else None
        at += 8 + size + (size & 1)
    return None


def _plausible(seconds: float) -> float | None:
    return seconds if 0 <= seconds < 86_400 else None
