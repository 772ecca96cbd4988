"""Certificates: what a row was made from, as hashes that anybody can recompute.

The hashes are plain, not those of a store. What the format could not hold exactly is kept as
`source`, so that the messages a model saw can always be read from the row itself.
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from hermes.graph.blob import Blob, canonical, canonical_value, freeze
from hermes.graph.exports.message_reader import plain_json
from hermes.graph.exports.shapes import ExportShape, tools_in
from hermes.graph.exports.sheet import Body, Line, Row, TrainingSheet
from hermes.graph.hasher import PLAIN
from hermes.graph.reader import ObjectReader
from hermes.graph.sequence import Sequence

_encode_sorted = msgspec.json.Encoder(order="deterministic").encode


class CertifiedSource(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A message, as JSON text, that the lines of its row do not represent exactly."""

    index: int
    message: str


class Certificate(
    msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    """The certificate of a row; `seal` covers the row and every other field here.

    `graph` is a salted hash of the graph's name, `context` the root of what the last call saw,
    `messages` the names of all messages, `trained` the indexes of those with loss.
    """

    format: str
    graph: str
    model: str
    context: str
    messages: list[str]
    trained: list[int]
    tools: str | None = None
    template: str | None = None
    source: list[CertifiedSource] = []
    tools_source: str | None = None
    seal: str = ""


def certified(sheet: TrainingSheet, name: str, shape: ExportShape) -> Row:
    """Return a sheet as a row of the format `name`, or raise UnfitRow."""
    lines = [shape.write(message) for message in sheet.messages]
    blobs = [freeze(message, PLAIN) for message in sheet.messages]
    body = shape.pack(sheet, lines)
    certificate = Certificate(
        format=name,
        graph=sheet.graph,
        model=sheet.model,
        context=Sequence.of(blobs[: sheet.seen], ObjectReader(None, PLAIN)).root.hex(),
        messages=[blob.id.hex() for blob in blobs],
        trained=list(sheet.trained),
        tools=tools_hash(sheet.tools),
        template=template_hash(sheet.template),
        source=list(_sources(blobs, lines, shape)),
        tools_source=_tools_source(sheet, body),
    )
    certificate = msgspec.structs.replace(certificate, seal=seal_of(body, certificate))
    return body | {"certificate": msgspec.to_builtins(certificate)}


def tools_hash(tools: list[Any] | None) -> str | None:  # Any: JSON
    """Return the plain name of a call's tools."""
    return None if tools is None else PLAIN.tools(canonical_value(tools)).hex()


def template_hash(template: str | None) -> str | None:
    """Return the plain name of a chat template."""
    return None if template is None else PLAIN.blob(template.encode()).hex()


def seal_of(body: Body, certificate: Certificate) -> str:
    """Return a hash of a whole row."""
    unsealed = msgspec.structs.replace(certificate, seal="")
    return PLAIN.blob(_encode_sorted((body, unsealed))).hex()


def _sources(
    blobs: list[Blob], lines: list[list[Line]], shape: ExportShape
) -> Iterator[CertifiedSource]:
    for index, (blob, written) in enumerate(zip(blobs, lines, strict=True)):
        restored = shape.restore(written[0]) if len(written) == 1 else None
        if blob.data is not None and (restored is None or canonical(restored) != blob.data):
            yield CertifiedSource(index, blob.data.decode())


def _tools_source(sheet: TrainingSheet, body: Body) -> str | None:
    shown = tools_in(body)
    same = sheet.tools is None or (
        shown is not None and canonical_value(shown) == canonical_value(sheet.tools)
    )
    return None if same else plain_json(sheet.tools)
