"""The media cache: attachments as files named by their content, in one folder.

Used by channels, which store what they receive and read what they send, and by `TurnMedia`, which
serves turns. Files of a turn are in a folder of its person and its message; files that a channel
stores before there is a turn are among the arrived. It knows no platform.
"""

import asyncio
import hashlib
import os
import re
import shutil
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

import msgspec
import structlog

from hermes.errors import AddressRefused, BadRequest, Forbidden, NetError, NotFound
from hermes.media.check import FileLimits, checked_kind
from hermes.media.eviction import ARRIVED, MediaGroup, Tenants, everything, evicted, nobody_needs
from hermes.media.paths import OpenFolders, file_at, with_file
from hermes.message.file_name import safe_name
from hermes.message.ids import MakeId, make_id
from hermes.message.link_hosts import is_listed
from hermes.message.media_kind import FileKind, file_kind
from hermes.message.parts import ImagePart, Media
from hermes.message.picture_kind import PICTURE_KINDS
from hermes.message.picture_size import picture_size
from hermes.message.picture_whole import is_whole
from hermes.net.client import HttpClient, MayAsk
from hermes.ports.clock import Clock, SystemClock
from hermes.ports.media import MediaOwner

_TIDY_EVERY_S: Final = 600.0
_PLAIN: Final = re.compile(r"[A-Za-z0-9_-]{1,100}")
_HASHED: Final = re.compile(r"[0-9a-f]{64}")
_log = structlog.get_logger(__name__)


class CacheRules(msgspec.Struct, frozen=True, kw_only=True):
    """What the cache accepts, how much and for how long, and from where attachments may be sent.

    `link_hosts` are the hosts from which links that a model wrote are fetched.
    """

    max_bytes: int = 20_000_000
    max_pixels: int = 50_000_000
    cache_bytes: int = 500_000_000
    share_bytes: int = 100_000_000
    keep_s: float = 7 * 86_400.0
    folders: tuple[Path, ...] = ()
    link_hosts: tuple[str, ...] = ()
    max_files: int = 10


