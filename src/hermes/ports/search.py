"""The search port: what was said, found by its words, only where the asker may see it.

The index behind it is a copy that can be made again from the message graphs at any time. Whoever
asks says for whom and from where; nobody below asks twice.
"""

from collections.abc import Sequence
from typing import Literal, Protocol

import msgspec

SearchMode = Literal["anywhere", "words"]
MOST_RESULTS = 200


class Searcher(msgspec.Struct, frozen=True):
    """A person who asks, and the session in which they do; unless it `is_private`, others read along."""

    person_id: str
    lane: str
    is_private: bool = False


class SearchAsk(msgspec.Struct, frozen=True, kw_only=True):
    """What to look for; without an asker everything is looked at, which is for operators alone.

    `anywhere` finds parts of words too, `words` whole ones only. `person_id`, `agent`, `platform`
    and `since` narrow it down.
    """

    text: str
    asker: Searcher | None = None
    mode: SearchMode = "anywhere"
    limit: int = 20
    person_id: str | None = None
    agent: str | None = None
    platform: str | None = None
    since: float | None = None


class FoundMessage(msgspec.Struct, frozen=True, kw_only=True):
    """One message; `snippet` is the part of it around what was found."""

    at: float
    session: str
    agent: str
    platform: str
    person_id: str
    role: Literal["user", "assistant"]
    message_id: str
    snippet: str


class SearchResult(msgspec.Struct, frozen=True, kw_only=True):
    """What was found, the newest first.

    `is_complete` is false where the time was up before everything was looked at; `unread` are
    turns that are not in the index yet; `ignored` are words that nothing can be found by.
    """

    found: tuple[FoundMessage, ...] = ()
    is_complete: bool = True
    unread: int = 0
    ignored: tuple[str, ...] = ()


class IndexState(msgspec.Struct, frozen=True, kw_only=True):
    """The state of the index: messages that were taken in, turns that wait, and its size on disk.

    It `is_whole` when everything that was said before the last start is in it.
    """

    messages: int
    waiting: int
    bytes: int
    is_whole: bool


class Search(Protocol):
    """The index of everything that was said."""

    async def find(self, ask: SearchAsk) -> SearchResult:
        """Return what was found; raises `BadRequest` for a text that is empty or too long."""
        ...

    async def fill(self) -> bool:
        """Take in a part of what is new; true while there is more."""
        ...

    async def wait_for_work(self, timeout_s: float) -> None:
        """Return when there is much to take in, or after the time."""
        ...

    async def erased(self, person_id: str) -> None:
        """Remove whatever a person who was erased said, before this returns."""
        ...

    async def pruned(self, graphs: Sequence[int]) -> None:
        """Remove whatever was said in graphs that are gone, before this returns."""
        ...

    async def rebuild(self) -> None:
        """Throw the index away; `fill` makes it again."""
        ...

    async def state(self) -> IndexState:
        """Return the state of the index."""
        ...

    async def close(self) -> None:
        """Close the files; what is not taken in yet is so after the next start."""
        ...
