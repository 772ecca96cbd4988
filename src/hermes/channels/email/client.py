"""One connection to a mail server: lines, bytes, TLS; limited in size and in time.

Both protocols use it. Failures are raised as `NetError`; the error never contains what was sent.
"""

import asyncio
import socket
import ssl
from typing import Final, Self

from hermes.channels.email.settings import Server
from hermes.errors import AnswerLost, AnswerTooLarge, ConfigurationError, ConnectFailed, TlsFailed

MAX_LINE: Final = 1 << 20
_CHUNK: Final = 1 << 16


class MailConnection:
    """An open connection."""

    def __init__(
        self,
        server: Server,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        *,
        timeout_s: float,
    ) -> None:
        self._server = server
        self._reader = reader
        self._writer = writer
        self._timeout_s = timeout_s

    @classmethod
    async def open(cls, server: Server, *, timeout_s: float) -> Self:
        """Connect; raise `ConnectFailed` if nothing listens, `TlsFailed` if the certificate is
        wrong.
        """
        context = tls_context(server) if server.security == "tls" else None
        try:
            async with asyncio.timeout(timeout_s):
                reader, writer = await asyncio.open_connection(
                    server.host,
                    server.port,
                    ssl=context,
                    limit=MAX_LINE,
                    family=socket.AF_INET if server.ipv4_only else socket.AF_UNSPEC,
                )
        except ssl.SSLError as error:
            raise _no_tls(server, error) from None
        except (OSError, TimeoutError) as error:
            raise ConnectFailed(f"{_name(server)} cannot be reached ({_kind(error)})") from None
        return cls(server, reader, writer, timeout_s=timeout_s)

    @property
    def is_protected(self) -> bool:
        """Whether the connection is encrypted."""
        return self._writer.get_extra_info("ssl_object") is not None

    async def start_tls(self) -> None:
        """Encrypt the connection; discard whatever was received before."""
        # Plaintext bytes after the answer would later count as the server's own.
        if await self._has_more():
            raise TlsFailed(f"{_name(self._server)} sent more than was asked before TLS began")
        try:
            async with asyncio.timeout(self._timeout_s):
                await self._writer.start_tls(
                    tls_context(self._server), server_hostname=self._server.host
                )
        except ssl.SSLError as error:
            raise _no_tls(self._server, error) from None
        except (OSError, TimeoutError) as error:
            raise ConnectFailed(
                f"{_name(self._server)} was lost while TLS began ({_kind(error)})"
            ) from None

    async def _has_more(self) -> bool:
        try:
            async with asyncio.timeout(0):
                return bool(await self._reader.read(1))
        except (OSError, TimeoutError):
            return False

    async def line(self, timeout_s: float | None = None) -> bytes:
        """Return the next line without its end."""
        try:
            async with asyncio.timeout(timeout_s or self._timeout_s):
                line = await self._reader.readuntil(b"\n")
        except asyncio.LimitOverrunError:
            raise AnswerTooLarge(f"{_name(self._server)} sent an endless line") from None
        except (OSError, EOFError) as error:
            raise self._lost(error) from None
        except TimeoutError as error:
            raise self._lost(error) from None
        return line.rstrip(b"\r\n")

    async def poll_line(self, timeout_s: float) -> bytes | None:
        """Return the next line, or None if none came in time; the connection stays usable."""
        try:
            async with asyncio.timeout(timeout_s):
                line = await self._reader.readuntil(b"\n")
        except TimeoutError:
            return None
        except asyncio.LimitOverrunError:
            raise AnswerTooLarge(f"{_name(self._server)} sent an endless line") from None
        except (OSError, EOFError) as error:
            raise self._lost(error) from None
        return line.rstrip(b"\r\n")

    async def exactly(self, size: int) -> bytes:
        """Return the next bytes; the time limit restarts for every piece."""
        pieces: list[bytes] = []
        left = size
        while left:
            try:
                async with asyncio.timeout(self._timeout_s):
                    piece = await self._reader.readexactly(min(left, _CHUNK))
            except (OSError, EOFError, TimeoutError) as error:
                raise self._lost(error) from None
            pieces.append(piece)
            left -= len(piece)
        return b"".join(pieces)

    async def write(self, data: bytes) -> None:
        """Send; return once the kernel has most of it."""
        try:
            for start in range(0, len(data), _CHUNK):
                self._writer.write(data[start : start + _CHUNK])
                async with asyncio.timeout(self._timeout_s):
                    await self._writer.drain()
        except (OSError, TimeoutError) as error:
            raise self._lost(error) from None

    async def close(self) -> None:
        """Close the connection, whatever it is doing."""
        self._writer.close()
        try:
            async with asyncio.timeout(1.0):
                await self._writer.wait_closed()
        except (OSError, TimeoutError):
            self._writer.transport.abort()

    def _lost(self, error: BaseException) -> AnswerLost:
        return AnswerLost(f"{_name(self._server)} was lost ({_kind(error)})")


def tls_context(server: Server) -> ssl.SSLContext:
    """Return the TLS requirements for a server."""
    try:
        return ssl.create_default_context(cafile=server.ca_file or None)
    except (OSError, ssl.SSLError) as error:
        raise ConfigurationError(
            f"platforms.email.ca_file: expected a file of certificates, found {_kind(error)}"
        ) from None


def _no_tls(server: Server, error: ssl.SSLError) -> TlsFailed:
    reason = getattr(error, "verify_message", "") or error.reason or "no TLS there"
    return TlsFailed(f"{_name(server)} has no valid certificate ({reason})")


def _name(server: Server) -> str:
    return f"the mail server {server.host}:{server.port}"


def _kind(error: BaseException) -> str:
    return "no answer in time" if isinstance(error, TimeoutError) else type(error).__name__
