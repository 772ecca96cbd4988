"""Logs: one line per event, JSON or for people, with times in UTC and no secrets.

Set up once by the composition root; everyone else calls `structlog.get_logger()` or the standard
library's logging, and both end here. Keys follow the glossary: message_id, lane, platform. Lines of
a turn carry its message_id; warnings and errors are passed to listeners before any filter.
"""

import atexit
import logging
import re
import sys
import traceback
from collections.abc import Callable, Iterable, Mapping, MutableMapping
from pathlib import Path
from time import gmtime, strftime
from typing import Any, BinaryIO, Literal

import msgspec
import structlog
from pydantic import SecretStr
from structlog.contextvars import merge_contextvars

from hermes.config.server_settings import LogSettings
from hermes.config.settings import Settings, leaves
from hermes.ops.log_stream import LogStream, RotatingFile, standard_error
from hermes.ops.masker import Masker
from hermes.ports.clock import Clock
from hermes.ports.observer import current_turn

LogFormat = Literal["json", "console", "auto"]
Level = Literal["debug", "info", "warning", "error"]

Fields = dict[str, Any]  # Any: log fields hold whatever the caller logged.
Listener = Callable[[Fields], None]

_LEVELS: Mapping[Level, int] = {"debug": 10, "info": 20, "warning": 30, "error": 40}
_COLOURS = {"debug": "2", "info": "32", "warning": "33", "error": "31", "critical": "31"}
# These loggers report each request or connection, or what we log ourselves.
_LOUD = ("uvicorn.error", "uvicorn.access", "aiohttp.access", "asyncio")
_WARNING = 30
_HEARD = {"warning": _WARNING, "error": 40, "critical": 50}
_METHOD_LEVELS = {"exception": "error", "warn": "warning", "fatal": "critical", "msg": "info"}


class LogPlan(msgspec.Struct, frozen=True, kw_only=True):
    """How logs are written; `file` always holds JSON, whatever the stream shows."""

    level: Level = "info"
    format: LogFormat = "auto"
    file: Path | None = None
    file_max_bytes: int = 20 * 1024 * 1024
    file_keep: int = 3


def plan_of(settings: LogSettings, home: Path) -> LogPlan:
    """Return the plan that the settings describe."""
    return LogPlan(
        level=settings.level,
        format=settings.format,
        file=home / settings.file if settings.file else None,
        file_max_bytes=settings.file_max_mb * 1024 * 1024,
        file_keep=settings.file_keep,
    )


def secrets_in(settings: Settings) -> frozenset[str]:
    """Return every secret value of the settings."""
    found: set[str] = set()
    for _, value in leaves(settings):
        items = value if isinstance(value, tuple) else (value,)
        found.update(item.get_secret_value() for item in items if isinstance(item, SecretStr))
    return frozenset(found)


class Logs:
    """The logs after set-up: flush them, or close them as the last step of a process."""

    def __init__(self, stream: LogStream, masker: Masker, *, finish: "_Finish") -> None:
        self._stream = stream
        self._masker = masker
        self._finish = finish

    @property
    def lost(self) -> int:
        """How many lines could not be written."""
        return self._stream.lost

    def listen(self, listener: Listener) -> None:
        """Pass every warning and error to a listener, from any thread; the listener must return at
        once.
        """
        self._finish.listener = listener

    def hide(self, *secrets: str) -> None:
        """Also mask these from now on: secrets that are generated at run time."""
        self._masker.add(secrets)

    def name_stored(self, mask: Callable[[str], str]) -> None:
        """Also mask what this function masks, from now on: the secrets that operators store."""
        before = self._masker.name_stored
        self._masker.name_stored = lambda text: mask(before(text))

    def mask(self, text: str) -> str:
        """Return a text without secrets."""
        return self._masker.line(text)

    def set_level(self, level: Level) -> None:
        """Write only lines of at least this level from now on."""
        self._finish.level = _LEVELS[level]
        structlog.configure(wrapper_class=_filtering(level))
        _set_levels(level)

    def joined(self) -> "Logs":
        """Return the same logs for another gateway of this process, which hears of nothing in them."""
        return _JoinedLogs(self._stream, self._masker, finish=self._finish)

    def flush(self) -> None:
        """Write what is still in the buffer."""
        self._stream.flush()

    def close(self) -> None:
        """Write everything and end the thread."""
        atexit.unregister(self.close)
        self._stream.close()


