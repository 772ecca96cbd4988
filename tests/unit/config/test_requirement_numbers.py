"""Every number that the requirements give is a setting, with that number as its default.

One row per number: the requirement, the key, the default in the unit of the setting. A20's caps on
output are absent on purpose: without a setting the model's own limit holds.
"""

from typing import Any

import pytest

from hermes.config import Settings
from hermes.config.keys import node_at
from hermes.config.settings import leaves

HOUR, DAY = 3_600, 86_400

# Any: a default of whatever type its setting has.
NUMBERS: list[tuple[str, str, Any]] = [
    ("A9", "turns.tool_rounds", 8),
    ("A9", "turns.output_timeout_s", 45),
    ("A9", "turns.call_limit_s", 600),
    ("A10", "memory.earlier_messages", 5),
    ("A10", "memory.dream_gaps", 3),
    ("A11", "memory.soul_cache_s", HOUR),
    ("A11", "memory.soul_retries_s", (0.5, 1.0)),
    ("A12", "memory.recall_facts", 10),
    ("A13", "memory.value_chars", 200),
    ("A13", "memory.key_chars", 50),
    ("A14", "memory.dream_days", 7),
    ("A19", "routing.tiers.free", ("claude-haiku",)),
    ("A19", "routing.tiers.starter", ("claude-haiku", "local")),
    ("A19", "routing.tiers.pro", ("claude-sonnet",)),
    ("A19", "routing.models.claude-haiku", "claude-haiku-4-5-20251001"),
    ("A19", "routing.models.claude-sonnet", "claude-sonnet-4-6"),
    ("A21", "turns.max_concurrent_calls", 30),
    ("A21", "turns.call_wait_s", 15),
    ("A22", "budgets.person_day_tokens.free", 50_000),
    ("A22", "budgets.person_day_tokens.starter", 200_000),
    ("A22", "budgets.person_day_tokens.pro", 1_000_000),
    ("A26", "outbox.send_timeout_s", 10),
    ("A26", "outbox.quick_delays_s", (0, 1, 3, 9)),
    ("A27", "outbox.breaker_failures", 10),
    ("A27", "outbox.breaker_window_s", 300),
    ("A27", "outbox.breaker_open_s", 120),
    ("A28", "outbox.later_delays_s", (60, 300, 1500)),
    ("A28", "outbox.dead_letter_days", 7),
    ("A28", "outbox.max_waiting", 5_000),
    ("A28", "inbox.max_waiting", 5_000),
    ("P2", "routing.local_first", True),
    ("P2", "routing.local_threshold", 1.0),
    ("P3", "compaction.own_model", True),
    ("W2", "platforms.telegram.connect_timeout_s", 30),
    ("W3", "server.drain_s", 180),
    ("W4", "process.planned_stop_s", 60),
    ("W5", "lanes.resume_within_s", HOUR),
    ("W5", "lanes.max_restarts", 3),
    ("W19", "streaming.transport", "auto"),
    ("W19", "streaming.interval_s", 0.8),
    ("W19", "streaming.min_chars", 24),
    ("W19", "streaming.cursor", " ▉"),
    ("W19", "streaming.slow_down", 2),
    ("W19", "streaming.max_refusals", 3),
    ("W19", "streaming.fresh_after_s", 60),
    ("W23", "sessions.reset.mode", "both"),
    ("W23", "sessions.reset.at", "04:00"),
    ("W23", "sessions.reset.idle_min", 1_440),
    ("W24", "sessions.watch_s", 60),
    ("W24", "sessions.prune", False),
    ("W24", "sessions.prune_days", 90),
    ("W27", "cron.max_chars", 4_000),
    ("W27", "cron.shown_chars", 3_800),
    ("W28", "outbox.directory_s", 300),
    ("W39", "sessions.cache.max", 128),
    ("W39", "sessions.cache.idle_s", HOUR),
    ("J1", "store.retention_days", 8),
    ("J3", "inbox.expire_after_s", HOUR),
    ("J14", "tools.delegate_depth", 3),
    ("J18", "outbox.max_age_s", HOUR),
    ("J21", "v1.ledger_lag_s", 0.1),
    ("W31", "access.pairing.code_length", 8),
    ("W31", "access.pairing.valid_s", HOUR),
    ("W31", "access.pairing.interval_s", 600),
    ("W31", "access.pairing.max_open", 1000),
    ("W31", "access.pairing.max_failures", 5),
    ("W31", "access.pairing.lock_s", HOUR),
]


@pytest.fixture(scope="module")
def defaults() -> dict[str, object]:
    settings = Settings.model_validate({"platforms": {"telegram": {}}})
    return {".".join(key): value for key, value in leaves(settings)}


@pytest.mark.req("W1")
@pytest.mark.parametrize(("requirement", "key", "default"), NUMBERS)
def test_a_number_of_the_requirements_is_a_default(requirement, key, default, defaults):
    assert defaults[key] == default, requirement


@pytest.mark.parametrize("key", [key for _, key, _ in NUMBERS])
def test_and_an_operator_can_set_it(key):
    node = node_at(tuple(key.split(".")))

    assert node is not None
    assert node.is_leaf
