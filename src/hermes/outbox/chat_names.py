"""Finds a chat by what somebody calls it: its id, its name, guild/name, or how its name begins. Pure."""

from collections.abc import Iterable, Sequence

from hermes.errors import BadRequest
from hermes.ports.directory import ChatEntry

_MOST_SHOWN = 8


def find_chat(entries: Iterable[ChatEntry], text: str) -> ChatEntry | None:
    """Return the one chat that is meant; None if there is none.

    The first way by which anything is found counts. Raises `BadRequest` where that finds several.
    """
    chats = tuple(entries)
    wanted = _folded(text)
    if not wanted:
        return None
    exact = [one for one in chats if one.chat_id == text]
    named = [one for one in chats if _folded(one.name) == wanted]
    in_guild = [one for one in chats if one.guild and _folded(_with_guild(one)) == wanted]
    begun = [
        one
        for one in chats
        if _folded(one.name).startswith(wanted)
        or (one.guild and "/" in wanted and _folded(_with_guild(one)).startswith(wanted))
    ]
    found = exact or named or in_guild or begun
    if len(found) > 1:
        raise BadRequest(
            f"{text[:80]!r} could be several chats: {shown_chats(found)}. Write guild/name, or the id."
        )
    return found[0] if found else None


def shown_chats(chats: Sequence[ChatEntry]) -> str:
    """Return chats as an error lists them."""
    told = [f"{_with_guild(one)} ({one.platform}:{one.chat_id})" for one in chats[:_MOST_SHOWN]]
    more = len(chats) - len(told)
    return ", ".join((*told, f"and {more} more") if more > 0 else told)


def _with_guild(entry: ChatEntry) -> str:
    return f"{entry.guild}/{entry.name}" if entry.guild else entry.name


def _folded(name: str) -> str:
    """Return a name as it is compared: the # of a channel and the @ of a person are no part of it."""
    guild, slash, own = name.strip().rpartition("/")
    return f"{guild.strip()}{slash}{own.strip().lstrip('#@')}".casefold()
