"""`net.ca_bundle`: every client of a gateway trusts the operator's own certificate authority."""

import asyncio
import datetime as dt
import ipaddress
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import suppress
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from hermes.app.adapters import make_client, make_mcp
from hermes.app.platforms import make_one
from hermes.config import Settings, load
from hermes.errors import ConfigurationError, HermesError
from hermes.message.event import MessageEvent
from hermes.plugins.loader import load_plugin
from hermes.plugins.registry import Registry
from hermes.ports.channel import Acceptance
from hermes.ports.clock import SystemClock
from hermes.testing.channel_state import memory_state
from hermes.testing.setup_channel import MemoryFiles

pytestmark = pytest.mark.req("W1")

_START = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)
_REFUSAL = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


class TlsServer:
    """Counts the clients that trust it; says no in HTTP and closes."""

    def __init__(self, folder: Path) -> None:
        self.bundle = folder / "ca.pem"
        self._context = _certified(folder, self.bundle)
        self.port = 0
        self.trusted_by = 0

    async def serve(self) -> AsyncIterator["TlsServer"]:
        server = await asyncio.start_server(self._greet, "127.0.0.1", 0, ssl=self._context)
        self.port = server.sockets[0].getsockname()[1]
        async with server:
            yield self

    async def _greet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.trusted_by += 1
        with suppress(OSError):
            await reader.read(1)
            writer.write(_REFUSAL)
            await writer.drain()
        writer.close()


