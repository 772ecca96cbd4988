"""Untrusted calls over the one client (W34): every hop judged, bounded in time and size."""

import asyncio
import gzip
import socket
import tracemalloc
from collections.abc import AsyncIterator

import pytest
from aiohttp.abc import AbstractResolver, ResolveResult

from hermes.errors import AddressRefused, AnswerLost, AnswerTooLarge, NetError
from hermes.message.link_hosts import is_listed
from hermes.net.client import HttpClient, HttpSettings
from hermes.net.name_lookup import ThreadLookup
from hermes.net.redirects import MAX_REDIRECTS
from tests.unit.net.loopback import answer, serving

OPEN = ("127.0.0.1/32",)
LOOPBACK = ("127.0.0.0/8", "::1/128")


class NamesTo(AbstractResolver):
    """A resolver that answers each look-up of a name with the next of its addresses."""

    def __init__(self, **addresses: list[str]) -> None:
        self.addresses = {name.replace("_", "."): left for name, left in addresses.items()}
        self.asked: list[str] = []

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        self.asked.append(host)
        left = self.addresses[host]
        found = (left.pop(0) if len(left) > 1 else left[0]).split()
        kinds = [socket.AF_INET6 if ":" in address else socket.AF_INET for address in found]
        return [
            ResolveResult(hostname=host, host=address, port=port, family=kind, proto=0, flags=0)
            for address, kind in zip(found, kinds, strict=True)
        ]

    async def close(self) -> None:
        return None


@pytest.fixture
async def client() -> AsyncIterator[HttpClient]:
    made = HttpClient(HttpSettings(exempt=OPEN, timeout_s=5))
    yield made
    await made.close()


async def fetch(client: HttpClient, url: str, *, limit: int = 1000, timeout_s: float = 5) -> bytes:
    async with client.request("fetch", "GET", url, timeout_s=timeout_s, trusted=False) as response:
        return await response.read(limit)


@pytest.mark.req("W34")
@pytest.mark.parametrize(
    "addresses",
    [
        "192.168.0.9",
        "127.0.0.1",
        "::1",
        "8.8.8.8 127.0.0.1",
        "127.0.0.1 8.8.8.8",
        "::ffff:10.0.0.1",
        "64:ff9b::a00:1",
        "fe80::1%2",
        "other.name",
    ],
)
async def test_a_name_is_judged_by_every_address_it_leads_to(addresses):
    client = HttpClient(HttpSettings(), resolver=NamesTo(inner_test=[addresses]))

    with pytest.raises(AddressRefused, match=r"inner\.test"):
        await fetch(client, "http://inner.test/")

    await client.close()


@pytest.mark.req("W34")
@pytest.mark.parametrize(
    ("host", "resolver"),
    [
        ("localhost", None),
        ("LOCALHOST", None),
        # Some systems know the name with its dot, others do not.
        ("localhost.", NamesTo(localhost_=["127.0.0.1"])),
    ],
)
async def test_this_machines_own_name_is_refused_and_its_server_never_reached(host, resolver):
    heads: list[bytes] = []

    async def handle(head: bytes, writer: asyncio.StreamWriter) -> None:
        heads.append(head)
        writer.write(answer("200 OK", b"inside", Connection="close"))

    guarded = HttpClient(HttpSettings(), resolver=resolver)
    open_to_it = HttpClient(HttpSettings(exempt=LOOPBACK), resolver=resolver)
    async with serving(handle) as port:
        with pytest.raises(AddressRefused):
            await fetch(guarded, f"http://{host}:{port}/")
        assert heads == []
        # Without the guard the same address is answered, so that the refusal is the guard's.
        assert await fetch(open_to_it, f"http://{host}:{port}/") == b"inside"

    await guarded.close()
    await open_to_it.close()


@pytest.mark.req("W34")
@pytest.mark.parametrize("url", ["http://2130706433/", "http://0x7f.1/", "http://127.1/"])
async def test_what_may_be_a_number_is_never_looked_up(url):
    names = NamesTo()
    client = HttpClient(HttpSettings(), resolver=names)

    with pytest.raises(AddressRefused):
        await fetch(client, url)

    await client.close()
    assert names.asked == []


@pytest.mark.req("W34")
async def test_a_name_that_changes_its_address_between_calls_is_judged_each_time():
    async def handle(_head, writer):
        writer.write(answer("200 OK", b"first", Connection="close"))

    names = NamesTo(rebind_test=["127.0.0.1", "10.0.0.1"])
    client = HttpClient(HttpSettings(exempt=OPEN), resolver=names)
    async with serving(handle) as port:
        url = f"http://rebind.test:{port}/"
        first = await fetch(client, url)
        with pytest.raises(AddressRefused):
            await fetch(client, url)

    await client.close()
    assert first == b"first"
    assert names.asked == ["rebind.test", "rebind.test"]


