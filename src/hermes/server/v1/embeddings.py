"""`/v1/embeddings`: parses the request and writes the vectors. Pure."""

import base64
import sys
from array import array
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from hermes.errors import BadRequest
from hermes.ports.pricing import estimated
from hermes.ports.provider import Embedding
from hermes.server.v1.wire_body import WireBody

MAX_TEXTS = 2048
MAX_TOKENS = 300_000

_Text = Annotated[str, Meta(min_length=1)]
_encode = msgspec.json.Encoder().encode


class EmbeddingsBody(msgspec.Struct, frozen=True, kw_only=True):
    """The body of a request for embeddings."""

    model: Annotated[str, Meta(min_length=1, max_length=256)]
    input: (
        _Text | Annotated[list[_Text | int | list[int]], Meta(min_length=1, max_length=MAX_TEXTS)]
    )
    encoding_format: Literal["float", "base64"] | None = None
    dimensions: int | None = None


class EmbeddingsCall(msgspec.Struct, frozen=True, kw_only=True):
    """A parsed request; with `packed` the vectors are returned as base64 of 32-bit floats."""

    model: str
    texts: tuple[str, ...]
    packed: bool = False
    ignored: tuple[str, ...] = ()


_BODY = WireBody(EmbeddingsBody, "embeddings request")


def read_embeddings(body: bytes, *, max_tokens: int = MAX_TOKENS) -> EmbeddingsCall:
    """Return the request in a body; raise `BadRequest`, also above `max_tokens`."""
    asked, unknown = _BODY.decode(body)
    if asked.dimensions is not None:
        raise BadRequest(
            "dimensions cannot be honoured here: a model's vectors have a fixed length. Leave it"
            " out, or ask for a model with shorter vectors."
        )
    given = [asked.input] if isinstance(asked.input, str) else asked.input
    texts = tuple(one for one in given if isinstance(one, str))
    if len(texts) != len(given):
        raise BadRequest(
            "input holds token numbers, which only one model understands: send text, as a"
            " string or a list of strings."
        )
    tokens = estimated(sum(map(len, texts)))
    if tokens > max_tokens:
        raise BadRequest(
            f"input has about {tokens} tokens, more than the {max_tokens} of one request"
            " (v1.max_embedding_tokens): send it as several requests."
        )
    return EmbeddingsCall(
        model=asked.model,
        texts=texts,
        packed=asked.encoding_format == "base64",
        ignored=unknown,
    )


def write_embeddings(call: EmbeddingsCall, embedding: Embedding) -> bytes:
    """Return the answer as JSON."""
    # Any: JSON objects on their way to the encoder.
    data: list[dict[str, Any]] = [
        {
            "object": "embedding",
            "index": index,
            "embedding": _packed(vector) if call.packed else vector,
        }
        for index, vector in enumerate(embedding.vectors)
    ]
    read = embedding.usage.tokens_in
    usage = {"prompt_tokens": read, "total_tokens": read}
    return _encode({"object": "list", "data": data, "model": embedding.model, "usage": usage})


def _packed(vector: tuple[float, ...]) -> str:
    numbers = array("f", vector)
    if sys.byteorder == "big":
        numbers.byteswap()
    return base64.b64encode(numbers.tobytes()).decode()
