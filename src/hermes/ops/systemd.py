"""Calls to `systemctl` and `journalctl`, for a person's own services or the machine's."""

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from hermes.errors import ConfigurationError

SYSTEM_UNITS = Path("/etc/systemd/system")


class Systemd:
    """One manager of services: a person's own, or with `is_system` the machine's."""

    def __init__(self, units: Path, *, is_system: bool) -> None:
        self.units = units
        self._scope = () if is_system else ("--user",)

    def write(self, name: str, text: str) -> Path:
        """Put a unit file in its place and have it read."""
        path = self.units / name
        try:
            self.units.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        except OSError as error:
            raise ConfigurationError(
                f"{path} cannot be written ({error.strerror}); run this as a user who may, "
                "or print the unit with --dry-run and put it there yourself"
            ) from error
        self.control("daemon-reload")
        return path

    def remove(self, name: str) -> bool:
        """Take a unit file away; false if there was none."""
        path = self.units / name
        if not path.exists():
            return False
        try:
            path.unlink()
        except OSError as error:
            raise ConfigurationError(f"{path} cannot be removed ({error.strerror})") from error
        self.control("daemon-reload")
        return True

    def control(self, *words: str) -> None:
        """Have systemctl do something; raises what it said if it did not."""
        done = self._run("systemctl", words, captured=True)
        if done.returncode != 0:
            said = (done.stderr or done.stdout or "").strip() or f"exit code {done.returncode}"
            raise ConfigurationError(f"systemctl {' '.join(words)} failed: {said}")

    def show(self, *words: str) -> int:
        """Let systemctl speak for itself; return its exit code."""
        return self._run("systemctl", words, captured=False).returncode

    def journal(self, *words: str) -> int:
        """Let journalctl print; return its exit code."""
        return self._run("journalctl", words, captured=False).returncode

    def _run(
        self, program: str, words: Sequence[str], *, captured: bool
    ) -> "subprocess.CompletedProcess[str]":
        found = shutil.which(program)
        if found is None:
            raise ConfigurationError(
                f"{program} was not found: this machine has no systemd. Let another supervisor "
                "run `hermes up` (docs/operations.md says what it has to know)"
            )
        try:
            return subprocess.run(
                [found, *self._scope, *words], check=False, text=True, capture_output=captured
            )
        except OSError as error:
            raise ConfigurationError(f"{program} cannot be run ({error.strerror})") from error
