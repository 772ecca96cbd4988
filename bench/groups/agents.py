"""Agents that are made while the gateway runs: what making one takes, and what many cost that nobody calls."""

import http.client
import statistics
import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import monotonic, sleep

import msgspec

from bench.a2a_share import sdk_cpu_ms
from bench.agent_plan import AgentPlan
from bench.gateway import Model, Running, gateway, model_server
from bench.load import run
from bench.process import cpu_s, load_average, rss_mb
from bench.registry import Group, Say, Settings, Target
from hermes.tools.terminal.sandbox import missing_tools

_MANY = 1_000
_SWAPS = 20
# A program that starts and ends: the rest of a health check is the sandbox.
_PROGRAM = 'command = ["true"]\ncheck = ["true"]\n'
_MESSAGES = 1_000
_ROUNDS = 5
_IDLE_S = 20.0
_PATIENCE_S = 60.0
# A prompt of a usual length.
_PROMPT = "You help the people of a shop, briefly and kindly. " * 20


class _Idle(msgspec.Struct, frozen=True):
    cpu_ms_per_s: float
    rss_mb: float


def measure(say: Say) -> Iterator[dict[str, float]]:
    """Run the whole group."""
    with model_server() as model:
        with gateway(model) as running:
            yield _wires(running, say)
        yield from _agents(model, say)


def _wires(running: Running, say: Say) -> dict[str, float]:
    """Send the same messages over REST and over A2A by turns; return what each takes."""
    took: dict[str, list[float]] = {"rest": [], "a2a": []}
    for number in range(_ROUNDS + 1):
        for wire in ("rest", "a2a"):
            say(f"{_MESSAGES} messages over {wire}, 16 at a time, load {load_average():.1f}")
            plan = AgentPlan(
                port=running.port,
                token=running.token,
                pid=running.pid,
                name=f"{wire}-{number}",
                workers=16,
                count=_MESSAGES,
                wire="rest" if wire == "rest" else "a2a",
            )
            took[wire].append(run(plan).cpu_ms_each)
    # The first round imports.
    rest, a2a = (statistics.median(took[wire][1:]) for wire in ("rest", "a2a"))
    sdk = statistics.median(sdk_cpu_ms(_MESSAGES) for _ in range(_ROUNDS))
    return {
        "rest_cpu_ms_per_message_16": rest,
        "a2a_cpu_ms_per_message_16": a2a,
        "a2a_sdk_cpu_ms_per_message": sdk,
        "a2a_own_more_cpu_ms_per_message_16": a2a - rest - sdk,
    }


def _agents(model: Model, say: Say) -> Iterator[dict[str, float]]:
    with (
        tempfile.TemporaryDirectory() as folder,
        gateway(model, settings=_with_program(Path(folder))) as running,
    ):
        say(f"idle without agents, load {load_average():.1f}")
        before = _idle(running)
        say(f"making {_MANY} agents")
        connection = _Http(running)
        took = _create(connection)
        _wait_checked(connection)
        say(f"swapping an agent {_SWAPS} times")
        swaps = _swap(connection)
        connection.close()
        yield {"swap_ms": statistics.median(swaps)}
        yield {
            "workspace_create_ms": statistics.median(took),
            "workspace_create_p99_ms": sorted(took)[len(took) * 99 // 100],
        }
        say(f"idle with {_MANY} agents, load {load_average():.1f}")
        after = _idle(running)
    yield {
        "workspaces_idle_cpu_ms_per_s": after.cpu_ms_per_s,
        "workspaces_idle_more_cpu_ms_per_s": after.cpu_ms_per_s - before.cpu_ms_per_s,
        "workspaces_idle_more_mb": after.rss_mb - before.rss_mb,
    }


def _create(http: "_Http") -> list[float]:
    """Make agents one after the other; return how many milliseconds each took."""
    took = []
    for number in range(_MANY):
        body = {"name": f"agent-{number}", "role": "a helper", "system_prompt": _PROMPT}
        began = monotonic()
        http.ask("POST", "/workspaces", body=msgspec.json.encode(body))
        took.append((monotonic() - began) * 1000)
    return took


def _with_program(folder: Path) -> dict[str, str]:
    """Return the settings of an adapter that is a program."""
    description = folder / "program.toml"
    description.write_text(_PROGRAM)
    return {
        "HERMES_ADAPTERS__PROGRAM__DESCRIPTION": str(description),
        "HERMES_TERMINAL__SANDBOX": "unsafe" if missing_tools() else "bubblewrap",
    }


def _swap(http: "_Http") -> list[float]:
    """Swap an agent to a program and back; return how many milliseconds each swap to it took."""
    took = []
    for _ in range(_SWAPS):
        for runtime in ("program", "hermes"):
            began = monotonic()
            body = msgspec.json.encode({"runtime": runtime})
            http.ask("POST", "/workspaces/agent-0/swap", body=body)
            if runtime == "program":
                took.append((monotonic() - began) * 1000)
    return took


def _wait_checked(http: "_Http") -> None:
    while b'"id"' in http.ask("GET", "/workspaces?state=provisioning&limit=1"):
        sleep(0.05)


class _Http:
    """One connection to a gateway, as its owner."""

    def __init__(self, running: Running) -> None:
        self._connection = http.client.HTTPConnection(
            "127.0.0.1", running.port, timeout=_PATIENCE_S
        )
        self._headers = {
            "authorization": f"Bearer {running.token}",
            "content-type": "application/json",
        }

    def ask(self, method: str, path: str, *, body: bytes | None = None) -> bytes:
        """Return the body of an answer; raise `RuntimeError` if it is not 200."""
        self._connection.request(method, path, body=body, headers=self._headers)
        answer = self._connection.getresponse()
        content = answer.read()
        if answer.status != 200:
            raise RuntimeError(f"{method} {path} was answered with {answer.status}: {content!r}")
        return content

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


def _idle(running: Running) -> _Idle:
    began, cpu = monotonic(), cpu_s(running.pid)
    sleep(_IDLE_S)
    used = (cpu_s(running.pid) - cpu) * 1000 / (monotonic() - began)
    return _Idle(used, rss_mb(running.pid))


def effective_settings() -> Settings:
    """Return what the numbers were measured with."""
    return {
        "agents": f"{_MANY}, made over HTTP one after the other, with a prompt of "
        f"{len(_PROMPT):,} characters each; all were checked before they were idle",
        "swap": f"median of {_SWAPS} swaps to a program that is checked in the sandbox first",
        "wires": f"{_MESSAGES:,} messages of 16 callers to one agent, each in a new conversation, over "
        f"POST /api/messages and over A2A 0.3 by turns; the medians of {_ROUNDS} rounds; the SDK's share is "
        "its dispatcher before a handler that answers at once, in the process of the bench",
        "idle": f"{_IDLE_S:g} s without a request, before and after",
    }


GROUP = Group(
    name="agents",
    about="agents that are made while the gateway runs",
    targets={
        "workspace_create_ms": Target(at_most=20),
        "swap_ms": Target(at_most=200),
        "a2a_own_more_cpu_ms_per_message_16": Target(at_most=0.3),
        "workspaces_idle_more_cpu_ms_per_s": Target(at_most=1),
        "workspaces_idle_more_mb": Target(at_most=20),
    },
    settings=effective_settings,
    run=measure,
)
