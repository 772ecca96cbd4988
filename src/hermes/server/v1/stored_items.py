"""What a stored response holds: how it is written, and read back as the start of a later request."""

import msgspec

_OUTPUT = "output"
_encode = msgspec.json.Encoder().encode
_decode_fields = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_decode_list = msgspec.json.Decoder(tuple[msgspec.Raw, ...]).decode


class StoredItems(msgspec.Struct, frozen=True):
    """What the call of the response `id` added to its conversation."""

    id: str
    input: tuple[msgspec.Raw, ...]
    output: tuple[msgspec.Raw, ...]


read_items = msgspec.json.Decoder(StoredItems).decode


def split(
    response_id: str, response: bytes, *, given: tuple[msgspec.Raw, ...]
) -> tuple[bytes, bytes]:
    """Return the items of a response and its input, and the response without its output."""
    fields = _decode_fields(response)
    output = _decode_list(fields.pop(_OUTPUT))
    return _encode(StoredItems(response_id, given, output)), _encode(fields)


def joined(items: bytes, answer: bytes) -> bytes:
    """Return a whole response, as `split` was given it."""
    return _encode(_decode_fields(answer) | {_OUTPUT: read_items(items).output})
