"""The lifecycle of one gateway process: how it started, its state, and how it ended.

Created by the gateway once it owns the home. It writes the files that others read after an
unexpected start or end, and decides what a start after many crashes does not resume.
"""

import os
from collections.abc import Callable
from pathlib import Path

import msgspec
import structlog

from hermes import __version__
from hermes.app.core import Core
from hermes.config.server_settings import ProcessSettings
from hermes.control.status import ChannelStatus, ConnectionState, Runtime
from hermes.message.session_key import base_lane, root_lane
from hermes.ops.forensics import Shutdown, TurnAtEnd, running_tasks, write_shutdown
from hermes.ops.runtime import RuntimeFiles, Starts
from hermes.pipeline.comebacks import Comeback, LeftAlone
from hermes.ports.clock import Clock

EXIT_PLANNED = 0
EXIT_RESTART = 75
_log = structlog.get_logger(__name__)


class ShutdownCause(msgspec.Struct, frozen=True, kw_only=True):
    """Why a gateway ends: a signal, a request, or an error, and the exit code.

    With `replaces` the process goes on as a new gateway, and keeps the lock of its home.
    """

    reason: str
    exit_code: int = EXIT_PLANNED
    signal: str | None = None
    is_expected: bool = True
    replaces: bool = False


class AtEnd(msgspec.Struct, frozen=True, kw_only=True):
    """What is going on when a gateway begins to stop."""

    turns: tuple[TurnAtEnd, ...] = ()
    sessions: tuple[str, ...] = ()
    platforms: tuple[ChannelStatus, ...] = ()
    waiting_messages: int = 0


class RunState:
    """One process; `comeback` is what this start does not resume, `note` is for the operator."""

    def __init__(self, home: Path, settings: ProcessSettings, *, clock: Clock) -> None:
        self._home = home
        self._clock = clock
        self._files = RuntimeFiles(home)
        self._before = self._files.status()
        now = clock.now()
        self._starts = self._begin(now, window_s=settings.crash_window_s)
        self._crashed = now in self._starts.crashes
        crashes, limit = len(self._starts.crashes), settings.crash_starts
        self.comeback = Comeback(since=now, leaves=_left_alone(crashes, limit))
        self.note = _note(crashes, self.comeback.leaves, window_s=settings.crash_window_s)
        self._now = Runtime(
            state="starting", pid=os.getpid(), version=__version__, at=now, started_at=now
        )
        self._shutdown: Shutdown | None = None
        self._write(lambda: self._files.tell(self._now))

    def found(self, cut_off: tuple[str, ...]) -> None:
        """Report what the previous process left behind when it crashed."""
        if self._crashed:
            before = self._before
            shutdown = Shutdown(
                at=self._clock.now(),
                reason="the process ended without a report; the next start noticed it",
                pid=before.pid if before else 0,
                version=before.version if before else "",
                started_at=before.started_at if before else 0.0,
                sessions=cut_off,
                platforms=before.channels if before else (),
            )
            self._write(lambda: write_shutdown(self._home, shutdown))
            _log.warning("crashed_before", pid=shutdown.pid, sessions=len(cut_off))
        if self.note is not None:
            _log.error("boot_loop", problem=self.note)

    def stands(self, state: ConnectionState, channels: tuple[ChannelStatus, ...] = ()) -> None:
        """Record the new state of the gateway."""
        self._tell(state, channels, note=self.note)

    def ending(self, ending: ShutdownCause, at_end: AtEnd) -> None:
        """Record that it ends; on an unexpected end, write down what was going on."""
        self.stands("draining", at_end.platforms)
        if ending.is_expected:
            return
        self._shutdown = shutdown = Shutdown(
            at=self._clock.now(),
            reason=ending.reason,
            pid=self._now.pid,
            version=__version__,
            started_at=self._now.started_at,
            signal=ending.signal,
            exit_code=ending.exit_code,
            turns=at_end.turns,
            sessions=at_end.sessions,
            platforms=at_end.platforms,
            waiting_messages=at_end.waiting_messages,
            tasks=running_tasks(),
        )
        self._write(lambda: write_shutdown(self._home, shutdown))

    def ended(self, ending: ShutdownCause, *, cut_off: int) -> None:
        """Record that it has ended properly, whatever the reason."""
        if self._shutdown is not None:
            told = msgspec.structs.replace(self._shutdown, cut_off=cut_off)
            self._write(lambda: write_shutdown(self._home, told))
        self._tell(
            "stopped", _stopped(self._now.channels), note=ending.reason, exit_code=ending.exit_code
        )
        self._write(lambda: self._files.end(self._starts))

    def failed(self, problem: str) -> None:
        """Record that the start or the stop failed."""
        self._tell("fatal", (), note=problem)
        self._write(lambda: self._files.end(self._starts))

    def _tell(
        self,
        state: ConnectionState,
        channels: tuple[ChannelStatus, ...],
        *,
        note: str | None,
        exit_code: int | None = None,
    ) -> None:
        self._now = msgspec.structs.replace(
            self._now,
            state=state,
            at=self._clock.now(),
            channels=channels,
            note=note,
            exit_code=exit_code,
        )
        self._write(lambda: self._files.tell(self._now))

    def _begin(self, now: float, *, window_s: float) -> Starts:
        try:
            return self._files.begin(now, window_s=window_s)
        except OSError as error:
            _log.warning("start_not_noted", problem=error.strerror)
            return Starts(is_open=True)

    def _write(self, write: Callable[[], None]) -> None:
        """Write one of the files; a full disk must not stop the gateway."""
        try:
            write()
        except OSError as error:
            _log.warning("life_not_written", problem=error.strerror)


def at_end(core: Core, platforms: tuple[ChannelStatus, ...]) -> AtEnd:
    """Return what is going on in a core."""
    turns = core.lanes.turns()
    return AtEnd(
        turns=tuple(TurnAtEnd(message_id=id_, session=lane, steps=n) for lane, id_, n in turns),
        sessions=tuple(sorted({root_lane(base_lane(lane)) for lane, _, _ in turns})),
        platforms=platforms,
        waiting_messages=core.store.inbox.waiting(),
    )


def _stopped(channels: tuple[ChannelStatus, ...]) -> tuple[ChannelStatus, ...]:
    """Return the platforms as they are after the end; fatal errors stay visible."""
    return tuple(
        one if one.state == "fatal" else ChannelStatus(name=one.name, state="stopped")
        for one in channels
    )


def _left_alone(crashes: int, limit: int) -> LeftAlone:
    if not limit or crashes < limit:
        return "nothing"
    return "running" if crashes == limit else "waiting"


def _note(crashes: int, leaves: LeftAlone, *, window_s: float) -> str | None:
    if leaves == "nothing":
        return None
    what = "the running turns"
    if leaves != "running":
        what = "the running turns and the waiting messages"
    return (
        f"the gateway crashed {crashes} times within {window_s / 60:g} minutes; {what} were not "
        "resumed, and their senders were notified. logs/gateway_shutdown.json names the sessions"
    )
