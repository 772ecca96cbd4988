"""Calls to `systemctl` and `journalctl`, for a person's own services or the machine's."""

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from hermes.errors import ConfigurationError

SYSTEM_UNITS = Path("/etc/systemd/system")


class Systemd:
    """One service manager: a person's own, or with `is_system` the machine's."""

    def __init__(self, units: Path, *, is_system: bool) -> None:
        self.units = units
        self._scope = () if is_system else ("--user",)

    def write(self, name: str, text: str) -> Path:
        """Write a unit file and make systemd read it."""
        path = self.units / name
        try:
            self.units.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        except OSError as error:
            raise ConfigurationError(
                f"{path} cannot be written ({error.strerror}); run this as a user who may, "
                "or print the unit with --dry-run and install it yourself"
            ) from error
        self.control("daemon-reload")
        return path

    def remove(self, name: str) -> bool:
        """Remove a unit file; return False if there was none."""
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
        """Run a systemctl command; raise its output if it fails."""
        done = self._run("systemctl", words, captured=True)
        if done.returncode != 0:
            said = (done.stderr or done.stdout or "").strip() or f"exit code {done.returncode}"
            raise ConfigurationError(f"systemctl {' '.join(words)} failed: {said}")

    def show(self, *words: str) -> int:
        """Run systemctl with its own output; return its exit code."""
        return self._run("systemctl", words, captured=False).returncode

    def journal(self, *words: str) -> int:
        """Run journalctl with its own output; return its exit code."""
        return self._run("journalctl", words, captured=False).returncode

    def _run(
        self, program: str, words: Sequence[str], *, captured: bool
    ) -> "subprocess.CompletedProcess[str]":
        found = shutil.which(program)
        if found is None:
            raise ConfigurationError(
                f"{program} was not found: this machine has no systemd. Let another supervisor "
                "run `hermes up` (see docs/operations.md)"
            )
        try:
            return subprocess.run(
                [found, *self._scope, *words], check=False, text=True, capture_output=captured
            )
        except OSError as error:
            raise ConfigurationError(f"{program} cannot be run ({error.strerror})") from error
