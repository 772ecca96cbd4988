"""The home of a gateway under torture: its configuration, and what it was made for."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import yaml

from hermes.ops.instance import GatewayAddress

TOKEN = "pigeon-token"
SIGNING_SECRET = "pigeon-signing"
# What everybody has to spend; only those are poor whom the operator takes most of it from.
START_GRANT = 100_000
PAUSE_S = 0.05


class Mode(msgspec.Struct, frozen=True, kw_only=True):
    """What the push platform can do, and what a message does that finds its session busy."""

    keys: bool = False
    history: bool = False
    busy: str = "interrupt"
    # One of `places.PLACES`; Pigeon if empty.
    place: str = ""

    @property
    def platform(self) -> str:
        """The platform, or Pigeon's abilities, in one word."""
        if self.place:
            return self.place
        if self.keys:
            return "keys"
        return "history" if self.history else "plain"


class Home:
    """A folder with a config.yaml, run against the given stand-ins."""

    def __init__(self, folder: Path, mode: Mode) -> None:
        self.folder = folder
        self.mode = mode

    @property
    def tool_counts(self) -> Path:
        return self.folder / "tools.jsonl"

    @property
    def trace(self) -> Path:
        return self.folder / "failpoints.txt"

    def address(self) -> GatewayAddress | None:
        """Return where the gateway listens, once it says so."""
        try:
            return msgspec.json.decode(
                (self.folder / "run" / "gateway.json").read_bytes(), type=GatewayAddress
            )
        except (OSError, msgspec.DecodeError):
            return None

    def log(self) -> str:
        """Return the end of what the gateway said, for a failed test."""
        path = self.folder / "gateway.log"
        return path.read_text(encoding="utf-8", errors="replace")[-6000:] if path.exists() else ""

    def rests(self) -> int:
        """Return how often a gateway left the model alone because calls had failed."""
        path = self.folder / "gateway.log"
        return path.read_bytes().count(b"model_rests") if path.exists() else 0

    def write(
        self,
        *,
        model_url: str,
        pigeon_url: str,
        platform: str = "pigeon",
        settings: Mapping[str, object] | None = None,
        synchronous: str = "FULL",
        lease_s: float = 1.0,
    ) -> None:
        """Write the configuration; short times, so that recovery is quick.

        `settings` are those of the platform that people write on. Pigeon is there in any case: it
        says where tools count.
        """
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        # Any: what config.yaml may hold.
        config: dict[str, Any] = {
            "store": {"synchronous": synchronous},
            "lanes": {"lease_s": lease_s},
            "credits": {"policy": "wallet", "start_grant": START_GRANT},
            "memory": {
                "extract": True,
                # A job that finds its model left alone is put off for a minute, longer than a story waits.
                "extract_model": "openai:teacher",
                "extract_pause_s": PAUSE_S,
                "extract_after_s": 4 * PAUSE_S,
                "recall": False,
            },
            "server": {"drain_s": 5, "public_url": "https://hermes.example"},
            "access": {"allow_all": True},
            # Kills without end are the point here; sessions are still suspended by their own count.
            "process": {"crash_starts": 0},
            "outbox": {
                "quick_delays_s": [0, 0.05, 0.05, 0.1],
                "later_delays_s": [0.2, 0.2, 0.2],
                "breaker_failures": 100_000,
            },
            "streaming": {"transport": "edit", "interval_s": 0.02, "min_chars": 4},
            "busy": {
                "platforms": {"rest": "queue", platform: self.mode.busy},
                "follow_up_s": 0.05,
                "photo_burst_s": 0.05,
            },
            # Two failures leave the model alone, for a shorter time than any turn waits for it.
            "routing": {
                "retry_s": PAUSE_S,
                "breaker": {
                    "failures": 2,
                    "open_s": 4 * PAUSE_S,
                    "most_open_s": 10 * PAUSE_S,
                    "rate_limit_s": 2 * PAUSE_S,
                },
            },
            "providers": {"openai": {"base_url": model_url, "api_key": "test"}},
            "plugins": ["hermes.testing.push.plugin"],
            "platforms": {
                "pigeon": {
                    "enabled": True,
                    "extra": {
                        "base_url": pigeon_url,
                        "token": TOKEN,
                        "signing_secret": SIGNING_SECRET,
                        "keys": self.mode.keys,
                        "history": self.mode.history,
                        "tool_count_file": str(self.tool_counts),
                    },
                },
            },
        }
        if settings is not None:
            rates = {"per_second": 0, "chat_gap_s": 0, "group_gap_s": 0}
            own = {"enabled": True, "rates": rates, "extra": dict(settings)}
            config["platforms"][platform] = own
        path = self.folder / "config.yaml"
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            yaml.safe_dump(config, file)
