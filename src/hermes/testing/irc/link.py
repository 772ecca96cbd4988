"""One client's connection to the stand-in: registration in its order, then commands, each by its
rules.
"""

import asyncio
import base64
import binascii
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from hermes.testing.irc.lines import BrokenLine, ClientLine, read, write
from hermes.testing.irc.state import BotLine
from hermes.testing.stand_in import Fault

if TYPE_CHECKING:
    from hermes.testing.irc.server import IrcStandIn

SERVER = "irc.hermes.test"
# The least number of parameters of a command.
_NEEDS = {"NICK": 1, "USER": 4, "PASS": 1, "JOIN": 1, "PART": 1, "WHOIS": 1, "WHO": 1, "PING": 1}
_NEEDS |= {"CAP": 1, "AUTHENTICATE": 1, "MODE": 1}
_BEFORE = frozenset({"CAP", "PASS", "NICK", "USER", "AUTHENTICATE", "PING", "PONG", "QUIT"})
_BURST = 10


class Link:
    """One connection; `is_ready` once the message of the day was sent."""

    def __init__(
        self, server: "IrcStandIn", reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._server = server
        self._reader = reader
        self._writer = writer
        self._password = ""
        self._user = ""
        self._is_capping = False
        self._tokens = float(_BURST)
        self._counted_at = 0.0
        self._label = ""
        self._is_silent = False
        self.nick = ""
        self.account = ""
        self.caps: set[str] = set()
        self.rooms: set[str] = set()
        self.pongs: list[str] = []
        self.is_ready = False
        self._commands: dict[str, Callable[[ClientLine], None]] = {
            "CAP": self._cap,
            "AUTHENTICATE": self._authenticate,
            "PASS": self._pass,
            "NICK": self._nick,
            "USER": self._introduce,
            "PING": self._ping,
            "PONG": self._pong,
            "QUIT": self._quit,
            "JOIN": self._join,
            "PART": self._part,
            "PRIVMSG": self._message,
            "NOTICE": self._message,
            "WHOIS": self._whois,
            "WHO": self._who,
            "MODE": self._nothing,
        }

    @property
    def prefix(self) -> str:
        return f"{self.nick}!~{self._user}@gateway.hermes.test"

    async def serve(self) -> None:
        """Read until the connection ends."""
        try:
            while raw := await self._reader.readline():
                self._take(raw)
                await self._writer.drain()
        except (OSError, ValueError, asyncio.IncompleteReadError):
            return
        finally:
            self._server.left(self)
            self._writer.close()

    def _take(self, raw: bytes) -> None:
        try:
            said = read(raw)
        except BrokenLine as error:
            self._server.refuse(f"{error}")
            if error.code:
                self.numeric(error.code, "Input line was too long")
            return
        self._label = said.label if "labeled-response" in self.caps else ""
        if not self._is_slow_enough(said):
            return
        handler = self._commands.get(said.command)
        if handler is None:
            self._broke("421", said.command, "Unknown command")
        elif not self.is_ready and said.command not in _BEFORE:
            self._broke("451", said.command, "You have not registered")
        elif len(said.params) < _NEEDS.get(said.command, 0):
            self._broke("461", said.command, "Not enough parameters")
        else:
            handler(said)

    def _is_slow_enough(self, said: ClientLine) -> bool:
        if not self._server.is_limited or not self.is_ready or said.command in ("PING", "PONG"):
            return True
        now = asyncio.get_running_loop().time()
        passed = (now - self._counted_at) / self._server.flood_gap_s
        self._tokens = min(_BURST, self._tokens + passed) - 1
        self._counted_at = now
        if self._tokens >= 0:
            return True
        self._server.refuse("flood: more lines than the server accepts")
        self.expel("Excess Flood")
        return False

    def send(self, prefix: str, *words: str, tags: Mapping[str, str] | None = None) -> None:
        """Write a line, with the tags that the client has requested."""
        if not self._writer.is_closing():
            self._writer.write(write(prefix, *words, tags=tags))

    def numeric(self, code: str, *words: str) -> None:
        """Answer a command."""
        tags = {"label": self._label} if self._label else {}
        self.send(SERVER, code, self.nick or "*", *words, tags=tags)

    def _broke(self, code: str, *words: str) -> None:
        """Refuse a line that breaks a rule, and record it."""
        self._server.refuse(f"{code} {' '.join(words)}")
        self.numeric(code, *words)

    def expel(self, why: str) -> None:
        """Close the connection, as servers do."""
        if not self._writer.is_closing():
            self._writer.write(f"ERROR :Closing Link: {self.nick or '*'} ({why})\r\n".encode())
            self._writer.close()

    def abort(self) -> None:
        """Break the connection without a message."""
        self._writer.transport.abort()

    def _nothing(self, said: ClientLine) -> None:
        """Accept a command that needs no answer."""

    def _ping(self, said: ClientLine) -> None:
        if self._is_silent:
            self._is_silent = False
            return
        tags = {"label": self._label} if self._label else {}
        self.send(SERVER, "PONG", SERVER, said.params[0], tags=tags)

    def _pong(self, said: ClientLine) -> None:
        self.pongs.append(said.params[0] if said.params else "")

    def _quit(self, said: ClientLine) -> None:
        self.expel(f"Quit: {said.params[0] if said.params else ''}")

    def _cap(self, said: ClientLine) -> None:
        verb = said.params[0].upper()
        offered = self._server.caps
        if not offered:
            self.numeric("421", "CAP", "Unknown command")
        elif verb == "LS":
            self._is_capping = not self.is_ready
            names = sorted(f"{name}=PLAIN" if name == "sasl" else name for name in offered)
            half = len(names) // 2
            # In two lines, as servers with many capabilities do.
            self.send(SERVER, "CAP", self.nick or "*", "LS", "*", " ".join(names[:half]))
            self.send(SERVER, "CAP", self.nick or "*", "LS", " ".join(names[half:]))
        elif verb == "REQ":
            wanted = set(said.params[-1].split())
            verdict = "ACK" if wanted <= offered else "NAK"
            if verdict == "NAK":
                self._server.refuse(f"CAP REQ of what was not offered: {wanted - offered}")
            self.caps |= wanted if verdict == "ACK" else set()
            self.send(SERVER, "CAP", self.nick or "*", verdict, " ".join(sorted(wanted)))
        elif verb == "END":
            self._is_capping = False
            self._welcome()

    def _authenticate(self, said: ClientLine) -> None:
        if "sasl" not in self.caps:
            self._broke("904", "SASL was not asked for")
        elif said.params[0] == "PLAIN":
            self._writer.write(b"AUTHENTICATE +\r\n")
        else:
            self._check_sasl(said.params[0])

    def _check_sasl(self, shown: str) -> None:
        try:
            _, user, password = base64.b64decode(shown, validate=True).decode().split("\0")
        except (binascii.Error, ValueError):
            self._broke("904", "SASL authentication failed: no PLAIN message")
            return
        if (user, password) != self._server.credential or self._server.is_revoked:
            self.numeric("904", "SASL authentication failed")
            return
        self.account = user
        self.numeric("900", self.prefix, user, f"You are now logged in as {user}")
        self.numeric("903", "SASL authentication successful")

    def _pass(self, said: ClientLine) -> None:
        if self.nick or self._user:
            self._server.refuse("PASS after NICK or USER")
        self._password = said.params[0]

    def _nick(self, said: ClientLine) -> None:
        wanted = said.params[0]
        if not wanted[0].isalpha() or len(wanted) > 30:
            self._broke("432", wanted, "Erroneous nickname")
        elif self._server.is_taken(wanted, but=self):
            self.numeric("433", wanted, "Nickname is already in use")
        else:
            old, self.nick = self.prefix, wanted
            if self.is_ready:
                self.send(old, "NICK", wanted)
            self._welcome()

    def _introduce(self, said: ClientLine) -> None:
        if self.is_ready:
            self._broke("462", "You may not reregister")
            return
        self._user = said.params[0]
        self._welcome()

    def _welcome(self) -> None:
        if self.is_ready or self._is_capping or not self.nick or not self._user:
            return
        wanted = self._server.password
        if wanted and (self._password != wanted or self._server.is_revoked):
            self.numeric("464", "Password incorrect")
            self.expel("Bad Password")
            return
        self.numeric("001", f"Welcome to Hermestown {self.prefix}")
        self.numeric(
            "005", "CASEMAPPING=rfc1459", "CHANTYPES=#", "NICKLEN=30", "NETWORK=Hermestown",
            "STATUSMSG=@+", "BOT=B", "WHOX", "are supported by this server",
        )  # fmt: skip
        self.numeric("422", "There is no message of the day")
        self.is_ready = True
        self._server.changed()

    def _join(self, said: ClientLine) -> None:
        keys = said.params[1].split(",") if len(said.params) > 1 else []
        for number, name in enumerate(said.params[0].split(",")):
            wanted = self._server.state.rooms.get(name.lower(), "")
            if not name.startswith("#"):
                self._broke("403", name, "No such channel")
            elif wanted and (keys[number : number + 1] or [""])[0] != wanted:
                self.numeric("475", name, "Cannot join channel (+k)")
            else:
                self.rooms.add(name.lower())
                account = (self.account or "*", "Hermes") if "extended-join" in self.caps else ()
                self.send(self.prefix, "JOIN", name, *account)
                self.numeric("366", name, "End of /NAMES list")
        self._server.changed()

    def _part(self, said: ClientLine) -> None:
        self.rooms.discard(said.params[0].lower())
        self.send(self.prefix, "PART", said.params[0])

    def _message(self, said: ClientLine) -> None:
        if len(said.params) < 2 or not said.params[1]:
            code = "412" if said.params else "411"
            self._broke(code, "No text to send" if said.params else "No recipient given")
            return
        target, text = said.params[0], said.params[1]
        fault = self._server.fault("send") if said.command == "PRIVMSG" else None
        if fault is not None and fault.kind not in ("reset_after", "hang"):
            self._fail(fault, target)
            return
        if not self._may_write(target):
            return
        passed_on = write(self.prefix, said.command, target, text)
        if len(passed_on) > 512:
            self._server.refuse(f"{len(passed_on)} bytes with the prefix: it would be cut off")
        self._pass_on(said, target=target, text=text, fault=fault)

    def _pass_on(self, said: ClientLine, *, target: str, text: str, fault: Fault | None) -> None:
        name = self._server.state.next_id()
        self._server.state.written.append(BotLine(target, text, name, said.command))
        if fault is not None and fault.kind == "reset_after":
            self.abort()
        elif fault is not None:
            # Without labels, the answer to the PING after the message confirms it.
            self._is_silent = not self._label
        elif "echo-message" in self.caps:
            tags = self._server.tags(self, id=name, account=self.account)
            label = {"label": self._label} if self._label else {}
            self.send(self.prefix, said.command, target, text, tags={**tags, **label})
        elif self._label:
            self.send(SERVER, "ACK", tags={"label": self._label})

    def _may_write(self, target: str) -> bool:
        if "," in target:
            self._broke("407", target, "Too many recipients")
        elif target.startswith("#"):
            if target.lower() in self.rooms:
                return True
            self.numeric("404", target, "Cannot send to channel")
        elif target.lower() in self._server.state.people:
            return True
        else:
            self.numeric("401", target, "No such nick/channel")
        return False

    def _fail(self, fault: Fault, target: str) -> None:
        if fault.kind == "rate_limited":
            wait = f"Please wait {fault.retry_after:g} seconds."
            self.numeric("439", target, f"Message target change too fast. {wait}")
        elif fault.kind == "server_error":
            self.numeric("437", target, "Nick/channel is temporarily unavailable")
        elif fault.kind == "unauthorized":
            self.numeric("477", target, "You need to be identified to a registered account")
        else:
            code = "404" if target.startswith("#") else "401"
            self.numeric(code, target, "Cannot send to nick/channel")

    def _whois(self, said: ClientLine) -> None:
        nick = said.params[-1]
        person = self._server.state.people.get(nick.lower())
        if person is None:
            self.numeric("401", nick, "No such nick/channel")
        else:
            self.numeric("311", person.nick, f"~{person.nick}", person.host, "*", "A person")
            if person.account:
                self.numeric("330", person.nick, person.account, "is logged in as")
        self.numeric("318", nick, "End of /WHOIS list")

    def _who(self, said: ClientLine) -> None:
        token = said.params[1].rpartition(",")[2] if len(said.params) > 1 else ""
        for person in self._server.state.people.values():
            self.send(SERVER, "354", self.nick, token, person.nick, person.account or "0")
        self.numeric("315", said.params[0], "End of WHO list")
