"""The events of a Responses stream as server-sent frames, numbered from 0."""

import msgspec

_encode = msgspec.json.Encoder().encode


class Frames:
    """Numbers the events of one stream and writes them."""

    def __init__(self) -> None:
        self._next = 0

    def event(self, kind: str, **fields: object) -> bytes:
        """Return one event."""
        number = self._next
        self._next = number + 1
        data = _encode({"type": kind, "sequence_number": number, **fields})
        return b"event: %b\ndata: %b\n\n" % (kind.encode(), data)

    def delta(self, head: bytes, text: str) -> bytes:
        """Return one delta that starts with the bytes from `delta_head`: this is the hot path."""
        number = self._next
        self._next = number + 1
        return b'%b%b,"sequence_number":%d}\n\n' % (head, _encode(text), number)


def delta_head(kind: str, **fields: object) -> bytes:
    """Return the bytes that all deltas of an item have in common."""
    head = _encode({"type": kind, **fields})[:-1]
    return b'event: %b\ndata: %b,"delta":' % (kind.encode(), head)
