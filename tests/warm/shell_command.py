"""`hermes` for a shell: gives its arguments and streams to the warm interpreter and ends as it ends.

It is run without site packages, since it starts many times, and imports nothing of this repository.
"""

import json
import os
import signal
import socket
import struct
import sys

HEAD = struct.Struct("!I")


def main(place: str) -> int:
    """Run `hermes` by the warm interpreter at `place`."""
    order = {
        "arguments": ["-m", "hermes", *sys.argv[1:]],
        "environ": dict(os.environ),  # noqa: TID251  handed on unread
        "folder": os.getcwd(),  # noqa: PTH109  pathlib takes as long as all the rest
    }
    body = json.dumps(order).encode()
    with socket.socket(socket.AF_UNIX) as server:
        server.connect(place)
        socket.send_fds(server, [HEAD.pack(len(body))], [0, 1, 2])
        server.sendall(body)
        (pid,) = HEAD.unpack(server.recv(HEAD.size))
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda number, _frame: os.kill(pid, number))
        (status,) = HEAD.unpack(server.recv(HEAD.size))
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main(sys.argv.pop(1)))