class _JoinedLogs(Logs):
    """The logs of somebody else, who alone decides about them and hears of warnings."""

    def listen(self, listener: Listener) -> None:
        """Pass nothing on: a line does not say whose it is."""

    def set_level(self, level: Level) -> None:
        """Leave the level as it is."""

    def close(self) -> None:
        """Leave them open."""


def set_up(
    plan: LogPlan,
    secrets: Iterable[str],
    *,
    clock: Clock,
    stream: BinaryIO | None = None,
    takes_standard: bool = True,
) -> Logs:
    """Configure all logs of this process as the plan says; `stream` is standard error by
    default.

    Unless it `takes_standard`, the logs of Python's `logging` stay as the program has them.
    """
    target = stream or standard_error()
    out = LogStream(target, _file_of(plan))
    is_terminal = target.isatty()
    as_json = plan.format == "json" or (plan.format == "auto" and not is_terminal)
    masker = Masker(secrets)
    finish = _Finish(masker, clock, level=_LEVELS[plan.level])
    if not as_json:
        finish.show(_console(coloured=is_terminal), twice=plan.file is not None)
    structlog.configure(
        processors=[merge_contextvars, finish],
        wrapper_class=_filtering(plan.level),
        logger_factory=_Factory(out),
        cache_logger_on_first_use=False,
    )
    if takes_standard:
        _route_standard_logging(plan.level, out, finish=finish)
    logs = Logs(out, masker, finish=finish)
    atexit.register(logs.close)
    return logs


# Any: the class that structlog generates has no closer type.
def _filtering(level: Level) -> type[Any]:
    """Return loggers of a level; warnings always pass, because there may be a listener."""
    return structlog.make_filtering_bound_logger(min(_LEVELS[level], _WARNING))


def _file_of(plan: LogPlan) -> RotatingFile | None:
    if plan.file is None:
        return None
    return RotatingFile(plan.file, max_bytes=plan.file_max_bytes, keep=plan.file_keep)


class _Sink:
    """structlog calls this with a finished line; warnings and errors are written at once."""

    def __init__(self, out: LogStream) -> None:
        self.debug = self.info = self.msg = out.write
        self.warning = self.warn = self.error = self.exception = out.write_now
        self.critical = self.fatal = out.write_now


class _Factory:
    def __init__(self, out: LogStream) -> None:
        self._sink = _Sink(out)

    def __call__(self, *_names: object) -> _Sink:
        return self._sink


Render = Callable[[Fields], str]
Line = bytes | tuple[tuple[bytes, bytes], dict[str, Any]]


class _Finish:
    """The last processor: adds time, level and turn, masks secrets, and formats the line."""

    def __init__(self, masker: Masker, clock: Clock, *, level: int) -> None:
        self.listener: Listener | None = None
        self._masker = masker
        self._now = clock.now
        self.level = level
        self._render: Render = _as_json
        self._twice = False
        self._second = -1
        self._prefix = ""

    def show(self, render: Render, *, twice: bool) -> None:
        """Format lines this way for the stream; `twice` also makes a JSON line for the file."""
        self._render = render
        self._twice = twice

    def __call__(self, _logger: object, method: str, fields: MutableMapping[str, Any]) -> Line:
        told = {
            "time": self._time(self._now()),
            "level": _METHOD_LEVELS.get(method, method),
            "event": fields.pop("event", ""),
        }
        told.update(fields)
        turn = current_turn.get()
        if turn and "message_id" not in told:
            told["message_id"] = turn
        if "exc_info" in told:
            _add_traceback(told)
        told = self._masker.fields(told)
        if told["level"] in _HEARD:
            self._let_hear(told)
        line = self._line(told, self._render)
        return ((line, self._line(told, _as_json)), {}) if self._twice else line

    def _line(self, told: Fields, render: Render) -> bytes:
        return self._masker.line(render(told)).encode(errors="backslashreplace")

    def _let_hear(self, told: Fields) -> None:
        if self.listener is not None:
            masked = self._masker.line
            heard = {k: masked(v) if isinstance(v, str) else v for k, v in told.items()}
            self.listener(heard)
        if _HEARD[told["level"]] < self.level:
            raise structlog.DropEvent

    def _time(self, now: float) -> str:
        second = int(now)
        if second != self._second:
            self._prefix = strftime("%Y-%m-%dT%H:%M:%S", gmtime(second))
            self._second = second
        return f"{self._prefix}.{int((now - second) * 1000):03d}Z"


