"""Who waiting messages belong to, by which way they came, and how many each has; pure."""

import msgspec

from hermes.message.event import MessageEvent


def way_of(event: MessageEvent) -> str:
    """Return the way that a message came: a key, or a platform's account, its route and its token."""
    if event.key:
        return way_of_key(event.key)
    return f"{event.source.platform}:{event.account}:{event.route}:{event.token}"


def way_of_key(key_id: str) -> str:
    """Return the way of everything that comes with a caller's key."""
    return f"key:{key_id}"


class Share(msgspec.Struct, frozen=True):
    """Whose a waiting message is: of an account (the way that it came), and of a person.

    Commands are counted apart from messages: they must get in when messages do not.
    """

    account: str
    person: str = ""
    is_command: bool = False


class ShareCounts:
    """Counts messages by share: O(1) for each that comes and goes."""

    def __init__(self) -> None:
        self._counts: dict[tuple[bool, str, str], int] = {}
        # The most that a person has had since the counts were last empty; of messages, of commands.
        self._peaks = [0, 0]

    def add(self, share: Share, number: int = 1) -> None:
        """Count one more message, or one less with -1."""
        counts, is_command, count = self._counts, share.is_command, 0
        # Four times for each message, so nothing is called for the keys.
        for key in (
            (is_command, "", ""),
            (is_command, "account", share.account),
            (is_command, "person", share.person),
        ):
            count = counts.get(key, 0) + number
            if count:
                counts[key] = count
            else:
                del counts[key]
        # The last of the three counts is the person's.
        if count > self._peaks[is_command]:
            self._peaks[is_command] = count
        elif (is_command, "", "") not in counts:
            self._peaks[is_command] = 0

    def peak(self, *, is_command: bool) -> int:
        """Return a number that no person exceeds; it is lowered when nothing is left."""
        return self._peaks[is_command]

    def in_all(self, *, is_command: bool) -> int:
        """Return how many there are."""
        return self._counts.get((is_command, "", ""), 0)

    def of_account(self, share: Share) -> int:
        """Return how many the share's account has."""
        return self._counts.get((share.is_command, "account", share.account), 0)

    def of_person(self, share: Share) -> int:
        """Return how many the share's person has."""
        return self._counts.get((share.is_command, "person", share.person), 0)
