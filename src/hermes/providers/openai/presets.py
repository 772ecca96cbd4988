"""The services that speak chat completions, as data: address, key and differences from OpenAI.

Read from `presets.toml` once. The wire and the assembly ask a `Quirks` value what a service wants;
nothing there knows a service by its name.
"""

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Literal
from urllib.parse import urlsplit

import msgspec


class Quirks(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a service differs from others that speak the same wire.

    `output_limit` is the name of the output limit. Without `stream_options` the service refuses
    that field; without `tools`, `schema` or `required_tools` it does not support them. `reasoning`
    is how effort is requested; `reasoning_back` is the field in which the service wants its
    reasoning back. `tool_ids` "nine" means that it refuses ids other than nine letters and digits.
    `one_system_message` is for servers whose templates accept only one. `cache_marks` are explicit
    marks for a prompt cache; `extra` goes into every body. `any_embedding_model` means that it
    embeds with whatever model it serves, `embed_batch` texts at a time. With `probe` the service is
    probed before it counts as available. `prefill` is how a final assistant message is continued:
    as it is ("last"), or with a field of the message or the body. `service` is the service's row in
    the table of options.
    """

    output_limit: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    stream_options: bool = True
    tools: bool = True
    required_tools: bool = True
    schema: bool = True
    reasoning: Literal[
        "effort",
        "thinking_effort",
        "enable_thinking",
        "reasoning_object",
        "none",
    ] = "effort"
    reasoning_back: Literal["reasoning_content", "reasoning_details"] | None = None
    tool_ids: Literal["any", "nine"] = "any"
    one_system_message: bool = False
    cache_marks: bool = False
    # Any: JSON values on their way to the encoder.
    extra: Mapping[str, Any] = {}
    any_embedding_model: bool = False
    embed_batch: int = 2048
    probe: bool = False
    service: str = ""
    prefill: Literal["last", "prefix", "continue_final_message"] | None = None


class Preset(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One known service; `vision` refers to its default model, which must be configured if it is
    empty."""

    name: str
    label: str
    base_url: str
    model: str
    key_variable: str | None = None
    headers: Mapping[str, str] = {}
    vision: bool = True
    embedding_model: str | None = None
    quirks: Quirks = Quirks()

    @property
    def needs_key(self) -> bool:
        """Whether the service refuses calls without a key."""
        return self.key_variable is not None


PLAIN = Quirks()


@cache
def presets() -> Mapping[str, Preset]:
    """Return every known service by name."""
    text = files(__package__).joinpath("presets.toml").read_text(encoding="utf-8")
    tables = tomllib.loads(text)
    return {name: _preset(name, table) for name, table in tables.items()}


# Any: a table of the file.
def _preset(name: str, table: dict[str, Any]) -> Preset:
    quirks = {**table.get("quirks", {}), "service": name}
    return msgspec.convert({"name": name, **table, "quirks": quirks}, Preset)


@cache
def preset_for(base_url: str, name: str = "") -> Preset | None:
    """Return the service at `base_url`, or the self-hosted one that `name` refers to.

    A cloud is recognised by its host, whatever a provider is called; a self-hosted server can be at
    any address, so only its name identifies it.
    """
    host = urlsplit(base_url).hostname
    for preset in presets().values():
        if preset.needs_key and urlsplit(preset.base_url).hostname == host:
            return preset
    named = presets().get(name)
    return named if named is not None and not named.needs_key else None
