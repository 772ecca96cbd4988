"""Strangers' addresses against real sockets: nothing on loopback is ever connected to (W34)."""

import asyncio
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from hermes.errors import AddressRefused, NetError
from hermes.net.client import HttpClient, HttpSettings
from tests.system.flipping_dns import DnsResolver, has_ipv6, serving_names
from tests.unit.net.hostile_addresses import CLOSED_SPELLINGS

IPV6 = ("::1",) if has_ipv6() else ()
ROOT = Path(__file__).parents[2]
TRIES = 1000
# Stands for the public internet: a loopback address that the operator has opened.
PUBLIC = "127.0.0.2"
LOOPBACK = [
    *("127.0.0.1", "127.1", "0", "0.0.0.0", "2130706433", "0x7f000001", "017700000001"),
    *("localhost", "LOCALHOST", "localhost.", "ip6-localhost", "[::1]", "[::]", "[::127.0.0.1]"),
    *("[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[64:ff9b::127.0.0.1]", "[2002:7f00:1::]"),
    *(
        "[::1%25lo]",
        "[0:0:0:0:0:0:0:1]",
        "１２７.０.０.１",
        "127。0。0。1",
        "127.0.0.1.",
        "ⓛocalhost",
    ),
    *("example.com@127.0.0.1", "127.0.0.%31", "127.0.0.1%00", "[fe80::1%251]"),
]


class Watched:
    """A port on every loopback address that nobody may connect to, and the public one beside it."""

    def __init__(self) -> None:
        self.port = 0
        self.accepted = 0
        self.served = 0
        self.location = ""

    async def trespass(self, _reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Count a connection to where none may be."""
        self.accepted += 1
        writer.close()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer as a public server does: with a page, or a redirect."""
        await reader.readuntil(b"\r\n\r\n")
        self.served += 1
        location = f"Location: {self.location}\r\n" if self.location else ""
        status = "302 Found" if location else "200 OK"
        head = f"HTTP/1.1 {status}\r\n{location}Connection: close\r\nContent-Length: 4\r\n\r\npage"
        writer.write(head.encode())
        writer.close()


@pytest.fixture
async def watched() -> AsyncIterator[Watched]:
    made = Watched()
    async with AsyncExitStack() as stack:
        server = await asyncio.start_server(made.trespass, "127.0.0.1", 0)
        await stack.enter_async_context(server)
        made.port = server.sockets[0].getsockname()[1]
        for host in ("127.0.0.3", *IPV6):
            await stack.enter_async_context(
                await asyncio.start_server(made.trespass, host, made.port)
            )
        await stack.enter_async_context(await asyncio.start_server(made.serve, PUBLIC, made.port))
        yield made


async def end_of(client: HttpClient, url: str) -> str:
    """Return how a fetch ends: with its body, or the name of its failure."""
    try:
        async with client.request("fetch", "GET", url, timeout_s=10, trusted=False) as response:
            return (await response.read(100)).decode()
    except NetError as error:
        return type(error).__name__


async def knock(watched: Watched) -> None:
    """Connect to the watched port: the barrier after which every earlier connection is counted."""
    reader, writer = await asyncio.open_connection("127.0.0.1", watched.port)
    await reader.read()
    writer.close()


@pytest.mark.req("W34")
async def test_no_spelling_of_loopback_is_connected_to(watched):
    client = HttpClient(HttpSettings())
    hosts = [*LOOPBACK, *(host for host in CLOSED_SPELLINGS if ":" not in host)]

    ends = {host: await end_of(client, f"http://{host}:{watched.port}/") for host in hosts}
    await knock(watched)

    await client.close()
    assert watched.accepted == 1
    # Not every machine knows these names.
    known = {ends.pop(name) for name in ("localhost.", "ip6-localhost")}
    assert known <= {"AddressRefused", "ConnectFailed"}
    assert set(ends.values()) == {"AddressRefused"}


@pytest.mark.req("W34")
async def test_no_redirect_leads_to_loopback(watched):
    client = HttpClient(HttpSettings(exempt=(f"{PUBLIC}/32",)))
    targets = [
        *(f"http://{host}:{watched.port}/" for host in LOOPBACK if host.isascii()),
        *(
            f"//127.0.0.1:{watched.port}/",
            f"http:\\\\127.0.0.1:{watched.port}/",
            "file:///etc/hosts",
        ),
    ]

    ends = []
    for watched.location in targets:
        ends.append(await end_of(client, f"http://{PUBLIC}:{watched.port}/"))
    await knock(watched)

    await client.close()
    assert (watched.accepted, watched.served) == (1, len(targets))
    assert set(ends) <= {"AddressRefused", "ConnectFailed"}


@pytest.mark.req("W34")
@pytest.mark.parametrize("closed", [["127.0.0.1"], ["::1"], [PUBLIC, "127.0.0.3"], [PUBLIC, "::1"]])
async def test_a_name_that_flips_between_public_and_loopback_never_reaches_loopback(
    watched, closed
):
    # given a name server that answers with the public address or a closed one
    async with serving_names([[PUBLIC], closed]) as (names, dns_port):
        resolver = DnsResolver(dns_port)
        client = HttpClient(HttpSettings(exempt=(f"{PUBLIC}/32",)), resolver=resolver)

        # when 1,000 fetches are made, several at a time
        url = f"http://flip.example:{watched.port}/"
        ends: Counter[str] = Counter()
        for _ in range(TRIES // 10):
            ends.update(await asyncio.gather(*(end_of(client, url) for _ in range(10))))
        await knock(watched)
        await client.close()

    # then those that saw the public answer are served by it, and nobody else by anything
    assert watched.accepted == 1
    assert set(ends) == {"page", "AddressRefused"}
    assert ends["page"] == watched.served
    assert min(ends.values()) > TRIES / 10
    # and every fetch has asked once for each family: what was checked is what was connected to
    assert len(names.asked) == 2 * TRIES


@pytest.mark.req("W34")
@pytest.mark.skipif(shutil.which("unshare") is None, reason="no unshare here: install util-linux")
def test_the_systems_own_resolver_is_guarded_as_well():
    command = ["unshare", "--map-root-user", "--net", "--mount", sys.executable]
    if subprocess.run([*command, "-c", ""], capture_output=True, check=False).returncode:
        pytest.skip("this machine gives no namespaces to its users")

    done = subprocess.run(
        [*command, "-m", "tests.system.ssrf_namespace", str(TRIES)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )

    told = dict(pair.split("=") for pair in done.stdout.split())
    assert done.stderr == ""
    assert (told["asked"], told["accepted"]) == (str(TRIES), "0")
    assert "Answered" not in told
    assert int(told["AddressRefused"]) + int(told["ConnectFailed"]) == TRIES
    assert min(int(told["AddressRefused"]), int(told["ConnectFailed"])) > TRIES / 10


@pytest.mark.req("W34")
async def test_an_open_loopback_address_can_be_fetched_so_the_tests_above_can_fail(watched):
    client = HttpClient(HttpSettings(exempt=("127.0.0.1/32",)))

    with pytest.raises(NetError) as caught:
        async with client.request(
            "fetch", "GET", f"http://127.0.0.1:{watched.port}/", trusted=False
        ):
            pass

    await client.close()
    assert not isinstance(caught.value, AddressRefused)
    assert watched.accepted >= 1
