"""Decides which stored attachments are removed: those of erased people, the old, and the oldest if
there are too many.

Part of the media cache; it examines folders and decides, and removes nothing. Files that an open
turn or an undelivered reply needs stay, however old they are.
"""

import os
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Final, NamedTuple

ARRIVED: Final = "arrived"
# What a channel stored for a message that never became a turn.
_ARRIVED_S: Final = 86_400.0
# Room is made for more than the one file that needs it.
_SPARE: Final = 0.9


class MediaGroup(NamedTuple):
    """Files that are removed together: those of a message, or one that just arrived."""

    place: Path
    person_id: str
    message_id: str
    at: float


class Tenants(NamedTuple):
    """Decides whether files may be removed: by the id of a message, and by that of a person."""

    needs: Callable[[str], Awaitable[bool]]
    is_erased: Callable[[str], Awaitable[bool]]


async def _no(_: str) -> bool:
    return False


nobody_needs: Final = Tenants(_no, _no)


def everything(folder: Path) -> dict[MediaGroup, int]:
    """Return all stored groups, each with its size in bytes."""
    found: dict[MediaGroup, int] = {}
    for person in _inside(folder):
        for entry in _inside(Path(person.path)):
            size, at = _measured(entry)
            kept = MediaGroup(Path(entry.path), person.name, entry.name, at)
            found[kept] = size
    return found


async def evicted(
    found: Mapping[MediaGroup, int],
    *,
    now: float,
    keep_s: float,
    most: int,
    share: int,
    tenants: Tenants,
) -> list[MediaGroup]:
    """Return what must be removed so that the rest is well below `most` bytes, if possible.

    What people have beyond their `share` goes first, their oldest before their newest.
    """
    surplus = _beyond(found, share)
    total = sum(found.values())
    target = most if total <= most else most * _SPARE
    gone: list[MediaGroup] = []
    erased = {one: await tenants.is_erased(one) for one in {kept.person_id for kept in found}}
    for kept in sorted(found, key=lambda one: (one not in surplus, one.at)):
        if kept.person_id == ARRIVED:
            is_over = now - kept.at > _ARRIVED_S
        elif erased[kept.person_id]:
            is_over = True
        else:
            is_wanted_gone = now - kept.at > keep_s or total > target
            is_over = is_wanted_gone and not await tenants.needs(kept.message_id)
        if is_over:
            gone.append(kept)
            total -= found[kept]
    return gone


def _beyond(found: Mapping[MediaGroup, int], share: int) -> set[MediaGroup]:
    """Return the groups, from the oldest on, without which nobody has more than `share` bytes."""
    held = Counter[str]()
    beyond: set[MediaGroup] = set()
    for kept in sorted(found, key=lambda one: one.at, reverse=True):
        held[kept.person_id] += found[kept]
        if held[kept.person_id] > share:
            beyond.add(kept)
    return beyond


def _inside(folder: Path) -> list["os.DirEntry[str]"]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except (FileNotFoundError, NotADirectoryError):
        return []


def _measured(entry: "os.DirEntry[str]") -> tuple[int, float]:
    """Return the size of an entry, and the time of its newest file."""
    files = _inside(Path(entry.path)) if entry.is_dir(follow_symlinks=False) else [entry]
    sizes, times = 0, [0.0]
    for file in files:
        try:
            found = file.stat(follow_symlinks=False)
        except FileNotFoundError:
            continue
        sizes += found.st_size
        times.append(found.st_mtime)
    return sizes, max(times)
