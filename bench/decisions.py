"""What it costs to decide which model serves a call, availability already asked."""

import statistics
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from time import process_time_ns

from bench.calm import Rounds, cpu_numbers
from bench.registry import Say, Settings
from hermes.config import load
from hermes.ports.provider import ProviderInfo
from hermes.routing.decide import decide, make_plan
from hermes.routing.plan import CallNeeds, ProviderOffer
from hermes.routing.policy import Policy, policy_of

_PROMPT_BYTES = 2048
_ROUNDS, _TIMES, _DECISIONS = 10, 20, 50
_KEYS = ("HERMES", "OPENROUTER", "ANTHROPIC", "GEMINI", "OPENAI")
_CHOSEN = {
    "HERMES_ROUTING__LOCAL_THRESHOLD": "0.7",
    "HERMES_ROUTING__TASK_ROUTES__DEEP_REASONING__PRIMARY": "claude_api",
    "HERMES_ROUTING__TASK_ROUTES__DEEP_REASONING__FALLBACK": "gemini",
    "HERMES_ROUTING__TASK_ROUTES__CODE_GENERATION__PRIMARY": "gemini",
}
_PROSE = (
    "We run a small library in a harbour town. People return books late, the reading room is "
    "cold in winter, and the cellar floods when the river is high (twice last year!). Our two "
    "helpers, who have been here since 1998, would like to keep the evening hours; the council "
    "would rather not. "
)


def measure_decisions(say: Say) -> Iterator[dict[str, float]]:
    """Time the decision about two prompts."""
    say(f"{_ROUNDS} rounds of {_TIMES} times {_DECISIONS} decisions each")
    asks = {
        # Most prompts hold none of the words that routing looks for.
        "route_us": _ask(""),
        # The dearest way: words of several steps, a task route by alias, then everything else.
        "route_us_by_task": _ask("Explain the design and compare it with the other one. "),
    }
    policy = _policy()
    decided = decide(asks["route_us_by_task"], _offers(), policy=policy)
    if decided.task != "deep_reasoning":
        raise RuntimeError(f"the prompt was taken for {decided.task}, expected deep_reasoning")
    for name, ask in asks.items():
        rounds: Rounds[float] = Rounds()
        for _ in range(_ROUNDS):
            rounds.run(partial(_median_us, ask, policy))
        yield cpu_numbers(name, rounds)


def _ask(beginning: str) -> CallNeeds:
    text = beginning + _PROSE * (_PROMPT_BYTES // len(_PROSE) + 1)
    return CallNeeds(prompt=text[:_PROMPT_BYTES], tools=True)


def _median_us(ask: CallNeeds, policy: Policy) -> float:
    offers = _offers()
    times = []
    for _ in range(_TIMES):
        began = process_time_ns()
        for _ in range(_DECISIONS):
            make_plan(ask, offers, policy=policy)
        times.append((process_time_ns() - began) / _DECISIONS / 1000)
    return statistics.median(times)


def _policy() -> Policy:
    keys = {f"{name}_API_KEY": "bench" for name in _KEYS}
    return policy_of(load({**keys, **_CHOSEN}, Path("no-such-home")).settings)


def _offers() -> list[ProviderOffer]:
    """Five clouds of which one is away, a local server, and the demonstration model."""
    clouds = [ProviderOffer(_info(name.lower()), available=name != "OPENAI") for name in _KEYS]
    house = ProviderOffer(_info("house", is_local=True), available=True)
    last = ProviderOffer(_info("local", is_local=True, is_demonstration=True), available=True)
    return [*clouds, house, last]


def _info(name: str, *, is_local: bool = False, is_demonstration: bool = False) -> ProviderInfo:
    return ProviderInfo(
        name=name,
        model=f"{name}-1",
        tools=True,
        vision=True,
        context_tokens=128_000,
        local=is_local,
        demonstration=is_demonstration,
    )


def decision_settings() -> Settings:
    """Return what the decisions are made with."""
    return {
        "prompt": f"{_PROMPT_BYTES} bytes of English prose, tools in play",
        "offers": "five clouds (one away), one local server, the demonstration model",
        **_CHOSEN,
    }
