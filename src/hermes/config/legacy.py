"""Translates the older gateway's `gateway.json` into today's keys.

Part of config, before `layers`; pure. Keys without a meaning today are listed and reported; any
other unknown key is an error, as in every other file.
"""

from collections.abc import Mapping
from typing import Any

RETIRED = frozenset(
    [
        "reset_triggers",
        "quick_commands",
        "sessions_dir",
        "always_log_local",
        "stt",
        "stt_enabled",
        "session_store_max_age_days",
    ]
)
_RESET = "default_reset_policy"
_SHARING = {"group_sessions_per_user": "groups", "thread_sessions_per_user": "threads"}
_MOVED = frozenset(
    [_RESET, "session_reset", "reset_by_type", "reset_by_platform", "unauthorized_dm_behavior"]
) | frozenset(_SHARING)
_RULE_NAMES = {"mode": "mode", "at_hour": "at", "idle_minutes": "idle_min"}
_STREAMING_NAMES = {"edit_interval": "interval_s", "buffer_threshold": "min_chars"}
_STREAMING_RETIRED = frozenset({"enabled", "fresh_final_after_seconds"})
# Access rules were beside the platform's own settings; today they have their own section.
_ACCESS_NAMES = ("allow_from", "group_allow_from", "allowed_chats", "require_mention")
_PLATFORM_NAMES = {"token": "bot_token"}

# Any: a file's values can be anything until they are validated.
Tree = dict[Any, Any]


def translated(tree: Mapping[Any, object]) -> Tree:
    """Return the content of the older file in today's keys."""
    kept: Tree = {key: value for key, value in tree.items() if key not in RETIRED | _MOVED}
    sessions = _sessions(tree)
    if sessions:
        kept["sessions"] = {**_table(kept.get("sessions")), **sessions}
    if isinstance(kept.get("streaming"), Mapping):
        kept["streaming"] = _streaming(kept["streaming"])
    if isinstance(kept.get("platforms"), Mapping):
        platforms = kept["platforms"]
        kept["platforms"] = {name: _platform(entry) for name, entry in platforms.items()}
        _add_access(kept, platforms, strangers=tree.get("unauthorized_dm_behavior"))
    return kept


def _table(value: object) -> Tree:
    return dict(value) if isinstance(value, Mapping) else {}


def _sessions(tree: Mapping[Any, object]) -> Tree:
    found: Tree = {}
    rule = tree.get(_RESET, tree.get("session_reset"))
    if isinstance(rule, Mapping):
        found["reset"] = _rule(rule)
        if "notify" in rule:
            found["tell_reset"] = rule["notify"]
    for old, new in (
        ("reset_by_type", "reset_chat_types"),
        ("reset_by_platform", "reset_platforms"),
    ):
        rules = tree.get(old)
        if isinstance(rules, Mapping):
            found[new] = {name: _rule(one) for name, one in rules.items()}
    for old, new in _SHARING.items():
        if isinstance(tree.get(old), bool):
            found[new] = "per_user" if tree[old] else "shared"
    return found


def _rule(rule: object) -> object:
    if not isinstance(rule, Mapping):
        return rule
    found = {_RULE_NAMES.get(key, key): value for key, value in rule.items() if key != "notify"}
    hour = found.get("at")
    if type(hour) is int:
        found["at"] = f"{hour:02}:00"
    return found


def _streaming(table: Mapping[Any, object]) -> Tree:
    found: Tree = {
        _STREAMING_NAMES.get(key, key): value
        for key, value in table.items()
        if key not in _STREAMING_RETIRED
    }
    if table.get("enabled") is False:
        found["transport"] = "off"
    return found


def _platform(entry: object) -> object:
    """Translate a platform: its own settings were beside `enabled`, and its credential was called
    token."""
    if not isinstance(entry, Mapping):
        return entry
    aside = {"enabled", "extra", "home_channel", *_ACCESS_NAMES}
    own = {_PLATFORM_NAMES.get(key, key): one for key, one in entry.items() if key not in aside}
    extra = _table(entry.get("extra"))
    table: Tree = {"extra": {**own, **{k: v for k, v in extra.items() if k not in _ACCESS_NAMES}}}
    if "enabled" in entry:
        table["enabled"] = entry["enabled"]
    if entry.get("home_channel") is not None:
        table["home_channel"] = _chat(entry["home_channel"])
    return table


def _chat(channel: object) -> object:
    """Translate a home channel: it was a chat with its platform and name; today it is its id."""
    if not isinstance(channel, Mapping):
        return channel
    ids = [channel.get("chat_id"), channel.get("thread_id")]
    return ":".join(str(one) for one in ids if one is not None)


def _add_access(kept: Tree, platforms: Mapping[Any, object], *, strangers: object) -> None:
    access, found = _table(kept.get("access")), {}
    given = _table(access.get("platforms"))
    for name, entry in platforms.items():
        said = {**_table(entry), **_table(_table(entry).get("extra"))}
        rules = {key: said[key] for key in _ACCESS_NAMES if key in said}
        if strangers is not None:
            rules["unknown"] = strangers
        if rules:
            found[name] = {**rules, **_table(given.get(name))}
    if found:
        kept["access"] = {**access, "platforms": {**given, **found}}
