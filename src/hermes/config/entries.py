"""The built-in entries of the open tables (providers, agents, routing, budgets), as plain data.

Part of config; an operator adds entries or changes them one by one.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal

LOCAL = "local"
BusyPolicy = Literal["interrupt", "queue", "steer"]
Entry = Mapping[str, object]
# In the order of preference among the keys that are set; the embedded model is the last resort.
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
"""Always present unless it is disabled; it answers nobody."""
OWN_EMBEDDER = "wordllama"
"""What makes the vectors of recall if `memory.embedder` names it; it is no provider."""
AGENTS: Mapping[str, Entry] = {"main": {"description": "Answers everyone."}}
TIERS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "free": ("claude-haiku",),
        "starter": ("claude-haiku", LOCAL),
        "pro": ("claude-sonnet",),
    }
)
MODELS: Mapping[str, str] = MappingProxyType(
    {"claude-haiku": "claude-haiku-4-5-20251001", "claude-sonnet": "claude-sonnet-4-6"}
)
# Any: plain values, which the settings validate; so also below.
ALIASES: Mapping[str, Any] = MappingProxyType(
    {
        "claude": {"provider": "anthropic"},
        "claude_pro": {"provider": "claude", "credential": "oauth_token"},
        "claude_api": {"provider": "claude", "credential": "api_key"},
    }
)
# The order of preference among the keys that are set.
CLOUD_PRIORITY = ("hermes", "openrouter", "anthropic", "gemini", "openai")
DAY_TOKENS: Mapping[str, int] = MappingProxyType(
    {"free": 50_000, "starter": 200_000, "pro": 1_000_000}
)
# Any: plain values, which the settings validate.
FACTS: Mapping[str, Any] = MappingProxyType(
    {
        "name": {"meaning": "how they want to be called", "also": ("first_name",)},
        "language": {
            "meaning": "the language they want to be answered in",
            "also": ("preferred_language",),
        },
        "home_city": {"meaning": "where they live", "also": ("city",)},
        "time_zone": {"meaning": "their time zone", "also": ("timezone",)},
        "diet": {"meaning": "how they eat, such as vegan"},
        "interests": {"meaning": "what they like to do", "also": ("hobbies",)},
    }
)
BUSY_PLATFORMS: Mapping[str, BusyPolicy] = MappingProxyType({"rest": "queue"})


def provider_tables(named: Mapping[str, Entry]) -> dict[str, Any]:
    """Merge the configured providers into the built-in ones, in the order of preference."""
    known = [name for name in PROVIDERS if name in named or name in ALWAYS_THERE]
    custom = [name for name in named if name not in PROVIDERS]
    order = [name for name in known if name != "local"] + custom + ["local"]
    return {name: {**PROVIDERS.get(name, {}), **named.get(name, {})} for name in order}


def agent_tables(named: Mapping[str, Entry]) -> dict[str, Any]:
    """Merge the configured agents into the built-in one; an agent without a name is named by its
    key."""
    tables: dict[str, Entry] = {"main": {**AGENTS["main"], **named.get("main", {})}}
    for key, entry in named.items():
        if key not in AGENTS:
            tables[key] = {"name": key, **entry}
    return tables


def built_in_tables() -> dict[str, dict[str, Any]]:
    """Return the built-in entries of the tables in sections, for files and variables to change."""
    return {
        "busy": {"platforms": dict(BUSY_PLATFORMS)},
        "memory": {"facts": {name: dict(entry) for name, entry in FACTS.items()}},
        "budgets": {"person_day_tokens": dict(DAY_TOKENS)},
        "routing": {
            "tiers": dict(TIERS),
            "models": dict(MODELS),
            "aliases": {name: dict(entry) for name, entry in ALIASES.items()},
        },
    }
