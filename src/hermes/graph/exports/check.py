"""Checks a row offline: reads its messages back, hashes them again and writes the row again.

It needs only the row (and, to check tokens fully, the tokenizer). It never raises, whatever the
file contains.
"""

from typing import Any

import msgspec

from hermes.errors import HermesError
from hermes.graph.blob import Message
from hermes.graph.exports.certificate import Certificate, seal_of, template_hash, tools_hash
from hermes.graph.exports.report import UnfitRow
from hermes.graph.exports.shapes import ExportShape, shape_of, tools_in
from hermes.graph.exports.sheet import Body, TrainingSheet, without_none
from hermes.graph.exports.tokens import IGNORED, Tokenizer, why_unsound
from hermes.graph.roots import context_root, message_id
from hermes.graph.tree_check import Problem

_encode_sorted = msgspec.json.Encoder(order="deterministic").encode
# How many messages of a row come after what the call saw.
_AFTER = {"trl-preference": 2}


def verify_row(row: Any, *, tokenizer: Tokenizer | None = None) -> Problem | None:  # Any: JSON
    """Return what is wrong with an exported row, or None if everything can be recomputed."""
    if not isinstance(row, dict) or not isinstance(row.get("certificate"), dict):
        return Problem("missing", "row", "it has no certificate, which every exported row has")
    try:
        # A table between export and check gives every row the keys of all rows; these were absent.
        row = without_none(row)
        certificate = msgspec.convert(row.pop("certificate"), Certificate)
        sheet = _sheet(row, certificate)
        return (
            _check_names(sheet, certificate)
            or _check_body(row, sheet, certificate=certificate, tokenizer=tokenizer)
            or _check_seal(row, certificate)
        )
    except (HermesError, UnfitRow, msgspec.MsgspecError) as problem:
        return Problem("damaged", "row", str(problem))
    except (AttributeError, LookupError, RecursionError, TypeError, ValueError) as problem:
        return Problem("damaged", "row", f"it is not in its format: {problem!r}")


def _sheet(body: Body, certificate: Certificate) -> TrainingSheet:
    messages = _messages(body, certificate, shape_of(certificate.format))
    told = certificate.tools_source
    return TrainingSheet(
        graph=certificate.graph,
        model=certificate.model,
        messages=tuple(messages),
        seen=len(messages) - _AFTER.get(certificate.format, 1),
        trained=tuple(certificate.trained),
        tools=tools_in(body) if told is None else msgspec.json.decode(told),
        label=body.get("label"),
    )


def _messages(body: Body, certificate: Certificate, shape: ExportShape) -> list[Message]:
    source = {one.index: one.message for one in certificate.source}
    lines, at, found = shape.lines(body), 0, []
    for index in range(len(certificate.messages)):
        if index in source:
            message: Message = msgspec.json.decode(source[index])
            at += len(shape.write(message))
        else:
            restored = shape.restore(lines[at])
            if restored is None:
                raise ValueError(f"message {index} cannot be read back")
            message, at = restored, at + 1
        found.append(message)
    return found


def _check_names(sheet: TrainingSheet, certificate: Certificate) -> Problem | None:
    for index, (message, name) in enumerate(zip(sheet.messages, certificate.messages, strict=True)):
        if message_id(message).hex() != name:
            return Problem("damaged", f"message {index}", f"it is not the one named {name}")
    if context_root(sheet.messages[: sheet.seen]).hex() != certificate.context:
        return Problem("inconsistent", "context", "its messages have another root")
    tools = tools_hash(sheet.tools) if certificate.tools or sheet.tools is not None else None
    if tools != certificate.tools:
        return Problem("damaged", "tools", "they are not those that the call was given")
    return None


def _check_body(
    body: Body, sheet: TrainingSheet, *, certificate: Certificate, tokenizer: Tokenizer | None
) -> Problem | None:
    is_tokens = certificate.format == "tokens"
    unsound = why_unsound(body) if is_tokens else None
    if unsound:
        return Problem("inconsistent", "labels", unsound)
    if is_tokens and tokenizer and certificate.template != template_hash(tokenizer.template):
        return Problem("inconsistent", "template", "the tokenizer has another chat template")
    if not is_tokens or tokenizer:
        again = shape_of(certificate.format, tokenizer).body(sheet)
        if not _as_written(body, again, is_tokens=is_tokens):
            return Problem("inconsistent", "row", "its messages and weights give another row")
    return None


def _check_seal(body: Body, certificate: Certificate) -> Problem | None:
    if seal_of(body, certificate) != certificate.seal:
        return Problem("damaged", "certificate", "its seal is not that of this row")
    return None


def _as_written(body: Body, again: Body, *, is_tokens: bool) -> bool:
    if not is_tokens:
        return _encode_sorted(body) == _encode_sorted(again)
    # The template gives more labels: this answer's tokens were recorded.
    pairs = zip(body["labels"], again["labels"], strict=True)
    return body["input_ids"] == again["input_ids"] and all(
        label in {IGNORED, other} for label, other in pairs
    )
