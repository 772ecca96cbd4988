"""A real ngIRCd for the tests: how it is started, and people on it with clients of their own."""

import asyncio
import os
import shutil
import socket
import subprocess
from contextlib import suppress
from pathlib import Path

PROGRAM = shutil.which(
    "ngircd", path="/usr/sbin:/usr/bin:/usr/local/sbin:/usr/local/bin:/sbin:/bin"
)
PASSWORD = "not-a-real-password"
WAIT_S = 30.0
_CONFIG = """
[Global]
    Name = irc.hermes.test
    Info = A server for tests
    Listen = 127.0.0.1
    Ports = {port}
    Password = {password}
    MotdPhrase = Hello
    PidFile =
    ServerGID = {gid}
    ServerUID = {uid}
[Limits]
    MaxConnectionsIP = 0
    MaxJoins = 0
    MaxNickLength = 20
    MaxPenaltyTime = 0
    PingTimeout = 120
    PongTimeout = 20
[Options]
    DNS = no
    Ident = no
    PAM = no
    SyslogFacility = local1
[Channel]
    Name = #private
    Modes = +nk
    Key = sesame
{tls}
"""
_TLS = """
[SSL]
    CertFile = {folder}/cert.pem
    KeyFile = {folder}/key.pem
    Ports = {port}
"""


def free_port() -> int:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return int(held.getsockname()[1])


class Ngircd:
    """One server on a loopback port that stays the same over restarts."""

    def __init__(self, folder: Path, *, has_tls: bool = False) -> None:
        self._folder = folder
        self.port = free_port()
        self.tls_port = free_port() if has_tls else 0
        self._process: subprocess.Popen[bytes] | None = None
        self._file = folder / "ngircd.conf"
        tls = _TLS.format(folder=folder, port=self.tls_port) if has_tls else ""
        if has_tls:
            _make_certificate(folder)
        text = _CONFIG.format(
            port=self.port, password=PASSWORD, uid=os.getuid(), gid=os.getgid(), tls=tls
        )
        self._file.write_text(text)

    @property
    def certificate(self) -> Path:
        return self._folder / "cert.pem"

    async def start(self) -> None:
        """Start it, and wait until it takes connections."""
        self._process = self._run()
        async with asyncio.timeout(WAIT_S):
            while not await self._listens():
                assert self._process.poll() is None, (self._folder / "out").read_text()[-3000:]
                await asyncio.sleep(0.05)

    def _run(self) -> subprocess.Popen[bytes]:
        assert PROGRAM is not None
        with (self._folder / "out").open("ab") as out:
            return subprocess.Popen(
                [PROGRAM, "-n", "-f", str(self._file)],
                stdin=subprocess.DEVNULL, stdout=out, stderr=out,
            )  # fmt: skip

    async def _listens(self) -> bool:
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", self.port)
        except OSError:
            return False
        writer.close()
        await writer.wait_closed()
        return True

    def stop(self) -> None:
        """End it, as an operator does."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait(WAIT_S)
            self._process = None

    async def person(self, nick: str, *rooms: str) -> "Person":
        """Let somebody connect and join channels."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        made = Person(nick, reader, writer)
        try:
            await made.enter(*rooms)
        except NickTaken:
            await made.close()
            raise
        return made

    async def restart_with(self, nick: str) -> "Person":
        """Restart until somebody connects with a nick before the one who had it comes back."""
        while True:
            self.stop()
            await self.start()
            with suppress(NickTaken):
                return await self.person(nick)


class NickTaken(Exception):
    """Somebody else has the nick."""


class Person:
    """Somebody with a client; everything that reaches it is kept."""

    def __init__(
        self, nick: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self.nick = nick
        self._reader = reader
        self._writer = writer
        self.lines: list[str] = []

    async def enter(self, *rooms: str) -> None:
        self.write(f"PASS {PASSWORD}", f"NICK {self.nick}", f"USER {self.nick} 0 * :A person")
        (line,) = await self.until(" 376 ", " 422 ", " 433 ")
        if " 433 " in line:
            raise NickTaken(self.nick)
        for room in rooms:
            self.write(f"JOIN {room}")
            await self.until(" 366 ")

    def write(self, *lines: str) -> None:
        for line in lines:
            self._writer.write(f"{line}\r\n".encode())

    def say(self, target: str, text: str) -> None:
        self.write(f"PRIVMSG {target} :{text}")

    async def until(self, *words: str, count: int = 1) -> list[str]:
        """Return the next lines that have one of the words; the limit is only for a broken test."""
        found: list[str] = []
        try:
            async with asyncio.timeout(WAIT_S):
                while len(found) < count:
                    raw = await self._reader.readline()
                    assert raw, f"the server has closed; heard {self.lines[-10:]}"
                    line = raw.decode().rstrip("\r\n")
                    self.lines.append(line)
                    if line.startswith("PING"):
                        self.write(f"PONG {line.partition(' ')[2]}")
                    if any(word in line for word in words):
                        found.append(line)
        except TimeoutError:
            raise AssertionError(f"no {words}; heard {self.lines[-10:]}") from None
        return found

    async def hear(self, nick: str, *, count: int = 1) -> list[tuple[str, str]]:
        """Return the next messages of somebody: to whom, and the text."""
        found: list[tuple[str, str]] = []
        while len(found) < count:
            (line,) = await self.until(" PRIVMSG ")
            if line.lower().startswith(f":{nick}!"):
                target, _, text = line.split(" ", 2)[2].partition(" :")
                found.append((target, text))
        return found

    async def close(self) -> None:
        self._writer.close()
        with suppress(OSError):
            await self._writer.wait_closed()


def _make_certificate(folder: Path) -> None:
    subprocess.run(
        [
            "openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
            "-keyout", str(folder / "key.pem"), "-out", str(folder / "cert.pem"),
            "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
        ],
        check=True, capture_output=True,
    )  # fmt: skip
