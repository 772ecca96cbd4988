"""The archive of a backup: an uncompressed tar of plain files, written and read strictly.

It knows tar and not what the files are. The reader takes nothing that the writer does not make: no
links, folders, devices, sparse files or extended headers, so that no archive can write outside its
place, grow while it is read, or fill the memory.
"""

import hashlib
import tarfile
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple, Protocol

from hermes.errors import BadRequest

_BLOCK = tarfile.BLOCKSIZE
_PIECE = 1024 * 1024
_LONGEST_NAME = 4096
_PLAIN, _EXECUTABLE = 0o600, 0o700


class ArchiveMember(NamedTuple):
    """One file of an archive."""

    name: str
    size: int
    is_executable: bool = False


class ArchiveTarget(Protocol):
    """Takes an archive piece by piece."""

    def write(self, piece: bytes, /) -> object: ...
    def flush(self) -> object: ...


class ArchiveWriter:
    """Writes files one after the other."""

    def __init__(self, out: ArchiveTarget, *, at: float) -> None:
        self._out = out
        self._at = int(at)

    def add(self, member: ArchiveMember, pieces: Iterator[bytes]) -> str:
        """Write a file; return its SHA-256. The pieces must have the size of the member."""
        head = tarfile.TarInfo(member.name)
        head.size, head.mtime = member.size, self._at
        head.mode = _EXECUTABLE if member.is_executable else _PLAIN
        self._out.write(head.tobuf(tarfile.GNU_FORMAT, "utf-8", "surrogateescape"))
        found, size = hashlib.sha256(), 0
        for piece in pieces:
            size += len(piece)
            found.update(piece)
            self._out.write(piece)
        if size != member.size:
            raise BadRequest(
                f"{member.name} changed while it was read ({size} bytes, expected {member.size}); "
                "make the backup again"
            )
        self._out.write(bytes(-size % _BLOCK))
        return found.hexdigest()

    def end(self) -> None:
        """Write the end of the archive."""
        self._out.write(bytes(2 * _BLOCK))
        self._out.flush()


class ArchiveReader:
    """Reads files one after the other; raises `BadRequest` for anything but a plain file."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._left = 0
        self._padding = 0

    def members(self) -> Iterator[ArchiveMember]:
        """Yield each file; `pieces` reads the one that was yielded last."""
        long_name: str | None = None
        while True:
            for _ in self.pieces():
                pass
            block = self._take(_BLOCK)
            if block == bytes(_BLOCK):
                return
            head = _header(block)
            if head.type == tarfile.GNUTYPE_LONGNAME and long_name is None:
                long_name = self._long_name(head.size)
                continue
            if head.type != tarfile.REGTYPE or head.size < 0:
                raise BadRequest(f"it contains {head.name[:80]!r}, which is not a plain file")
            self._left, self._padding = head.size, -head.size % _BLOCK
            name, long_name = long_name or head.name, None
            yield ArchiveMember(name, head.size, bool(head.mode & 0o100))

    def pieces(self) -> Iterator[bytes]:
        """Yield the content of the current file, as far as it was not read yet."""
        while self._left:
            piece = self._file.read(min(self._left, _PIECE))
            if not piece:
                raise BadRequest("it ends too early: it was cut off")
            self._left -= len(piece)
            yield piece
        if self._padding:
            self._take(self._padding)
            self._padding = 0

    def _take(self, size: int) -> bytes:
        found = self._file.read(size)
        if len(found) != size:
            raise BadRequest("it ends too early: it was cut off")
        return found

    def _long_name(self, size: int) -> str:
        if not 0 < size <= _LONGEST_NAME:
            raise BadRequest(f"it contains a name of {size} bytes; the longest is {_LONGEST_NAME}")
        content = self._take(size + -size % _BLOCK)[:size]
        return content.rstrip(b"\0").decode("utf-8", "surrogateescape")


def _header(block: bytes) -> tarfile.TarInfo:
    try:
        return tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")
    except (tarfile.TarError, ValueError) as error:
        raise BadRequest(f"it is damaged, or no archive of a backup ({error})") from error
