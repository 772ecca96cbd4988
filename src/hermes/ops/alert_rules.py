"""Which log lines become alerts, and their texts. Pure.

Every failure that needs an operator is logged where it happens, so alerts are made from the log: a
rule names the event, the text, and the field that distinguishes one case from another.
"""

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

Severity = Literal["warning", "critical"]


class AlertCase(msgspec.Struct, frozen=True, kw_only=True):
    """Something that needs an operator: `about` distinguishes the cases of one kind."""

    kind: str
    severity: Severity
    text: str
    about: str = ""


class _Rule(msgspec.Struct, frozen=True):
    kind: str
    severity: Severity
    text: str
    about: str = ""


_STORE = "The database cannot be written or read: {problem}"
_DAMAGED = "Stored data can no longer be read ({event}): {problem}"
_TASK = "A task of the gateway failed ({event}) and is retried: {error}"
_RULES: Mapping[str, _Rule] = {
    "soul_invalidation_failed": _Rule(
        "soul_invalidation_failed",
        "critical",
        "The prompt of {person_id} could not be dropped after three tries; an old one may be "
        "served for {exposure_s} s.",
        "person_id",
    ),
    "outbox.breaker_opened": _Rule(
        "breaker_open",
        "warning",
        "Sending to {platform} keeps failing, so it pauses for {resets_after_s} s.",
        "platform",
    ),
    "outbox.dead": _Rule(
        "dead_letter",
        "warning",
        "A reply could not be delivered ({failure}): {delivery}",
        "failure",
    ),
    "kill_switch": _Rule(
        "kill_switch", "warning", "The kill switch is {is_on}, by {by}: {reason}", "is_on"
    ),
    "platform_budget_spent": _Rule(
        "budget_spent",
        "critical",
        "The platform's budget of {day} is spent ({used_usd} of {cap_usd} dollars): model calls "
        "are refused.",
        "day",
    ),
    "channel_failed": _Rule(
        "channel_failed", "critical", "{channel} cannot connect ({state}): {problem}", "channel"
    ),
    "channel_deaf": _Rule(
        "channel_deaf",
        "critical",
        "{channel} is connected, but does not receive or send: {problem}",
        "channel",
    ),
    "boot_loop": _Rule("boot_loop", "critical", "This start follows repeated crashes: {problem}"),
    "loop_stalled": _Rule(
        "loop_stalled", "critical", "The event loop has been blocked for {still_s} s: {stack}"
    ),
    "hook_switched_off": _Rule(
        "hook_off",
        "warning",
        "The hook {hook} is not called again until a restart: {problem}",
        "hook",
    ),
    "no_model": _Rule("no_model", "critical", "No model can answer: {problem}"),
    "request_failed": _Rule(
        "defect", "critical", "A request to {path} failed ({error_id}): {error}", "path"
    ),
    "turn_failed": _Rule("defect", "critical", "The turn of {message_id} failed: {error}", "event"),
    "tool_crashed": _Rule("tool_crashed", "warning", "The tool {tool} crashed: {error}", "tool"),
    "mcp_server_crashed": _Rule(
        "mcp_failed", "warning", "The MCP server {server} crashed: {error}", "server"
    ),
    "message_abandoned": _Rule(
        "store_failing", "critical", "The outcome of {message_id} could not be kept: {problem}"
    ),
    **{
        event: _Rule("store_failing", "critical", _STORE)
        for event in ("commit_waits", "turn_waits", "failure_not_saved", "ledger_waits")
    },
    **{
        event: _Rule("data_damaged", "critical", _DAMAGED, "event")
        for event in ("message_does_not_open", "session_does_not_open", "body_does_not_open")
    },
    "message_is_missing": _Rule(
        "data_damaged", "critical", "A stored message is missing: {name}", "event"
    ),
    **{
        event: _Rule("task_failed", "critical", _TASK, "event")
        for event in (
            "lane_failed",
            "leases_not_renewed",
            "after_commit_failed",
            "rollback_failed",
            "outbox.pass_failed",
            "outbox.task_failed",
            "cron_failed",
            "upkeep_failed",
            "search_filling_failed",
            "observer_failed",
        )
    },
}
_MOST_CHARACTERS = 600


class _Fields(dict[str, Any]):
    """The fields of a line; a missing field is shown as a dash."""

    def __getitem__(self, key: str) -> Any:
        value = self.get(key, "")
        if isinstance(value, bool):
            return "on" if value else "off"
        return "-" if value == "" else value


# Any: log fields hold whatever the caller logged.
def told_by(fields: Mapping[str, Any]) -> AlertCase | None:
    """Return the alert that a log line becomes, or None."""
    rule = _RULES.get(str(fields.get("event")))
    if rule is None:
        return None
    shown = _Fields(fields)
    return AlertCase(
        kind=rule.kind,
        severity=rule.severity,
        text=rule.text.format_map(shown)[:_MOST_CHARACTERS],
        about=str(shown[rule.about])[:100] if rule.about else "",
    )


def kinds() -> frozenset[str]:
    """Return every kind of alert that a log line can become."""
    return frozenset(rule.kind for rule in _RULES.values())
