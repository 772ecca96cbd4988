"""Who is who on the network, as far as this connection knows: nicks, accounts, renames.

A nick is a name that anyone can take. A person is identified by their services account, which the
server itself confirms with every message; without one, by `nick!user@host`, which proves nothing.
The owner of an account may have left, and their nick may belong to somebody else: what is stored
here serves to find people, never to identify a writer.
"""

from collections import OrderedDict
from typing import Final

from hermes.contrib.irc.settings import Trust
from hermes.contrib.irc.wire import IrcLine, fold

ACCOUNT_CHAT: Final = "account:"
_MOST: Final = 20_000
_NOBODY: Final = frozenset({"", "*", "0"})


class NickRoster:
    """Nicks with their masks and accounts; the least recently seen is forgotten first."""

    def __init__(self, trust: Trust = "account") -> None:
        self.trust = trust
        self.mapping = "rfc1459"
        self._masks: OrderedDict[str, str] = OrderedDict()
        self._accounts: OrderedDict[str, str] = OrderedDict()
        self._moved: OrderedDict[str, str] = OrderedDict()
        self._proven: dict[str, float] = {}

    def saw(self, line: IrcLine, now: float = 0.0) -> None:
        """Record what a line says about its sender."""
        if "!" not in line.prefix:
            return
        nick = fold(line.nick, self.mapping)
        _put(self._masks, nick, line.prefix)
        self._moved.pop(self._mask(line.prefix), None)
        if "account" in line.tags:
            self.account(line.nick, line.tags["account"], now)

    def account(self, nick: str, account: str, now: float = 0.0) -> None:
        """Record the account that a nick is signed in to; none for `*` and `0`."""
        name = fold(nick, self.mapping)
        if account in _NOBODY or "!" in account:
            self._accounts.pop(name, None)
            self._proven.pop(name, None)
        else:
            _put(self._accounts, name, account)
            self._proven[name] = now
            if len(self._proven) > 2 * _MOST:
                self._proven = {one: self._proven.get(one, 0.0) for one in self._accounts}

    def renamed(self, line: IrcLine) -> None:
        """Record that somebody has a new nick."""
        old, new = fold(line.nick, self.mapping), line.at(0)
        account, proven = self._accounts.pop(old, None), self._proven.pop(old, 0.0)
        self._masks.pop(old, None)
        if account is not None:
            self.account(new, account, proven)
        mask = f"{new}!{line.prefix.partition('!')[2]}"
        _put(self._masks, fold(new, self.mapping), mask)
        _put(self._moved, self._mask(line.prefix), self._mask(mask))

    def gone(self, nick: str) -> None:
        """Record that somebody has left the network."""
        name = fold(nick, self.mapping)
        self._accounts.pop(name, None)
        self._masks.pop(name, None)

    def user_id(self, line: IrcLine) -> str:
        """Return the user id of a line's sender; an account never contains a `!`."""
        if self.trust == "nick":
            return fold(line.nick, self.mapping)
        account = self.account_of(line)
        return account if account is not None else self._mask(line.prefix)

    def chat_id(self, line: IrcLine) -> str:
        """Return the name of the direct chat with the sender of a line.

        It names the person and not only the nick, or anyone who takes the nick would get the chat.
        """
        account = self.account_of(line) if self.trust == "account" else None
        return self.user_id(line) if account is None else f"{ACCOUNT_CHAT}{account}"

    def account_of(self, line: IrcLine) -> str | None:
        """Return the account of a line's sender, if the server names one."""
        told = line.tags.get("account", "")
        return told if told not in _NOBODY and "!" not in told else None

    def nick_of_account(self, account: str, *, since: float = 0.0) -> str | None:
        """Return a nick that is signed in to an account, as the server last reported."""
        for nick, name in reversed(self._accounts.items()):
            if name == account and self._proven.get(nick, 0.0) >= since:
                return self._masks.get(nick, nick).partition("!")[0]
        return None

    def nick_of_mask(self, mask: str) -> str | None:
        """Return the current nick of a person; None if it belongs to somebody else."""
        for _ in range(16):
            if mask not in self._moved:
                break
            mask = self._moved[mask]
        nick, _, rest = mask.partition("!")
        seen = self._masks.get(fold(nick, self.mapping))
        if seen is None:
            return nick
        return seen.partition("!")[0] if seen.partition("!")[2] == rest else None

    def _mask(self, prefix: str) -> str:
        nick, _, rest = prefix.partition("!")
        return f"{fold(nick, self.mapping)}!{rest}"


def _put(book: OrderedDict[str, str], name: str, value: str) -> None:
    book[name] = value
    book.move_to_end(name)
    while len(book) > _MOST:
        book.popitem(last=False)
