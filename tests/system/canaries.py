"""Two hundred credentials that stand for real ones, and the places where an operator puts them."""

import random
import string
from base64 import b64encode
from pathlib import Path
from typing import Any

import yaml

from tests.system.parrot import Parrot

# What a program can say that is started with credentials, before it gives up.
LEAKY_SERVER = """import os, sys
with open(sys.argv[1], "w") as file:
    file.write(repr(dict(os.environ)))
for name, value in os.environ.items():
    print(name, value, file=sys.stderr, flush=True)
sys.exit("cannot start with " + " ".join(os.environ.values()))
"""
_PART = 12
_KNOWN = ("GROQ", "MISTRAL", "DEEPSEEK", "TOGETHER", "XAI", "PERPLEXITY", "CEREBRAS", "NVIDIA")
Table = dict[str, Any]  # Any: settings as a file holds them.


class Canaries:
    """Every credential by the place that it was put into."""

    def __init__(self, seed: int = 7) -> None:
        self._chance = random.Random(seed)
        self.values: dict[str, str] = {}

    def new(self, place: str) -> str:
        """Return a new credential for a place."""
        letters = "".join(self._chance.choices(string.ascii_letters + string.digits, k=24))
        return self.keep(place, f"canary{letters}")

    def keep(self, place: str, value: str) -> str:
        """Count a credential that the gateway made itself."""
        assert place not in self.values, place
        self.values[place] = value
        return value

    def found_in(self, content: bytes, *, but: tuple[str, ...] = ()) -> list[str]:
        """Return the places whose credentials stand in a content, in part or in base64, too."""
        return [
            place
            for place, value in self.values.items()
            if not place.startswith(but or ("\0",))
            and any(form in content for form in _forms(value))
        ]


def _forms(value: str) -> tuple[bytes, ...]:
    plain = value.encode()
    # Half of one is too much; the last four of a key are shown on purpose.
    return plain[:_PART], plain[-_PART:], b64encode(plain)


def providers(canaries: Canaries, parrot: Parrot) -> Table:
    """Fifty services with keys, tokens and headers; two of them are hostile."""
    told: Table = {
        f"p{n:02}": {
            "base_url": f"{parrot.url}/v1",
            "model": "parrot",
            "api_key" if n < 40 else "oauth_token": canaries.new(f"providers.p{n:02}"),
            "headers": {"X-Gateway-Key": canaries.new(f"headers.p{n:02}")} if n < 20 else {},
        }
        for n in range(50)
    }
    for name in ("echo", "moved"):
        told[name] = {
            "base_url": f"{parrot.url}/{name}/v1",
            "model": "parrot",
            "api_key": canaries.new(f"providers.{name}"),
            "headers": {"X-Gateway-Key": canaries.new(f"headers.{name}")},
        }
    return told


def servers(canaries: Canaries, folder: Path, python: str) -> Table:
    """MCP servers: one that cries out all it was given, and some that are turned off."""
    leaky = folder / "leaky.py"
    leaky.write_text(LEAKY_SERVER)
    env = {f"LEAKY_{n}": canaries.new(f"mcp.leaky.{n}") for n in range(9)}
    told: Table = {
        "leaky": {
            "command": python,
            "args": [str(leaky), str(folder / "given.txt")],
            "env": {**env, "NAMED": "${IN_THE_ENVIRONMENT}"},
        }
    }
    for n in range(15):
        told[f"off{n}"] = {
            "enabled": False,
            "url": "http://127.0.0.1:9/mcp",
            "headers": {"Authorization": f"Bearer {canaries.new(f'mcp.headers.{n}')}"},
        }
        told[f"still{n}"] = {
            "enabled": False,
            "command": "true",
            "env": {"TOKEN": canaries.new(f"mcp.env.{n}")},
        }
    return told


def platforms(canaries: Canaries, pigeon_url: str) -> Table:
    """A platform that is connected, and others that are not."""
    told: Table = {
        "pigeon": {
            "enabled": True,
            "extra": {
                "base_url": pigeon_url,
                "token": canaries.new("pigeon.token"),
                "signing_secret": canaries.new("pigeon.signing"),
            },
        }
    }
    for name in ("telegram", "slack", "discord"):
        told[name] = {
            "enabled": False,
            "extra": {
                "bot_token": canaries.new(f"{name}.token"),
                "hook": {"webhook_secret": canaries.new(f"{name}.nested")},
                "old_tokens": [canaries.new(f"{name}.list")],
            },
        }
    return told


def write_home(
    home: Path, canaries: Canaries, *, parrot: Parrot, pigeon_url: str, python: str
) -> None:
    """Write `config.yaml` and `.env`."""
    config: Table = {
        "providers": providers(canaries, parrot),
        "models": {"default": "p00:parrot"},
        "agents": {
            "main": {},
            "echo": {"model": "echo:parrot"},
            "moved": {"model": "moved:parrot"},
        },
        "mcp": {"servers": servers(canaries, home.parent, python), "start_wait_s": 2},
        "plugins": ["hermes.testing.push.plugin"],
        "platforms": platforms(canaries, pigeon_url),
        "access": {"platforms": {"pigeon": {"unknown": "allow"}}},
        "logs": {"level": "debug", "file": "logs/hermes.log"},
        "turns": {"wait_s": 0},
    }
    lines = [f"{name}_API_KEY={canaries.new(f'dotenv.{name}')}" for name in _KNOWN]
    lines += [f"SOME_TOKEN_{n}={canaries.new(f'dotenv.unknown.{n}')}" for n in range(12)]
    for name, text in (("config.yaml", yaml.safe_dump(config)), (".env", "\n".join(lines))):
        path = home / name
        path.touch(mode=0o600)
        path.write_text(text)


def variables(canaries: Canaries) -> dict[str, str]:
    """Return what stands in the environment of the gateway, much of it none of its business."""
    told = {
        "IN_THE_ENVIRONMENT": canaries.new("environment.named"),
        "HERMES_PROVIDERS__P01__API_KEY": canaries.new("environment.override"),
        "HERMES_PROVIDERS__P02__API_KEYY": canaries.new("environment.misspelt"),
        "HERMES_OPENAI_TOKEN": canaries.new("environment.unknown"),
        "FIREWORKS_API_KEY": canaries.new("environment.fireworks"),
        "AWS_SECRET_ACCESS_KEY": canaries.new("environment.aws"),
        "DATABASE_URL": f"postgres://me:{canaries.new('environment.password')}@db/x",
    }
    told |= {f"OTHER_SECRET_{n}": canaries.new(f"environment.other.{n}") for n in range(20)}
    return told
