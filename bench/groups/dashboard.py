"""The dashboard: lists of messages by any filter and timelines among a million messages, asked over HTTP
from a running gateway; and what it adds to one where nobody has opened it.
"""

import http.client
import statistics
import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import monotonic, sleep, time
from urllib.parse import urlencode

import msgspec

from bench.gateway import Running, gateway, gateway_in, model_server
from bench.many_messages import PEOPLE, SESSIONS, SHARES, add_messages
from bench.process import rss_mb
from bench.registry import Group, Say, Settings, Target

MESSAGES = 1_000_000
TURNS, ROUNDS, PAGES = 40, 5, 3
_IDLE_S = 2.0
_WAIT_S = 120.0
Filter = dict[str, str | float]


def lists_of(start: float, end: float) -> tuple[Filter, ...]:
    """Return what the page of messages is asked for, in a store of this time."""
    some, most = start + (end - start) * 0.5, start + (end - start) * 0.9
    return (
        {},
        {"user": "p_17"},
        {"platform": "telegram"},
        {"agent": "helper"},
        {"model": "openai:gpt-4o-mini"},
        {"outcome": "failed"},
        {"outcome": "open"},
        {"least_usd": 1},
        {"least_usd": 0.01},
        {"since": some, "until": most},
        {"user": "p_17", "outcome": "failed"},
        {"model": "openai:gpt-4o-mini", "platform": "telegram", "least_usd": 0.01},
        {"agent": "helper", "outcome": "failed", "until": some},
        # Nothing fits: all of the bounded work is done.
        {"agent": "helper", "outcome": "merged"},
        {"platform": "telegram", "least_usd": 0.5, "outcome": "expired"},
        {"platform": "rest", "agent": "helper", "model": "openai:gpt-4o-mini", "least_usd": 0.005},
        {"outcome": "answered", "platform": "telegram", "least_usd": 0.005, "until": most},
    )


def measure(say: Say) -> Iterator[dict[str, float]]:
    """Run the whole group."""
    with model_server() as model:
        say("a gateway whose dashboard nobody opens")
        with gateway(model) as running:
            sleep(_IDLE_S)
            idle = rss_mb(running.pid)
            _ask(running, "/dashboard")
            _ask(running, "/dashboard/catalogue.json")
            sleep(_IDLE_S)
            yield {"idle_rss_unopened_mb": idle, "rss_opened_mb": rss_mb(running.pid)}
        with tempfile.TemporaryDirectory(prefix="hermes-bench-") as folder:
            home = Path(folder)
            with gateway_in(home, model) as (_, running):
                say(f"{TURNS} turns")
                ids = [_turn(running, number) for number in range(TURNS)]
            say(f"{MESSAGES:,} messages")
            start, began = time() - MESSAGES * 1.5 - 3_600, monotonic()
            add_messages(home, MESSAGES, start=start)
            filled, wanted = monotonic() - began, lists_of(start, time())
            with gateway_in(home, model) as (_, running):
                sleep(_IDLE_S)
                yield {"dashboard_fill_s": filled, "rss_1m_messages_mb": rss_mb(running.pid)}
                yield from _lists(running, wanted, say)
                yield from _sessions(running, say)
                yield from _timelines(running, ids, say)


def _lists(running: Running, lists: tuple[Filter, ...], say: Say) -> Iterator[dict[str, float]]:
    took: list[float] = []
    slowest: dict[str, float] = {}
    for number in range(ROUNDS):
        say(f"lists, round {number + 1} of {ROUNDS}")
        for wanted in lists:
            times = list(_pages(running, wanted))
            took += times
            name = "_".join(wanted) or "all"
            slowest[name] = max(slowest.get(name, 0.0), *times)
    say(f"the slowest: {sorted(slowest.items(), key=lambda one: -one[1])[:4]}")
    yield {
        "dashboard_list_p50_ms": statistics.median(took),
        "dashboard_list_p95_ms": _p95(took),
        "dashboard_list_most_ms": max(took),
    }


