"""The child process that holds the engine: `python -m hermes.providers.local.worker JSON`.

Requests come as JSON lines on standard input, answers go out as JSON lines; when the input closes,
however the gateway ended, the process exits at once. It exists because the engine holds Python's
global lock while it loads, and because a fault in native code must not end the gateway. It knows
nothing about Hermes beyond these lines.
"""

import json
import os
import queue
import shutil
import sys
import tempfile
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NoReturn

# Any: the engine is untyped.
Engine = Any
Emit = Callable[[bytes], None]

_NICE = 5


def load(options: dict[str, Any]) -> Engine:
    """Return the loaded engine; its own HTTP listener is a socket that nobody can reach."""
    import xllamacpp  # noqa: PLC0415 - optional and heavy: only this process ever loads it

    params = xllamacpp.CommonParams()
    params.model.path = options["weights"]
    params.model_alias = {options["model"]}
    params.n_ctx = options["context_tokens"]
    params.n_parallel = 1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = options["threads"]
    params.verbosity = -1
    params.warmup = params.fit_params = params.ui = False
    params.cache_ram_mib = 0
    folder = tempfile.mkdtemp(prefix="hermes-model-")
    params.api_keys = [os.urandom(16).hex()]
    if sys.platform != "win32":
        params.hostnames = [os.path.join(folder, "listener.sock")]  # noqa: PTH118 - engine wants text
    try:
        return xllamacpp.Server(params)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class Worker:
    """Runs one generation at a time on its own thread; it can be stopped."""

    def __init__(self, engine: Engine, emit: Emit) -> None:
        self._engine = engine
        self._emit = emit
        self._waiting: queue.SimpleQueue[tuple[int, str]] = queue.SimpleQueue()
        self._cancelled = -1

    def start(self) -> None:
        """Begin to serve requests."""
        threading.Thread(target=self._run, daemon=True).start()

    def take(self, line: bytes) -> None:
        """Take one line of input: a request, or a request to cancel one."""
        order = json.loads(line)
        if "cancel" in order:
            self._cancelled = order["cancel"]
        else:
            self._waiting.put((order["id"], json.dumps(order["body"])))

    def _run(self) -> None:
        while True:
            number, body = self._waiting.get()
            self._generate(number, body)
            self._emit(b'{"id":%d,"end":true}\n' % number)

    def _generate(self, number: int, body: str) -> None:
        def on_chunk(chunk: str | dict[str, Any]) -> bool:
            text = chunk if isinstance(chunk, str) else json.dumps(chunk)
            self._emit(b'{"id":%d,"chunk":%s}\n' % (number, text.encode()))
            return self._cancelled >= number

        if self._cancelled >= number:
            return
        try:
            self._engine.handle_chat_completions(body, on_chunk)
        except Exception as error:  # noqa: BLE001 - the thread's boundary; the gateway logs it
            code = 400 if isinstance(error, ValueError) else 500
            on_chunk({"error": {"message": f"{type(error).__name__}: {error}", "code": code}})


def main(options: dict[str, Any]) -> NoReturn:
    """Load, then serve until standard input closes."""
    out = os.dup(1)
    os.dup2(2, 1)  # whatever native code prints must not mix with the answers

    def emit(line: bytes) -> None:
        while line:
            line = line[os.write(out, line) :]

    with suppress(OSError):
        os.nice(_NICE)
    try:
        worker = Worker(load(options), emit)
    except (ImportError, RuntimeError, OSError) as error:
        emit(json.dumps({"failed": f"{type(error).__name__}: {error}"}).encode() + b"\n")
        os._exit(1)
    worker.start()
    emit(b'{"ready":true}\n')
    for line in sys.stdin.buffer:
        worker.take(line)
    os._exit(0)  # at once, also in the middle of a generation


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
