"""`/v1/embeddings`: what is read, and vectors in both encodings."""

import base64
import json
import struct

import pytest

from hermes.errors import BadRequest
from hermes.message.reply import Usage
from hermes.ports.provider import Embedding
from hermes.server.v1.embeddings import EmbeddingsCall, read_embeddings, write_embeddings

VECTORS = ((0.5, -1.0), (0.25, 3.0))


def read(**fields: object) -> EmbeddingsCall:
    return read_embeddings(json.dumps({"model": "small", **fields}).encode())


@pytest.mark.req("M1", "A12")
@pytest.mark.parametrize(
    ("fields", "call"),
    [
        ({"input": "one"}, EmbeddingsCall(model="small", texts=("one",))),
        ({"input": ["one", "two"]}, EmbeddingsCall(model="small", texts=("one", "two"))),
        (
            {"input": "one", "encoding_format": "base64", "user": "ann", "dimensions": None},
            EmbeddingsCall(model="small", texts=("one",), packed=True, ignored=("user",)),
        ),
        (
            {"input": "one", "encoding_format": "float"},
            EmbeddingsCall(model="small", texts=("one",)),
        ),
        ({"input": [1, 2]}, EmbeddingsCall(model="small", texts=((1, 2),))),
        ({"input": [[1, 2], [3]]}, EmbeddingsCall(model="small", texts=((1, 2), (3,)))),
        (
            {"input": "one", "dimensions": 256},
            EmbeddingsCall(model="small", texts=("one",), dimensions=256),
        ),
    ],
)
def test_a_request_is_one_text_or_several(fields: dict[str, object], call: EmbeddingsCall) -> None:
    assert read(**fields) == call


@pytest.mark.req("M1", "A12")
@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({}, "missing required field `input`"),
        ({"input": ""}, r"length >= 1 - at `\$.input`"),
        ({"input": []}, r"length >= 1 - at `\$.input`"),
        ({"input": ["one", ""]}, r"length >= 1 - at `\$.input"),
        ({"input": ["x"] * 2049}, "input has 2049 entries; at most 2048"),
        ({"input": ["x" * 400_001] * 3}, "about 300001 tokens, more than the 300000"),
        ({"input": [1, "two"]}, "input mixes token numbers with texts or lists"),
        ({"input": [[]]}, r"length >= 1 - at `\$.input"),
        ({"input": [-1]}, r">= 0 - at `\$.input"),
        ({"input": "one", "dimensions": 0}, r">= 1 - at `\$.dimensions`"),
        ({"input": "one", "encoding_format": "int8"}, "'int8'"),
        ({"input": "one", "model": ""}, r"at `\$.model`"),
    ],
)
def test_what_cannot_be_embedded_is_refused(fields: dict[str, object], said: str) -> None:
    with pytest.raises(BadRequest, match=said):
        read(**fields)


@pytest.mark.req("M1", "A12")
def test_vectors_go_back_as_numbers_in_order() -> None:
    embedding = Embedding(VECTORS, Usage(tokens_in=7), "small-1")
    assert json.loads(write_embeddings(read(input=["one", "two"]), embedding)) == {
        "object": "list",
        "data": [
            {"object": "embedding", "index": 0, "embedding": [0.5, -1.0]},
            {"object": "embedding", "index": 1, "embedding": [0.25, 3.0]},
        ],
        "model": "small-1",
        "usage": {"prompt_tokens": 7, "total_tokens": 7},
    }


@pytest.mark.req("M1", "A12")
def test_vectors_go_back_packed_when_asked_for() -> None:
    call = read(input=["one", "two"], encoding_format="base64")
    told = json.loads(write_embeddings(call, Embedding(VECTORS, Usage(), "small-1")))
    packed = [base64.b64decode(row["embedding"]) for row in told["data"]]
    assert packed == [struct.pack("<2f", 0.5, -1.0), struct.pack("<2f", 0.25, 3.0)]
