"""The one outbound client: answers, limits, failpoints, and failures told apart."""

import asyncio
import datetime as dt
import ipaddress
import socket
import ssl
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from hermes import failpoints
from hermes.errors import (
    AddressRefused,
    AnswerLost,
    AnswerTooLarge,
    ConnectFailed,
    TlsFailed,
)
from hermes.net.client import NO_LIMIT, HttpClient, HttpSettings
from tests.unit.net.loopback import answer, serving


@pytest.fixture
async def client():
    made = HttpClient(HttpSettings(timeout_s=5))
    yield made
    await made.close()


@pytest.fixture
def passed():
    names: list[str] = []
    failpoints.watch(names.append)
    yield names
    failpoints.disarm()


@pytest.mark.req("A26")
async def test_a_call_gives_status_headers_and_body_and_passes_both_failpoints(client, passed):
    heads: list[bytes] = []

    async def handle(head, writer):
        heads.append(head)
        writer.write(answer("201 Created", b'{"a":1}', **{"X-Mark": "yes"}))

    async with serving(handle) as port:
        url = f"http://127.0.0.1:{port}/p?q=1"
        async with client.request(
            "demo", "POST", url, headers={"X-Key": "k"}, body=b"hello", trusted=True
        ) as response:
            got = (response.status, response.headers["x-mark"], await response.read(100))

    assert got == (201, "yes", b'{"a":1}')
    assert heads[0].startswith(b"POST /p?q=1 HTTP/1.1\r\n")
    assert b"X-Key: k" in heads[0]
    assert b"User-Agent: hermes-gateway" in heads[0]
    assert passed == ["wire.demo.before", "wire.demo.after"]


@pytest.mark.req("A26")
async def test_one_connection_serves_many_calls(client):
    connections: set[asyncio.StreamWriter] = set()

    async def handle(_head, writer):
        connections.add(writer)
        writer.write(answer("200 OK", b"ok"))

    async with serving(handle) as port:
        for _ in range(5):
            async with client.request(
                "demo", "GET", f"http://127.0.0.1:{port}/", trusted=True
            ) as response:
                await response.read(10)

    assert len(connections) == 1


@pytest.mark.req("A26")
async def test_a_body_over_the_limit_is_refused(client):
    async def handle(_head, writer):
        writer.write(answer("200 OK", b"x" * 1000))

    async with serving(handle) as port:
        url = f"http://127.0.0.1:{port}/"
        async with client.request("demo", "GET", url, trusted=True) as response:
            with pytest.raises(AnswerTooLarge, match="exceeds 999 bytes"):
                await response.read(999)


async def test_lines_come_without_their_ends_and_are_bounded(client):
    async def handle(_head, writer):
        writer.write(answer("200 OK", b"one\r\ntwo\nlast"))

    async with serving(handle) as port:
        url = f"http://127.0.0.1:{port}/"
        async with client.request("demo", "GET", url, trusted=True) as response:
            lines = [line async for line in response.lines()]
        async with client.request("demo", "GET", url, trusted=True) as response:
            with pytest.raises(AnswerTooLarge):
                _ = [line async for line in response.lines(limit=2)]

    assert lines == [b"one", b"two", b"last"]


@pytest.mark.req("J17", "A26")
async def test_a_closed_port_is_a_connect_failure_without_the_address_path(client, passed):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]

    with pytest.raises(ConnectFailed) as caught:
        async with client.request(
            "demo", "POST", f"http://u:secret@127.0.0.1:{port}/bot123?token=abc", trusted=True
        ):
            pass

    assert not isinstance(caught.value, TlsFailed)
    assert "nothing was sent" in str(caught.value)
    assert not any(word in str(caught.value) for word in ("secret", "bot123", "abc"))
    assert passed == ["wire.demo.before", "wire.demo.after"]


@pytest.mark.req("J17", "A26")
async def test_a_connection_that_closes_before_the_answer_is_a_lost_answer(client):
    async def handle(_head, writer):
        writer.close()

    async with serving(handle) as port:
        with pytest.raises(AnswerLost, match="was cut off"):
            async with client.request(
                "demo", "POST", f"http://127.0.0.1:{port}/", body=b"x", trusted=True
            ):
                pass


