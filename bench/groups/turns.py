"""Turns: what one message costs from the REST channel to its committed answer, and what waiting
and standing still cost; a scripted model with zero delay, the shipped defaults otherwise.
"""

import statistics
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from time import sleep

from bench.calm import Rounds, cpu_numbers, ratio_number
from bench.gateway import Model, Running, environment, gateway, model_server
from bench.known_people import tell_facts, wait_idle
from bench.load import Outcome, run
from bench.process import rss_mb
from bench.recall_scores import read_set
from bench.registry import Group, Say, Settings, Target
from bench.turn_plan import TurnPlan
from hermes.config import load, show

_STARTS = 5
_IDLE_S = 2.0
_ROUNDS = 5
_TURNS = {1: 300, 10: 1_000, 50: 2_500}
# A long round goes on in parts, between which the machine's speed is looked at.
_PARTS = {1: 1, 10: 1, 50: 5}
_SMALL_STARTS, _SMALL_ROUNDS, _SMALL_TURNS = 3, 3, {1: 100, 10: 300, 50: 1_000}
_CONVERSATION_TURNS = 10
_WARM_UP = 500
_GROWTH_WARM_UP, _GROWTH_TURNS = 2_000, 10_000
_FEW, _MANY = 100, 5_000
_RATIO_ROUNDS, _RATIO_TURNS = 6, 600
_LONG_TURNS = 110
_RECALL_PEOPLE, _RECALL_FACTS, _RECALL_TURNS = 10, 200, 400
_BURST, _BURST_DELAY_MS, _BURST_LIMIT = 40, 3_000, 64
_SHOWN = (
    "store.synchronous",
    "store.group_commit_max",
    "turns.max_concurrent_calls",
    "lanes.max_running",
    "inbox.max_waiting",
    "busy.platforms.rest",
    "logs.level",
    "logs.format",
)


def measure(say: Say) -> Iterator[dict[str, float]]:
    """Run the whole group."""
    with model_server() as model:
        yield _measure_starts(model, _STARTS, say=say)
        with _warm_gateway(model, say) as running:
            yield from _measure_levels(running, _TURNS, rounds=_ROUNDS, say=say)
            say("long conversations")
            yield _measure_long(running)
        yield _measure_growth(model, say)
        yield _measure_sessions(model, say)
        yield _measure_recall(model, say)
        yield _measure_recall(model, say, embedder="wordllama")
    with model_server(delay_ms=_BURST_DELAY_MS) as slow_model:
        yield _measure_burst(slow_model, say)


def measure_small(say: Say) -> Iterator[dict[str, float]]:
    """Run fewer starts and turns, and what has no CPU figure not at all."""
    with model_server() as model:
        yield _measure_starts(model, _SMALL_STARTS, say=say)
        with _warm_gateway(model, say) as running:
            yield from _measure_levels(running, _SMALL_TURNS, rounds=_SMALL_ROUNDS, say=say)


def _send(
    running: Running,
    name: str,
    *,
    workers: int,
    turns: int,
    conversation: int,
    texts: tuple[str, ...] = (),
) -> Outcome:
    plan = TurnPlan(
        port=running.port,
        token=running.token,
        pid=running.pid,
        name=name,
        workers=workers,
        count=turns,
        conversation_turns=conversation,
        texts=texts,
    )
    return run(plan)


def _measure_starts(model: Model, starts: int, *, say: Say) -> dict[str, float]:
    """Start on fresh homes; the first start only compiles, as installing a package does."""
    say("compiling")
    with gateway(model):
        pass
    rounds: Rounds[Running] = Rounds()
    idle = []
    for number in range(1, starts + 1):
        say(f"cold start {number} of {starts}")
        rounds.pause()
        with ExitStack() as stack:
            running = rounds.run(partial(stack.enter_context, gateway(model)))
            sleep(_IDLE_S)
            idle.append(rss_mb(running.pid))
    cpu = rounds.read(lambda one: one.start_cpu_s)
    return {
        "cold_start_cpu_s": statistics.median(cpu.all),
        **ratio_number("cold_start_cpu_s", cpu),
        "cold_start_wall_s": statistics.median(one.start_wall_s for one in rounds.all),
        "idle_rss_mb": statistics.median(idle),
    }


