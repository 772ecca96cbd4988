"""The entries of the open tables (providers, agents, platforms) and those that are built in.

Part of config; which names exist is the operator's choice, what an entry holds is fixed here. A
platform's own settings are the channel's business: here they are only frozen and kept secret.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field, PlainSerializer, SecretStr

from hermes.config.section import (
    Count,
    Delay,
    Headers,
    ModelName,
    Name,
    Price,
    Rounds,
    Seconds,
    Secret,
    Section,
    StreamTransport,
    Url,
    Whole,
    Word,
)

_SECRET_NAME = re.compile(r"(?:^|[_-])(?:token|secret|password|passphrase|key|credential)s?$")
# Ids are text on every platform, also where YAML reads them as numbers.
_ID_LISTS = frozenset({"allowed_users", "allowed_chats"})


def names_a_secret(key: str) -> bool:
    """Whether a free-form key is by its name a secret."""
    return _SECRET_NAME.search(key.lower()) is not None


def split_list(text: str) -> tuple[str, ...]:
    """Read a comma-separated text as a list, without empty items."""
    return tuple(item for item in (part.strip() for part in text.split(",")) if item)


def _frozen(key: str, value: object) -> object:
    if key in _ID_LISTS:
        items = split_list(value) if isinstance(value, str) else value
        return tuple(map(str, items)) if isinstance(items, list | tuple) else (str(items),)
    if isinstance(value, Mapping):
        return _freeze_extra(value)
    if isinstance(value, list | tuple):
        return tuple(_frozen(key, item) for item in value)
    if names_a_secret(key) and isinstance(value, str | int | float):
        return SecretStr(str(value))
    return value


def _freeze_extra(extra: Mapping[str, object]) -> Mapping[str, object]:
    return MappingProxyType({key: _frozen(key, value) for key, value in extra.items()})


Extra = Annotated[Mapping[str, object], AfterValidator(_freeze_extra), PlainSerializer(dict)]


def _as_text(value: object) -> object:
    return str(value) if type(value) is int else value


# Ids are text on every platform, also where YAML reads them as numbers.
ChatName = Annotated[Word, BeforeValidator(_as_text)]


class RateSettings(Section):
    """How fast a platform may be written to; unset, it is what the channel's manifest says."""

    per_second: Delay | None = Field(
        default=None, description="At most this many messages a second in total; 0: no limit."
    )
    chat_gap_s: Delay | None = Field(
        default=None, description="At least this long between two messages to one chat."
    )
    group_gap_s: Delay | None = Field(
        default=None, description="At least this long between two messages to one group."
    )


class PlatformSettings(Section):
    """One chat platform."""

    enabled: bool = Field(
        default=False,
        description="Whether the platform is connected; setting its credential enables it.",
    )
    home_channel: ChatName | None = Field(
        default=None,
        description="The chat, or chat:thread, for messages that name only the platform.",
    )
    rates: RateSettings = Field(default_factory=RateSettings)
    streaming: StreamTransport | None = Field(
        default=None,
        description="How previews are shown on this platform; default: streaming.transport.",
    )
    extra: Extra = Field(
        default_factory=lambda: MappingProxyType({}),
        description="The platform's own settings; see its page under channels.",
    )


class ProviderSettings(Section):
    """One place where models run."""

    enabled: bool = Field(default=True, description="Whether the provider may be used.")
    kind: Word = Field(default="openai", description="The kind of API, such as openai or local.")
    base_url: Url | None = Field(default=None, description="The address of the API.")
    api_key: Secret | None = Field(default=None, description="The API key.")
    oauth_token: Secret | None = Field(
        default=None, description="An OAuth token, used if there is no key."
    )
    model: Word | None = Field(default=None, description="The model to use if none is named.")
    headers: Headers = Field(
        default_factory=lambda: MappingProxyType({}),
        description="Headers of every call; their values are secret.",
    )
    price_in_per_million: Price | None = Field(
        default=None,
        description="Dollars per million input tokens of its own model; overrides the price list "
        "if both prices are set.",
    )
    price_out_per_million: Price | None = Field(
        default=None,
        description="Dollars per million output tokens of its own model; overrides the price "
        "list if both prices are set.",
    )
    max_output_tokens: Count | None = Field(
        default=None,
        description="The maximum length of a reply in tokens; default: the model's own limit.",
    )
    context_tokens: Count = Field(
        default=128_000, description="The context size of the model in tokens."
    )
    threads: Whole = Field(
        default=0, description="Threads of the built-in model; 0: all cores but one."
    )
    idle_unload_s: Seconds = Field(
        default=600, description="The built-in model is unloaded after this long without use."
    )


