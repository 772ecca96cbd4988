"""A network of its own for one test: only loopback, and a name server that changes its mind.

Run as a program inside `unshare --net --mount`, with the number of tries. There the system's own
resolver asks the flipping server, every loopback port is watched, and the public numbers are those
of the real internet, to which there is no way. Prints how the tries ended.
"""

import asyncio
import fcntl
import socket
import struct
import subprocess
import sys
import tempfile
from collections import Counter
from contextlib import AsyncExitStack
from pathlib import Path

from hermes.errors import NetError
from hermes.net.client import HttpClient, HttpSettings
from tests.system.flipping_dns import has_ipv6, serving_names

_GET_FLAGS, _SET_FLAGS, _UP = 0x8913, 0x8914, 0x1
PORT = 8080
ANSWERS = (
    ["93.184.216.34"],
    ["127.0.0.1"],
    ["93.184.216.34", "2606:4700::1111"],
    ["::1"],
    ["8.8.8.8", "127.0.0.1"],
    ["8.8.8.8", "::ffff:127.0.0.1"],
)


def bring_up_loopback() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        wish = struct.pack("16sh", b"lo", 0)
        flags = struct.unpack("16sh", fcntl.ioctl(probe, _GET_FLAGS, wish))[1]
        fcntl.ioctl(probe, _SET_FLAGS, struct.pack("16sh", b"lo", flags | _UP))


def ask_only_here() -> None:
    with tempfile.NamedTemporaryFile("w", suffix=".conf", delete=False) as file:
        file.write("nameserver 127.0.0.1\noptions timeout:1 attempts:1\n")
    target = str(Path("/etc/resolv.conf").resolve())
    subprocess.run(["mount", "--bind", file.name, target], check=True, capture_output=True)


async def count(tries: int) -> None:
    accepted = 0

    async def accept(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal accepted
        accepted += 1
        writer.close()

    ends: Counter[str] = Counter()
    client = HttpClient(HttpSettings(connect_timeout_s=5))
    async with AsyncExitStack() as stack:
        names, _ = await stack.enter_async_context(serving_names(ANSWERS, port=53))
        for host in ("127.0.0.1", *(("::1",) if has_ipv6() else ())):
            await stack.enter_async_context(await asyncio.start_server(accept, host, PORT))
        for number in range(tries):
            url = f"http://flip{number}.example:{PORT}/"
            try:
                async with client.request("fetch", "GET", url, trusted=False):
                    ends["Answered"] += 1
            except NetError as error:
                ends[type(error).__name__] += 1
        await client.close()
        # The barrier: whoever connects here is counted.
        reader, writer = await asyncio.open_connection("127.0.0.1", PORT)
        await reader.read()
        writer.close()
    asked = {name for name, _ in names.asked}
    told = {"asked": len(asked), "accepted": accepted - 1, **dict(sorted(ends.items()))}
    print(*(f"{name}={value}" for name, value in told.items()))  # noqa: T201 - its output


if __name__ == "__main__":
    bring_up_loopback()
    ask_only_here()
    asyncio.run(count(int(sys.argv[1])))
