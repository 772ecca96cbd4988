"""Starts gateways quickly: one process imports Hermes once and forks it for every `hermes up`.

Each gateway is a separate process that can be killed, stopped and cut like any other; only the
second that Python needs for imports is saved. Orders and news are JSON lines over standard input
and output; when the input closes, every running gateway is killed.
"""

import gc
import importlib
import os
import select
import signal
import sys
import traceback
from pathlib import Path

import msgspec

from hermes import failpoints
from hermes.cli import up
from hermes.cli.failure import run_guarded
from hermes.config import load
from hermes.testing.power_cut import PowerCut, PowerCutDisk
from hermes.tools.gate_rules import gate_rules
from hermes.tools.image_intents import ImageIntents

_EXIT_BROKEN = 70
# Modules that a gateway imports only when it starts.
_NEEDED_LATER = (
    "email.policy",
    "encodings.idna",
    "encodings.utf_8_sig",
    "hermes.channels.discord.channel",
    "hermes.channels.matrix.channel",
    "hermes.channels.meta.channel",
    "hermes.channels.telegram.channel",
    "hermes.message.markup.cut",
    "hermes.message.markup.lighten",
    "hermes.message.markup.parse",
    "hermes.message.markup.write",
    "hermes.net.calls",
    "hermes.net.redirects",
    "hermes.provider_kit.stream",
    "hermes.providers.openai.provider",
    "hermes.testing.push.counting_tools",
    "hermes.testing.push.channel",
    "hermes.store.sqlite.migrations",
    "hermes.testing.push.plugin",
    "jsonschema_rs",
    "markdown_it",
    "uvicorn.lifespan.off",
    "uvicorn.protocols.http.httptools_impl",
    "yaml",
)


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """Start a gateway: its home, its whole environment, and what to watch or fail.

    `trace` is a file that gets a line for every failpoint that the gateway passes.
    """

    home: str
    environ: dict[str, str]
    trace: str | None = None
    power_cut: PowerCut | None = None


class News(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A gateway has started, or it has ended with this wait status."""

    pid: int
    ended: int | None = None


class ForkServer:
    """The loop of the process that forks."""

    def __init__(self) -> None:
        self._children: set[int] = set()
        self._bell, self._ringer = os.pipe()
        os.set_blocking(self._ringer, False)
        signal.set_wakeup_fd(self._ringer, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda _number, _frame: None)

    def run(self) -> None:
        """Serve until the standard input closes."""
        poll = select.poll()
        poll.register(0, select.POLLIN | select.POLLHUP)
        poll.register(self._bell, select.POLLIN)
        rest = b""
        while True:
            ready = dict(poll.poll())
            if self._bell in ready:
                os.read(self._bell, 4096)
                self._reap()
            if 0 not in ready:
                continue
            data = os.read(0, 65_536)
            if not data:
                break
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                self._start(msgspec.json.decode(line, type=Order))
        for pid in self._children:
            os.kill(pid, signal.SIGKILL)

    def _start(self, order: Order) -> None:
        pid = os.fork()
        if pid == 0:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            os.close(self._bell)
            os.close(self._ringer)
            _become(order)
        self._children.add(pid)
        _tell(News(pid=pid))

    def _reap(self) -> None:
        while self._children:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            self._children.discard(pid)
            _tell(News(pid=pid, ended=status))


def _tell(news: News) -> None:
    os.write(1, msgspec.json.encode(news) + b"\n")


def _become(order: Order) -> None:
    """Turn this fork into a gateway; never returns."""
    code = _EXIT_BROKEN
    try:
        _redirect(Path(order.home) / "gateway.log")
        # The whole environment of the new process, for `hermes.config` to read.
        environ = os.environ  # noqa: TID251
        environ.clear()
        environ.update(order.environ)
        if order.trace is not None:
            _trace_to(order.trace)
        disk = None if order.power_cut is None else PowerCutDisk(order.power_cut, default=True)
        arguments = ["--home", order.home, "--port", "0", "--log-format", "json"]
        code = run_guarded(lambda: up.main(arguments), order.environ)
        if disk is not None:
            sys.stderr.write(f"{disk.operations} operations\n")
            sys.stderr.flush()
    except Exception:  # noqa: BLE001  process boundary: the trace goes to the gateway's log
        traceback.print_exc()
    finally:
        os._exit(code)


def _redirect(log: Path) -> None:
    null = os.open(os.devnull, os.O_RDONLY)
    out = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.dup2(null, 0)
    os.dup2(out, 1)
    os.dup2(out, 2)


def _trace_to(path: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    failpoints.watch(lambda name: _write_line(descriptor, name))


def _write_line(descriptor: int, name: str) -> None:
    os.write(descriptor, f"{name}\n".encode())


def main() -> None:
    """Import what a gateway needs and build what all of them share, then fork on demand."""
    for name in _NEEDED_LATER:
        importlib.import_module(name)
    settings = load({}, Path(__file__).parent / "no-home").settings
    # Python caches the large patterns that it has compiled.
    gate_rules(settings.tools.gate)
    ImageIntents(settings.vision.intents)
    # What is here by now stays: no fork has to look through it, and its pages stay shared.
    gc.collect()
    gc.freeze()
    ForkServer().run()


if __name__ == "__main__":
    main()
