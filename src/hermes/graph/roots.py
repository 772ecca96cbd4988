"""Computes names from messages alone, for exports and offline checks."""

from collections.abc import Iterable, Mapping
from typing import Any

from hermes.graph.blob import freeze
from hermes.graph.hasher import PLAIN, Hasher
from hermes.graph.reader import ObjectReader
from hermes.graph.sequence import Sequence


def message_id(message: Mapping[str, Any], hasher: Hasher = PLAIN) -> bytes:
    """Return the name of one message."""
    return freeze(message, hasher).id


def context_root(messages: Iterable[Mapping[str, Any]], hasher: Hasher = PLAIN) -> bytes:
    """Return the name of a context, computed from its messages alone."""
    blobs = (freeze(message, hasher) for message in messages)
    return Sequence.of(blobs, ObjectReader(None, hasher)).root