class AgentSettings(Section):
    """One agent: who answers, and how."""

    name: Word = Field(default="Hermes", description="The name of the agent.")
    description: str = Field(
        default="", description="One line about the agent, for people and other agents."
    )
    tone: Literal["chill", "friendly", "professional", "hype"] = Field(
        default="friendly", description="The tone in which it answers."
    )
    role: str = Field(
        default="a helpful assistant", description="Its role for the people it serves."
    )
    system_blocks: tuple[str, ...] | None = Field(
        default=None, description="System prompt blocks; if set, system_prompt is ignored."
    )
    system_prompt: str = Field(default="", description="The system prompt if there are no blocks.")
    model: ModelName | None = Field(
        default=None, description="The model it uses; default: models.default."
    )
    tier: Name | None = Field(
        default=None, description="The tier of routing.tiers whose models it uses."
    )
    tools: tuple[Word, ...] = Field(
        default=("*",), description='The tools it may use, by name; "*" means all.'
    )
    budget_day_usd: Price | None = Field(
        default=None, description="What its model calls may cost per day, in dollars."
    )
    cache: bool = Field(
        default=False,
        description="Whether the same question of the same person may get a cached answer.",
    )
    tool_rounds: Rounds | None = Field(
        default=None, description="Its limit of tool rounds; default: turns.tool_rounds."
    )


Entry = Mapping[str, object]

# In the order in which a key that is present is preferred; the embedded model is the last resort.
PROVIDERS: Mapping[str, Entry] = {
    "hermes": {
        "base_url": "https://inference-api.nousresearch.com/v1",
        "model": "Hermes-4-70B",
    },
    "openrouter": {"base_url": "https://openrouter.ai/api/v1", "model": "openrouter/auto"},
    "anthropic": {
        "kind": "anthropic",
        "base_url": "https://api.anthropic.com",
        "model": "claude-haiku-4-5-20251001",
        "max_output_tokens": 1024,
        "context_tokens": 200_000,
    },
    "gemini": {
        "kind": "gemini",
        "base_url": "https://generativelanguage.googleapis.com",
        "model": "gemini-3.5-flash-lite",
        "context_tokens": 1_048_576,
    },
    "openai": {"base_url": "https://api.openai.com/v1", "model": "gpt-4o-mini"},
    "groq": {"base_url": "https://api.groq.com/openai/v1", "model": "openai/gpt-oss-120b"},
    "mistral": {"base_url": "https://api.mistral.ai/v1", "model": "mistral-small-latest"},
    "deepseek": {"base_url": "https://api.deepseek.com/v1", "model": "deepseek-flash"},
    "together": {
        "base_url": "https://api.together.xyz/v1",
        "model": "meta-llama/Llama-3.3-70B-Instruct-Turbo",
    },
    "fireworks": {
        "base_url": "https://api.fireworks.ai/inference/v1",
        "model": "accounts/fireworks/models/llama-v3p3-70b-instruct",
    },
    "xai": {"base_url": "https://api.x.ai/v1", "model": "grok-4.3"},
    "perplexity": {"base_url": "https://api.perplexity.ai", "model": "sonar"},
    "cerebras": {"base_url": "https://api.cerebras.ai/v1", "model": "gpt-oss-120b"},
    "nvidia": {
        "base_url": "https://integrate.api.nvidia.com/v1",
        "model": "meta/llama-3.3-70b-instruct",
    },
    "moonshot": {"base_url": "https://api.moonshot.ai/v1", "model": "kimi-k2.6"},
    "qwen": {
        "base_url": "https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
        "model": "qwen-plus",
    },
    "minimax": {"base_url": "https://api.minimax.io/v1", "model": "MiniMax-M2.1"},
    "copilot": {"base_url": "https://api.githubcopilot.com", "model": "gpt-4.1"},
    "vllm": {"base_url": "http://127.0.0.1:8000/v1"},
    "llamacpp": {"base_url": "http://127.0.0.1:8080/v1", "model": "default"},
    "lmstudio": {"base_url": "http://127.0.0.1:1234/v1"},
    "ollama": {
        "kind": "ollama",
        "base_url": "http://127.0.0.1:11434",
        "model": "llama3.2",
        "context_tokens": 8192,
    },
    "local": {
        "kind": "local",
        "max_output_tokens": 384,
        "context_tokens": 4096,
    },
    "minilm": {"kind": "minilm", "context_tokens": 256},
}
ALWAYS_THERE = ("openai", "local")
EMBEDDER = "minilm"
"""There without being named, unless it is switched off; it answers nobody."""
AGENTS: Mapping[str, Entry] = {"main": {"description": "Answers everyone."}}


def provider_tables(named: Mapping[str, Entry]) -> dict[str, Entry]:
    """Lay the named providers over the built-in ones, in the order of preference."""
    known = [name for name in PROVIDERS if name in named or name in ALWAYS_THERE]
    custom = [name for name in named if name not in PROVIDERS]
    order = [name for name in known if name != "local"] + custom + ["local"]
    return {name: {**PROVIDERS.get(name, {}), **named.get(name, {})} for name in order}


def agent_tables(named: Mapping[str, Entry]) -> dict[str, Entry]:
    """Lay the named agents over the built-in one; an agent without a name goes by its key."""
    tables: dict[str, Entry] = {"main": {**AGENTS["main"], **named.get("main", {})}}
    for key, entry in named.items():
        if key not in AGENTS:
            tables[key] = {"name": key, **entry}
    return tables