@pytest.mark.req("W34")
@pytest.mark.parametrize(
    "target",
    [
        "http://10.0.0.1/",
        "http://inner.test/",
        "file:///etc/passwd",
        "http://[::1]/",
        "//2130706433/",
        "http://8.8.8.8:22/",
        "http://user@8.8.8.8/",
        "http://xn--a.test/",
        "/\xff\xfe",
    ],
)
async def test_a_redirect_is_judged_like_a_first_address(target):
    heads: list[bytes] = []

    async def handle(head, writer):
        heads.append(head)
        writer.write(answer("302 Found", Location=target.encode("latin-1").decode("latin-1")))

    client = HttpClient(HttpSettings(exempt=OPEN), resolver=NamesTo(inner_test=["172.16.0.1"]))
    async with serving(handle) as port:
        with pytest.raises(NetError):
            await fetch(client, f"http://127.0.0.1:{port}/")

    await client.close()
    assert len(heads) <= MAX_REDIRECTS + 1


@pytest.mark.req("W34")
async def test_redirects_are_followed_to_an_end_and_credentials_stay_behind(client):
    heads: list[bytes] = []

    async def land(head, writer):
        heads.append(head)
        writer.write(answer("200 OK", b"landed"))

    async with serving(land) as landing:

        async def bounce(head, writer):
            heads.append(head)
            there = f"http://127.0.0.1:{landing}/end#f" if b"/next" in head else "/next"
            writer.write(answer("301 Moved", Location=there))

        secrets = {"Authorization": "Bearer hidden", "X-Api-Key": "hidden", "X-Own": "hidden"}
        async with (
            serving(bounce) as port,
            client.request(
                "fetch",
                "GET",
                f"http://127.0.0.1:{port}/",
                headers={**secrets, "Accept": "text/html"},
                trusted=False,
            ) as response,
        ):
            body, url = await response.read(100), response.url

    assert (body, url) == (b"landed", f"http://127.0.0.1:{landing}/end")
    assert [b"hidden" in head for head in heads] == [True, True, False]
    assert b"Accept: text/html" in heads[-1]


@pytest.mark.req("W34")
async def test_endless_redirects_are_given_up(client):
    visits: list[bytes] = []

    async def handle(head, writer):
        visits.append(head)
        writer.write(answer("302 Found", Location="/again"))

    async with serving(handle) as port:
        with pytest.raises(AddressRefused, match="redirects more than 5"):
            await fetch(client, f"http://127.0.0.1:{port}/")

    assert len(visits) == MAX_REDIRECTS + 1


@pytest.mark.req("W34")
async def test_the_time_limit_is_that_of_all_redirects_together(client):
    visits = 0
    loop = asyncio.get_running_loop()

    async def handle(_head, writer):
        nonlocal visits
        visits += 1
        late = answer("302 Found", Location="/again")
        loop.call_later(0.15, writer.write, late)

    async with serving(handle) as port:
        with pytest.raises(AnswerLost, match="did not come in time"):
            await fetch(client, f"http://127.0.0.1:{port}/", timeout_s=0.4)

    assert visits <= 3


@pytest.mark.req("W34")
async def test_an_answer_that_falls_silent_is_given_up():
    async def handle(_head, writer):
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")

    client = HttpClient(HttpSettings(exempt=OPEN, idle_s=0.05))
    async with serving(handle) as port:
        async with asyncio.timeout(20):
            with pytest.raises(AnswerLost, match="did not come in time"):
                await fetch(client, f"http://127.0.0.1:{port}/", timeout_s=60)

    await client.close()


@pytest.mark.req("W34")
async def test_an_answer_that_trickles_is_given_up_at_the_time_limit(client):
    loop = asyncio.get_running_loop()

    async def handle(_head, writer):
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")

        def drop() -> None:
            writer.write(b"x")
            loop.call_later(0.02, drop)

        drop()

    async with serving(handle) as port:
        with pytest.raises(AnswerLost, match="did not come in time"):
            await fetch(client, f"http://127.0.0.1:{port}/", timeout_s=0.2)


@pytest.mark.req("W34")
@pytest.mark.parametrize("coding", ["gzip", "deflate"])
async def test_a_small_answer_that_unpacks_to_a_huge_one_stops_at_the_limit(client, coding):
    packed = gzip.compress(bytes(200_000_000), 9)
    if coding == "deflate":
        packed = packed[10:-8]

    async def handle(_head, writer):
        writer.write(answer("200 OK", packed, **{"Content-Encoding": coding}))

    async with serving(handle) as port:
        tracemalloc.start()
        with pytest.raises(AnswerTooLarge):
            await fetch(client, f"http://127.0.0.1:{port}/", limit=1_000_000)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()

    assert peak < 20_000_000