class MediaCache:
    """The attachments of one home.

    Implements `ports.channel_setup.MediaFiles` and `ports.message_files.MessageFiles`.
    """

    def __init__(
        self,
        folder: Path,
        client: HttpClient,
        *,
        rules: CacheRules | None = None,
        tenants: Tenants = nobody_needs,
        clock: Clock | None = None,
        make_id: MakeId = make_id,
    ) -> None:
        self.rules = rules or CacheRules()
        self._folder = folder
        self._client = client
        self._tenants = tenants
        self._clock = clock or SystemClock()
        self._make_id = make_id
        self._open = OpenFolders(
            self.rules.folders, home=folder.parent, cache=folder, inside=folder
        )
        # The bytes of each person, and of the arrived, by the name of the folder.
        self._used: Counter[str] | None = None
        self._tidied_at: float | None = None
        self._tidying = asyncio.Lock()

    async def keep(self, data: bytes, *, mime: str, name: str | None = None) -> Media:
        """Store what a channel received and return its place; `mime` is not trusted."""
        return await self._arrived(data, self._make_id("a"), name=name)

    async def keep_sent(self, data: bytes, *, name: str | None, key: str) -> Media:
        """Store a file of a new message; the same bytes under the same `key` are the same place."""
        return await self._arrived(data, hashlib.sha256(key.encode()).hexdigest()[:32], name=name)

    async def open_sent(self, media: Media, *, owner: MediaOwner) -> bytes:
        """Return a file of a message: where it arrived, or where its turn has put it."""
        path = await asyncio.to_thread(self._sent, media.path or "", owner)
        inside = OpenFolders((), home=self._folder.parent, cache=self._folder, inside=self._folder)
        most = self.rules.max_bytes
        return await asyncio.to_thread(lambda: inside.read(str(path), limit=most))

    @property
    def most_bytes(self) -> int:
        """The size of the largest file that is kept."""
        return self.rules.max_bytes

    @property
    def most_files(self) -> int:
        """How many files one message may have."""
        return self.rules.max_files

    async def _arrived(self, data: bytes, unique: str, *, name: str | None) -> Media:
        kind = await asyncio.to_thread(self._checked, data)
        file = f"{hashlib.sha256(data).hexdigest()}-{unique}.{kind.extension}"
        path = await self._store(data, self._folder / ARRIVED / file)
        return self._media(kind, path, name=name, size=len(data))

    def _sent(self, place: str, owner: MediaOwner) -> Path:
        path = file_at(self._folder, place)
        if path.parent != self._folder / ARRIVED or path.exists():
            return path
        return self._place(owner) / f"{path.name.partition('-')[0]}{path.suffix}"

    async def put(
        self, data: bytes, *, owner: MediaOwner, name: str | None = None, is_checked: bool = True
    ) -> Media:
        """Store an attachment of a turn and return its place; the same bytes are the same file.

        Raises a `BadRequest` for a bomb; `is_checked` is false for the operator's own files.
        """
        kind = await asyncio.to_thread(self._whole if is_checked else file_kind, data)
        path = self._place(owner) / f"{hashlib.sha256(data).hexdigest()}.{kind.extension}"
        await self._store(data, path)
        return self._media(kind, path, name=name, size=len(data))

    def _media(self, kind: FileKind, path: Path, *, name: str | None, size: int) -> Media:
        return Media(kind.mime, path=self._inside(path), name=safe_name(name), size=size)

    def _inside(self, path: Path) -> str:
        """Return a file's path as messages name it: a home that is moved finds it again."""
        return str(path.relative_to(self._folder))

    async def adopt(self, media: Media, owner: MediaOwner) -> Media:
        """Move a channel's file to the turn that uses it; files elsewhere are left unchanged."""
        path = await asyncio.to_thread(file_at, self._folder, media.path or "")
        if path.parent != self._folder / ARRIVED:
            return media
        is_first = await asyncio.to_thread(path.exists)
        found = await asyncio.to_thread(_moved, path, self._place(owner))
        if is_first and self._used is not None:
            self._used[ARRIVED] -= media.size or 0
            self._used[_plain(owner.person_id)] += media.size or 0
        if media.mime in PICTURE_KINDS:
            await asyncio.to_thread(lambda: self._whole(found.read_bytes()))
        return msgspec.structs.replace(media, path=self._inside(found), ref=None)

    def located(self, picture: ImagePart) -> ImagePart:
        """Return a picture with the whole path of its file."""
        return with_file(self._folder, picture)

    async def read(self, media: Media, *, limit: int) -> bytes:
        """Return the bytes of an attachment that is to be sent: a kept file, or a fetch from a host of the list.

        Raises `Refused` for what may never be sent, and other `HermesError`s or an `OSError` for what
        failed now.
        """
        if media.path is not None:
            path = media.path
            return await asyncio.to_thread(
                lambda: self._open.read(str(file_at(self._folder, path)), limit=limit)
            )
        if media.url is None:
            raise BadRequest("the attachment has neither a file nor an address")
        hosts = self.rules.link_hosts
        try:
            return await self.fetch(
                media.url, limit=limit, may_ask=lambda host: is_listed(host, hosts)
            )
        except AddressRefused as error:
            raise Forbidden(f"its address is not fetched: {error}") from error

    async def open(self, place: str, *, owner: MediaOwner) -> bytes:
        """Return the bytes of a file that an agent named: from an open folder, or from its own
        person."""
        mine = self._folder / _plain(owner.person_id)
        folders = OpenFolders(
            self.rules.folders, home=self._folder.parent, cache=mine, inside=self._folder
        )
        most = self.rules.max_bytes
        try:
            return await asyncio.to_thread(lambda: folders.read(place, limit=most))
        except OSError as error:
            raise Forbidden(f"it cannot be read ({error.strerror})") from error

    async def fetch(self, url: str, *, limit: int, may_ask: MayAsk | None = None) -> bytes:
        """Return what is at an address, through the guarded side of the client.

        `may_ask` decides which hosts may be called, redirects included; without it only the guard
        decides.
        """
        call = self._client.request("media", "GET", url, trusted=False, may_ask=may_ask)
        async with call as response:
            if response.status != 200:
                raise NetError(f"media: the host answered {response.status}")
            return await response.read(limit)

    async def erase(self, person_id: str) -> None:
        """Remove every file of a person."""
        await asyncio.to_thread(erase_files, self._folder, person_id)
        self._used = None

    async def tidy(self) -> None:
        """Remove files that are too old or too many and not needed, from time to time."""
        now = self._clock.monotonic()
        if self._tidied_at is not None and now - self._tidied_at < _TIDY_EVERY_S:
            return
        await self._make_room(self.rules.cache_bytes)

    def _checked(self, data: bytes) -> FileKind:
        """Return the kind of an untrusted file; raises if it must be refused."""
        rules = self.rules
        limits = FileLimits(max_bytes=rules.max_bytes, max_pixels=rules.max_pixels)
        return checked_kind(data, limits)

    def _whole(self, data: bytes) -> FileKind:
        """Return the kind of a picture for a model: no service accepts a broken picture."""
        kind = self._checked(data)
        if kind.mime in PICTURE_KINDS:
            if picture_size(data, kind.mime) is None:
                raise BadRequest("it is a broken picture")
            if not is_whole(data, kind.mime):
                raise BadRequest("it is a picture whose end is missing")
        return kind

    def _place(self, owner: MediaOwner) -> Path:
        return self._folder / _plain(owner.person_id) / _plain(owner.message_id)

    async def _store(self, data: bytes, path: Path) -> Path:
        tenant = path.relative_to(self._folder).parts[0]
        if self._used is None:
            self._used = _by_person(await asyncio.to_thread(everything, self._folder))
        room = self._room(tenant, len(data))
        if self._used.total() > room:
            await self._make_room(room)
        if self._used.total() > self._room(tenant, len(data)):
            used = self._used
            _log.warning("media_full", used=used.total(), own=used[tenant])
            raise BadRequest("there is no room for it here just now")
        at, part = self._clock.now(), self._make_id("d")
        try:
            is_new = await asyncio.to_thread(lambda: _write(path, data, draft=part, at=at))
        except OSError as error:
            _log.error("media_not_kept", problem=error.strerror)
            raise BadRequest("it could not be kept here") from error
        self._used[tenant] += len(data) if is_new else 0
        return path

    def _room(self, tenant: str, more: int) -> int:
        """Return beside how many bytes `more` fit; the last tenth is for those below their share."""
        rules, used = self.rules, self._used or Counter[str]()
        is_over = used[tenant] + more > rules.share_bytes
        return rules.cache_bytes - more - (rules.cache_bytes // 10 if is_over else 0)

    async def _make_room(self, most: int) -> None:
        async with self._tidying:
            self._tidied_at = self._clock.monotonic()
            rules = self.rules
            found = await asyncio.to_thread(everything, self._folder)
            gone = await evicted(
                found,
                now=self._clock.now(),
                keep_s=rules.keep_s,
                most=most,
                share=rules.share_bytes,
                tenants=self._tenants,
            )
            if gone:
                await asyncio.to_thread(_remove_all, gone)
                _log.info("media_evicted", count=len(gone))
            self._used = _by_person({one: found[one] for one in found.keys() - set(gone)})


def _by_person(found: Mapping[MediaGroup, int]) -> Counter[str]:
    used = Counter[str]()
    for one, size in found.items():
        used[one.person_id] += size
    return used


def erase_files(folder: Path, person_id: str) -> None:
    """Remove every file of a person from the media cache in a folder."""
    _remove(folder / _plain(person_id))


def _plain(name: str) -> str:
    """Return an id as the name of a folder."""
    is_safe = _PLAIN.fullmatch(name) is not None and name != ARRIVED
    return name if is_safe else hashlib.sha256(name.encode()).hexdigest()


def _write(path: Path, data: bytes, *, draft: str, at: float) -> bool:
    """Write a file completely or not at all; false if it already existed."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    is_new = not path.exists()
    if is_new:
        part = path.parent / f".{draft}.part"
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    os.utime(path, (at, at))
    return is_new


def _moved(path: Path, folder: Path) -> Path:
    """Move an arrived file to its owner; link it if another of their turns has it."""
    digest = path.name.partition("-")[0]
    if _HASHED.fullmatch(digest) is None:
        raise NotFound("the attachment is gone")
    here = folder / f"{digest}{path.suffix}"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        path.replace(here)
    except FileNotFoundError:
        if not here.exists():
            _link(folder.parent, here)
    return here


def _link(person: Path, here: Path) -> None:
    other = next(person.glob(f"*/{here.name}"), None)
    if other is None:
        raise NotFound("the attachment is gone")
    os.link(other, here)


def _remove_all(gone: Iterable[MediaGroup]) -> None:
    for one in gone:
        _remove(one.place)


def _remove(place: Path) -> None:
    """Remove a file, or a folder with all that is in it."""
    if place.is_dir():
        shutil.rmtree(place, ignore_errors=True)
    else:
        place.unlink(missing_ok=True)
