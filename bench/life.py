"""The numbers of the group `sessions` that are about the process: commands, stopping, coming back.

A real gateway with 20 turns under way in front of a model that takes its time.
"""

import http.client
import os
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep

import msgspec

from bench.gateway import Model, gateway, gateway_in, model_server
from bench.registry import Say

TURNS = 20
COMMANDS = 20
MODEL_MS = 2_000
_LONG_MODEL_MS = 60_000
_PATIENCE_S = 60.0
_POLL_S = 0.005


def measure_life(say: Say) -> Iterator[dict[str, float]]:
    """Time commands beside running turns, a stop with turns under way, and a start after a kill."""
    say("commands while turns run")
    with model_server(delay_ms=_LONG_MODEL_MS) as slow:
        settings = {"HERMES_SERVER__DRAIN_S": "0.1"}
        with gateway(slow, settings=settings) as running:
            yield _commands(_Caller(running.port, running.token))
    with model_server(delay_ms=MODEL_MS) as model:
        say("a stop with turns under way")
        yield {"drain_20_turns_s": _drain(model)}
        say("a start after a kill")
        yield {"resume_after_kill_s": _resume(model)}


class _Told(msgspec.Struct, frozen=True):
    """What the bench reads of an answer."""

    id: str
    state: str = ""


class _Caller:
    """Speaks to the REST channel of a gateway."""

    def __init__(self, port: int, token: str) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_PATIENCE_S)
        self._headers = {"authorization": f"Bearer {token}", "content-type": "application/json"}

    def say(self, who: str, text: str, *, waits: bool) -> "_Told":
        """Send a message, and wait for its reply or only until it is kept."""
        body = msgspec.json.encode({"sender": who, "text": text})
        path = "/api/messages" if waits else "/api/messages?wait=false"
        return self._ask("POST", path, body)

    def state(self, message_id: str) -> str:
        """Return where a message stands."""
        return self._ask("GET", f"/api/messages/{message_id}", None).state

    def _ask(self, method: str, path: str, body: bytes | None) -> "_Told":
        self._connection.request(method, path, body=body, headers=self._headers)
        answer = self._connection.getresponse()
        told = answer.read()
        if answer.status not in (200, 202):
            raise RuntimeError(f"{method} {path}: {answer.status} {told[:300]!r}")
        return msgspec.json.decode(told, type=_Told)


def _begin(caller: _Caller) -> list[str]:
    """Start the turns, and return their ids once all of them run."""
    ids = [caller.say(f"busy-{n}", "Take your time.", waits=False).id for n in range(TURNS)]
    _wait(lambda: all(caller.state(one) == "running" for one in ids), "the turns did not start")
    return ids


def _commands(caller: _Caller) -> dict[str, float]:
    _begin(caller)
    took = []
    for number in range(TURNS * COMMANDS):
        began = monotonic()
        caller.say(f"busy-{number % TURNS}", "/status", waits=True)
        took.append((monotonic() - began) * 1_000)
    took.sort()
    return {
        "command_while_busy_p50_ms": took[len(took) // 2],
        "command_while_busy_p99_ms": took[len(took) * 99 // 100],
    }


def _drain(model: Model) -> float:
    with _home() as home, _started(model, home) as (process, caller):
        _begin(caller)
        began = monotonic()
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=_PATIENCE_S)
        return monotonic() - began


def _resume(model: Model) -> float:
    with _home() as home:
        with _started(model, home) as (process, caller):
            ids = _begin(caller)
            os.kill(process.pid, signal.SIGKILL)
            process.wait(timeout=_PATIENCE_S)
        began = monotonic()
        with _started(model, home) as (_, caller):
            _wait(lambda: all(caller.state(one) == "done" for one in ids), "turns did not go on")
            return monotonic() - began


@contextmanager
def _home() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="hermes-bench-") as folder:
        yield Path(folder)


@contextmanager
def _started(model: Model, home: Path) -> Iterator[tuple["subprocess.Popen[bytes]", _Caller]]:
    with gateway_in(home, model) as (process, running):
        yield process, _Caller(running.port, running.token)


def _wait(claim: Callable[[], bool], problem: str) -> None:
    deadline = monotonic() + _PATIENCE_S
    while not claim():
        if monotonic() > deadline:
            raise RuntimeError(problem)
        sleep(_POLL_S)
