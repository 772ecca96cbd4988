"""A minimal SMTP client: one mail to one address, over one connection.

The stage of a failure says what is known: before the final dot the server cannot have accepted the
mail, after it only the server's answer tells.
"""

import asyncio
import base64
import re
from enum import IntEnum
from typing import Final, Self

import msgspec

from hermes.channels.email.client import MailConnection
from hermes.channels.email.settings import Server
from hermes.errors import AnswerLost, ConnectFailed, HermesError, NetError

_CODE: Final = re.compile(rb"([2-5]\d\d)([ -]?)(.*)", re.S)
_MAX_LINES: Final = 500
_NAME: Final = "[127.0.0.1]"


class Stage(IntEnum):
    """How far a submission has come."""

    CONNECTING = 0
    SIGNING_IN = 1
    NAMING = 2
    WRITING = 3
    ENDED = 4


class SmtpReply(msgspec.Struct, frozen=True):
    """The server's reply."""

    code: int
    text: str

    @property
    def is_ok(self) -> bool:
        """Whether the reply is positive."""
        return 200 <= self.code < 400


class SmtpFailed(Exception):
    """A submission ended without the server's confirmation; this error does not leave the channel.

    `answer` is the server's refusal; None if the connection was lost.
    """

    def __init__(self, stage: Stage, why: str, answer: SmtpReply | None = None) -> None:
        super().__init__(why)
        self.stage = stage
        self.answer = answer


class Smtp:
    """One connection; `submit` may be called once on it."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._wire: MailConnection | None = None
        self._stage = Stage.CONNECTING
        self._abilities: dict[str, str] = {}

    @classmethod
    async def open(cls, server: Server, *, timeout_s: float) -> Self:
        """Connect, encrypt the connection and sign in; raise `SmtpFailed`."""
        made = cls(server)
        try:
            made._wire = await MailConnection.open(server, timeout_s=timeout_s)
            await made._greet()
            await made._sign_in()
        except NetError as error:
            await made.drop()
            raise SmtpFailed(made._stage, str(error)) from None
        except (HermesError, SmtpFailed, asyncio.CancelledError):
            await made.drop()
            raise
        return made

    async def submit(self, sender: str, recipient: str, mail: bytes) -> None:
        """Submit a mail; return once the server has confirmed it."""
        try:
            await self._submit(sender, recipient, mail)
        except NetError as error:
            raise SmtpFailed(self._stage, str(error)) from None

    async def _submit(self, sender: str, recipient: str, mail: bytes) -> None:
        self._stage = Stage.NAMING
        is_international = not (sender + recipient).isascii()
        if is_international and "SMTPUTF8" not in self._abilities:
            raise SmtpFailed(
                self._stage,
                "the server does not accept an address with such letters",
                SmtpReply(553, "SMTPUTF8 is not offered"),
            )
        options = " SMTPUTF8" if is_international else ""
        if "8BITMIME" in self._abilities:
            options += " BODY=8BITMIME"
        if "SIZE" in self._abilities:
            options += f" SIZE={len(mail)}"
        await self._must(f"MAIL FROM:<{sender}>{options}", what="MAIL")
        await self._must(f"RCPT TO:<{recipient}>", what="RCPT")
        await self._must("DATA", what="DATA", wanted=354)
        self._stage = Stage.WRITING
        # Not by a regular expression: a mail with files is large, and the loop waits for it.
        body = (b"\n" + mail).replace(b"\n.", b"\n..")[1:]
        await self.wire.write(body if body.endswith(b"\r\n") else body + b"\r\n")
        # From here on the mail may have arrived, whatever happens to the answer.
        self._stage = Stage.ENDED
        await self.wire.write(b".\r\n")
        answer = await self._answer()
        if not answer.is_ok:
            raise SmtpFailed(
                self._stage, f"the mail was refused ({answer.code} {answer.text})", answer
            )

    async def close(self) -> None:
        """Sign off, and close the connection."""
        try:
            await self.wire.write(b"QUIT\r\n")
            await self._answer()
        except NetError:
            pass
        finally:
            await self.drop()

    async def drop(self) -> None:
        """Close the connection at once."""
        wire, self._wire = self._wire, None
        if wire is not None:
            await wire.close()

    @property
    def wire(self) -> MailConnection:
        """The open connection."""
        if self._wire is None:
            raise AnswerLost("the SMTP connection is closed")
        return self._wire

    async def _greet(self) -> None:
        greeting = await self._answer()
        if greeting.code != 220:
            raise SmtpFailed(
                self._stage,
                f"the server refuses connections ({greeting.code} {greeting.text})",
                greeting,
            )
        await self._hello()
        if self._server.security == "starttls":
            if "STARTTLS" not in self._abilities:
                raise ConnectFailed("the SMTP server offers no STARTTLS")
            await self._must("STARTTLS", what="STARTTLS")
            await self.wire.start_tls()
            await self._hello()

    async def _hello(self) -> None:
        answer = await self._must(f"EHLO {_NAME}", what="EHLO")
        lines = answer.text.split("\n")[1:]
        self._abilities = {
            line.partition(" ")[0].upper(): line.partition(" ")[2].upper() for line in lines
        }

    async def _sign_in(self) -> None:
        self._stage = Stage.SIGNING_IN
        user, password = self._server.user, self._server.password
        if not user:
            return
        ways = self._abilities.get("AUTH", "").split()
        if "PLAIN" in ways or "LOGIN" not in ways:
            told = _coded(f"\0{user}\0{password}")
            await self._must(f"AUTH PLAIN {told}", what="AUTH", wanted=235)
            return
        await self._must("AUTH LOGIN", what="AUTH", wanted=334)
        await self._must(_coded(user), what="AUTH", wanted=334)
        await self._must(_coded(password), what="AUTH", wanted=235)

    async def _must(self, line: str, *, what: str, wanted: int = 0) -> SmtpReply:
        await self.wire.write(line.encode("utf-8") + b"\r\n")
        answer = await self._answer()
        fits = answer.code == wanted if wanted else 200 <= answer.code < 300
        if not fits:
            raise SmtpFailed(
                self._stage, f"{what} was refused ({answer.code} {answer.text})", answer
            )
        return answer

    async def _answer(self) -> SmtpReply:
        lines: list[str] = []
        while len(lines) < _MAX_LINES:
            found = _CODE.fullmatch(await self.wire.line())
            if found is None:
                break
            lines.append(_readable(found[3]))
            if found[2] != b"-":
                return SmtpReply(int(found[1]), "\n".join(lines))
        raise AnswerLost("the SMTP server sent an answer that cannot be read")


def _coded(text: str) -> str:
    return base64.b64encode(text.encode("utf-8")).decode("ascii")


def _readable(text: bytes) -> str:
    words = " ".join(text.decode("utf-8", "replace").split())
    return "".join(one for one in words if one.isprintable())[:300]
