"""The settings of the process: its server, store, logs, hooks, metrics, and outgoing connections.

Part of config; docs/settings.md is made of the docstrings below the fields.
"""

import re
from ipaddress import ip_network
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, SecretStr

from hermes.config.section import (
    Count,
    Days,
    Delay,
    Headers,
    Means,
    Port,
    Rounds,
    Seconds,
    Section,
    Url,
    Whole,
    Word,
    no_entries,
)


def _is_network(text: str) -> str:
    return str(ip_network(text))


Network = Annotated[
    str, AfterValidator(_is_network), Means('an address or network such as "10.1.0.0/16"')
]


class ServerSettings(Section):
    """The HTTP server."""

    host: Word = "127.0.0.1"
    """The address the HTTP server listens on."""
    port: Port = 8080
    """The port it listens on; 0 takes any free one."""
    max_body_bytes: Count = 2_097_152
    """A request body larger than this is refused."""
    drain_s: Delay = 180
    """How long a stop waits for running turns; the rest is resumed at the next start."""
    keep_alive_s: Seconds = 75
    """How long an idle HTTP connection is kept open."""
    max_head_bytes: Count = 65_536
    """A request whose first line and headers are larger than this is refused."""
    max_head_lines: Count = 100
    """A request with more headers than this is refused."""
    head_timeout_s: Seconds = 10
    """A connection is closed if the first line and the headers of its request do not arrive whole
    in this time."""
    send_timeout_s: Seconds = 60
    """A connection is closed if its client reads nothing of a waiting answer for this long."""
    max_connections: Count = 4096
    """With this many open connections, new ones are closed. At most half of the files that the
    process may open are used for connections."""
    max_connections_per_address: Count = 512
    """The most open connections of one IPv4 address or IPv6 /64 network; programs on this machine
    are not counted. Raise it for a reverse proxy on another machine."""
    public_url: Url | None = None
    """The address under which platforms reach this server for webhooks."""
    trusted_proxies: tuple[Network, ...] = ("127.0.0.0/8", "::1/128")
    """The reverse proxies, by address or network. Only from there X-Forwarded-Proto, and the name of
    `public_url` in the Host header, can say that a client came over https."""


class StoreSettings(Section):
    """The embedded database."""

    group_commit_max: Annotated[int, Field(ge=1, le=100_000)] = 512
    """At most this many writes share one commit."""
    disk_reserve_mb: Whole = 64
    """New messages are refused if the disk has less free space than this."""
    retention_days: Days = 8
    """How long accepted messages are kept to recognise duplicates."""
    synchronous: Literal["FULL", "NORMAL"] = "FULL"
    """FULL syncs each commit to disk before a platform is answered; with NORMAL a power cut can
    lose accepted messages."""
    backup_warn_days: Whole = 7
    """`hermes doctor` warns if the last `hermes backup` is older than this many days; 0: never."""


class ProcessSettings(Section):
    """The life of the gateway's process."""

    crash_starts: Whole = 5
    """After this many crashes within crash_window_s a start does not resume what ran; after one
    more, it ends what waited too. 0: never."""
    crash_window_s: Seconds = 600
    """Only crashes within this time count."""
    restart: Literal["auto", "replace", "exit"] = "auto"
    """What `/restart` and SIGUSR1 do once everything has finished: replace starts the gateway again
    in the same process, exit ends it with 75 for a supervisor. auto is exit if systemd runs the
    gateway as a service, else replace."""
    stall_s: Delay = 10
    """If the event loop is blocked for this long, the log says where; 0: never."""
    stuck_turn_s: Delay = 300
    """A turn that makes no step for this long beyond every limit of calls and tools is ended; 0:
    never."""
    tell_stop_after_s: Delay = 3
    """If a turn still runs this long after a stop began, its chat gets a notice."""
    lock_dir: Path | None = None
    """The folder of the locks that prevent two processes from using one credential; default: the
    user's cache folder. Every gateway of the machine must use the same folder."""
    planned_stop_s: Seconds = 60
    """How long the marker counts with which `hermes stop` and `hermes up --replace` announce their
    signal."""
    tell_stop: bool = True
    """Whether chats with a running turn get a notice of a stop."""


class AuditSettings(Section):
    """How long operator actions stay in the audit log."""

    retention_days: Annotated[int, Field(ge=1, le=36_500)] = 365
    """How long an operator action is kept in the audit log."""
    max_rows: Annotated[int, Field(ge=100, le=100_000_000)] = 100_000
    """At most this many operator actions are kept, the newest."""


