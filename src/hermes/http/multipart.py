"""Decodes bodies of `multipart/form-data`: whole, strictly, and with a bounded number of parts. Pure."""

import re
from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from hermes.errors import BadRequest

MULTIPART: Final = "multipart/form-data"
_BOUNDARY: Final = re.compile(r"[0-9A-Za-z'()+_,./:=? -]{0,69}[0-9A-Za-z'()+_,./:=?-]")
_PARAMETER: Final = re.compile(
    r';[ \t]*+([\w*-]++)=(?:"((?:[^"\\]|\\.)*+)"|([^";\s]*+))[ \t]*+', re.ASCII
)
_HEAD_BYTES: Final = 4096


class FormPart(msgspec.Struct, frozen=True):
    """One field of a form; `file_name` is None for a field that is no file."""

    name: str
    data: bytes
    file_name: str | None = None


def decode_multipart(
    raw: bytes, headers: Mapping[str, str], *, most_parts: int
) -> tuple[FormPart, ...]:
    """Return the parts of a body in their order; raises `BadRequest`."""
    mark = b"--" + _boundary(headers.get("content-type", ""))
    # The first mark may be at the very beginning, the others follow a line break.
    pieces = (b"\r\n" + raw).split(b"\r\n" + mark, most_parts + 2)
    if len(pieces) < 2:
        raise BadRequest("The multipart body does not contain its own boundary.")
    parts: list[FormPart] = []
    for piece in pieces[1:]:
        if piece.startswith(b"--"):
            return tuple(parts)
        if len(parts) == most_parts:
            raise BadRequest(f"The multipart body has more than {most_parts} parts.")
        parts.append(_part(piece))
    raise BadRequest("The multipart body does not end with its boundary: it was cut off.")


def _boundary(content_type: str) -> bytes:
    values = dict(_parameters(content_type))
    boundary = values.get("boundary", "")
    if not _BOUNDARY.fullmatch(boundary):
        raise BadRequest("The content type names no valid boundary of its multipart body.")
    return boundary.encode("ascii")


def _part(piece: bytes) -> FormPart:
    head, gap, data = piece.partition(b"\r\n\r\n")
    if not gap or len(head) > _HEAD_BYTES:
        raise BadRequest("A part of the multipart body has no valid headers.")
    try:
        first, *lines = head.decode("utf-8").split("\r\n")
    except UnicodeDecodeError:
        raise BadRequest("The headers of a part of the multipart body are not UTF-8.") from None
    if first.strip(" \t"):
        raise BadRequest("The boundary of the multipart body is also inside a part.")
    fields = dict(_field(line) for line in lines)
    disposition = fields.get("content-disposition", "")
    values = dict(_parameters(disposition))
    if not disposition.lower().startswith("form-data") or not values.get("name"):
        raise BadRequest("A part of the multipart body has no name.")
    return FormPart(values["name"], data, values.get("filename"))


def _field(line: str) -> tuple[str, str]:
    name, _, value = line.partition(":")
    return name.strip().lower(), value.strip()


def _parameters(value: str) -> Iterator[tuple[str, str]]:
    """Yield the parameters of a header; browsers write `"` in them as `%22`."""
    place = value.find(";")
    while place >= 0 and (found := _PARAMETER.match(value, place)) is not None:
        name, quoted, bare = found.groups()
        text = bare if quoted is None else re.sub(r"\\(.)", r"\1", quoted)
        yield name.lower(), text.replace("%22", '"').replace("%0D%0A", " ")
        place = found.end()