@contextmanager
def _warm_gateway(model: Model, say: Say) -> Iterator[Running]:
    with gateway(model) as running:
        say("warming up")
        _send(running, "warm", workers=50, turns=_WARM_UP, conversation=_CONVERSATION_TURNS)
        yield running


def _measure_levels(
    running: Running, counts: Mapping[int, int], *, rounds: int, say: Say
) -> Iterator[dict[str, float]]:
    """Rates and CPU at 1, 10 and 50 at a time: the median of the calm among some rounds."""
    for level, turns in counts.items():
        timed: Rounds[Outcome] = Rounds()
        for number in range(1, rounds + 1):
            say(f"{turns} turns, {level} at a time, round {number} of {rounds}")
            name = f"level-{level}-{number}"
            part = turns // _PARTS[level]
            send = partial(_send, running, name, workers=level, turns=part, conversation=0)
            for _ in range(_PARTS[level]):
                timed.run(send)
        yield _level_numbers(level, timed)


def _level_numbers(level: int, rounds: Rounds[Outcome]) -> dict[str, float]:
    median, outcomes = statistics.median, rounds.calm
    return {
        f"turns_per_s_{level}": median(one.per_s for one in outcomes),
        **cpu_numbers(f"cpu_ms_per_turn_{level}", rounds.read(_cpu_ms)),
        f"p50_ms_{level}": median(one.p50_ms for one in outcomes),
        f"p99_ms_{level}": median(one.p99_ms for one in outcomes),
        f"calm_share_{level}": rounds.calm_share,
        f"steady_share_{level}": rounds.steady_share,
    }


def _cpu_ms(outcome: Outcome) -> float:
    return outcome.cpu_ms_each


def _measure_long(running: Running) -> dict[str, float]:
    """What a turn costs in conversations that fill the history which a model is sent."""
    workers = 10
    _send(running, "long", workers=workers, turns=workers * _LONG_TURNS, conversation=0)
    send = partial(_send, running, "long", workers=workers, conversation=0)
    rounds: Rounds[Outcome] = Rounds()
    rounds.run(partial(send, turns=1_000))
    return cpu_numbers("cpu_ms_per_turn_10_long", rounds.read(_cpu_ms))


def _measure_growth(model: Model, say: Say) -> dict[str, float]:
    """Memory before and after many turns, over a thousand conversations."""
    with gateway(model) as running:
        say(f"{_GROWTH_WARM_UP} turns to warm up")
        _send(running, "warm", workers=50, turns=_GROWTH_WARM_UP, conversation=_CONVERSATION_TURNS)
        say(f"{_GROWTH_TURNS} turns for the growth of memory")
        outcome = _send(
            running, "grow", workers=50, turns=_GROWTH_TURNS, conversation=_CONVERSATION_TURNS
        )
    grown = outcome.rss_after_mb - outcome.rss_before_mb
    return {
        "rss_growth_mb_per_10k_turns": grown * 10_000 / outcome.count,
        "rss_after_12k_turns_mb": outcome.rss_after_mb,
    }


def _measure_sessions(model: Model, say: Say) -> dict[str, float]:
    """The same turns in front of a store with few and one with many sessions, in alternation."""
    with ExitStack() as stack:
        few, many = (stack.enter_context(gateway(model)) for _ in range(2))
        for running, count in ((few, _FEW), (many, _MANY)):
            say(f"making {count} sessions")
            _send(running, "session", workers=50, turns=count, conversation=1)
        cpu: dict[int, list[float]] = {few.pid: [], many.pid: []}
        for number in range(1, _RATIO_ROUNDS + 1):
            say(f"save cost, round {number} of {_RATIO_ROUNDS}")
            for running in (few, many):
                outcome = _send(
                    running,
                    f"round-{number}",
                    workers=50,
                    turns=_RATIO_TURNS,
                    conversation=_CONVERSATION_TURNS,
                )
                cpu[running.pid].append(outcome.cpu_ms_each)
    ratio = statistics.median(cpu[many.pid]) / statistics.median(cpu[few.pid])
    return {f"save_cost_ratio_{_MANY}_to_{_FEW}_sessions": ratio}


