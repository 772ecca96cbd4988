"""`/v1/embeddings`: parses the request and writes the vectors. Pure."""

import base64
import sys
from array import array
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from hermes.errors import BadRequest
from hermes.ports.options import Option
from hermes.ports.pricing import estimated
from hermes.ports.provider import Embedding, EmbedInput
from hermes.server.v1.wire_body import WireBody

MAX_TEXTS = 2048
MAX_TOKENS = 300_000

MAX_INPUT = 100_000

Token = Annotated[int, Meta(ge=0, le=10_000_000)]
Tokens = Annotated[tuple[Token, ...], Meta(min_length=1, max_length=MAX_INPUT)]
_Text = Annotated[str, Meta(min_length=1)]
_encode = msgspec.json.Encoder().encode


class EmbeddingsBody(msgspec.Struct, frozen=True, kw_only=True):
    """The body of a request for embeddings."""

    model: Annotated[str, Meta(min_length=1, max_length=256)]
    input: _Text | Annotated[list[_Text | Token | Tokens], Meta(min_length=1, max_length=MAX_INPUT)]
    encoding_format: Literal["float", "base64"] | None = None
    dimensions: Annotated[int, Meta(ge=1, le=65_536)] | None = None


class EmbeddingsCall(msgspec.Struct, frozen=True, kw_only=True):
    """A parsed request; with `packed` the vectors are returned as base64 of 32-bit floats."""

    model: str
    texts: tuple[EmbedInput, ...]
    dimensions: int | None = None
    packed: bool = False
    ignored: tuple[str, ...] = ()


_BODY = WireBody(EmbeddingsBody, "embeddings request")


def read_embeddings(body: bytes, *, max_tokens: int = MAX_TOKENS) -> EmbeddingsCall:
    """Return the request in a body; raise `BadRequest`, also above `max_tokens`."""
    asked, unknown = _BODY.decode(body)
    texts = _inputs(asked.input)
    if len(texts) > MAX_TEXTS:
        raise BadRequest(f"input has {len(texts)} entries; at most {MAX_TEXTS} are accepted.")
    tokens = estimated(sum(len(one) for one in texts if isinstance(one, str)))
    tokens += sum(len(one) for one in texts if not isinstance(one, str))
    if tokens > max_tokens:
        raise BadRequest(
            f"input has about {tokens} tokens, more than the {max_tokens} of one request"
            " (v1.max_embedding_tokens): send it as several requests."
        )
    return EmbeddingsCall(
        model=asked.model,
        texts=texts,
        dimensions=asked.dimensions,
        packed=asked.encoding_format == "base64",
        ignored=unknown,
    )


def _inputs(given: str | list[str | int | tuple[int, ...]]) -> tuple[EmbedInput, ...]:
    """Return the texts, or the lists of token numbers; one flat list of numbers is one input."""
    if isinstance(given, str):
        return (given,)
    numbers = tuple(one for one in given if isinstance(one, int))
    if not numbers:
        return tuple(one for one in given if not isinstance(one, int))
    if len(numbers) != len(given):
        raise BadRequest("input mixes token numbers with texts or lists: send one kind.")
    return (numbers,)


def demands_of(call: EmbeddingsCall) -> tuple[Option, ...]:
    """Return the options that the vectors depend on."""
    found: list[Option] = [] if call.dimensions is None else ["dimensions"]
    if any(not isinstance(one, str) for one in call.texts):
        found.append("token_arrays")
    return tuple(found)


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
