"""A pseudo-terminal with a command in it, for tests: type, and wait for what the screen shows."""

import codecs
import os
import pty
import re
import select
import signal
import subprocess
from collections.abc import Sequence

_CODES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07]*\x07")
_PATIENCE_S = 30.0
_NUDGES = 100


class Terminal:
    """One command on its own terminal; `seen` is everything it wrote, control codes included."""

    def __init__(self, arguments: Sequence[str], environ: dict[str, str]) -> None:
        self._master, slave = pty.openpty()
        # Ours stays open until the command has opened its own: before that, reading would fail.
        self._slave: int | None = slave
        name = os.ttyname(slave)
        # The shell is a session leader, so the terminal that it opens becomes its own: Ctrl-C works.
        self.process = subprocess.Popen(
            ["/bin/sh", "-c", 'exec "$@" <"$0" >"$0" 2>&1', name, *arguments],
            start_new_session=True,
            env={**environ, "TERM": "xterm-256color", "COLUMNS": "80", "LINES": "24"},
        )
        self.seen = ""
        # A letter may come in two pieces.
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._from = 0

    def type(self, text: str) -> None:
        os.write(self._master, text.encode())

    def wait_for(self, text: str) -> str:
        """Return what came up to `text`; fails with the whole screen when it does not come."""
        while True:
            plain = self.plain()
            found = plain.find(text, self._from)
            if found >= 0:
                before = plain[self._from : found]
                self._from = found + len(text)
                return before
            if not self._read():
                raise AssertionError(f"{text!r} never came; the screen:\n{plain[self._from :]}")

    def plain(self) -> str:
        return _CODES.sub("", self.seen)

    def interrupt(self) -> int:
        """Press Ctrl-C and return the exit code; press it again if the line editor dropped the first."""
        self.type("\x03")
        try:
            return self.end()
        except subprocess.TimeoutExpired:
            self.type("\x03")
            return self.end()

    def end(self) -> int:
        """Return the exit code once the command has ended."""
        while self._read():
            pass
        return self.process.wait(10)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self._let_go()
        os.close(self._master)

    def _let_go(self) -> None:
        if self._slave is not None:
            os.close(self._slave)
            self._slave = None

    def _read(self) -> bool:
        """Read more of the screen; false when the command has ended or stays silent.

        A Ctrl-C that comes between the prompt and the line editor's wait is noticed by the
        interpreter only at the next signal; a person would see it late, a test helps with a
        resize signal, which changes nothing else.
        """
        for _ in range(_NUDGES):
            ready, _, _ = select.select([self._master], [], [], _PATIENCE_S / _NUDGES)
            if ready:
                return self._take()
            if self.process.poll() is None:
                self.process.send_signal(signal.SIGWINCH)
        return False

    def _take(self) -> bool:
        try:
            piece = os.read(self._master, 65_536)
        except OSError:
            return False
        self._let_go()
        self.seen += self._decoder.decode(piece)
        return bool(piece)
