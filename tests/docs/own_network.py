"""Keeps a network namespace in which nothing else runs, so that a page's port 8080 is free.

Run as `unshare --net python own_network.py FD`: it brings the loopback up, sends a listening socket
of that network through the Unix socket FD, and stays until the other end closes.
"""

import fcntl
import socket
import struct
import sys

_SET_FLAGS = 0x8914
_UP_AND_RUNNING = 0x41


def main(given: int) -> None:
    """Hold the network for the caller."""
    with socket.socket() as control:
        request = struct.pack("16sH22x", b"lo", _UP_AND_RUNNING)
        fcntl.ioctl(control, _SET_FLAGS, request)
    with socket.socket(fileno=given) as caller, socket.create_server(("127.0.0.1", 0)) as listener:
        socket.send_fds(caller, [b"1"], [listener.fileno()])
        caller.recv(1)


if __name__ == "__main__":
    main(int(sys.argv[1]))
