"""A home whose gateway uses everything that can be left behind, and what a gateway left behind."""

import asyncio
import gc
import socket
import sys
import threading
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import yaml

from hermes.config import LoadedConfig, load

RAW_SERVER = Path(__file__).parents[1] / "tools" / "mcp" / "raw_server.py"
PLUGIN = """
from hermes.ports.hooks import Hook
from hermes.ports.provider import ProviderInfo


class Model:
    def __init__(self, name, settings, client):
        self.info = ProviderInfo(
            name=name, model="m", tools=False, vision=False, context_tokens=1000, probed=False
        )
        self.fault = settings.base_url.removeprefix("http://")

    async def available(self):
        if self.fault == "available":
            raise RuntimeError("the model is broken")
        return True

    def stream(self, request):
        raise AssertionError

    async def close(self):
        if self.fault == "close":
            raise RuntimeError("the model does not close")


class Chat:
    name = "telegram"

    def __init__(self, setup):
        self.capabilities = setup.capabilities

    async def connect(self, accept):
        pass

    async def disconnect(self):
        pass

    async def send(self, delivery):
        raise AssertionError

    async def edit(self, target, platform_message_id, *, text):
        raise AssertionError

    async def find(self, target, key):
        return None


async def hear(event, context):
    pass


def register(registry):
    registry.provider("faulty", Model)
    registry.platform(__name__, Chat)
    registry.hook(Hook(name="hear", events=("gateway:startup", "gateway:shutdown"), handle=hear))
"""
MANIFEST = """
name = "telegram"
label = "Chat"

[capabilities]
delivery = "push"
unknown = "allow"

[settings]
bot_token = { help = "The token.", type = "secret", required = true }

[auth]
scheme = "bearer"
lock = "bot_token"

[quality]
verified = []
"""


def make_home(home: Path, *, fault: str = "none", child: bool = False) -> LoadedConfig:
    """Return the configuration of a home with a plugin, a platform and, maybe, an MCP server."""
    plugin = home / "faulty"
    plugin.mkdir(parents=True)
    home.chmod(0o700)
    (plugin / "__init__.py").write_text(PLUGIN)
    (plugin / "manifest.toml").write_text(MANIFEST)
    settings = {
        "plugins": ["./faulty"],
        "server": {"port": _free_port()},
        "process": {"lock_dir": str(home / "locks")},
        "memory": {"recall": False},
        "providers": {"own": {"kind": "faulty", "model": "m", "base_url": f"http://{fault}"}},
        "models": {"default": "own:m"},
        "platforms": {"telegram": {"enabled": True, "extra": {"bot_token": "1:mine"}}},
        "otel": {"endpoint": "http://127.0.0.1:9/v1/traces"},
    }
    if child:
        server = {"command": sys.executable, "args": [str(RAW_SERVER)]}
        settings["mcp"] = {"servers": {"raw": server}}
    (home / "config.yaml").write_text(yaml.safe_dump(settings))
    (home / "config.yaml").chmod(0o600)
    return load({}, home)


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@dataclass(frozen=True)
class Held:
    """What this process holds: tasks, threads, children, and open files by what they are."""

    tasks: frozenset[str]
    threads: frozenset[str]
    children: frozenset[str]
    files: Counter[str]


async def held() -> Held:
    """Return what this process holds, once transports that were closed have gone."""
    for _ in range(5):
        await asyncio.sleep(0)
    gc.collect()
    own = asyncio.current_task()
    return Held(
        tasks=frozenset(task.get_name() for task in asyncio.all_tasks() if task is not own),
        # The loop's own pool of threads lives as long as the loop.
        threads=frozenset(
            f"{one.name} {one.ident}"
            for one in threading.enumerate()
            if not one.name.startswith("asyncio_")
        ),
        children=frozenset(children()),
        files=Counter(_files()),
    )


def children() -> list[str]:
    """Return the ids of the child processes."""
    tasks = Path("/proc/self/task").glob("*/children")
    return [pid for file in tasks for pid in file.read_text().split()]


def _files() -> list[str]:
    found = []
    for one in Path("/proc/self/fd").iterdir():
        try:
            found.append(str(one.readlink()))
        except FileNotFoundError:
            # The descriptor with which the folder itself was read.
            continue
    return found
