"""What a failed call means, in words that hold no path and no secret."""

import ssl

import aiohttp
import pytest
from aiohttp.client_reqrep import ConnectionKey
from yarl import URL

from hermes.errors import AddressRefused, AnswerLost, ConnectFailed, NetError, TlsFailed
from hermes.net.wire_failure import wire_failure

KEY = ConnectionKey("a.test", 443, True, True, None, None, None)
EXPIRED = ssl.SSLCertVerificationError(1, "verify failed")
EXPIRED.verify_message = "certificate has expired"


@pytest.mark.req("A26")
@pytest.mark.parametrize(
    ("error", "kind", "says"),
    [
        (aiohttp.ClientConnectorCertificateError(KEY, EXPIRED), TlsFailed, "certificate has expired"),
        (aiohttp.ClientConnectorCertificateError(KEY, ssl.CertificateError()), TlsFailed, "bad certificate"),
        (aiohttp.ClientConnectorSSLError(KEY, OSError(1, "eof")), TlsFailed, "handshake failed"),
        (aiohttp.InvalidURL("x"), AddressRefused, "not an http"),
        (aiohttp.ConnectionTimeoutError(), ConnectFailed, "no connection in time"),
        (aiohttp.ServerDisconnectedError(), AnswerLost, "cut off"),
    ],
)  # fmt: skip
def test_every_failure_is_translated_with_its_reason(
    error: Exception, kind: type[NetError], says: str
) -> None:
    found = wire_failure(error, name="house", url=URL("https://ann:secret@a.test/path?key=1"))

    assert type(found) is kind
    assert says in str(found)
    assert "a.test" in str(found)
    assert not {"secret", "path", "key=1"} & set(str(found).replace("/", " ").split())