@pytest.mark.req("W34")
@pytest.mark.parametrize(
    "head",
    [
        b"HTTP/1.1 200 OK\r\n" + b"X-A: b\r\n" * 5000 + b"\r\n",
        b"HTTP/1.1 200 OK\r\nX-A: " + b"b" * 100_000 + b"\r\n\r\n",
        b"HTTP/1.1 200 " + b"K" * 100_000 + b"\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nnope",
        b"\x00\x01\x02 no http at all\r\n\r\n",
    ],
)
async def test_an_answer_that_is_none_is_lost(client, head):
    async def handle(_head, writer):
        writer.write(head)

    async with serving(handle) as port:
        with pytest.raises(AnswerLost):
            await fetch(client, f"http://127.0.0.1:{port}/")


@pytest.mark.req("W34")
async def test_an_untrusted_call_never_goes_through_the_proxy():
    heads: list[bytes] = []

    async def handle(head, writer):
        heads.append(head)
        writer.write(answer("200 OK", b"proxied"))

    async with serving(handle) as port:
        client = HttpClient(
            HttpSettings(proxy=f"http://127.0.0.1:{port}", exempt=OPEN),
            resolver=NamesTo(inner_test=["10.0.0.1"], outer_test=["127.0.0.1"]),
        )
        with pytest.raises(AddressRefused):
            await fetch(client, "http://inner.test/")
        await fetch(client, f"http://outer.test:{port}/page")
        await client.close()

    assert [head.split(b" ")[1] for head in heads] == [b"/page"]


@pytest.mark.req("W34", "W35")
@pytest.mark.parametrize(
    "url", ["http://[::1", "http://a:99999/", "http://", "\x00", "x" * 9000, "http://xn--a.test/"]
)
async def test_what_is_no_address_is_refused_without_being_told_again(client, url):
    with pytest.raises(AddressRefused) as caught:
        await fetch(client, url)

    assert url not in str(caught.value)


@pytest.mark.req("W34")
async def test_names_are_looked_up_on_threads_of_their_own():
    lookup = ThreadLookup(threads=1)

    found = await lookup.resolve("localhost", 80, socket.AF_UNSPEC)

    await lookup.close()
    assert {result["host"] for result in found} <= {"127.0.0.1", "::1"}
    assert found
    with pytest.raises(RuntimeError):
        await lookup.resolve("localhost", 80, socket.AF_UNSPEC)


@pytest.mark.req("W20", "W34")
@pytest.mark.parametrize("url", ["http://listed.test:{0}/", "http://other.test:{0}/"])
async def test_no_hop_leaves_the_hosts_that_a_caller_may_ask(url: str) -> None:
    heads: list[bytes] = []

    async def handle(head, writer):
        heads.append(head)
        port = writer.get_extra_info("sockname")[1]
        writer.write(answer("302 Found", Location=f"http://other.test:{port}/?d=secret"))

    names = NamesTo(listed_test=["127.0.0.1"], other_test=["127.0.0.1"])
    client = HttpClient(HttpSettings(exempt=OPEN, timeout_s=5), resolver=names)
    async with serving(handle) as port:
        call = client.request(
            "media",
            "GET",
            url.format(port),
            trusted=False,
            may_ask=lambda host: host == "listed.test",
        )
        with pytest.raises(AddressRefused, match=r"other\.test is not a host that may be called"):
            await call.__aenter__()

    await client.close()
    assert [b"secret" in head for head in heads] == [False] * len(heads)
    assert "other.test" not in names.asked


@pytest.mark.req("W20", "W34")
@pytest.mark.parametrize("entry", ["bücher.test", "xn--bcher-kva.test"])
@pytest.mark.parametrize("host", ["bücher.test", "xn--bcher-kva.test"])
async def test_a_caller_is_asked_about_a_host_by_its_ascii_name(entry: str, host: str) -> None:
    async def handle(_head, writer):
        writer.write(answer("200 OK", b"here", Connection="close"))

    names = NamesTo(**{"xn--bcher-kva_test": ["127.0.0.1"]})
    client = HttpClient(HttpSettings(exempt=OPEN, timeout_s=5), resolver=names)
    async with (
        serving(handle) as port,
        client.request(
            "media",
            "GET",
            f"http://{host}:{port}/",
            trusted=False,
            may_ask=lambda name: is_listed(name, (entry,)),
        ) as response,
    ):
        body = await response.read(100)

    await client.close()
    assert body == b"here"