def _add_traceback(fields: Fields) -> None:
    given = fields.pop("exc_info")
    if given is True:
        given = sys.exc_info()[1]
    elif isinstance(given, tuple):
        given = given[1]
    if isinstance(given, BaseException):
        fields["error"] = f"{type(given).__name__}: {given}"
        fields["traceback"] = "".join(traceback.format_exception(given)).rstrip()


_encode = msgspec.json.Encoder(enc_hook=repr).encode


def _as_json(fields: Fields) -> str:
    try:
        return _encode(fields).decode() + "\n"
    except (TypeError, ValueError):
        # A lone surrogate, or a key that JSON cannot take.
        return _encode({str(name): _as_text(item) for name, item in fields.items()}).decode() + "\n"


def _as_text(value: object) -> str:
    """Return a value that JSON can say; a text stays as it is, so that its secrets are found."""
    if isinstance(value, str):
        return value.encode(errors="backslashreplace").decode()
    return ascii(value)


def _console(*, coloured: bool) -> Render:
    def render(fields: Fields) -> str:
        rest = dict(fields)
        time, level, event = rest.pop("time"), rest.pop("level"), rest.pop("event")
        trace = rest.pop("traceback", None)
        shown = f"{level:<8}"
        if coloured:
            shown = f"\x1b[{_COLOURS.get(level, '0')}m{shown}\x1b[0m"
        pairs = "".join(f" {name}={_plain(value)}" for name, value in rest.items())
        tail = f"\n{trace}" if trace else ""
        return f"{time} {shown} {event}{pairs}{tail}\n"

    return render


_BARE = re.compile(r"[\w.:/@+%-]+")


def _plain(value: object) -> str:
    text = value if isinstance(value, str) else str(value)
    return text if _BARE.fullmatch(text) else repr(text)


class _StandardHandler(logging.Handler):
    """Passes the log lines of libraries into the same stream, in the same format."""

    def __init__(self, out: LogStream, finish: _Finish) -> None:
        super().__init__()
        self._out = out
        self._finish = finish

    def emit(self, record: logging.LogRecord) -> None:
        """Write one record; logging itself reports a library's broken format string."""
        try:
            fields: Fields = {"event": record.getMessage(), "logger": record.name}
            if record.exc_info:
                fields["exc_info"] = record.exc_info
            line = self._finish(None, record.levelname.lower(), fields)
        except structlog.DropEvent:
            return
        except (TypeError, ValueError, KeyError):
            self.handleError(record)
            return
        write = self._out.write_now if record.levelno >= logging.WARNING else self._out.write
        write(*((line,) if isinstance(line, bytes) else line[0]))


def _route_standard_logging(level: Level, out: LogStream, *, finish: _Finish) -> None:
    logging.basicConfig(handlers=[_StandardHandler(out, finish)], level=_LEVELS[level], force=True)
    for name in ("uvicorn", "uvicorn.error", "uvicorn.access"):
        logger = logging.getLogger(name)
        logger.handlers.clear()
        logger.propagate = True
    _set_levels(level)


def _set_levels(level: Level) -> None:
    logging.getLogger().setLevel(_LEVELS[level])
    for name in _LOUD:
        logging.getLogger(name).setLevel(max(_LEVELS[level], logging.WARNING))
