"""What a failed wire call means for its caller: was it sent, and may it be retried.

The one client translates every error of its HTTP library here; its callers see no other error.
"""

import os

import aiohttp
from yarl import URL

from hermes.errors import AddressRefused, AnswerLost, ConnectFailed, NetError, TlsFailed


def wire_failure(error: Exception, *, name: str, url: URL) -> NetError:
    """Return what `error` means for the caller, without path, query or credentials."""
    host = url.raw_host or "an address without host"
    if isinstance(error, aiohttp.ClientSSLError | aiohttp.ServerFingerprintMismatch):
        return TlsFailed(
            f"{name}: {host} did not prove its identity by TLS ({_tls_reason(error)}); nothing was"
            " sent. Check the address, its certificate and the CA bundle"
        )
    if isinstance(error, aiohttp.InvalidURL | aiohttp.NonHttpUrlClientError):
        return AddressRefused(f"{name}: {host} is not an http(s) address; nothing was sent")
    if isinstance(
        error,
        aiohttp.ClientConnectorError
        | aiohttp.ConnectionTimeoutError
        | aiohttp.ClientHttpProxyError,
    ):
        return ConnectFailed(
            f"{name}: cannot connect to {host} ({_connect_reason(error)}); nothing was sent. Check"
            " that the address is right and the service is up"
        )
    if isinstance(error, TimeoutError):
        return AnswerLost(
            f"{name}: the request to {host} was sent, its answer did not come in time"
        )
    return AnswerLost(f"{name}: the request to {host} was sent, its answer was cut off")


def _tls_reason(error: Exception) -> str:
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        inner = error.certificate_error
        return getattr(inner, "verify_message", None) or "bad certificate"
    return "handshake failed"


def _connect_reason(error: Exception) -> str:
    if isinstance(error, aiohttp.ConnectionTimeoutError):
        return "no connection in time"
    if isinstance(error, aiohttp.ClientHttpProxyError):
        return f"the proxy answered {error.status}"
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return "the name is not known"
    if isinstance(error, OSError) and error.errno:
        return os.strerror(error.errno).lower()
    return "no connection"
