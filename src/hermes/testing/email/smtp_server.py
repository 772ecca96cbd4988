"""SMTP on loopback: one mail at a time from the bot, refused where a strict server refuses."""

import asyncio
import base64
import binascii
import re
import struct
from socket import SO_LINGER, SOL_SOCKET

from hermes.testing.email import rules
from hermes.testing.email.state import ADDRESS, MailServerState
from hermes.testing.loopback import LineLoopback

MAX_BYTES = 25_000_000
_FROM = re.compile(r"MAIL FROM:<([^<>\s]*)>((?: [A-Z0-9]+(?:=[!-<>-~]+)?)*)", re.I)
_TO = re.compile(r"RCPT TO:<([^<>\s]+@[^<>\s]+)>", re.I)


class Gone(Exception):
    """The connection must end without another reply."""


class SmtpServer(LineLoopback):
    """Listens and accepts mails."""

    def __init__(self, state: MailServerState) -> None:
        super().__init__()
        self._state = state

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection to its end."""
        try:
            if self._state.fault("send", "refuse_connection") is None:
                await _Session(self._state, reader, writer).run()
            else:
                _reset(writer)
        except (Gone, OSError, EOFError):
            _reset(writer)


class _Session:
    def __init__(
        self, state: MailServerState, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._state = state
        self._reader = reader
        self._writer = writer
        self._is_known = False
        self._has_greeted = False
        self._sender: str | None = None
        self._recipient: str | None = None

    async def run(self) -> None:
        """Serve until the client leaves."""
        await self._say(220, f"{ADDRESS.rpartition('@')[2]} ESMTP")
        while line := await self._reader.readline():
            if not line.endswith(b"\r\n") or len(line) > 1000:
                self._state.reject("SMTP: a command line ends in CRLF and has at most 1,000 bytes")
                await self._say(500, "5.5.2 bad line")
                continue
            text = line[:-2].decode("utf-8", "replace")
            if text.upper() == "QUIT":
                await self._say(221, "2.0.0 bye")
                return
            await self._command(text)

    async def _command(self, text: str) -> None:
        verb = text.partition(" ")[0].upper()
        acts = {
            "EHLO": self._ehlo,
            "AUTH": self._auth,
            "MAIL": self._mail,
            "RCPT": self._rcpt,
            "DATA": self._data,
        }
        if verb not in acts:
            self._state.reject(f"SMTP: unknown command {verb[:20]}")
            await self._say(502, "5.5.1 unknown command")
        elif verb != "EHLO" and not self._has_greeted:
            self._state.reject("SMTP: EHLO comes first")
            await self._say(503, "5.5.1 EHLO first")
        else:
            await acts[verb](text)

    async def _ehlo(self, text: str) -> None:
        if not text.partition(" ")[2].strip():
            self._state.reject("SMTP: EHLO names the client")
            await self._say(501, "5.5.4 name yourself")
            return
        self._has_greeted = True
        features = (
            "hermes.test",
            "8BITMIME",
            f"SIZE {MAX_BYTES}",
            "AUTH PLAIN LOGIN",
            "ENHANCEDSTATUSCODES",
        )
        lines = [f"250-{one}" for one in features[:-1]] + [f"250 {features[-1]}"]
        self._writer.write("".join(f"{line}\r\n" for line in lines).encode())
        await self._writer.drain()

    async def _auth(self, text: str) -> None:
        _, kind, *given = [*text.split(" "), "", ""]
        if kind.upper() != "PLAIN" or not given[0]:
            self._state.reject("SMTP: AUTH PLAIN with its answer is what is expected")
            await self._say(504, "5.5.4 AUTH PLAIN only")
            return
        try:
            _, user, password = base64.b64decode(given[0], validate=True).decode().split("\0")
        except (binascii.Error, UnicodeDecodeError, ValueError):
            self._state.reject("SMTP: AUTH PLAIN is base64 of three parts")
            await self._say(501, "5.5.2 cannot decode")
            return
        is_refused = self._state.fault("send", "unauthorized") is not None
        if is_refused or (user, password) != (ADDRESS, self._state.password):
            await self._say(535, "5.7.8 authentication failed")
            return
        self._is_known = True
        await self._say(235, "2.7.0 welcome")

    async def _mail(self, text: str) -> None:
        found = _FROM.fullmatch(text)
        if found is None or self._sender is not None:
            self._state.reject(f"SMTP: malformed or repeated {text[:80]!r}")
            await self._say(501, "5.5.4 malformed")
        elif not self._is_known:
            self._state.reject("SMTP: AUTH comes before MAIL")
            await self._say(530, "5.7.0 authentication required")
        elif found[1] != ADDRESS:
            self._state.reject("SMTP: MAIL FROM is the mailbox's own address")
            await self._say(553, "5.7.1 not your address")
        elif self._state.fault("send", "rate_limited") is not None:
            await self._say(451, "4.7.1 too many mails, try later")
        else:
            self._sender = found[1]
            await self._say(250, "2.1.0 ok")

    async def _rcpt(self, text: str) -> None:
        found = _TO.fullmatch(text)
        if found is None or self._sender is None:
            self._state.reject(f"SMTP: malformed or early {text[:80]!r}")
            await self._say(501, "5.5.4 malformed")
        elif self._state.fault("send", "rejected") is not None:
            await self._say(550, "5.1.1 no such mailbox")
        else:
            self._recipient = found[1]
            await self._say(250, "2.1.5 ok")

    async def _data(self, text: str) -> None:
        if self._recipient is None or text.upper() != "DATA":
            self._state.reject("SMTP: DATA comes after RCPT, alone")
            await self._say(503, "5.5.1 RCPT first")
            return
        await self._say(354, "go on")
        raw = await self._content()
        if self._state.fault("send", "server_error") is not None:
            await self._say(451, "4.3.0 local error")
            return
        rule = rules.broken_rule(raw, recipient=self._recipient)
        if rule is not None:
            self._state.reject(f"mail: {rule}")
            await self._say(554, f"5.6.0 {rule}")
            return
        self._state.submit(self._recipient, raw)
        if self._state.fault("send", "reset_after") is not None:
            raise Gone
        if self._state.fault("send", "hang") is not None:
            await self._reader.read()
            raise Gone
        self._sender = self._recipient = None
        await self._say(250, "2.0.0 queued")

    async def _content(self) -> bytes:
        lines: list[bytes] = []
        size = 0
        while (line := await self._reader.readline()) != b".\r\n":
            if not line.endswith(b"\n"):
                raise Gone
            if line.startswith(b".") and not line.startswith(b".."):
                self._state.reject("SMTP: a dot that begins a line is doubled")
            size += len(line)
            if size > MAX_BYTES:
                self._state.reject(f"SMTP: a mail has at most {MAX_BYTES} bytes")
                raise Gone
            lines.append(line[1:] if line.startswith(b".") else line)
        return b"".join(lines)

    async def _say(self, code: int, text: str) -> None:
        self._writer.write(f"{code} {text}\r\n".encode())
        await self._writer.drain()


def _reset(writer: asyncio.StreamWriter) -> None:
    """End a connection as a crash does, without a proper close."""
    sock = writer.get_extra_info("socket")
    if sock is not None:
        sock.setsockopt(SOL_SOCKET, SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()
