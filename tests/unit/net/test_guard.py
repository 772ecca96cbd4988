"""The guard on addresses that strangers choose (W34): literal, by name, and at every redirect."""

import socket

import pytest
from aiohttp.abc import AbstractResolver, ResolveResult

from hermes.errors import AddressRefused
from hermes.net.client import MAX_REDIRECTS, HttpClient, HttpSettings
from hermes.net.guard import Guard
from tests.unit.net.loopback import answer, serving

INSIDE = [
    "127.0.0.1",
    "127.8.9.1",
    "0.0.0.0",
    "10.1.2.3",
    "172.16.0.1",
    "192.168.1.1",
    "169.254.169.254",
    "100.64.0.1",
    "100.100.100.200",
    "168.63.129.16",
    "192.0.2.1",
    "198.18.0.1",
    "224.0.0.1",
    "240.0.0.1",
    "255.255.255.255",
    "::",
    "::1",
    "::ffff:127.0.0.1",
    "::ffff:169.254.169.254",
    "64:ff9b::7f00:1",
    "2002:7f00:1::",
    "fe80::1",
    "fe80::1%eth0",
    "fc00::1",
    "fd00:ec2::254",
    "ff02::1",
    "2001:db8::1",
]


class NamesTo(AbstractResolver):
    """A resolver that answers each look-up of a name with the next of its addresses."""

    def __init__(self, **addresses: list[str]) -> None:
        self.addresses = {name.replace("_", "."): left for name, left in addresses.items()}

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        left = self.addresses[host]
        address = left.pop(0) if len(left) > 1 else left[0]
        kind = socket.AF_INET6 if ":" in address else socket.AF_INET
        return [
            ResolveResult(hostname=host, host=address, port=port, family=kind, proto=0, flags=0)
        ]

    async def close(self) -> None:
        return None


@pytest.mark.req("W34")
@pytest.mark.parametrize("address", INSIDE)
def test_addresses_inside_are_refused(address):
    assert not Guard().allows(address)


@pytest.mark.req("W34")
@pytest.mark.parametrize(
    "address", ["1.1.1.1", "93.184.216.34", "2606:4700::1111", "::ffff:1.1.1.1"]
)
def test_public_addresses_are_allowed(address):
    assert Guard().allows(address)


@pytest.mark.req("W34")
def test_an_exempt_network_is_open_and_nothing_beside_it():
    guard = Guard(("10.1.0.0/16",))

    assert (guard.allows("10.1.2.3"), guard.allows("10.2.2.3")) == (True, False)


@pytest.mark.req("W34")
@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1/",
        "http://[::1]/",
        "http://[::ffff:10.0.0.1]/",
        "http://169.254.169.254/latest/meta-data",
        "http://2130706433/",
        "http://0x7f.1/",
        "http://127.1/",
        "file:///etc/passwd",
        "ftp://1.1.1.1/",
        "gopher://1.1.1.1/",
        "//1.1.1.1/",
    ],
)
async def test_an_untrusted_call_to_such_an_address_is_refused(url):
    client = HttpClient(HttpSettings())

    with pytest.raises(AddressRefused):
        async with client.request("fetch", "GET", url, trusted=False):
            pass

    await client.close()


@pytest.mark.req("W34")
async def test_a_name_is_judged_by_the_address_it_leads_to():
    client = HttpClient(HttpSettings(), resolver=NamesTo(inner_test=["192.168.0.9"]))

    with pytest.raises(AddressRefused, match=r"inner\.test"):
        async with client.request("fetch", "GET", "http://inner.test/", trusted=False):
            pass

    await client.close()


@pytest.mark.req("W34")
async def test_a_name_that_changes_its_address_between_calls_is_judged_each_time():
    async def handle(_head, writer):
        writer.write(answer("200 OK", b"first", Connection="close"))

    names = NamesTo(rebind_test=["127.0.0.1", "10.0.0.1"])
    client = HttpClient(HttpSettings(exempt=("127.0.0.1/32",)), resolver=names)
    async with serving(handle) as port:
        url = f"http://rebind.test:{port}/"
        async with client.request("fetch", "GET", url, trusted=False) as response:
            first = await response.read(100)
        with pytest.raises(AddressRefused):
            async with client.request("fetch", "GET", url, trusted=False):
                pass

    await client.close()
    assert first == b"first"


@pytest.mark.req("W34")
@pytest.mark.parametrize(
    "target", ["http://10.0.0.1/", "http://inner.test/", "file:///etc/passwd", "http://[::1]/"]
)
async def test_a_redirect_is_judged_like_a_first_address(target):
    async def handle(_head, writer):
        writer.write(answer("302 Found", Location=target))

    client = HttpClient(
        HttpSettings(exempt=("127.0.0.1/32",)), resolver=NamesTo(inner_test=["172.16.0.1"])
    )
    async with serving(handle) as port:
        with pytest.raises(AddressRefused):
            async with client.request("fetch", "GET", f"http://127.0.0.1:{port}/", trusted=False):
                pass

    await client.close()


@pytest.mark.req("W34")
async def test_redirects_are_followed_to_an_end_and_credentials_stay_behind():
    heads: list[bytes] = []

    async def land(head, writer):
        heads.append(head)
        writer.write(answer("200 OK", b"landed"))

    async with serving(land) as landing:

        async def bounce(head, writer):
            heads.append(head)
            there = f"http://127.0.0.1:{landing}/end" if b"/next" in head else "/next"
            writer.write(answer("301 Moved", Location=there))

        client = HttpClient(HttpSettings(exempt=("127.0.0.1/32",)))
        async with (
            serving(bounce) as port,
            client.request(
                "fetch",
                "GET",
                f"http://127.0.0.1:{port}/",
                headers={
                    "Authorization": "Bearer hidden",
                    "X-Api-Key": "hidden",
                    "X-Goog-Api-Key": "hidden",
                    "X-Kept": "1",
                },
                trusted=False,
            ) as response,
        ):
            body = await response.read(100)
        await client.close()

    assert body == b"landed"
    assert [b"hidden" in head for head in heads] == [True, True, False]
    assert b"X-Kept: 1" in heads[-1]


@pytest.mark.req("W34")
async def test_endless_redirects_are_given_up():
    visits: list[bytes] = []

    async def handle(head, writer):
        visits.append(head)
        writer.write(answer("302 Found", Location="/again"))

    client = HttpClient(HttpSettings(exempt=("127.0.0.1/32",)))
    async with serving(handle) as port:
        with pytest.raises(AddressRefused, match="redirects more than 5"):
            async with client.request("fetch", "GET", f"http://127.0.0.1:{port}/", trusted=False):
                pass

    await client.close()
    assert len(visits) == MAX_REDIRECTS + 1


@pytest.mark.req("W34")
async def test_an_untrusted_call_never_goes_through_the_proxy():
    async def handle(_head, writer):
        writer.write(answer("200 OK", b"proxied"))

    async with serving(handle) as port:
        client = HttpClient(
            HttpSettings(proxy=f"http://127.0.0.1:{port}"),
            resolver=NamesTo(inner_test=["10.0.0.1"]),
        )
        with pytest.raises(AddressRefused):
            async with client.request("fetch", "GET", "http://inner.test/", trusted=False):
                pass
        await client.close()
