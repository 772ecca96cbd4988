"""The limit of open files: raised at the start, watched while the gateway runs.

Every connection is a file, of callers as of calls to models. The client reports when a call could not be
made because no file was left; the server then closes idle connections and refuses new ones for a moment,
so that the turns which run can end.
"""

import errno
import resource
from collections.abc import Callable
from typing import Final

import structlog

_log = structlog.get_logger("hermes.server")

# More would only slow down child processes that loop over all file descriptors at their start.
MOST_FILES: Final = 65_536
# With fewer a busy gateway runs out of them.
FEW_FILES: Final = 1024
ADVICE: Final = "raise the limit for the gateway: LimitNOFILE=65536 in its systemd unit, or `ulimit -n 65536` before `hermes up`"
# Kept for calls, the database and the logs: new connections do not get the last files.
_SPARE: Final = 32
_SHORT_S: Final = 5.0
_LOG_EVERY_S: Final = 60.0
# How long a call waits for a file, time after time.
PAUSES_S: Final = (0.1, 0.2, 0.4, 0.8, 1.6)


def raise_open_files() -> int:
    """Raise this process's limit of open files to what the system allows, up to a sane number.

    Returns the limit, and logs it if it is low.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, MOST_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    most = open_files_limit()
    if most < FEW_FILES:
        _log.warning("few_open_files", limit=most, fix=ADVICE)
    return most


def open_files_limit() -> int:
    """Return how many files this process may open now."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MOST_FILES if soft == resource.RLIM_INFINITY else soft


class FileShortage:
    """Whether this process has run out of files, or is about to; the log says so once a minute."""

    def __init__(
        self, monotonic: Callable[[], float], *, pauses_s: tuple[float, ...] = PAUSES_S
    ) -> None:
        self._monotonic = monotonic
        self._log_again_at = self._short_until = -1.0
        self._make_room: Callable[[], object] | None = None
        self.pauses_s = pauses_s

    def on_shortage(self, make_room: Callable[[], object]) -> None:
        """Call `make_room`, which closes something, each time a file is missing."""
        self._make_room = make_room

    @property
    def is_short(self) -> bool:
        """Whether a file was missing in the last seconds."""
        return self._monotonic() < self._short_until

    def caused(self, error: BaseException) -> bool:
        """Return whether an error means that no file was left; notes it."""
        if not isinstance(error, OSError) or error.errno not in (errno.EMFILE, errno.ENFILE):
            return False
        self._note()
        return True

    def leaves_few(self, descriptor: int) -> bool:
        """Return whether a new connection with this number has one of the last files; notes it.

        The system gives out the lowest number that is free.
        """
        if descriptor < open_files_limit() - _SPARE:
            return False
        self._note()
        return True

    def _note(self) -> None:
        now = self._monotonic()
        self._short_until = now + _SHORT_S
        if now >= self._log_again_at:
            self._log_again_at = now + _LOG_EVERY_S
            _log.error("no_files_left", limit=open_files_limit(), fix=ADVICE)
        if self._make_room is not None:
            self._make_room()
