"""The closed sections of the settings: every number the gateway works with, its default and bounds.

Part of config; a reader of docs/settings.md sees these descriptions.
"""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Literal

from pydantic import Field

from hermes.config.section import (
    AdminId,
    Count,
    Days,
    Delay,
    ModelName,
    Named,
    Port,
    Rounds,
    Seconds,
    Section,
    StreamTransport,
    Url,
    Whole,
    Word,
)

BusyPolicy = Literal["interrupt", "queue", "steer"]
BUSY_PLATFORMS: Mapping[str, BusyPolicy] = MappingProxyType({"rest": "queue"})


class ServerSettings(Section):
    """The HTTP server."""

    host: Word = Field(default="127.0.0.1", description="The address the HTTP server listens on.")
    port: Port = Field(default=8080, description="The port it listens on; 0 takes any free one.")
    max_body_bytes: Count = Field(
        default=2_097_152, description="A request body larger than this is refused."
    )
    drain_s: Delay = Field(
        default=180,
        description="How long a stop waits for running turns; the rest is resumed at the next "
        "start.",
    )
    keep_alive_s: Seconds = Field(
        default=75, description="How long an idle HTTP connection is kept open."
    )
    max_head_bytes: Count = Field(
        default=65_536,
        description="A request whose first line and headers are larger than this is refused.",
    )
    max_head_lines: Count = Field(
        default=100, description="A request with more headers than this is refused."
    )
    head_timeout_s: Seconds = Field(
        default=10,
        description="A connection is closed if the first line and the headers of its request do "
        "not arrive whole in this time.",
    )
    send_timeout_s: Seconds = Field(
        default=60,
        description="A connection is closed if its client reads nothing of a waiting answer for "
        "this long.",
    )
    max_connections: Count = Field(
        default=4096,
        description="With this many open connections, new ones are closed. At most half of the "
        "files that the process may open are used for connections.",
    )
    max_connections_per_address: Count = Field(
        default=512,
        description="The most open connections of one IPv4 address or IPv6 /64 network; programs on "
        "this machine are not counted. Raise it for a reverse proxy on another machine.",
    )
    public_url: Url | None = Field(
        default=None,
        description="The address under which platforms reach this server for webhooks.",
    )


class StoreSettings(Section):
    """The embedded database."""

    group_commit_max: Annotated[int, Field(ge=1, le=100_000)] = Field(
        default=512, description="At most this many writes share one commit."
    )
    disk_reserve_mb: Whole = Field(
        default=64,
        description="New messages are refused if the disk has less free space than this.",
    )
    retention_days: Days = Field(
        default=8, description="How long accepted messages are kept to recognise duplicates."
    )
    synchronous: Literal["FULL", "NORMAL"] = Field(
        default="FULL",
        description="FULL syncs each commit to disk before a platform is answered; with NORMAL a "
        "power cut can lose accepted messages.",
    )


class InboxSettings(Section):
    """Accepting messages."""

    max_waiting: Count = Field(
        default=5000,
        description="If this many messages wait, new ones are refused with a retry time. The "
        "last tenth is reserved for accounts with few waiting messages.",
    )
    max_waiting_each: Count = Field(
        default=50,
        description="If this many messages of one person wait, new ones of theirs are refused "
        "with a retry time; commands such as `/stop` are counted separately.",
    )
    expire_after_s: Seconds = Field(
        default=3600, description="A message older than this when its turn would start expires."
    )
    refusals_kept: Whole = Field(
        default=10_000, description="How many refused messages are remembered for `hermes why`."
    )


class LaneSettings(Section):
    """The lanes that keep each session in order."""

    lease_s: Seconds = Field(
        default=30, description="How long a worker owns a lane without renewing its lease."
    )
    max_attempts: Count = Field(
        default=5, description="A message whose turn was cut off this often fails for good."
    )
    max_restarts: Whole = Field(
        default=3,
        description="A session that was cut off by this many restarts in a row is suspended; 0: "
        "never.",
    )
    resume_within_s: Delay = Field(
        default=3600,
        description="A turn that was cut off longer ago than this is not resumed; 0: always "
        "resumed.",
    )
    max_running: Count = Field(
        default=1000,
        description="At most this many lanes run at once. The last tenth is reserved for "
        "accounts, tokens and keys without a running lane.",
    )


