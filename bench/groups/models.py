"""Models: what it costs to decide which model serves a call, and to pass a call on under `/v1`."""

import statistics
from collections.abc import Iterator

from bench.calls import (
    LEVELS,
    PRICED,
    REQUEST,
    ROUNDS,
    SETTLE_S,
    STREAM,
    Counted,
    Kind,
    counted_gateway,
    median_cpu_ms,
)
from bench.decisions import decision_settings, measure_decisions
from bench.gateway import upstream
from bench.process import cpu_s
from bench.registry import Group, Say, Settings, Target

# What else a caller may meet; at 16 at a time only, and without a target.
_LONG_REQUEST = Kind(name="request50", answer="long", counts={16: 600})
_PACED = Kind(name="stream50_paced", answer="paced", stream=True, counts={16: 400})


def measure(say: Say) -> Iterator[dict[str, float]]:
    """Run the whole group."""
    yield from measure_decisions(say)
    with upstream() as model, counted_gateway(model) as counted:
        say("warming up")
        for kind in (REQUEST, STREAM):
            counted.send(kind, level=16, count=kind.counts[16])
        before, sent_before = cpu_s(model.pid), counted.calls
        for kind in (REQUEST, STREAM, _LONG_REQUEST, _PACED):
            yield _measure_kind(counted, kind, say=say)
        used_ms = (cpu_s(model.pid) - before) * 1000
        yield {"v1_upstream_cpu_ms_per_call": used_ms / (counted.calls - sent_before)}


def _measure_kind(counted: Counted, kind: Kind, *, say: Say) -> dict[str, float]:
    numbers: dict[str, float] = {}
    for level, count in kind.counts.items():
        outcomes = []
        for number in range(1, ROUNDS + 1):
            say(f"{count} {kind.name}s, {level} at a time, round {number} of {ROUNDS}")
            outcomes.append(counted.send(kind, level=level, count=count))
        numbers[f"v1_cpu_ms_per_{kind.name}_{level}"] = median_cpu_ms(outcomes)
        if kind is REQUEST and level == LEVELS[-1]:
            numbers[f"v1_rps_{level}"] = statistics.median(one.per_s for one in outcomes)
            numbers[f"v1_p50_ms_{level}"] = statistics.median(one.p50_ms for one in outcomes)
            numbers[f"v1_p99_ms_{level}"] = statistics.median(one.p99_ms for one in outcomes)
    return numbers


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
)
