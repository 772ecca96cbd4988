"""The way from inside the sandbox to the models: a port of its own loopback to a socket that is shown.

The sandbox has no network. `INSIDE` is a program that runs there: it listens on a port, starts the
real program, and passes each connection on to the socket.
"""

import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

import msgspec

# Where a program finds the folder with the socket, and its name.
DOOR: Final = "/models"
SOCKET: Final = "v1.sock"
PORT: Final = 8080
_MOST: Final = 64
INSIDE: Final = f"""
import os, select, socket, sys, threading
listener = socket.create_server(("127.0.0.1", {PORT}), backlog={_MOST})
if os.fork():
    listener.close()
    os.execvp(sys.argv[2], sys.argv[2:])
null = os.open("/dev/null", os.O_RDWR)
for number in (0, 1, 2):
    os.dup2(null, number)
places = threading.BoundedSemaphore({_MOST})
def carry(one, other):
    try:
        while data := one.recv(65536):
            other.sendall(data)
    except OSError:
        pass
    for end in (one, other):
        try:
            end.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
def serve(caller):
    with caller, socket.socket(socket.AF_UNIX) as models:
        try:
            models.connect(sys.argv[1])
        except OSError:
            places.release()
            return
        back = threading.Thread(target=carry, args=(models, caller), daemon=True)
        back.start()
        carry(caller, models)
        back.join()
    places.release()
while True:
    places.acquire()
    caller, _ = listener.accept()
    threading.Thread(target=serve, args=(caller,), daemon=True).start()
"""


class ModelAccess(msgspec.Struct, frozen=True):
    """Where the models of the gateway are called: at a socket in a folder, and at an address."""

    folder: Path
    address: str


OpenModels = Callable[[], Awaitable[ModelAccess]]


def interpreter() -> Path:
    """Return the Python that runs the relay: this process's own, without its environment."""
    return Path(sys.executable).resolve()


def interpreter_folder() -> Path:
    """Return where that Python has its library."""
    return Path(sys.base_prefix).resolve()


def relayed(program: tuple[str, ...]) -> tuple[str, ...]:
    """Return the command line that starts a program behind the relay."""
    return (str(interpreter()), "-I", "-S", "-c", INSIDE, f"{DOOR}/{SOCKET}", *program)