@pytest.mark.req("J17")
async def test_a_call_whose_kept_connection_closes_is_not_made_again(client):
    heads = []

    async def handle(head, writer):
        heads.append(head.partition(b" ")[0])
        if len(heads) > 1:
            writer.transport.abort()
        else:
            writer.write(answer("200 OK"))

    async with serving(handle) as port:
        url = f"http://127.0.0.1:{port}/"
        async with client.request("test", "PUT", url, trusted=True) as response:
            await response.read(100)
        with pytest.raises(AnswerLost):
            async with client.request("test", "PUT", url, trusted=True):
                pass

    assert heads == [b"PUT", b"PUT"]


@pytest.mark.req("J17", "A26")
async def test_an_answer_that_stops_in_the_middle_is_a_lost_answer(client):
    async def handle(_head, writer):
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
        writer.close()

    async with serving(handle) as port:
        url = f"http://127.0.0.1:{port}/"
        async with client.request("demo", "GET", url, trusted=True) as response:
            with pytest.raises(AnswerLost):
                await response.read(1000)


@pytest.mark.req("J17", "A26")
async def test_an_answer_that_is_late_is_a_lost_answer(client):
    async def handle(_head, _writer):
        await asyncio.Event().wait()

    async with serving(handle) as port:
        with pytest.raises(AnswerLost, match="did not come in time"):
            async with client.request(
                "demo", "POST", f"http://127.0.0.1:{port}/", timeout_s=0.05, trusted=True
            ):
                pass


@pytest.mark.req("J17", "W1")
async def test_a_certificate_that_nobody_vouches_for_is_a_tls_failure(client, tmp_path):
    async def handle(_head, writer):
        writer.write(answer("200 OK", b"never"))

    async with serving(handle, tls=_self_signed(tmp_path)) as port:
        with pytest.raises(TlsFailed, match="nothing was sent"):
            async with client.request("demo", "GET", f"https://127.0.0.1:{port}/", trusted=True):
                pass


@pytest.mark.req("W34")
async def test_a_trusted_address_follows_no_redirect(client):
    async def handle(_head, writer):
        writer.write(answer("302 Found", Location="http://127.0.0.1:1/"))

    async with serving(handle) as port:
        url = f"http://127.0.0.1:{port}/"
        async with client.request("demo", "GET", url, trusted=True) as response:
            assert response.status == 302


@pytest.mark.req("W1")
async def test_a_proxy_carries_trusted_calls(client):
    heads: list[bytes] = []

    async def handle(head, writer):
        heads.append(head.split(b"\r\n")[0])
        writer.write(answer("200 OK", b"by proxy"))

    async with serving(handle) as port:
        proxied = HttpClient(HttpSettings(proxy=f"http://127.0.0.1:{port}"))
        async with proxied.request("demo", "GET", "http://model.test/v1", trusted=True) as response:
            body = await response.read(100)
        await proxied.close()

    assert (heads, body) == ([b"GET http://model.test/v1 HTTP/1.1"], b"by proxy")


@pytest.mark.req("A9")
async def test_leaving_an_unread_stream_closes_its_connection(client):
    closed = asyncio.Event()

    async def on_connection(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n")
        await reader.read()
        closed.set()
        writer.close()

    server = await asyncio.start_server(on_connection, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"
    async with client.request("demo", "GET", url, timeout_s=NO_LIMIT, trusted=True) as response:
        first = await response.read_some()

    await asyncio.wait_for(closed.wait(), 5)
    server.close()
    assert first == b"hello"


async def test_something_that_is_no_address_is_refused(client):
    with pytest.raises(AddressRefused):
        async with client.request("demo", "GET", "ftp://127.0.0.1/x", trusted=True):
            pass


def _self_signed(folder: Path) -> ssl.SSLContext:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    start = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)
    address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(start)
        .not_valid_after(start + dt.timedelta(days=36500))
        .add_extension(x509.SubjectAlternativeName([address]), critical=False)
        .sign(key, hashes.SHA256())
    )
    file = folder / "server.pem"
    file.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
        + certificate.public_bytes(serialization.Encoding.PEM)
    )
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(file)
    return context
