"""A minimal IMAP client: sign in, search, fetch, mark, move, append, and wait for new mail.

One connection, one command at a time. A refusal is raised as `ImapRefusal`; a lost connection as a
`NetError`. It does not parse mail.
"""

import asyncio
from typing import Final, Self

import msgspec

from hermes.channels.email import imap_wire as notation
from hermes.channels.email.client import MailConnection
from hermes.channels.email.imap_wire import Literal, Status, Value
from hermes.channels.email.settings import Server
from hermes.errors import AnswerLost, AnswerTooLarge, ConnectFailed, HermesError

_MAX_LITERAL: Final = 128 << 20
_MAX_ANSWERS: Final = 20_000
# An ordinary answer is far smaller; only mail itself may be large.
_SMALL: Final = 1 << 20


class ImapRefusal(Exception):
    """The server refused a command; this error does not leave the channel."""

    def __init__(self, command: str, status: Status) -> None:
        why = f"[{status.code}] " if status.code else ""
        super().__init__(f"the IMAP server refused {command}: {why}{status.text}")
        self.status = status


class MailSummary(msgspec.Struct, frozen=True, kw_only=True):
    """What is known about a mail before it is read."""

    uid: int
    size: int
    at: float


class Imap:
    """A signed-in connection."""

    def __init__(self, wire: MailConnection) -> None:
        self._wire = wire
        self._tags = 0
        self.abilities: frozenset[str] = frozenset()
        # Set when mail has arrived since the last check.
        self.has_news = False
        self.validity = 0

    @classmethod
    async def open(cls, server: Server, *, timeout_s: float) -> Self:
        """Connect, encrypt the connection and sign in."""
        wire = await MailConnection.open(server, timeout_s=timeout_s)
        made = cls(wire)
        try:
            await made._greet(server)
        except (HermesError, ImapRefusal, asyncio.CancelledError):
            await wire.close()
            raise
        return made

    async def _greet(self, server: Server) -> None:
        tag, _, rest = (await self._wire.line()).partition(b" ")
        greeting = notation.read_status(rest)
        if tag != b"*" or greeting.word not in {"OK", "PREAUTH"}:
            raise ConnectFailed(f"the IMAP server refuses all connections: {greeting.text}")
        if server.security == "starttls":
            await self._protect()
        await self.command("CAPABILITY")
        if greeting.word != "PREAUTH":
            await self.command("LOGIN", self._text(server.user), self._text(server.password))
            await self.command("CAPABILITY")

    async def _protect(self) -> None:
        try:
            await self.command("STARTTLS")
        except ImapRefusal as error:
            raise ConnectFailed(
                f"the IMAP server offers no STARTTLS: {error.status.text}"
            ) from None
        await self._wire.start_tls()

    async def select(self, folder: str, *, is_read_only: bool = False) -> None:
        """Open a folder; `validity` then identifies the numbering of its mails."""
        self.validity = 0
        verb = "EXAMINE" if is_read_only else "SELECT"
        await self.command(verb, self._text(notation.folder_name(folder)))
        if not self.validity:
            raise AnswerLost(f"the IMAP server gave no UIDVALIDITY for the folder {folder}")

    async def search(self, *criteria: bytes | str) -> tuple[int, ...]:
        """Return the UIDs of the matching mails, in order."""
        found: set[int] = set()
        for values in await self.command("UID SEARCH", *criteria):
            if values and values[0] in (b"SEARCH", b"search"):
                numbers = map(notation.number, values[1:])
                found.update(one for one in numbers if one)
        return tuple(sorted(found))

    async def letter(self, uid: int) -> MailSummary | None:
        """Return a mail's summary; None if it is gone."""
        items = await self._fetch(uid, "(UID RFC822.SIZE INTERNALDATE)")
        size, at = (
            notation.number(items.get(b"RFC822.SIZE")),
            notation.read_date(items.get(b"INTERNALDATE")),
        )
        return None if size is None else MailSummary(uid=uid, size=size, at=at or 0.0)

    async def fetch(self, uid: int, *, limit: int, section: str = "") -> bytes | None:
        """Return at most `limit` bytes of a mail, which stays unread; None if it is gone."""
        items = await self._fetch(uid, f"(UID BODY.PEEK[{section}]<0.{limit}>)", limit=limit)
        body = next((item for name, item in items.items() if name.startswith(b"BODY[")), None)
        return body if isinstance(body, bytes) else None

    async def mark_seen(self, uid: int) -> None:
        """Mark a mail as read."""
        await self.command("UID STORE", str(uid), "+FLAGS.SILENT", r"(\Seen)")

    async def move(self, uid: int, folder: str) -> None:
        """Move a mail into another folder."""
        await self.command("UID MOVE", str(uid), self._text(notation.folder_name(folder)))

    async def append(self, folder: str, mail: bytes) -> None:
        """File a mail, marked as read."""
        await self.command(
            "APPEND", self._text(notation.folder_name(folder)), r"(\Seen)", Literal(mail)
        )

    async def noop(self) -> None:
        """Check that the server responds."""
        await self.command("NOOP")

    async def idle(self, seconds: float) -> None:
        """Wait until mail arrives or the time is over."""
        if self.has_news:
            return
        tag = self._tag()
        await self._wire.write(tag + b" IDLE\r\n")
        await self._until_continued(tag, "IDLE")
        # Servers send keep-alives now and then; the time counts from the beginning.
        clock = asyncio.get_running_loop()
        end = clock.time() + seconds
        while not self.has_news:
            line = await self._wire.poll_line(max(0.0, end - clock.time()))
            if line is None:
                break
            await self._untagged(line)
        await self._wire.write(b"DONE\r\n")
        await self._until_done(tag, "IDLE", limit=_SMALL)

    async def close(self) -> None:
        """Sign out if the server responds, and close the connection."""
        try:
            await self.command("LOGOUT")
        except (HermesError, ImapRefusal):
            pass
        finally:
            await self._wire.close()

    async def drop(self) -> None:
        """Close the connection at once."""
        await self._wire.close()

    async def command(
        self, name: str, *arguments: bytes | str, limit: int = _SMALL
    ) -> list[list[Value]]:
        """Send a command and return its answers; raise `ImapRefusal` unless it is OK."""
        tag = self._tag()
        line = tag + b" " + name.encode("ascii")
        for argument in arguments:
            if isinstance(argument, Literal):
                await self._wire.write(line + b" {%d}\r\n" % len(argument))
                await self._until_continued(tag, name)
                line = bytes(argument)
            else:
                line += b" " + (argument.encode("ascii") if isinstance(argument, str) else argument)
        await self._wire.write(line + b"\r\n")
        return await self._until_done(tag, name, limit=limit)

    async def _fetch(self, uid: int, items: str, *, limit: int = 0) -> dict[bytes, Value]:
        """Return the items of one mail; none if it is gone."""
        room = _SMALL + limit
        for values in await self.command("UID FETCH", str(uid), items, limit=room):
            found = notation.pairs(values[2]) if len(values) == 3 and values[1] == b"FETCH" else {}
            # Servers may report about other mails in between.
            if notation.number(found.get(b"UID")) == uid and len(found) > 1:
                return found
        return {}

    async def _until_continued(self, tag: bytes, name: str) -> None:
        while not (line := await self._wire.line()).startswith(b"+"):
            if line.startswith(tag + b" "):
                raise ImapRefusal(name, notation.read_status(line[len(tag) + 1 :]))
            await self._untagged(line)

    async def _until_done(self, tag: bytes, name: str, *, limit: int) -> list[list[Value]]:
        answers: list[list[Value]] = []
        room = limit
        while True:
            line = await self._wire.line()
            if line.startswith(tag + b" "):
                break
            values, size = await self._untagged(line, room=room)
            room -= size
            if len(answers) >= _MAX_ANSWERS or room < 0:
                raise AnswerTooLarge(f"the IMAP server never finishes its answer to {name}")
            answers.append(values)
        status = notation.read_status(line[len(tag) + 1 :])
        if status.word != "OK":
            raise ImapRefusal(name, status)
        return answers

    async def _untagged(self, line: bytes, *, room: int = _SMALL) -> tuple[list[Value], int]:
        """Read one complete answer and record what it says about the folder; return its
        size, too.
        """
        pieces, size = [line], len(line)
        while (found := notation.LITERAL.search(pieces[-1])) is not None:
            length = int(found[1])
            size += length
            if length > _MAX_LITERAL or size > room:
                raise AnswerTooLarge(
                    f"the IMAP server sends {length} bytes where fewer were asked for"
                )
            pieces[-1] = pieces[-1][: found.start()]
            pieces += [Literal(await self._wire.exactly(length)), await self._wire.line()]
        head, _, rest = pieces[0].partition(b" ")
        if head != b"*":
            raise AnswerLost("the IMAP server sent an answer that cannot be read")
        word = rest.partition(b" ")[0].upper()
        if word in {b"OK", b"NO", b"BAD", b"BYE", b"PREAUTH"}:
            self._note(notation.read_status(rest))
            return [], size
        values = notation.read_values([rest, *pieces[1:]])
        if word == b"CAPABILITY":
            names = (one for one in values[1:] if isinstance(one, bytes))
            self.abilities = frozenset(one.decode("ascii", "replace").upper() for one in names)
        elif len(values) == 2 and values[1] in (b"EXISTS", b"RECENT"):
            self.has_news = True
        return values, size

    def _note(self, status: Status) -> None:
        if status.word == "BYE":
            raise AnswerLost(f"the IMAP server ended the connection: {status.text}")
        if status.code == "UIDVALIDITY" and status.argument.isdigit():
            self.validity = int(status.argument)

    def _tag(self) -> bytes:
        self._tags += 1
        return b"h%d" % self._tags

    def _text(self, text: str) -> bytes:
        return notation.quoted(text) or Literal(text.encode("utf-8"))
