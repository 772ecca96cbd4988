"""Which kept attachments go: those of the erased, the old, and the oldest while there are too many.

Part of the media cache; it looks at folders and decides, and removes nothing. What an open turn, or a reply
that is not delivered, still needs stays, however old it is.
"""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, NamedTuple

ARRIVED: Final = "arrived"
# What a channel kept for a message that never came to a turn.
_ARRIVED_S: Final = 86_400.0
# Room is made for more than the one file that needs it.
_SPARE: Final = 0.9


class MediaGroup(NamedTuple):
    """What goes or stays as one: the attachments of a message, or one that has just arrived."""

    place: Path
    person_id: str
    message_id: str
    at: float


class Tenants(NamedTuple):
    """Who is asked whether something may go: by the id of a message, and by that of a person."""

    needs: Callable[[str], bool]
    is_erased: Callable[[str], bool]


nobody_needs: Final = Tenants(lambda _: False, lambda _: False)


def everything(folder: Path) -> dict[MediaGroup, int]:
    """Return all that is kept, each with how many bytes it takes."""
    found: dict[MediaGroup, int] = {}
    for person in _inside(folder):
        for entry in _inside(Path(person.path)):
            size, at = _measured(entry)
            kept = MediaGroup(Path(entry.path), person.name, entry.name, at)
            found[kept] = size
    return found


def evicted(
    found: Mapping[MediaGroup, int], *, now: float, keep_s: float, most: int, tenants: Tenants
) -> list[MediaGroup]:
    """Return what has to go, so that at most a good part of `most` bytes is left where it can be."""
    total = sum(found.values())
    target = most if total <= most else most * _SPARE
    gone: list[MediaGroup] = []
    erased = {one: tenants.is_erased(one) for one in {kept.person_id for kept in found}}
    for kept in sorted(found, key=lambda one: one.at):
        if kept.person_id == ARRIVED:
            is_over = now - kept.at > _ARRIVED_S
        elif erased[kept.person_id]:
            is_over = True
        else:
            is_wanted_gone = now - kept.at > keep_s or total > target
            is_over = is_wanted_gone and not tenants.needs(kept.message_id)
        if is_over:
            gone.append(kept)
            total -= found[kept]
    return gone


def _inside(folder: Path) -> list["os.DirEntry[str]"]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except (FileNotFoundError, NotADirectoryError):
        return []


def _measured(entry: "os.DirEntry[str]") -> tuple[int, float]:
    """Return how much an entry holds, and when the newest of it came."""
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
