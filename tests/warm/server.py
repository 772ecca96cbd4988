"""The warm interpreter: imports Hermes once, then forks itself for every program it is asked for.

A caller connects, sends an order together with its standard streams, and reads the pid and at the
end the wait status. A program whose caller leaves is killed, and so are all when the input closes.
"""

import atexit
import ctypes
import gc
import importlib
import io
import os
import pkgutil
import runpy
import selectors
import signal
import socket
import struct
import sys
import threading
import time
import traceback
from pathlib import Path

import msgspec

from tests.yielding import make_reads_yield

HEAD = struct.Struct("!I")
STREAMS = 3
_CREDENTIALS = struct.Struct("3i")
# What Python exits with when the end of the output cannot be written.
_EXIT_UNWRITTEN = 120
_FOLDERS = ("app", "cli", "config", "control", "ops", "server", "store")
# What those import only when it is needed.
_MODULES = (
    "encodings.idna",
    "hermes.channels.rest.channel",
    "hermes.channels.web.channel",
    "hermes.message.markup.cut",
    "hermes.message.markup.lighten",
    "hermes.message.markup.parse",
    "hermes.message.markup.write",
    "hermes.provider_kit.stream",
    "hermes.providers.openai.provider",
    "hermes.testing.model_server",
    "jsonschema_rs",
    "markdown_it",
    "typer.rich_utils",
    "uvicorn.lifespan.off",
    "uvicorn.protocols.http.httptools_impl",
    "yaml",
)


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """A program as `python` takes it, and what it starts with."""

    arguments: list[str]
    environ: dict[str, str]
    folder: str


class WarmServer:
    """The loop of the process that forks."""

    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener
        self._callers: dict[int, socket.socket] = {}
        self._selector = selectors.DefaultSelector()
        self._bell, self._ringer = os.pipe()
        os.set_blocking(self._ringer, False)
        signal.set_wakeup_fd(self._ringer, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
        # Whoever stops the tests from the keyboard stops the caller, and that ends this process.
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    def run(self) -> Order | None:
        """Serve until the standard input closes; returns an order in the fork that is to obey it."""
        for source in (0, self._bell, self._listener):
            self._selector.register(source, selectors.EVENT_READ)
        while True:
            ready = {key.fileobj for key, _ in self._selector.select()}
            if self._bell in ready:
                os.read(self._bell, 4096)
                self._reap()
            for pid, caller in self._callers.items():
                if caller in ready:
                    self._selector.unregister(caller)
                    os.kill(pid, signal.SIGKILL)
            if 0 in ready:
                break
            if self._listener in ready and (order := self._start()) is not None:
                return order
        for pid in self._callers:
            os.kill(pid, signal.SIGKILL)
        return None

    def _start(self) -> Order | None:
        caller, _ = self._listener.accept()
        order, streams = _receive(caller)
        # A Ctrl-C for the program waits until the program can hear it.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        pid = os.fork()
        if pid == 0:
            _enter_network_of(caller)
            caller.close()
            self._let_go()
            for number, stream in enumerate(streams):
                os.dup2(stream, number)
        for stream in streams:
            os.close(stream)
        if pid == 0:
            return order
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        self._callers[pid] = caller
        self._selector.register(caller, selectors.EVENT_READ)
        _tell(caller, pid)
        return None

    def _let_go(self) -> None:
        """Leave to the warm interpreter what is its own."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        self._selector.close()
        self._listener.close()
        for caller in self._callers.values():
            caller.close()
        os.close(self._bell)
        os.close(self._ringer)

    def _reap(self) -> None:
        while self._callers:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return
            caller = self._callers.pop(pid)
            if caller in self._selector.get_map():
                self._selector.unregister(caller)
            _tell(caller, status)
            caller.close()


def _receive(caller: socket.socket) -> tuple[Order, list[int]]:
    head, streams, _, _ = socket.recv_fds(caller, HEAD.size, STREAMS)
    (size,) = HEAD.unpack(head)
    body = bytearray()
    while len(body) < size:
        body += caller.recv(size - len(body))
    return msgspec.json.decode(body, type=Order), streams


def _enter_network_of(caller: socket.socket) -> None:
    """Move this process to the network of the caller; a page of the docs is tried in one of its own."""
    pid, _, _ = _CREDENTIALS.unpack(
        caller.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    )
    # One who may not enter networks owns the one that a namespace of users gave it.
    for kind in ("user", "net"):
        mine, theirs = Path(f"/proc/self/ns/{kind}"), Path(f"/proc/{pid}/ns/{kind}")
        if mine.readlink() != theirs.readlink():
            with theirs.open("rb") as namespace:
                if ctypes.CDLL(None, use_errno=True).setns(namespace.fileno(), 0) != 0:
                    raise OSError(ctypes.get_errno(), f"cannot enter {theirs}")


def _tell(caller: socket.socket, number: int) -> None:
    try:
        caller.sendall(HEAD.pack(number))
    except OSError:
        # It has left; its program ends with it.
        return


def _become(order: Order) -> None:
    """Give this process what the program starts with."""
    os.chdir(order.folder)
    environ = os.environ  # noqa: TID251  the whole environment of the new process
    environ.clear()
    environ.update(order.environ)
    time.tzset()
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout = _writer(1, "strict")
    sys.stderr = _writer(2, "backslashreplace")


def _run(order: Order) -> None:
    """Run the program, as the interpreter would have begun it."""
    kind, *rest = order.arguments
    sys.path[0] = order.folder
    if kind == "-c":
        sys.argv = ["-c", *rest[1:]]
        exec(compile(rest[0], "<string>", "exec"), sys.modules["__main__"].__dict__)
    elif kind == "-m":
        sys.argv = ["-m", *rest[1:]]
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    else:
        sys.path[0] = str(Path(kind).parent)
        sys.argv = order.arguments
        runpy.run_path(kind, run_name="__main__")


def _exit_code(order: Order) -> int:
    """Run the program to its end; returns what the interpreter would exit with."""
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
        _run(order)
    except SystemExit as ending:
        if ending.code is None or isinstance(ending.code, int):
            return ending.code or 0
        sys.stderr.write(f"{ending.code}\n")
        return 1
    except KeyboardInterrupt:
        traceback.print_exc()
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    except BaseException:  # noqa: BLE001  process boundary
        traceback.print_exc()
        return 1
    return 0


def _end(code: int) -> None:
    """End this process, without the time that taking every module apart would need."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:
        code = _EXIT_UNWRITTEN
    os._exit(code)


def _writer(number: int, errors: str) -> io.TextIOWrapper:
    file = open(number, "wb", closefd=False)  # noqa: SIM115
    return io.TextIOWrapper(
        file, encoding="utf-8", errors=errors, line_buffering=number != 1 or os.isatty(1)
    )


def _prepare() -> None:
    """Import what programs need."""
    for folder in _FOLDERS:
        package = importlib.import_module(f"hermes.{folder}")
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(found.name)
    for name in _MODULES:
        importlib.import_module(name)
    make_reads_yield()
    # Python warns when it runs as a program what is imported already.
    del sys.modules["hermes.testing.model_server"]
    gc.collect()
    gc.freeze()


def main(listener: socket.socket) -> None:
    """Fork for whoever connects."""
    _prepare()
    order = WarmServer(listener).run()
    if order is not None:
        _become(order)
        _end(_exit_code(order))


if __name__ == "__main__":
    main(socket.socket(fileno=int(sys.argv[1])))
