"""Sign-in: capabilities, SASL, the nick; the next lines to send for every line received. Pure.

It ends with the message of the day. A refused password is final; a nick that is taken gets a
character appended.
"""

import base64
from typing import Final

from hermes.contrib.irc.settings import IrcSettings
from hermes.contrib.irc.wire import IrcLine, read_support, write_line
from hermes.errors import ConfigurationError, ConnectFailed

WANTED: Final[tuple[str, ...]] = (
    "message-tags",
    "server-time",
    "msgid",
    "echo-message",
    "labeled-response",
    "batch",
    "account-tag",
    "account-notify",
    "extended-join",
    "multi-prefix",
    "chghost",
    "cap-notify",
)
_SASL_CHUNK: Final = 400
_SASL_REFUSED: Final = frozenset({"902", "904", "905", "906", "908"})
_NICK_TAKEN: Final = frozenset({"433", "436", "437"})
_MOST_NICKS: Final = 20
_WORDS: Final = 200


class IrcSignIn:
    """One attempt; `is_done` once the server has accepted the bot."""

    def __init__(self, settings: IrcSettings) -> None:
        self._settings = settings
        self._offered: dict[str, str] = {}
        self._tries = 0
        self.nick = settings.nick
        self.enabled: set[str] = set()
        self.support: dict[str, str] = {}
        self.is_done = False
        self.is_signed_in = False
        self.is_welcome = False

    def begin(self) -> list[bytes]:
        """Return the first lines."""
        settings = self._settings
        password = [write_line("PASS", settings.server_password)]
        return [
            write_line("CAP", "LS", "302"),
            *(password if settings.server_password else []),
            write_line("NICK", self.nick),
            write_line("USER", settings.username, "0", "*", settings.realname),
        ]

    def take(self, line: IrcLine) -> list[bytes]:
        """Return the answer to a line; raise what ends the attempt."""
        if line.command == "CAP":
            return self._capability(line)
        if line.command == "AUTHENTICATE":
            return self._authenticate() if line.at(0) == "+" else []
        if line.command == "ERROR":
            raise ConnectFailed(f"irc: the server closed the connection: {line.last[:_WORDS]}")
        return self._numeric(line) if line.command.isdigit() else []

    def _numeric(self, line: IrcLine) -> list[bytes]:
        code = line.command
        if code == "001":
            self.nick, self.is_welcome = line.at(0) or self.nick, True
        elif code == "005":
            self.support |= read_support(line.params)
        elif code in ("376", "422"):
            self._check_signed_in()
            self.is_done = True
        elif code in ("903", "907"):
            self.is_signed_in = True
            return [write_line("CAP", "END")]
        elif code in _SASL_REFUSED:
            raise self._refused(line)
        elif code in _NICK_TAKEN and not self.is_welcome:
            return [write_line("NICK", self._other_nick())]
        else:
            self._check(line)
        return []

    def _check(self, line: IrcLine) -> None:
        told = line.last[:_WORDS]
        if line.command == "432":
            raise ConfigurationError(f"platforms.irc.nick: the server refused it ({told})")
        if line.command == "464":
            raise ConfigurationError(
                f"platforms.irc.server_password: the server refused it ({told}); set the right one"
            )
        if line.command == "465":
            raise ConfigurationError(
                f"platforms.irc: the server has banned this address ({told}); ask its operators"
            )

    def _check_signed_in(self) -> None:
        settings = self._settings
        if settings.sasl_password and not self.is_signed_in and not settings.nickserv:
            raise ConfigurationError(
                f"platforms.irc.sasl_password: {settings.server} has no SASL PLAIN, so the account "
                "cannot be signed in; set nickserv to the nick of its services, or remove sasl_user "
                "and sasl_password"
            )

    def _capability(self, line: IrcLine) -> list[bytes]:
        verb, names = line.at(1).upper(), line.last.split()
        if verb == "LS":
            for one in names:
                name, _, value = one.partition("=")
                self._offered[name] = value
            return [] if line.at(2) == "*" and len(line.params) > 3 else self._ask()
        if verb == "ACK":
            self.enabled |= {name for name in names if not name.startswith("-")}
            return self._after_ack()
        if verb == "NAK":
            # The other capabilities are optional; without the account nothing would be right.
            is_again = self._takes_sasl() and names != ["sasl"]
            return [write_line("CAP", "REQ", "sasl") if is_again else write_line("CAP", "END")]
        if verb == "DEL":
            self.enabled -= set(names)
        return []

    def _ask(self) -> list[bytes]:
        names = [name for name in WANTED if name in self._offered]
        names += ["sasl"] if self._takes_sasl() else []
        if self.is_welcome or not names:
            return [] if self.is_welcome else [write_line("CAP", "END")]
        return [write_line("CAP", "REQ", " ".join(names))]

    def _takes_sasl(self) -> bool:
        kinds = self._offered.get("sasl")
        if kinds is None or not self._settings.sasl_password:
            return False
        return not kinds or "PLAIN" in kinds.upper().split(",")

    def _after_ack(self) -> list[bytes]:
        if self.is_welcome:
            return []
        if "sasl" in self.enabled and not self.is_signed_in:
            return [write_line("AUTHENTICATE", "PLAIN")]
        return [write_line("CAP", "END")]

    def _authenticate(self) -> list[bytes]:
        user, password = self._settings.sasl_user, self._settings.sasl_password
        said = base64.b64encode(f"{user}\0{user}\0{password}".encode()).decode()
        chunks = [said[at : at + _SASL_CHUNK] for at in range(0, len(said), _SASL_CHUNK)]
        if len(chunks[-1]) == _SASL_CHUNK:
            chunks.append("+")
        return [write_line("AUTHENTICATE", chunk) for chunk in chunks]

    def _refused(self, line: IrcLine) -> ConfigurationError:
        return ConfigurationError(
            f"platforms.irc.sasl_password: {self._settings.server} refused the account "
            f"{self._settings.sasl_user!r} ({line.command}: {line.last[:_WORDS]}); set the right "
            "sasl_user and sasl_password, and start the gateway again"
        )

    def _other_nick(self) -> str:
        self._tries += 1
        if self._tries > _MOST_NICKS:
            raise ConnectFailed(f"irc: {self._settings.nick} and similar nicks are all taken")
        longest = int(self.support["NICKLEN"]) if self.support.get("NICKLEN", "").isdigit() else 30
        suffix = "_" * self._tries if self._tries < 3 else f"_{self._tries}"
        self.nick = self._settings.nick[: longest - len(suffix)] + suffix
        return self.nick
