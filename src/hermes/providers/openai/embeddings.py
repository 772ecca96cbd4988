"""Texts as an embeddings request, and its answer as vectors: pure, no sockets."""

import msgspec

from hermes.errors import ProviderUnavailable
from hermes.message.reply import Usage
from hermes.ports.pricing import counted, estimated
from hermes.ports.provider import Embedding
from hermes.provider_kit.service_failure import unusable
from hermes.providers.openai.chunks import WireUsage
from hermes.providers.openai.settings import OpenAISettings

MAX_ANSWER_BYTES = 268_435_456


class _Vector(msgspec.Struct):
    embedding: tuple[float, ...]
    index: int | None = None


class _Answer(msgspec.Struct):
    data: list[_Vector]
    model: str | None = None
    usage: WireUsage | None = None


_decode = msgspec.json.Decoder(_Answer).decode


def build_embedding(texts: tuple[str, ...], model: str) -> bytes:
    """Return the JSON that asks for the vectors of `texts`."""
    return msgspec.json.encode({"model": model, "input": texts, "encoding_format": "float"})


def read_embedding(
    answer: bytes, settings: OpenAISettings, *, texts: tuple[str, ...], model: str
) -> Embedding:
    """Return the vectors in the order of `texts`; raise when there is not one for each."""
    try:
        found = _decode(answer)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise unusable(
            settings.name,
            answer,
            found="something else",
            expected="a list of embeddings",
            secret=settings.api_key,
        ) from error
    if len(found.data) != len(texts):
        raise ProviderUnavailable(
            f"{settings.name}: the service answered {len(found.data)} embeddings, expected"
            f" {len(texts)}: one for each text"
        )
    if not all(row.embedding for row in found.data):
        raise ProviderUnavailable(
            f"{settings.name}: the service answered an embedding without numbers; none is used"
        )
    rows = sorted(enumerate(found.data), key=lambda row: _place(row[0], row[1]))
    usage = _measure(found.usage, texts)
    return Embedding(tuple(row.embedding for _, row in rows), usage, found.model or model)


def joined(pieces: list[Embedding], model: str) -> Embedding:
    """Return several batches as one."""
    usage = Usage()
    for piece in pieces:
        usage = usage.plus(piece.usage)
    vectors = tuple(vector for piece in pieces for vector in piece.vectors)
    return Embedding(vectors, usage, pieces[-1].model if pieces else model)


def _place(position: int, row: _Vector) -> int:
    return position if row.index is None else row.index


def _measure(usage: WireUsage | None, texts: tuple[str, ...]) -> Usage:
    told = None if usage is None else usage.prompt_tokens
    tokens = estimated(sum(map(len, texts))) if told is None else counted(told)
    return Usage(tokens_in=tokens)