class TurnSettings(Section):
    """One turn: its model calls and tools."""

    output_timeout_s: Seconds = Field(
        default=45,
        description="A model call fails after this long without any output. The built-in model "
        "has only `call_limit_s`, because Hermes can see that it works.",
    )
    call_limit_s: Seconds = Field(
        default=600, description="The time limit of a model call in total."
    )
    max_concurrent_calls: Count = Field(
        default=30, description="At most this many model calls run at once."
    )
    max_calls_each: Count | None = Field(
        default=None,
        description="The most model calls at a time for one person or caller's key; default: a "
        "third of `max_concurrent_calls`.",
    )
    call_wait_s: Delay = Field(
        default=15,
        description="How long a call of `/v1` or of a job waits for a free slot; messages wait "
        "until they expire (`inbox.expire_after_s`).",
    )
    wait_s: Delay = Field(
        default=20,
        description="If a model service asks to retry within this time, Hermes waits; otherwise "
        "it tries the next candidate.",
    )
    tool_rounds: Rounds = Field(
        default=8, description="At most this many rounds of tool calls per message."
    )
    tool_timeout_s: Seconds = Field(default=60, description="A tool call fails after this long.")
    history_messages: Whole = Field(
        default=200, description="At most this many earlier messages are sent to the model."
    )


class BusySettings(Section):
    """What a message does that arrives while its session is answering."""

    default: BusyPolicy = Field(
        default="interrupt", description="The policy of every platform that is not listed."
    )
    platforms: Named[BusyPolicy] = Field(
        default_factory=lambda: BUSY_PLATFORMS,
        description="The policy of one platform, by its name.",
    )
    stop_suspends: bool = Field(
        default=False,
        description="Whether /stop ends the conversation too: the next message starts a new one.",
    )
    photo_burst_s: Delay = Field(
        default=1.0,
        description="Photos of one person that are at most this far apart are one message; the "
        "first waits this long for the next. 0: no wait.",
    )
    merge_follow_ups: bool = Field(
        default=True,
        description="Whether messages that a person sends while an earlier one is in progress or "
        "waits are answered as one, on chat platforms. /queue sends a message separately.",
    )
    merge_platforms: Named[bool] = Field(
        default_factory=dict,
        description="merge_follow_ups for one platform, by its name. Platforms whose callers "
        "wait for their own reply, such as rest, answer one by one unless listed here.",
    )
    follow_up_s: Delay = Field(
        default=0.3,
        description="A message that has interrupted a reply waits this long for the next one, if "
        "follow-ups are answered as one.",
    )
    max_merged: int = Field(
        default=20, ge=1, le=100, description="At most this many messages are answered as one."
    )
    max_merged_chars: int = Field(
        default=32_000,
        ge=1,
        description="At most this many characters are answered as one message.",
    )
    max_background: int = Field(
        default=5, ge=0, description="How many /background tasks of one session may run at a time."
    )


class OutboxSettings(Section):
    """Sending replies."""

    max_age_s: Seconds = Field(
        default=3600, description="A reply older than this is never sent; it becomes a dead letter."
    )
    send_timeout_s: Seconds = Field(
        default=10, description="The time limit of one call to a platform."
    )
    quick_delays_s: Annotated[tuple[Delay, ...], Field(min_length=1)] = Field(
        default=(0, 1, 3, 9), description="The delays before the first attempts to send a reply."
    )
    later_delays_s: tuple[Delay, ...] = Field(
        default=(60, 300, 1500), description="The delays before the later attempts."
    )
    breaker_failures: Count = Field(
        default=10,
        description="This many failures in a row stop sending to a platform for a while.",
    )
    breaker_window_s: Seconds = Field(
        default=300, description="Only failures within this time count."
    )
    breaker_open_s: Seconds = Field(default=120, description="How long sending is stopped then.")
    dead_letter_days: Days = Field(
        default=7,
        description="How long dead letters, and replies held for you because they may have "
        "arrived, are kept whole, regardless of `store.retention_days`; then they are dropped.",
    )
    max_waiting: Count = Field(
        default=5000, description="If this many replies wait, new messages are refused."
    )