@pytest.fixture
async def server(tmp_path):
    async for one in TlsServer(tmp_path).serve():
        yield one


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _certificate(
    subject: str,
    key: ec.EllipticCurvePrivateKey,
    signer: ec.EllipticCurvePrivateKey,
    *,
    is_ca: bool,
) -> x509.Certificate:
    address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    return (
        x509.CertificateBuilder(_name("house CA"), _name(subject), key.public_key(), 1 + is_ca)
        .not_valid_before(_START)
        .not_valid_after(_START + dt.timedelta(days=36_500))
        .add_extension(x509.BasicConstraints(ca=is_ca, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([address]), critical=False)
        .sign(signer, hashes.SHA256())
    )


def _certified(folder: Path, bundle: Path) -> ssl.SSLContext:
    """Write the bundle of a new authority; return the context of a server that it vouches for."""
    authority, own = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    root = _certificate("house CA", authority, authority, is_ca=True)
    leaf = _certificate("127.0.0.1", own, authority, is_ca=False)
    pem = serialization.Encoding.PEM
    bundle.write_bytes(root.public_bytes(pem))
    file = folder / "server.pem"
    private = own.private_bytes(
        pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    file.write_bytes(private + leaf.public_bytes(pem))
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(file)
    return context


async def _http(settings: Settings, port: int) -> None:
    client = make_client(settings)
    try:
        async with client.request("demo", "GET", f"https://127.0.0.1:{port}/", trusted=True):
            pass
    finally:
        await client.close()


async def _accept(event: MessageEvent) -> Acceptance:
    return Acceptance(message_id=event.external_id)


async def _channel(name: str, settings: Settings) -> None:
    registry = Registry()
    load_plugin("hermes.contrib.irc", registry, home=Path("/nowhere"))
    client = make_client(settings)
    channel = make_one(
        name,
        settings,
        registry,
        client=client,
        state=memory_state(name),
        clock=SystemClock(),
        media_cache=MemoryFiles(),
    )
    try:
        await channel.connect(_accept)
    finally:
        await channel.disconnect()
        await client.close()


async def _irc(settings: Settings, port: int, host: str = "127.0.0.1") -> None:
    await _channel("irc", _with(settings, "irc", {"server": host, "port": port, "tls": True}))


async def _matrix(settings: Settings, port: int) -> None:
    extra = {
        "homeserver": f"https://127.0.0.1:{port}",
        "access_token": "secret",
        "user_id": "@bot:house.test",
    }
    await _channel("matrix", _with(settings, "matrix", extra))


async def _mail(settings: Settings, port: int, host: str = "127.0.0.1") -> None:
    extra = {
        "address": "bot@house.test",
        "password": "secret",
        "imap_host": "127.0.0.1",
        "smtp_host": host,
        "imap_security": "tls",
        "smtp_security": "tls",
        "trust": "none",
        "smtp_port": port,
    }
    await _channel("email", _with(settings, "email", extra))


async def _mcp(settings: Settings, port: int) -> None:
    server = {"url": f"https://127.0.0.1:{port}/mcp", "connect_timeout_s": 5}
    table = {**settings.model_dump(exclude_unset=True), "mcp": {"servers": {"house": server}}}
    servers = make_mcp(
        Settings.model_validate(table), clock=SystemClock(), tell=lambda *_: None, home=Path()
    )
    try:
        await servers.start()
    finally:
        await servers.stop()


def _with(settings: Settings, name: str, extra: Mapping[str, object]) -> Settings:
    table = settings.model_dump(exclude_unset=True)
    return Settings.model_validate(
        {**table, "platforms": {name: {"enabled": True, "extra": extra}}}
    )


Dial = Callable[[Settings, int], Awaitable[None]]
_DIALS: list[Dial] = [_http, _irc, _matrix, _mail, _mcp]


@pytest.mark.parametrize("dial", _DIALS, ids=lambda one: one.__name__)
async def test_a_client_trusts_the_bundle(dial, server):
    with suppress(HermesError):
        await dial(Settings.model_validate({"net": {"ca_bundle": server.bundle}}), server.port)

    assert server.trusted_by >= 1


@pytest.mark.parametrize("dial", _DIALS, ids=lambda one: one.__name__)
async def test_without_it_nobody_trusts_that_server(dial, server):
    with suppress(HermesError):
        await dial(Settings(), server.port)

    assert server.trusted_by == 0


@pytest.mark.parametrize(
    "variable", ["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "HERMES_NET__CA_BUNDLE"]
)
def test_the_usual_variables_name_it(variable, server, tmp_path):
    loaded = load({variable: str(server.bundle)}, tmp_path / "home")

    assert loaded.settings.net.ca_bundle == server.bundle
    assert loaded.origins["net.ca_bundle"] == f"environment {variable}"


@pytest.mark.parametrize(
    ("content", "found"),
    [(None, "found none (No such file or directory)"), ("no certificate", "found none in it")],
)
def test_a_wrong_file_stops_the_start(content, found, tmp_path):
    path = tmp_path / "house.pem"
    if content is not None:
        path.write_text(content)

    with pytest.raises(ConfigurationError) as caught:
        load({"SSL_CERT_FILE": str(path)}, tmp_path / "home")

    text = str(caught.value)
    assert text.startswith("environment SSL_CERT_FILE: net.ca_bundle is ")
    assert text.endswith(
        f", expected a file of CA certificates in PEM format, {found}; correct the path, or remove it "
        "for the system's certificates"
    )


def test_a_path_that_depends_on_the_folder_of_the_start_is_refused(tmp_path):
    with pytest.raises(ConfigurationError, match="expected the full path of a file"):
        load({"SSL_CERT_FILE": "ca.pem"}, tmp_path / "home")


@pytest.fixture
async def ipv6_port():
    """A port of ::1 at which something listens that is no TLS server."""
    try:
        server = await asyncio.start_server(lambda _reader, writer: writer.close(), "::1", 0)
    except OSError:
        pytest.skip("this machine has no IPv6")
    async with server:
        yield server.sockets[0].getsockname()[1]


@pytest.mark.parametrize("dial", [_irc, _mail], ids=lambda one: one.__name__)
@pytest.mark.parametrize("ipv4_only", [False, True])
async def test_mail_and_irc_connect_over_ipv4_only_if_they_are_told(dial, ipv4_only, ipv6_port):
    with pytest.raises(HermesError) as caught:
        await dial(Settings(ipv4_only=ipv4_only), ipv6_port, "::1")

    assert ("gaierror" in str(caught.value) or "family" in str(caught.value)) is ipv4_only
