"""Models: what it costs to decide which model serves a call, and to pass a call on under `/v1`."""

import statistics
from collections.abc import Iterator, Sequence

import msgspec

from bench.calls import (
    LEVELS,
    PRICED,
    REQUEST,
    ROUNDS,
    SETTLE_S,
    STREAM,
    Counted,
    Kind,
    call_numbers,
    counted_gateway,
)
from bench.calm import Rounds
from bench.decisions import decision_settings, measure_decisions
from bench.fixed_piece import in_fixed_pieces, ratio_name
from bench.gateway import Model, upstream
from bench.load import Outcome
from bench.process import cpu_s
from bench.registry import Group, Say, Settings, Target

# What else a caller may meet; at 16 at a time only, and without a target.
_LONG_REQUEST = Kind(name="request50", answer="long", counts={16: 600})
_PACED = Kind(name="stream50_paced", answer="paced", stream=True, counts={16: 400})
_KINDS = (REQUEST, STREAM, _LONG_REQUEST, _PACED)
_SMALL_LEVEL = 16
_UPSTREAM = "v1_upstream_cpu_ms_per_call"


class _Sent(msgspec.Struct, frozen=True):
    """One round of calls: what came back, and what the upstream used for it."""

    outcome: Outcome
    upstream_ms: float


def measure(say: Say) -> Iterator[dict[str, float]]:
    """Run the whole group."""
    yield from measure_decisions(say)
    yield from _measure_calls([(kind, level) for kind in _KINDS for level in kind.counts], say)


def measure_small(say: Say) -> Iterator[dict[str, float]]:
    """Decide as always, and make calls of two kinds at one level."""
    yield from measure_decisions(say)
    yield from _measure_calls([(kind, _SMALL_LEVEL) for kind in (REQUEST, STREAM)], say)


def _measure_calls(steps: Sequence[tuple[Kind, int]], say: Say) -> Iterator[dict[str, float]]:
    with upstream() as model, counted_gateway(model) as counted:
        say("warming up")
        for kind in (REQUEST, STREAM):
            counted.send(kind, level=16, count=kind.counts[16])
        every: list[Rounds[_Sent]] = []
        for kind, level in steps:
            every.append(_send_rounds(counted, model, kind=kind, level=level, say=say))
            yield _level_numbers(kind, level, every[-1].read(lambda one: one.outcome))
        yield _upstream_numbers(every)


def _send_rounds(
    counted: Counted, model: Model, *, kind: Kind, level: int, say: Say
) -> Rounds[_Sent]:
    count = kind.counts[level]

    def one_round() -> _Sent:
        before = cpu_s(model.pid)
        outcome = counted.send(kind, level=level, count=count)
        return _Sent(outcome, (cpu_s(model.pid) - before) * 1000)

    rounds: Rounds[_Sent] = Rounds()
    for number in range(1, ROUNDS + 1):
        say(f"{count} {kind.name}s, {level} at a time, round {number} of {ROUNDS}")
        rounds.run(one_round)
    return rounds


def _level_numbers(kind: Kind, level: int, rounds: Rounds[Outcome]) -> dict[str, float]:
    numbers = call_numbers(f"v1_cpu_ms_per_{kind.name}_{level}", rounds)
    if kind is REQUEST and level == LEVELS[-1]:
        numbers[f"v1_rps_{level}"] = statistics.median(one.per_s for one in rounds.all)
        numbers[f"v1_p50_ms_{level}"] = statistics.median(one.p50_ms for one in rounds.all)
        numbers[f"v1_p99_ms_{level}"] = statistics.median(one.p99_ms for one in rounds.all)
    return numbers


def _upstream_numbers(every: list[Rounds[_Sent]]) -> dict[str, float]:
    """Return what the upstream used for a call, over all calls of all kinds."""
    sent = [one for rounds in every for one in rounds.all]
    steady = [pair for rounds in every for pair in rounds.steady]
    used = sum(in_fixed_pieces(_UPSTREAM, one.upstream_ms, piece_ms=piece) for piece, one in steady)
    return {
        _UPSTREAM: sum(one.upstream_ms for one in sent) / sum(one.outcome.count for one in sent),
        ratio_name(_UPSTREAM): used / sum(one.outcome.count for _, one in steady),
    }


def effective_settings() -> Settings:
    """Return what the decisions are made with, and what the calls go through."""
    return {
        **decision_settings(),
        "calls": "POST /v1/chat/completions; a key with a budget in dollars and in tokens, which "
        "must have counted every call in the end",
        "gateway": "a process of its own on a fresh home, shipped defaults: encryption, events and "
        "logs on; a price is set, so that dollars are counted",
        **PRICED,
        "upstream": "zero delay, each event of a stream in a write of its own; Hermes always asks "
        "it for a stream",
        "CPU": f"of the gateway process, until {SETTLE_S:g} s after the last answer",
    }


_DECISION = "LiteLLM's complexity router: 360 to 5200"
_CALL = "LiteLLM's proxy: make bench-peers"
GROUP = Group(
    name="models",
    about="which model serves a call, and what passing a call on costs under /v1",
    targets={
        "route_us": Target(at_most=20, peer=_DECISION),
        "route_us_by_task": Target(at_most=20, peer=_DECISION),
        **{f"v1_cpu_ms_per_request_{n}": Target(at_most=0.8, peer=_CALL) for n in LEVELS},
        **{f"v1_cpu_ms_per_stream50_{n}": Target(at_most=2, peer=_CALL) for n in LEVELS},
    },
    settings=effective_settings,
    run=measure,
    run_small=measure_small,
    library_figures=("route_",),
)