class StreamingSettings(Section):
    """Showing a reply while it is being written."""

    transport: StreamTransport = Field(
        default="auto", description="How previews are shown; auto uses what the platform supports."
    )
    interval_s: Seconds = Field(default=0.8, description="At least this long between two edits.")
    min_chars: Count = Field(default=24, description="At least this many new characters per edit.")
    cursor: str = Field(default=" ▉", description="The cursor at the end of an unfinished text.")
    fresh_after_s: Delay = Field(
        default=60,
        description="If a preview was shown for this long, the reply is sent as a new message "
        "and the preview deleted, so that people notice it; 0: never.",
    )


class ApprovalSettings(Section):
    """Asking before a tool runs."""

    expire_after_s: Seconds = Field(
        default=3600, description="An approval request expires after this long."
    )
    admins: tuple[AdminId, ...] = Field(
        default=(), description="Who may approve in groups, each as platform:user_id."
    )
    allow_self: bool = Field(
        default=True, description="Whether a person may approve what their own message caused."
    )


class ModelSettings(Section):
    """Which model answers."""

    default: ModelName = Field(
        default="auto",
        description="The model of every agent that names none; auto uses routing.",
    )
    summaries: ModelName | None = Field(
        default=None,
        description="The model for summaries, learning and dreams, unless memory.extract_model "
        "or memory.dream_model names another; default: the default model.",
    )


class LogSettings(Section):
    """Logs."""

    level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", description="The lowest level that is written."
    )
    format: Literal["json", "console", "auto"] = Field(
        default="auto",
        description="The format of a line; auto is console on a terminal, else json.",
    )
    file: Path | None = Field(
        default=Path("logs/hermes.log"),
        description="A file for JSON lines in addition, for `hermes logs`; a relative path "
        "starts at the home folder, and null disables it.",
    )
    file_max_mb: Count = Field(default=20, description="The file is rotated at this size.")
    file_keep: Rounds = Field(
        default=3, description="How many rotated files are kept (hermes.log.1 and so on)."
    )


class DebugSettings(Section):
    """For tests only."""

    failpoints: str = Field(
        default="",
        description="Places where the process kills itself, for crash tests; "
        "can be set by environment variable only.",
    )


class AuditSettings(Section):
    """Which orders of operators stay on record."""

    retention_days: Annotated[int, Field(ge=1, le=36_500)] = Field(
        default=365, description="How long an operator action is kept in the audit log."
    )
    max_rows: Annotated[int, Field(ge=100, le=100_000_000)] = Field(
        default=100_000, description="At most this many operator actions are kept, the newest."
    )


class HookSettings(Section):
    """Code of the operator's own that hears of what happens."""

    enabled: bool = Field(
        default=True, description="Whether hooks run: those of the folder hooks/ and of plugins."
    )
    entry_points: bool = Field(
        default=False,
        description="Whether hooks of installed packages run too (entry points hermes.hooks).",
    )
    timeout_s: Seconds = Field(
        default=5, description="The time limit of one call, unless the hook sets its own."
    )
    queue: Count = Field(
        default=1000,
        description="If this many calls wait for one hook, further ones are dropped.",
    )
    failures: Count = Field(
        default=5,
        description="After this many failures in a row a hook is switched off until the next start.",
    )


class SearchSettings(Section):
    """Full-text search over what was said."""

    enabled: bool = Field(
        default=True,
        description="Whether conversations can be searched. The index is an encrypted file "
        "beside the database; it is rebuilt if it is missing.",
    )
