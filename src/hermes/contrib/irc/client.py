"""The socket to an IRC server: lines in, lines out, TLS unless the operator disables it.

It knows bytes and the maximum length of a line, not what lines mean.
"""

import asyncio
import socket
import ssl
from pathlib import Path
from typing import Final

from hermes.contrib.irc.settings import IrcSettings
from hermes.contrib.irc.wire import MOST_LINE_BYTES
from hermes.errors import ConfigurationError, ConnectFailed, TlsFailed

_CLOSE_S: Final = 2.0
_DRAIN_S: Final = 10.0
_HANDSHAKE_S: Final = 10.0


class Socket:
    """One connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @property
    def is_open(self) -> bool:
        """Whether lines can still be written."""
        return not self._writer.is_closing()

    async def read(self) -> bytes | None:
        """Return the next line; None at the end of the connection."""
        try:
            return await self._reader.readuntil(b"\n")
        except asyncio.IncompleteReadError:
            return None
        except asyncio.LimitOverrunError as error:
            raise ConnectFailed(
                f"irc: the server sent a line of more than {MOST_LINE_BYTES} bytes"
            ) from error
        except (OSError, ssl.SSLError) as error:
            raise ConnectFailed(f"irc: the connection broke ({type(error).__name__})") from error

    async def write(self, line: bytes) -> None:
        """Write a line; raise `ConnectFailed` if it was not or may not have been sent."""
        try:
            self._writer.write(line)
            async with asyncio.timeout(_DRAIN_S):
                await self._writer.drain()
        except (OSError, ssl.SSLError, TimeoutError) as error:
            raise ConnectFailed(f"irc: the connection broke ({type(error).__name__})") from error

    async def close(self, farewell: bytes = b"") -> None:
        """Close the connection, with a last line if there is one."""
        try:
            if farewell and self.is_open:
                self._writer.write(farewell)
            self._writer.close()
            async with asyncio.timeout(_CLOSE_S):
                await self._writer.wait_closed()
        except (OSError, ssl.SSLError, TimeoutError):
            self._writer.transport.abort()


async def open_socket(settings: IrcSettings) -> Socket:
    """Connect to the server that the operator named."""
    context = await asyncio.to_thread(_context, settings) if settings.tls else None
    try:
        reader, writer = await asyncio.open_connection(
            settings.server,
            settings.port,
            ssl=context,
            server_hostname=settings.server if context is not None else None,
            ssl_handshake_timeout=_HANDSHAKE_S if context is not None else None,
            limit=MOST_LINE_BYTES,
            family=socket.AF_INET if settings.ipv4_only else socket.AF_UNSPEC,
        )
    except ssl.SSLError as error:
        why = getattr(error, "verify_message", "") or error.reason or type(error).__name__
        raise TlsFailed(
            f"irc: {settings.server}:{settings.port} has no valid certificate ({why}); check the "
            "port, or set ca_file to the certificate that it shows"
        ) from error
    except OSError as error:
        why = error.strerror or type(error).__name__
        raise ConnectFailed(
            f"irc: {settings.server}:{settings.port} cannot be reached ({why})"
        ) from error
    return Socket(reader, writer)


def _context(settings: IrcSettings) -> ssl.SSLContext:
    file = settings.ca_file
    if file and not Path(file).is_file():
        raise ConfigurationError(
            f"platforms.irc.ca_file: expected a file with certificates, found none at {file[:200]!r}"
        )
    try:
        context = ssl.create_default_context(cafile=file or None)
    except ssl.SSLError as error:
        raise ConfigurationError(
            f"platforms.irc.ca_file: {file[:200]!r} holds no certificate ({error.reason})"
        ) from error
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context