def _measure_recall(model: Model, say: Say, *, embedder: str = "") -> dict[str, float]:
    """What a turn costs for people of whom much is known, with the embedder as shipped or named."""
    workers = _RECALL_PEOPLE
    named = {"HERMES_MEMORY__EMBEDDER": embedder} if embedder else {}
    suffix = f"_{embedder}" if embedder else ""
    with gateway(model, settings=named) as running:
        say(f"telling {_RECALL_FACTS} facts of each of {workers} people")
        _send(running, "known", workers=workers, turns=workers, conversation=0)
        for worker in range(workers):
            tell_facts(running, f"rest:known-{worker}-0", _RECALL_FACTS)
        say("making their vectors")
        _send(running, "known", workers=workers, turns=2 * workers, conversation=0)
        wait_idle(running.pid)
        say(f"{_RECALL_TURNS} turns with recall")
        rounds: Rounds[Outcome] = Rounds()
        # Messages that differ: an embedder that remembered one would have no work.
        texts = tuple(read_set().messages)
        send = partial(_send, running, "known", workers=workers, conversation=0, texts=texts)
        outcome = rounds.run(partial(send, turns=_RECALL_TURNS))
    return {
        **cpu_numbers(f"cpu_ms_per_turn_recall{suffix}", rounds.read(_cpu_ms)),
        f"p50_ms_recall{suffix}": outcome.p50_ms,
        f"rss_with_recall{suffix}_mb": outcome.rss_after_mb,
    }


def _measure_burst(model: Model, say: Say) -> dict[str, float]:
    """How long forty people wait who all ask a slow model at once."""
    say(f"{_BURST} turns at once on a {_BURST_DELAY_MS / 1000:g} s model")
    limit = {"HERMES_TURNS__MAX_CONCURRENT_CALLS": str(_BURST_LIMIT)}
    with gateway(model, settings=limit) as running:
        outcome = _send(running, "burst", workers=_BURST, turns=_BURST, conversation=1)
    return {"burst_40_turns_on_3s_model_s": outcome.wall_s}


def effective_settings() -> Settings:
    """Return the settings that the gateways of this group run with."""
    with tempfile.TemporaryDirectory() as home:
        given = environment(Model("http://127.0.0.1:9/v1"), Path(home))
        loaded = load({n: v for n, v in given.items() if n.startswith(("HERMES", "OPENAI"))}, None)
    rows = {row.key: str(row.value) for row in show(loaded, origin=False)}
    return {
        **{key: rows[key] for key in _SHOWN if key in rows},
        "encryption of bodies": "on (always)",
        "events and interactions": "on (always)",
        "logs": "info lines as JSON, to a file",
        "conversations": "one per worker and round, so histories grow as they would; for memory "
        f"and sessions a new one every {_CONVERSATION_TURNS} turns",
        "bytecode": "compiled before the first measured start, as in an installed package",
        "recall only": f"{_RECALL_FACTS} facts of each of {_RECALL_PEOPLE} people, the embedder as "
        f"shipped, then wordllama; {_RECALL_PEOPLE} turns at a time, the messages of bench/recall_set.toml",
        "burst only": f"turns.max_concurrent_calls = {_BURST_LIMIT}",
    }


_HERMES_AGENT = "hermes-agent 0.19: "
GROUP = Group(
    name="turns",
    about="the whole durable pipeline through the REST channel, zero-delay model on loopback",
    targets={
        "cpu_ms_per_turn_50": Target(at_most=1.5, peer=_HERMES_AGENT + "157 to 258"),
        "cpu_ms_per_turn_recall": Target(at_most=5),
        "cpu_ms_per_turn_recall_wordllama": Target(at_most=5),
        "turns_per_s_50": Target(at_least=500, peer=_HERMES_AGENT + "7.3 to 10.3"),
        "cold_start_cpu_s": Target(at_most=1.0, peer=_HERMES_AGENT + "3.0"),
        "idle_rss_mb": Target(at_most=90, peer=_HERMES_AGENT + "150"),
        "rss_growth_mb_per_10k_turns": Target(at_most=5, peer=_HERMES_AGENT + "150 in 240 turns"),
        "save_cost_ratio_5000_to_100_sessions": Target(at_most=1.2, peer=_HERMES_AGENT + "43"),
        "burst_40_turns_on_3s_model_s": Target(at_most=3.3, peer=_HERMES_AGENT + "14.5"),
    },
    settings=effective_settings,
    run=measure,
    run_small=measure_small,
)