class LogSettings(Section):
    """Logs."""

    level: Literal["debug", "info", "warning", "error"] = "info"
    """The lowest level that is written."""
    format: Literal["json", "console", "auto"] = "auto"
    """The format of a line; auto is console on a terminal, else json."""
    file: Path | None = Path("logs/hermes.log")
    """A file for JSON lines in addition, for `hermes logs`; a relative path starts at the home
    folder, and null disables it."""
    file_max_mb: Count = 20
    """The file is rotated at this size."""
    file_keep: Rounds = 3
    """How many rotated files are kept (hermes.log.1 and so on)."""


class DebugSettings(Section):
    """For tests only."""

    failpoints: str = ""
    """Places where the process kills itself, for crash tests; can be set by environment variable
    only."""


class HookSettings(Section):
    """The operator's own code that is called on events."""

    enabled: bool = True
    """Whether hooks run: those of the folder hooks/ and of plugins."""
    entry_points: bool = False
    """Whether hooks of installed packages run too (entry points hermes.hooks)."""
    timeout_s: Seconds = 5
    """The time limit of one call, unless the hook sets its own."""
    queue: Count = 1000
    """If this many calls wait for one hook, further ones are dropped."""
    failures: Count = 5
    """After this many failures in a row a hook is switched off until the next start."""


class SearchSettings(Section):
    """Full-text search over what was said."""

    enabled: bool = True
    """Whether conversations can be searched. The index is an encrypted file beside the database; it
    is rebuilt if it is missing."""


OpenPort = Annotated[int, Field(ge=1, le=65535)]


def _is_absolute(path: Path) -> Path:
    full = path.expanduser()
    if not full.is_absolute():
        raise ValueError
    return full


CertificateFile = Annotated[
    Path, AfterValidator(_is_absolute), Means("the full path of a file of certificates")
]


class NetSettings(Section):
    """Outgoing connections, and what is fetched because a message, a model or a page names it."""

    ca_bundle: CertificateFile | None = None
    """A file of CA certificates (PEM) that outgoing TLS connections trust instead of the system's:
    models, platforms, mail, IRC, MCP servers. A platform's own ca_file takes precedence."""
    exempt: tuple[Network, ...] = ()
    """Private networks that may be fetched from nevertheless, such as that of a wiki."""
    refuse: tuple[Network, ...] = ()
    """Additional networks that may not be fetched from, such as your own public ones."""
    ports: tuple[OpenPort, ...] = ()
    """Additional ports that may be fetched from, such as 81."""


_ADDRESS = re.compile(r"https?://[^\s/@]+(/\S*)?")


def _is_address(secret: SecretStr) -> SecretStr:
    if not _ADDRESS.fullmatch(secret.get_secret_value()):
        raise ValueError
    return secret


# Anybody with the address of a webhook can post there: it is a secret.
SecretUrl = Annotated[
    SecretStr,
    AfterValidator(_is_address),
    Means("an address that starts with http:// or https:// and holds no user name"),
]


class MetricsSettings(Section):
    """`/metrics` for Prometheus."""

    public: bool = False
    """Whether /metrics needs no token."""


class OtelSettings(Section):
    """OpenTelemetry traces of turns, their model calls and their tools."""

    endpoint: Url | None = None
    """The address to which traces are sent by OTLP over HTTP, such as http://localhost:4318;
    /v1/traces is appended. Unset, nothing is traced."""
    headers: Headers = Field(default_factory=no_entries)
    """Headers of those requests, such as the key of a service."""
    service_name: Word = "hermes"
    """The name of this gateway in traces (service.name)."""
    content: bool = False
    """Whether traces contain what was said; ids are always hashed."""
    queue: Count = 2_048
    """At most this many turns are buffered for sending; more are dropped."""
    every_s: Seconds = 5
    """How often buffered traces are sent."""


class AlertSettings(Section):
    """Alerts to operators about problems that need them."""

    webhooks: tuple[SecretUrl, ...] = ()
    """Webhooks of Slack, Discord or others that receive alerts."""
    format: Literal["auto", "slack", "discord", "json"] = "auto"
    """The format of the post; auto chooses by the host of the address."""
    to: tuple[Word, ...] = ()
    """Chats that receive alerts, such as telegram (its home channel) or telegram:4711."""
    least: Literal["warning", "critical"] = "warning"
    """The lowest severity that is sent; all alerts are listed."""
    window_s: Seconds = 900
    """The same alert is sent once in this time, then with a count of its repeats."""
