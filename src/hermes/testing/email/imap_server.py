"""IMAP on loopback, limited to what is used, and strict: unknown commands get BAD."""

import asyncio
import re
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

from hermes.testing.email.imap_tokens import (
    BrokenCommand,
    Token,
    day_number,
    internal_date,
    read_tokens,
)
from hermes.testing.email.state import ADDRESS, Folder, MailServerState, StoredMail, parsed
from hermes.testing.loopback import LineLoopback

ABILITIES = "IMAP4rev1 IDLE MOVE UIDPLUS LITERAL+"
_PEEK = re.compile(rb"BODY\.PEEK\[([^\]]*)\](?:<0\.([1-9]\d*)>)?", re.I)
_LITERAL = re.compile(rb"\{(\d+)(\+?)\}\r\n$")
_BEFORE = {"CAPABILITY", "LOGIN", "LOGOUT", "NOOP"}
_SELECTED = {"UID", "IDLE"}


class ImapServer(LineLoopback):
    """Listens, and accepts one account."""

    limit = 64 << 20

    def __init__(self, state: MailServerState, *, can_idle: bool = True) -> None:
        super().__init__()
        self._state = state
        self.abilities = ABILITIES if can_idle else ABILITIES.replace(" IDLE", "")
        self.is_closed = False
        self.commands: list[str] = []

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection to its end."""
        session = ImapSession(self._state, reader, writer, abilities=self.abilities)
        session.commands = self.commands
        try:
            if self._state.fault("fetch", "refuse_connection") is None:
                await session.run()
        except (OSError, EOFError, ConnectionError):
            pass
        finally:
            session.leave()


class ImapSession:
    """One connection."""

    def __init__(
        self,
        state: MailServerState,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        *,
        abilities: str,
    ) -> None:
        self._state = state
        self._reader = reader
        self._writer = writer
        self._abilities = abilities
        self._is_known = False
        self._folder: Folder | None = None
        self._is_read_only = False
        self._told = 0
        self._news = asyncio.Event()
        self.commands: list[str] = []

    async def run(self) -> None:
        """Serve until the client leaves."""
        await self._say("* OK stand-in ready")
        while (line := await self._line()) is not None:
            try:
                tokens = read_tokens(line)
            except BrokenCommand as error:
                self._bad(str(error))
                await self._say("* BAD that is no command")
                continue
            if not await self._command(tokens):
                return

    def leave(self) -> None:
        """Stop watching the folder."""
        if self._folder is not None and self._news.set in self._folder.watchers:
            self._folder.watchers.remove(self._news.set)
        self._folder = None

    async def _line(self) -> list[bytes] | None:
        """Return the pieces of a command, literals as separate pieces."""
        pieces: list[bytes] = []
        while True:
            line = await self._reader.readline()
            if not line:
                return None
            found = _LITERAL.search(line)
            if found is None:
                if not line.endswith(b"\r\n"):
                    self._bad("a line ends in CRLF")
                return [*pieces, line.rstrip(b"\r\n")]
            if not found[2]:
                await self._say("+ go on")
            size = int(found[1])
            pieces += [line[: found.start()], b"\0" + await self._reader.readexactly(size)]

    async def _command(self, tokens: list[Token]) -> bool:
        if len(tokens) < 2 or not all(isinstance(one, bytes) for one in tokens[:2]):
            self._bad("a command has a tag and a name")
            await self._say("* BAD no command")
            return True
        tag, name = (
            bytes(one).decode("ascii", "replace") for one in tokens[:2] if isinstance(one, bytes)
        )
        verb = name.upper()
        self.commands.append(verb)
        acts: dict[str, Callable[[str, list[Token]], Awaitable[None]]] = {
            "CAPABILITY": self._capability,
            "LOGIN": self._login,
            "SELECT": self._select,
            "EXAMINE": self._select,
            "UID": self._uid,
            "APPEND": self._append,
            "NOOP": self._noop,
            "IDLE": self._idle,
        }
        if verb == "LOGOUT":
            await self._say("* BYE see you", f"{tag} OK done")
            return False
        if verb not in acts:
            self._bad(f"unknown command {verb[:20]}")
            await self._say(f"{tag} BAD unknown command")
        elif not self._is_known and verb not in _BEFORE:
            self._bad(f"{verb} before LOGIN")
            await self._say(f"{tag} BAD log in first")
        elif self._folder is None and verb in _SELECTED:
            self._bad(f"{verb} before SELECT")
            await self._say(f"{tag} BAD select a folder first")
        else:
            self._is_read_only = verb == "EXAMINE" or (self._is_read_only and verb != "SELECT")
            await acts[verb](tag, tokens[2:])
        return True

    async def _capability(self, tag: str, _arguments: list[Token]) -> None:
        await self._say(f"* CAPABILITY {self._abilities}", f"{tag} OK done")

    async def _login(self, tag: str, arguments: list[Token]) -> None:
        is_good = arguments == [ADDRESS.encode(), self._state.password.encode()]
        if not is_good or self._state.fault("fetch", "unauthorized") is not None:
            await self._say(f"{tag} NO [AUTHENTICATIONFAILED] wrong name or password")
            return
        self._is_known = True
        await self._say(f"{tag} OK [CAPABILITY {self._abilities}] welcome")

    async def _select(self, tag: str, arguments: list[Token]) -> None:
        folder = self._state.folders.get(_text(arguments[0]) if len(arguments) == 1 else "")
        if folder is None:
            await self._say(f"{tag} NO [NONEXISTENT] no such folder")
            return
        self.leave()
        self._folder = folder
        folder.watchers.append(self._news.set)
        self._told = len(folder.mails)
        await self._say(
            f"* {self._told} EXISTS",
            "* 0 RECENT",
            r"* FLAGS (\Seen \Deleted \Answered)",
            f"* OK [UIDVALIDITY {folder.validity}] valid",
            f"* OK [UIDNEXT {folder.next_uid}] next",
            f"{tag} OK [{'READ-ONLY' if self._is_read_only else 'READ-WRITE'}] open",
        )

    async def _noop(self, tag: str, _arguments: list[Token]) -> None:
        await self._tell()
        await self._say(f"{tag} OK done")

    async def _idle(self, tag: str, arguments: list[Token]) -> None:
        if arguments or "IDLE" not in self._abilities:
            self._bad("IDLE has no arguments, or is not offered")
            await self._say(f"{tag} BAD no")
            return
        await self._say("+ idling")
        await self._tell()
        ended = asyncio.ensure_future(self._reader.readline())
        while not ended.done():
            self._news.clear()
            news = asyncio.ensure_future(self._news.wait())
            await asyncio.wait({ended, news}, return_when=asyncio.FIRST_COMPLETED)
            news.cancel()
            if not ended.done():
                await self._tell()
        line = await ended
        if not line:
            raise EOFError
        if line != b"DONE\r\n":
            self._bad(f"IDLE ends with DONE, found {line[:40]!r}")
        await self._say(f"{tag} OK done")

    async def _append(self, tag: str, arguments: list[Token]) -> None:
        name, *flags, mail = arguments or [b"", b""]
        folder = self._state.folders.get(_text(name))
        if folder is None:
            await self._say(f"{tag} NO [TRYCREATE] no such folder")
            return
        if not isinstance(mail, bytes) or flags not in ([], [[rb"\Seen"]]):
            self._bad("APPEND takes a folder, flags and a mail")
            await self._say(f"{tag} BAD malformed")
            return
        folder.add(mail, flags={"\\Seen"} if flags else set())
        await self._say(f"{tag} OK [APPENDUID {folder.validity} {folder.next_uid - 1}] filed")

    async def _uid(self, tag: str, arguments: list[Token]) -> None:
        verb = _text(arguments[0]).upper() if arguments else ""
        acts = {
            "SEARCH": self._search,
            "FETCH": self._fetch,
            "STORE": self._store,
            "MOVE": self._move,
        }
        if verb not in acts:
            self._bad(f"unknown command UID {verb[:20]}")
            await self._say(f"{tag} BAD unknown command")
            return
        if verb in {"STORE", "MOVE"} and self._is_read_only:
            self._bad(f"{verb} in a folder that was opened to be read only")
            await self._say(f"{tag} NO read-only")
            return
        self.commands[-1] = f"UID {verb}"
        await acts[verb](tag, arguments[1:])

    async def _search(self, tag: str, arguments: list[Token]) -> None:
        try:
            # An empty folder must not hide an unknown criterion.
            matches(StoredMail(uid=0, raw=b"", at=0.0, flags=set()), arguments)
            found = [mail.uid for mail in self._mails if matches(mail, arguments)]
        except Unreadable as error:
            self._bad(f"SEARCH: {error}")
            await self._say(f"{tag} BAD {error}")
            return
        await self._tell()
        await self._say(" ".join(("* SEARCH", *map(str, found))), f"{tag} OK done")

    async def _fetch(self, tag: str, arguments: list[Token]) -> None:
        if len(arguments) != 2 or not isinstance(arguments[1], list):
            self._bad("UID FETCH takes a UID and a list of items")
            await self._say(f"{tag} BAD malformed")
            return
        mail = self._mail(arguments[0])
        if mail is not None:
            answer = self._items(mail, arguments[1])
            if answer is None:
                await self._say(f"{tag} BAD unknown item")
                return
            number = self._mails.index(mail) + 1
            self._writer.write(b"* %d FETCH (" % number + answer + b")\r\n")
        await self._say(f"{tag} OK done")

    def _items(self, mail: StoredMail, items: list[Token]) -> bytes | None:
        made: list[bytes] = []
        for item in items:
            name = item if isinstance(item, bytes) else b""
            known = {
                b"UID": b"UID %d" % mail.uid,
                b"RFC822.SIZE": b"RFC822.SIZE %d" % len(mail.raw),
                b"INTERNALDATE": b'INTERNALDATE "' + internal_date(mail.at) + b'"',
                b"FLAGS": b"FLAGS (" + " ".join(sorted(mail.flags)).encode() + b")",
            }
            peek = _PEEK.fullmatch(name)
            if name.upper() in known:
                made.append(known[name.upper()])
            elif peek is not None:
                made.append(_body(mail.raw, section=peek[1], limit=peek[2]))
            else:
                self._bad(f"FETCH: unknown item {name[:60]!r}; only BODY.PEEK leaves mail unread")
                return None
        return b" ".join(made)

    async def _store(self, tag: str, arguments: list[Token]) -> None:
        if arguments[1:] != [b"+FLAGS.SILENT", [rb"\Seen"]]:
            self._bad(r"UID STORE: +FLAGS.SILENT (\Seen) is what is expected")
            await self._say(f"{tag} BAD malformed")
            return
        mail = self._mail(arguments[0])
        if mail is not None:
            mail.flags.add("\\Seen")
            self._taken()
        await self._say(f"{tag} OK done")

    async def _move(self, tag: str, arguments: list[Token]) -> None:
        mail = self._mail(arguments[0]) if len(arguments) == 2 else None
        target = self._state.folders.get(_text(arguments[-1]))
        if target is None:
            await self._say(f"{tag} NO [TRYCREATE] no such folder")
            return
        if mail is not None and self._folder is not None:
            number = self._mails.index(mail) + 1
            self._folder.mails.remove(mail)
            self._told -= 1
            moved = target.add(mail.raw, at=mail.at, flags=mail.flags)
            await self._say(
                f"* OK [COPYUID {target.validity} {mail.uid} {moved.uid}] moved",
                f"* {number} EXPUNGE",
            )
            self._taken()
        await self._say(f"{tag} OK done")

    def _taken(self) -> None:
        for watcher in self._state.mail_was_taken:
            watcher()

    @property
    def _mails(self) -> list[StoredMail]:
        return [] if self._folder is None else self._folder.mails

    def _mail(self, token: Token) -> StoredMail | None:
        uid = _text(token)
        if not re.fullmatch(r"[1-9]\d{0,9}", uid):
            self._bad(f"one UID is expected, found {uid[:40]!r}")
        return next((mail for mail in self._mails if str(mail.uid) == uid), None)

    async def _tell(self) -> None:
        """Report new mail, if there is any."""
        if len(self._mails) != self._told:
            self._told = len(self._mails)
            await self._say(f"* {self._told} EXISTS")

    def _bad(self, rule: str) -> None:
        self._state.reject(f"IMAP: {rule}")

    async def _say(self, *lines: str) -> None:
        self._writer.write("".join(f"{line}\r\n" for line in lines).encode())
        await self._writer.drain()


def _text(token: Token) -> str:
    return token.decode("utf-8", "replace") if isinstance(token, bytes) else ""


def _body(raw: bytes, *, section: bytes, limit: bytes | None) -> bytes:
    if section.upper().startswith(b"HEADER.FIELDS"):
        wanted = {name.lower() for name in re.findall(rb"[A-Za-z-]+", section.partition(b"(")[2])}
        head = re.split(rb"\r?\n\r?\n", raw, maxsplit=1)[0]
        fields = re.findall(rb"(?m)^[^\s:]+:.*(?:\r?\n[ \t].*)*", head)
        raw = b"".join(
            field.rstrip(b"\r") + b"\r\n"
            for field in fields
            if field.partition(b":")[0].lower() in wanted
        )
        raw += b"\r\n"
    part = raw[: int(limit)] if limit else raw
    mark = b"<0>" if limit else b""
    return b"BODY[" + section + b"]" + mark + b" {%d}\r\n" % len(part) + part


class Unreadable(Exception):
    """An unknown criterion."""


def matches(mail: StoredMail, criteria: list[Token]) -> bool:
    """Return whether a mail matches all criteria."""
    if not criteria:
        raise Unreadable("no criteria")
    waiting = list(criteria)
    fits = True
    while waiting:
        name = waiting.pop(0)
        word = name.upper() if isinstance(name, bytes) else b""
        if word == b"UNSEEN":
            fits = fits and "\\Seen" not in mail.flags
        elif word == b"UNDELETED":
            fits = fits and "\\Deleted" not in mail.flags
        elif word == b"SINCE":
            fits = _is_since(mail, waiting) and fits
        elif word == b"HEADER":
            fits = _has_header(mail, waiting) and fits
        elif word != b"ALL":
            raise Unreadable(f"unknown criterion {word[:20]!r}")
    return fits


def _is_since(mail: StoredMail, waiting: list[Token]) -> bool:
    given = waiting.pop(0) if waiting else b""
    day = day_number(given) if isinstance(given, bytes) else None
    if day is None:
        raise Unreadable("SINCE takes a day such as 1-Jan-2026")
    return datetime.fromtimestamp(mail.at, UTC).toordinal() >= day


def _has_header(mail: StoredMail, waiting: list[Token]) -> bool:
    if len(waiting) < 2:
        raise Unreadable("HEADER takes a name and a text")
    name, text = waiting.pop(0), waiting.pop(0)
    if not isinstance(name, bytes) or not isinstance(text, bytes):
        raise Unreadable("HEADER takes a name and a text")
    values = parsed(mail.raw).get_all(name.decode("ascii"), [])
    return any(text.decode("utf-8", "replace").lower() in str(value).lower() for value in values)