def _pages(running: Running, wanted: Filter) -> Iterator[float]:
    """Ask for the first pages of a list; yield how many ms each took."""
    before = ""
    for _ in range(PAGES):
        query = urlencode({**wanted, **({"before": before} if before else {})})
        began = monotonic()
        told = _ask(running, f"/control/messages?{query}")
        yield (monotonic() - began) * 1_000
        before = msgspec.json.decode(told, type=_Page).next or ""
        if not before:
            return


def _sessions(running: Running, say: Say) -> Iterator[dict[str, float]]:
    say("sessions")
    took = []
    for _ in range(ROUNDS * PAGES):
        for path in ("/control/sessions", "/control/sessions?platform=telegram"):
            began = monotonic()
            _ask(running, path)
            took.append((monotonic() - began) * 1_000)
    yield {"dashboard_sessions_p95_ms": _p95(took)}


def _timelines(running: Running, ids: list[str], say: Say) -> Iterator[dict[str, float]]:
    # With what was said each is on record: two commits that reach the disk.
    for name, rest in (("timeline", ""), ("timeline_with_words", "?text=true")):
        say(f"{name}, {ROUNDS} rounds")
        took = []
        for _ in range(ROUNDS):
            for one in ids:
                began = monotonic()
                _ask(running, f"/control/why/{one}{rest}")
                took.append((monotonic() - began) * 1_000)
        yield {f"{name}_p50_ms": statistics.median(took), f"{name}_p95_ms": _p95(took)}


class _Page(msgspec.Struct):
    next: str | None = None


class _Accepted(msgspec.Struct):
    id: str


def _turn(running: Running, number: int) -> str:
    body = msgspec.json.encode({"sender": f"bench-{number % 4}", "text": f"What is new, {number}?"})
    return msgspec.json.decode(_ask(running, "/api/messages", body), type=_Accepted).id


def _ask(running: Running, path: str, body: bytes | None = None) -> bytes:
    connection = http.client.HTTPConnection("127.0.0.1", running.port, timeout=_WAIT_S)
    headers = {"authorization": f"Bearer {running.token}", "content-type": "application/json"}
    try:
        connection.request("GET" if body is None else "POST", path, body=body, headers=headers)
        answer = connection.getresponse()
        told = answer.read()
    finally:
        connection.close()
    if answer.status != 200:
        raise RuntimeError(f"{path}: {answer.status} {told[:300]!r}")
    return told


def _p95(numbers: list[float]) -> float:
    return sorted(numbers)[len(numbers) * 95 // 100]


def effective_settings() -> Settings:
    """Return what the numbers were measured with."""
    rare = ", ".join(f"1 in {share:,}: {name}" for name, share in SHARES.items())
    return {
        "store": f"{MESSAGES:,} finished messages of {PEOPLE:,} people in {SESSIONS:,} sessions, written in bulk into a store of the "
        f"real schema with their turns, steps, events and deliveries; {rare}",
        "lists": f"{len(lists_of(0.0, 1.0))} filters, the first {PAGES} pages of 50 of each, {ROUNDS} rounds, one request "
        "after the other over HTTP by an operator's token",
        "timelines": f"`messages.why` and `messages.read` of {TURNS} real turns in that store, {ROUNDS} rounds",
        "memory": f"{_IDLE_S:g} s after the start, before anybody opened the dashboard, and after it",
    }


GROUP = Group(
    name="dashboard",
    about="lists of messages and timelines among a million messages; memory where nobody looks",
    targets={
        "dashboard_list_p95_ms": Target(at_most=150),
        "dashboard_sessions_p95_ms": Target(at_most=150),
        "timeline_p95_ms": Target(at_most=100),
        "timeline_with_words_p95_ms": Target(at_most=100),
        "idle_rss_unopened_mb": Target(at_most=90),
    },
    settings=effective_settings,
    run=measure,
    has_gateway_cpu=False,
)
