"""Calls to `systemctl` and `journalctl`, for a person's own services or the machine's."""

import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from hermes.errors import ConfigurationError

SYSTEM_UNITS = Path("/etc/systemd/system")
# It is there if systemd started this machine.
BOOTED = Path("/run/systemd/system")


class Systemd:
    """One service manager: a person's own, or with `is_system` the machine's.

    `runtime` is the folder of the person's session, `booted` is there if systemd started the machine.
    """

    def __init__(
        self,
        units: Path,
        *,
        is_system: bool,
        runtime: Path | None = None,
        booted: Path = BOOTED,
    ) -> None:
        self.units = units
        self._scope = () if is_system else ("--user",)
        self._is_system = is_system
        self._runtime = runtime
        self._booted = booted

    @property
    def is_booted(self) -> bool:
        """Whether systemd started this machine; otherwise it runs nothing here."""
        return self._booted.exists()

    def write(self, name: str, text: str) -> Path:
        """Write a unit file and make systemd read it."""
        path = self.units / name
        # Nothing is left behind where no systemd answers.
        self.control("daemon-reload")
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

    def remove(self, name: str) -> None:
        """Delete a unit file and make systemd forget it."""
        self.delete(name)
        self.control("daemon-reload")

    def delete(self, name: str) -> None:
        """Delete a unit file, if there is one."""
        path = self.units / name
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise ConfigurationError(f"{path} cannot be removed ({error.strerror})") from error

    def control(self, *words: str) -> None:
        """Run a systemctl command; raise its output if it fails."""
        done = self._run("systemctl", words, captured=True)
        if done.returncode != 0:
            said = (done.stderr or done.stdout or "").strip() or f"exit code {done.returncode}"
            missing = self._missing()
            why = "" if missing is None else f". {missing}"
            raise ConfigurationError(f"systemctl {' '.join(words)} failed: {said}{why}")

    def show(self, *words: str) -> int:
        """Run systemctl with its own output; return its exit code."""
        return self._shown("systemctl", words)

    def journal(self, *words: str) -> int:
        """Run journalctl with its own output; return its exit code."""
        return self._shown("journalctl", words)

    def _shown(self, program: str, words: Sequence[str]) -> int:
        """Run a program with its own output; without systemd raise what to do instead."""
        done = self._run(program, words, captured=False)
        missing = self._missing() if done.returncode else None
        if missing is not None:
            raise ConfigurationError(missing)
        sys.stderr.write(done.stderr)
        return done.returncode

    def _missing(self) -> str | None:
        """Return why systemd cannot be reached, and what to do; None if it can."""
        if not self.is_booted:
            return (
                "This machine was not started by systemd, as is usual in a container, so there is no "
                "service here. `hermes up` runs the gateway; let the container's start command or "
                "another supervisor run it (docs/operations.md). `hermes status` shows its state."
            )
        if self._is_system or (self._runtime is not None and (self._runtime / "systemd").exists()):
            return None
        return (
            "Your user has no systemd of its own in this session. Sign in as this user, not with su "
            "or sudo; or let it run without a session with `sudo loginctl enable-linger $USER`; or use "
            "the machine's systemd with --system"
        )

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
                [found, *self._scope, *words],
                check=False,
                text=True,
                stdout=subprocess.PIPE if captured else None,
                stderr=subprocess.PIPE,
            )
        except OSError as error:
            raise ConfigurationError(f"{program} cannot be run ({error.strerror})") from error
