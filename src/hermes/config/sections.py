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
        description="How long a stop waits for running turns before it leaves them to resume.",
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
        description="With this many connections open, new ones are closed. At most half of the "
        "files that the process may open are used.",
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
        default=64, description="New messages are refused when less than this is free on the disk."
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
        description="With this many messages waiting, new ones are refused with a retry time. The"
        " last tenth is for accounts with few waiting messages.",
    )
    max_waiting_each: Count = Field(
        default=50,
        description="With this many messages of one person waiting, new ones of theirs are refused"
        " with a retry time; commands such as `/stop` are counted apart.",
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
        default=30, description="How long a worker owns a lane without renewing."
    )
    max_attempts: Count = Field(
        default=5, description="A message whose turn was cut off this often fails for good."
    )
    max_restarts: Whole = Field(
        default=3,
        description="A session that was cut off by this many restarts in a row is suspended; 0 never.",
    )
    resume_within_s: Delay = Field(
        default=3600,
        description="A turn that was cut off longer ago than this is not resumed; 0 always resumes.",
    )
    max_running: Count = Field(
        default=1000,
        description="At most this many lanes run at once. The last tenth is for accounts, tokens "
        "and keys of which none runs.",
    )


class TurnSettings(Section):
    """One turn: its model calls and tools."""

    output_timeout_s: Seconds = Field(
        default=45,
        description="A model call fails after this long without any output; the built-in model has"
        " `call_limit_s`, since it is seen to work.",
    )
    call_limit_s: Seconds = Field(
        default=600, description="A model call may last this long in all."
    )
    max_concurrent_calls: Count = Field(
        default=30, description="At most this many model calls run at once."
    )
    max_calls_each: Count | None = Field(
        default=None,
        description="The most model calls at a time for one person or caller's key; without a number"
        " a third of `max_concurrent_calls`.",
    )
    call_wait_s: Delay = Field(
        default=15,
        description="How long a call of `/v1` and of jobs waits for a free place; messages wait"
        " until they expire (`inbox.expire_after_s`).",
    )
    wait_s: Delay = Field(
        default=20,
        description="A model service that asks for at most this much patience is waited for; "
        "otherwise the next candidate is tried.",
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
        description="Photos that one person sends at most so far apart are one message; the first of "
        "them waits so long for another. 0 waits for none.",
    )
    merge_follow_ups: bool = Field(
        default=True,
        description="Whether messages that one person sends while another of theirs is worked on or "
        "waits are answered as one, on chat platforms. /queue puts one behind by itself.",
    )
    merge_platforms: Named[bool] = Field(
        default_factory=dict,
        description="The same for one platform, by its name; also for one whose callers wait for "
        "their own reply, such as rest, which are answered one by one otherwise.",
    )
    follow_up_s: Delay = Field(
        default=0.3,
        description="A message that has stopped the reply to another waits so long for the next, "
        "where follow-ups are answered as one.",
    )
    max_merged: int = Field(
        default=20, ge=1, le=100, description="At most so many messages are answered as one."
    )
    max_merged_chars: int = Field(
        default=32_000, ge=1, description="At most so many characters are answered as one message."
    )
    max_background: int = Field(
        default=5, ge=0, description="How many /background tasks of one session may be under way."
    )


class OutboxSettings(Section):
    """Sending replies."""

    max_age_s: Seconds = Field(
        default=3600, description="A reply older than this is never sent; it becomes a dead letter."
    )
    send_timeout_s: Seconds = Field(
        default=10, description="One call to a platform may last this long."
    )
    quick_delays_s: Annotated[tuple[Delay, ...], Field(min_length=1)] = Field(
        default=(0, 1, 3, 9), description="The waits before the first attempts to send a reply."
    )
    later_delays_s: tuple[Delay, ...] = Field(
        default=(60, 300, 1500), description="The waits before the attempts after those."
    )
    breaker_failures: Count = Field(
        default=10,
        description="This many failures in a row stop sending to a platform for a while.",
    )
    breaker_window_s: Seconds = Field(
        default=300, description="Only failures within this time count towards that."
    )
    breaker_open_s: Seconds = Field(default=120, description="How long sending is then stopped.")
    dead_letter_days: Days = Field(
        default=7,
        description="How long dead letters, and replies left to you because they may have arrived, "
        "are kept whole, whatever `store.retention_days` says; then they are dropped.",
    )
    max_waiting: Count = Field(
        default=5000, description="With this many replies waiting, new messages are refused."
    )


class StreamingSettings(Section):
    """Showing a reply while it is being written."""

    transport: StreamTransport = Field(
        default="auto", description="How previews are shown; auto takes what the platform can do."
    )
    interval_s: Seconds = Field(default=0.8, description="At least this long between two edits.")
    min_chars: Count = Field(default=24, description="At least this many new characters per edit.")
    cursor: str = Field(default=" ▉", description="What stands at the end of an unfinished text.")
    fresh_after_s: Delay = Field(
        default=60,
        description="A reply that was shown for this long is sent anew and its preview deleted, so "
        "that it is noticed; 0 never does.",
    )


class ApprovalSettings(Section):
    """Asking before a tool runs."""

    expire_after_s: Seconds = Field(default=3600, description="A request expires after this long.")
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
        description="The model of every agent that names none; auto takes what is there.",
    )
    summaries: ModelName | None = Field(
        default=None,
        description="The model that sums up: what is learnt and dreamt of people, unless "
        "memory.extract_model or memory.dream_model names another; without it the default model.",
    )


class LogSettings(Section):
    """Logs."""

    level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", description="The least important level that is written."
    )
    format: Literal["json", "console", "auto"] = Field(
        default="auto",
        description="How a line is written; auto is console on a terminal, else json.",
    )
    file: Path | None = Field(
        default=Path("logs/hermes.log"),
        description="A file to write JSON lines to as well, for `hermes logs`; a relative path "
        "starts at the home folder, and null writes none.",
    )
    file_max_mb: Count = Field(default=20, description="The file is rotated at this size.")
    file_keep: Rounds = Field(
        default=3, description="How many rotated files are kept beside it, as hermes.log.1 and on."
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
        default=365, description="How long an order is kept."
    )
    max_rows: Annotated[int, Field(ge=100, le=100_000_000)] = Field(
        default=100_000, description="At most this many orders are kept, the newest."
    )


class HookSettings(Section):
    """Code of the operator's own that hears of what happens."""

    enabled: bool = Field(
        default=True, description="Whether hooks run: those of the folder hooks/ and of plugins."
    )
    entry_points: bool = Field(
        default=False,
        description="Whether hooks of installed packages run, too (entry points hermes.hooks).",
    )
    timeout_s: Seconds = Field(
        default=5, description="How long one call may take where the hook itself says nothing."
    )
    queue: Count = Field(
        default=1000,
        description="With how many calls waiting for one hook further ones are dropped.",
    )
    failures: Count = Field(
        default=5,
        description="After this many failures in a row a hook is switched off until the next start.",
    )


class SearchSettings(Section):
    """Full-text search over what was said."""

    enabled: bool = Field(
        default=True,
        description="Whether what people and agents say can be searched; the index is an encrypted "
        "file beside the database, made anew when it is missing.",
    )
