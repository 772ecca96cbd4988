"""`python -m bench.profile`: where the gateway's CPU goes per turn or call, by part of the path.

A developer's tool, no measurement: py-spy samples a gateway under load and every sample is given
to the part that the innermost known frame belongs to. Waiting threads are left out.
"""

import argparse
import re
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import sleep

from bench.calls import REQUEST, STREAM, counted_gateway
from bench.gateway import Running, gateway, model_server, upstream
from bench.load import Outcome, run
from bench.process import load_average
from bench.report import table
from bench.turn_plan import TurnPlan

_RATE_HZ = 500
_ATTACH_S = 1.5
_LONGEST_S = "300"
_WARM_UP = 500
_KINDS = {kind.name: kind for kind in (REQUEST, STREAM)}
Send = Callable[[int], Outcome]
# Innermost frame first; the first pattern that matches names the part.
_PARTS = (
    ("waiting", r"Condition\.wait|_worker \(concurrent|Event\.wait"),
    ("log line", r"structlog/|hermes/ops/log|hermes/ops/masker"),
    ("seal and open bodies", r"hermes/store/sql/seal\.py"),
    ("store: COMMIT in its thread", r"_WorkItem\.run"),
    ("store: reads beside the writer", r"Database\.(?:row|rows|one)|_read_view"),
    ("store: statements of the units", r"hermes/store/sql"),
    ("HTTP client (aiohttp)", r"aiohttp/|yarl/|multidict/"),
    (
        "model call: our side",
        r"hermes/providers|hermes/provider_kit|hermes/net/client|hermes/http/turn",
    ),
    ("HTTP server (uvicorn)", r"uvicorn/|starlette/"),
    ("v1: read, write, record", r"hermes/server/v1"),
    ("v1: events to the caller", r"hermes/http/sse\.py"),
    ("REST channel and gateway API", r"hermes/server|hermes/channels|hermes/http/|hermes/net/"),
    ("accept", r"hermes/inbox"),
    ("call: plan, failover, budgets", r"hermes/calls|hermes/routing"),
    ("turn: lanes, stages, journal", r"hermes/pipeline|hermes/people"),
)
_LOOP = "event loop and the rest"


def main() -> int:
    """Profile one run and print the shares."""
    options = _options()
    loaded = _calls if options.path in _KINDS else _turns
    with loaded(options) as (pid, send):
        send(_WARM_UP)
        with tempfile.TemporaryDirectory() as folder:
            raw = Path(folder) / "stacks.txt"
            outcome = _record(pid, raw, send=lambda: send(options.count))
            stacks = raw.read_text(encoding="utf-8")
    print(
        f"{outcome.cpu_ms_each:.2f} ms CPU per {options.path}, {options.workers} at a time, under "
        f"the profiler; load average {load_average():.1f}\n"
    )
    print(table(_shares(stacks, outcome.cpu_ms_each), right=frozenset({1, 2})))
    if options.frames:
        print()
        print(table(_frames(stacks, options.frames), right=frozenset({1})))
    return 0


@contextmanager
def _turns(options: argparse.Namespace) -> Iterator[tuple[int, Send]]:
    with model_server() as model, gateway(model) as running:
        yield running.pid, lambda count: _send(running, workers=options.workers, turns=count)


@contextmanager
def _calls(options: argparse.Namespace) -> Iterator[tuple[int, Send]]:
    kind = _KINDS[options.path]
    with upstream() as model, counted_gateway(model) as counted:
        yield (
            counted.server.pid,
            lambda count: counted.send(kind, level=options.workers, count=count),
        )


def _record(pid: int, raw: Path, *, send: Callable[[], Outcome]) -> Outcome:
    spy = Path(sys.executable).with_name("py-spy")
    command = [str(spy), "record", "--pid", str(pid), "--rate", str(_RATE_HZ)]
    command += ["--duration", _LONGEST_S, "--format", "raw", "--output", str(raw)]
    recorder = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        sleep(_ATTACH_S)
        outcome = send()
    finally:
        recorder.send_signal(signal.SIGINT)
        _, told = recorder.communicate(timeout=60)
    if not raw.exists():
        raise RuntimeError(f"py-spy recorded nothing: {told.decode()[-1000:]}")
    return outcome


def _send(running: Running, *, workers: int, turns: int) -> Outcome:
    plan = TurnPlan(
        port=running.port,
        token=running.token,
        pid=running.pid,
        name="profile",
        workers=workers,
        count=turns,
        conversation_turns=10,
    )
    return run(plan)


def _samples(stacks: str) -> Iterator[tuple[list[str], int]]:
    for line in stacks.splitlines():
        frames, _, samples = line.rpartition(" ")
        yield frames.split(";"), int(samples)


def _part_of(frames: list[str]) -> str:
    if any("Writer._run_" in frame for frame in frames) and "seal.py" not in frames[-1]:
        return "store: statements of the units"
    for frame in reversed(frames):
        for part, pattern in _PARTS:
            if re.search(pattern, frame):
                return part
    return _LOOP


def _shares(stacks: str, cpu_ms: float) -> list[tuple[str, str, str]]:
    parts: Counter[str] = Counter()
    for stack, samples in _samples(stacks):
        parts[_part_of(stack)] += samples
    del parts["waiting"]
    total = sum(parts.values())
    rows = [("part", "share", "us each")]
    for part, count in parts.most_common():
        share = count / total
        rows.append((part, f"{share:.1%}", f"{share * cpu_ms * 1000:.0f}"))
    return rows


def _frames(stacks: str, most: int) -> list[tuple[str, str]]:
    own: Counter[str] = Counter()
    for stack, samples in _samples(stacks):
        own[re.sub(r":\d+\)", ")", stack[-1])] += samples
    total = sum(own.values())
    rows = [("own time of", "share")]
    rows += [(frame, f"{count / total:.1%}") for frame, count in own.most_common(most)]
    return rows


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.profile", description=__doc__)
    parser.add_argument("--path", choices=["turn", *_KINDS], default="turn", help="what to send")
    parser.add_argument("--workers", type=int, default=50, help="how many at a time")
    parser.add_argument("--count", type=int, default=5_000, help="how many in all")
    parser.add_argument("--frames", type=int, default=0, help="also list this many hot functions")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
