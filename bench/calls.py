"""Chat completions through a server on loopback: which, how many at a time, how often.

The same calls go to Hermes and to its peers, from the same load process.
"""

import statistics
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec

from bench.answers import ANSWERS, MODEL
from bench.call_plan import CallPlan
from bench.caller import Caller, check_counted, make_caller
from bench.calm import Rounds, ratio_number
from bench.gateway import Model, Running, gateway
from bench.load import Outcome, run

LEVELS = (1, 16, 64)
ROUNDS = 3
# Behind the answer: Hermes writes its ledger, LiteLLM logs.
SETTLE_S = 0.5
# The upstream is on this machine, where models cost nothing unless the operator sets a price.
PRICED = {
    "HERMES_PROVIDERS__OPENAI__MODEL": MODEL,
    "HERMES_PROVIDERS__OPENAI__PRICE_IN_PER_MILLION": "0.5",
    "HERMES_PROVIDERS__OPENAI__PRICE_OUT_PER_MILLION": "1.5",
}


class Kind(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of call; `answer` is what the upstream gives, `counts` how many calls by level."""

    name: str
    answer: str
    counts: dict[int, int]
    stream: bool = False


class Server(msgspec.Struct, frozen=True, kw_only=True):
    """What is measured; `model` is what it calls the upstream's."""

    name: str
    pid: int
    port: int
    key: str
    model: str = MODEL
    with_children: bool = False


REQUEST = Kind(name="request", answer="short", counts={1: 500, 16: 1_500, 64: 2_000})
STREAM = Kind(name="stream50", answer="long", stream=True, counts={1: 200, 16: 600, 64: 800})


def send(server: Server, kind: Kind, *, level: int, count: int) -> Outcome:
    """Make so many calls, `level` at a time."""
    plan = CallPlan(
        port=server.port,
        token=server.key,
        pid=server.pid,
        name=f"{kind.name}s to {server.name}",
        workers=level,
        count=count,
        with_children=server.with_children,
        settle_s=SETTLE_S,
        model=server.model,
        answer=kind.answer,
        stream=kind.stream,
    )
    return run(plan)


def call_numbers(figure: str, rounds: Rounds[Outcome]) -> dict[str, float]:
    """Return the middle of the CPU times of a call, and the same in fixed pieces."""
    cpu = rounds.read(lambda one: one.cpu_ms_each)
    return {figure: statistics.median(cpu.all), **ratio_number(figure, cpu)}


class Counted:
    """A gateway as a server; adds up what the caller's budget must have counted."""

    def __init__(self, running: Running, caller: Caller) -> None:
        self.server = Server(
            name="hermes",
            pid=running.pid,
            port=running.port,
            key=caller.secret,
            model=f"openai:{MODEL}",
        )
        self.calls = 0
        self.tokens = 0

    def send(self, kind: Kind, *, level: int, count: int) -> Outcome:
        """Make so many calls, `level` at a time."""
        outcome = send(self.server, kind, level=level, count=count)
        answer = ANSWERS[kind.answer]
        self.calls += outcome.count
        self.tokens += outcome.count * (answer.tokens_in + answer.tokens_out)
        return outcome


@contextmanager
def counted_gateway(model: Model) -> Iterator[Counted]:
    """Run a gateway and a caller whose budget must have counted every call when the block ends."""
    with gateway(model, settings=PRICED) as running:
        caller = make_caller(running, model)
        counted = Counted(running, caller)
        yield counted
        check_counted(running, model, caller=caller, tokens=counted.tokens)
