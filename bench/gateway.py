"""A real `hermes up` on a fresh home in front of a model server, both on loopback."""

import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep

import msgspec

from bench.process import cpu_s

_START_S = 60.0
_STOP_S = 60.0
_POLL_S = 0.002
# Where the gateways come from if not from this tree: what `bench.compare` sets.
OTHER_PYTHON, OTHER_SRC = "HERMES_BENCH_PYTHON", "HERMES_BENCH_SRC"
_TOKEN = re.compile(r"hermes_[A-Za-z0-9_-]{20,}")


class Model(msgspec.Struct, frozen=True):
    """A model server on loopback."""

    base_url: str
    pid: int = 0


class Running(msgspec.Struct, frozen=True, kw_only=True):
    """A gateway that is ready."""

    pid: int
    port: int
    token: str
    home: Path
    start_cpu_s: float
    start_wall_s: float


@contextmanager
def model_server(*, delay_ms: float = 0) -> Iterator[Model]:
    """Run the scripted model in a process of its own."""
    arguments = ["--delay-ms", str(delay_ms)]
    arguments += ["--text", "Wear a warm coat, it is two degrees and windy."]
    yield from _run_model("hermes.testing.model_server", *arguments)


@contextmanager
def small_model(context_tokens: int) -> Iterator[Model]:
    """Run a scripted model that refuses prompts which it cannot hold in a process of its own."""
    arguments = ["--context-tokens", str(context_tokens)]
    arguments += ["--text", "The ferry leaves at seven; take the blue bag with the tickets."]
    yield from _run_model("hermes.testing.model_server", *arguments)


@contextmanager
def echo_server() -> Iterator[Model]:
    """Run the model that repeats what it is told in a process of its own."""
    yield from _run_model("hermes.testing.model_server")


@contextmanager
def upstream() -> Iterator[Model]:
    """Run the model that costs least in a process of its own."""
    yield from _run_model("bench.upstream")


def _run_model(module: str, *arguments: str) -> Iterator[Model]:
    command = [sys.executable, "-m", module, *arguments]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        told = msgspec.json.decode(process.stdout.readline())
        yield Model(told["base_url"], told["pid"])
    finally:
        process.stdin.close()
        process.wait(timeout=_STOP_S)
        process.stdout.close()


def environment(model: Model | None, home: Path, **more: str) -> dict[str, str]:
    """Return the environment of a gateway: the shipped defaults, a home and one model or none."""
    names = ("PATH", "LANG", "TMPDIR", "PYTHONPATH")
    kept = {name: os.environ[name] for name in names if name in os.environ}
    if OTHER_SRC in os.environ:
        kept["PYTHONPATH"] = os.environ[OTHER_SRC]
    own = {"HERMES_HOME": str(home)}
    if model is not None:
        own |= {"OPENAI_BASE_URL": model.base_url, "OPENAI_API_KEY": "sk-bench-0000000000000000"}
    return {**kept, **own, **more}


def hermes_command(*arguments: str, launcher: str = "hermes") -> list[str]:
    """Return the command line of a `hermes` command; `launcher` is the module to run."""
    return [os.environ.get(OTHER_PYTHON, sys.executable), "-m", launcher, *arguments]


@contextmanager
def gateway(
    model: Model | None, *, settings: Mapping[str, str] | None = None, launcher: str = "hermes"
) -> Iterator[Running]:
    """Run a gateway on a fresh home until the block ends; `launcher` is the module to run.

    Without a model it has no key: the demonstration model answers.
    """
    home = Path(tempfile.mkdtemp(prefix="hermes-bench-"))
    try:
        yield from _run(model, home, settings=settings or {}, launcher=launcher)
    finally:
        shutil.rmtree(home)


@contextmanager
def gateway_in(home: Path, model: Model) -> Iterator[tuple["subprocess.Popen[bytes]", Running]]:
    """Run a gateway on a home that may have been used before; the block may end the process."""
    port, log = free_port(), home / "log.txt"
    with (home / "out.txt").open("ab") as out, log.open("ab") as errors:
        started = monotonic()
        process = subprocess.Popen(
            hermes_command("up", "--port", str(port)),
            stdout=out,
            stderr=errors,
            env=environment(model, home),
        )
        try:
            cpu = wait_ready(process, port, path="/readyz", log=log)
            took = monotonic() - started
            yield (
                process,
                Running(
                    pid=process.pid,
                    port=port,
                    token=token_of(home / "out.txt"),
                    home=home,
                    start_cpu_s=cpu,
                    start_wall_s=took,
                ),
            )
        finally:
            if process.poll() is None:
                process.terminate()
            process.wait(timeout=_STOP_S)


def _run(
    model: Model | None, home: Path, *, settings: Mapping[str, str], launcher: str
) -> Iterator[Running]:
    port = free_port()
    command = hermes_command("up", "--port", str(port), launcher=launcher)
    with (home / "out.txt").open("wb") as out, (home / "log.txt").open("wb") as log:
        started = monotonic()
        process = subprocess.Popen(
            command, stdout=out, stderr=log, env=environment(model, home, **settings)
        )
        try:
            cpu = wait_ready(process, port, path="/readyz", log=home / "log.txt")
            took = monotonic() - started
            yield Running(
                pid=process.pid,
                port=port,
                token=token_of(home / "out.txt"),
                home=home,
                start_cpu_s=cpu,
                start_wall_s=took,
            )
        finally:
            process.terminate()
            process.wait(timeout=_STOP_S)


def wait_ready(
    process: "subprocess.Popen[bytes]",
    port: int,
    *,
    path: str,
    log: Path,
    seconds: float = _START_S,
) -> float:
    """Return the CPU that a server had used when it first said that it is ready."""
    deadline = monotonic() + seconds
    while monotonic() < deadline:
        if process.poll() is not None:
            break
        if _is_ready(port, path):
            return cpu_s(process.pid)
        sleep(_POLL_S)
    raise RuntimeError(f"the server did not become ready:\n{log.read_text()[-3000:]}")


def _is_ready(port: int, path: str) -> bool:
    ask = f"GET {path} HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n"
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
            connection.sendall(ask.encode())
            return connection.recv(4096).startswith(b"HTTP/1.1 200")
    except OSError:
        return False


def token_of(out: Path) -> str:
    """Return the API token that the first start prints, shortly after it is ready."""
    deadline = monotonic() + _START_S
    while monotonic() < deadline:
        found = _TOKEN.search(out.read_text())
        if found is not None:
            return found[0]
        sleep(_POLL_S)
    raise RuntimeError(f"the gateway printed no API token:\n{out.read_text()[-3000:]}")


def free_port() -> int:
    """Return a port of loopback that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
