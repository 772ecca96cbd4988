"""A skill as files in memory: read from a folder or an archive, checked, and packed again.

Whoever made them is not trusted. Paths stay below the skill, nothing is a link or a device, and
number, sizes and the whole size are bounded by what is really read, not by what an archive says.
"""

import io
import os
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import msgspec

from hermes.errors import BadRequest, NotFound, TooLarge
from hermes.skills.skill_file import FILE, SkillFile, read_skill_file

MOST_PACKED: Final = 1_400_000
MOST_DOWNLOADED: Final = 10_000_000
_MOST_FILES: Final = 300
_MOST_FILE: Final = 2_000_000
_MOST_BYTES: Final = 8_000_000
_MOST_ENTRIES: Final = 20_000
_MOST_UNZIPPED: Final = 100_000_000
_MOST_DEPTH: Final = 8
_MOST_PATH: Final = 200
# What version control, editors and Python leave behind.
_LEFT_OUT: Final = frozenset({".git", ".DS_Store", "__pycache__", "__MACOSX"})
_EXECUTABLE: Final = 0o100
_UNIX: Final = 16


class PackedFile(msgspec.Struct, frozen=True):
    """One file of a skill, by its path below the skill's folder."""

    path: str
    content: bytes
    is_executable: bool = False


class SkillPackage(msgspec.Struct, frozen=True):
    """A checked skill: what its SKILL.md says, and all its files in the order of their paths."""

    file: SkillFile
    files: tuple[PackedFile, ...]

    @property
    def name(self) -> str:
        """The name of the skill, which is that of its folder."""
        return self.file.name


class _Entry(msgspec.Struct, frozen=True):
    """One entry of an archive: its path, and its kind if it is no plain file."""

    path: str
    other: str = ""
    is_executable: bool = False


def package_of(files: Iterable[PackedFile]) -> SkillPackage:
    """Return the skill that files are; raises `BadRequest` if they are none."""
    ordered = tuple(sorted(files, key=lambda one: one.path))
    for one in ordered:
        _check_path(one.path)
    main = next((one for one in ordered if one.path == FILE), None)
    if main is None:
        raise BadRequest(f"There is no {FILE} in it, so it is not a skill.")
    _check_sizes(ordered)
    return SkillPackage(read_skill_file(main.content), ordered)


def read_folder(folder: Path) -> SkillPackage:
    """Return the skill in a folder of this machine."""
    if not folder.is_dir():
        raise NotFound(f"There is no folder {folder}: name one that has a {FILE}.")
    found: list[PackedFile] = []
    for here, folders, names in os.walk(folder):
        folders[:] = sorted(set(folders) - _LEFT_OUT)
        for name in (*folders, *sorted(set(names) - _LEFT_OUT)):
            place = Path(here, name)
            status = place.lstat()
            if stat.S_ISDIR(status.st_mode):
                continue
            if not stat.S_ISREG(status.st_mode):
                raise BadRequest(f"{place} is a link or a device: a skill has plain files only.")
            path = place.relative_to(folder).as_posix()
            _check_room(found, path, status.st_size)
            found.append(PackedFile(path, place.read_bytes(), _runs(status.st_mode)))
    return package_of(found)


def unpack(archive: bytes, *, inner: str = "") -> SkillPackage:
    """Return the skill in a zip or tar archive; `inner` is its folder if there are several."""
    if archive[:4] == b"PK\x03\x04":
        return _unzipped(archive, inner)
    content = _gunzipped(archive) if archive[:2] == b"\x1f\x8b" else archive
    if content[257:262] != b"ustar":
        raise BadRequest("It is neither a zip nor a tar archive (.zip, .tar, .tar.gz).")
    return _untarred(content, inner)


def pack(package: SkillPackage) -> bytes:
    """Return a skill as a zip archive, the same bytes for the same files."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file:
        for one in package.files:
            info = zipfile.ZipInfo(one.path)
            info.compress_type = zipfile.ZIP_DEFLATED
            mode = stat.S_IFREG | (0o755 if one.is_executable else 0o644)
            info.external_attr = mode << _UNIX
            file.writestr(info, one.content)
    packed = out.getvalue()
    if len(packed) > MOST_PACKED:
        raise TooLarge(
            f"The skill {package.name} takes {len(packed):,} bytes packed; {MOST_PACKED:,} are the most. "
            "Copy its folder into `skills/` of the home yourself."
        )
    return packed


def _unzipped(archive: bytes, inner: str) -> SkillPackage:
    try:
        with zipfile.ZipFile(io.BytesIO(archive)) as file:
            infos = [info for info in file.infolist() if not info.is_dir()]
            entries = [_zip_entry(info) for info in infos]
            root, chosen = _chosen(entries, inner)
            found: list[PackedFile] = []
            for at, one in chosen:
                with file.open(infos[at]) as stream:
                    content = stream.read(_MOST_FILE + 1)
                _add(found, one, content, root=root)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, zlib.error, EOFError, OSError):
        raise BadRequest(
            "The zip archive is damaged, encrypted, or packed in a way that is not known."
        ) from None
    return package_of(found)


def _zip_entry(info: zipfile.ZipInfo) -> _Entry:
    if info.flag_bits & 0x1:
        raise BadRequest("The zip archive is encrypted: add the unpacked folder.")
    # The others take memory by what the archive says.
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise BadRequest("The zip archive is packed in a way that is not known: use deflate.")
    mode = info.external_attr >> _UNIX
    is_plain = stat.S_IFMT(mode) in (0, stat.S_IFREG)
    return _Entry(info.orig_filename, "" if is_plain else "a link or a device", _runs(mode))


def _gunzipped(archive: bytes) -> bytes:
    reader = zlib.decompressobj(wbits=31)
    try:
        content = reader.decompress(archive, _MOST_UNZIPPED)
    except zlib.error:
        raise BadRequest("The archive is damaged: it cannot be unpacked.") from None
    if reader.unconsumed_tail or not reader.eof:
        raise TooLarge(f"The archive is cut off, or larger than {_MOST_UNZIPPED:,} bytes unpacked.")
    return content


def _untarred(content: bytes, inner: str) -> SkillPackage:
    try:
        with tarfile.open(fileobj=io.BytesIO(content), mode="r:") as file:
            infos = [info for info in _tar_infos(file) if not info.isdir()]
            root, chosen = _chosen([_tar_entry(info) for info in infos], inner)
            found: list[PackedFile] = []
            for at, one in chosen:
                stream = file.extractfile(infos[at])
                assert stream is not None
                _add(found, one, stream.read(_MOST_FILE + 1), root=root)
    except (tarfile.TarError, OSError, ValueError):
        raise BadRequest("The tar archive is damaged.") from None
    return package_of(found)


def _tar_infos(file: tarfile.TarFile) -> Iterator[tarfile.TarInfo]:
    for count, info in enumerate(file):
        if count >= _MOST_ENTRIES:
            raise TooLarge(f"The archive has more than {_MOST_ENTRIES:,} entries.")
        yield info


def _tar_entry(info: tarfile.TarInfo) -> _Entry:
    is_plain = info.isreg() and not info.issparse()
    return _Entry(info.name, "" if is_plain else "a link or a device", _runs(info.mode))


def _chosen(entries: list[_Entry], inner: str) -> tuple[str, list[tuple[int, _Entry]]]:
    """Return the folder of the one skill, and the entries below it with their places."""
    if len(entries) > _MOST_ENTRIES:
        raise TooLarge(f"The archive has more than {_MOST_ENTRIES:,} entries.")
    for one in entries:
        _check_inside(one.path)
    root = _root([one.path for one in entries], inner)
    chosen = [
        (at, one)
        for at, one in enumerate(entries)
        if one.path.startswith(root) and not _LEFT_OUT & set(one.path.split("/"))
    ]
    link = next((one for _, one in chosen if one.other), None)
    if link is not None:
        raise BadRequest(f"{link.path[:80]} is {link.other}: a skill has plain files only.")
    return root, chosen


def _root(paths: list[str], inner: str) -> str:
    """Return the folder with the SKILL.md, as "" or with a slash at its end."""
    wanted = inner.strip("/")
    roots = sorted(
        path.removesuffix(FILE) for path in paths if path == FILE or path.endswith(f"/{FILE}")
    )
    if wanted:
        roots = [root for root in roots if f"/{root}".endswith(f"/{wanted}/")]
    # A skill may have another one among its files; the outermost counts.
    outer = [
        root for root in roots if not any(root != one and root.startswith(one) for one in roots)
    ]
    if not outer:
        where = f"folder {wanted[:80]} with a {FILE}" if wanted else FILE
        raise BadRequest(f"There is no {where} in the archive.")
    if len(outer) > 1:
        names = ", ".join(root.strip("/")[-60:] for root in outer[:10])
        raise BadRequest(
            f"The archive has {len(outer)} skills: {names}. Name the folder of one with --path."
        )
    return outer[0]


def _add(found: list[PackedFile], entry: _Entry, content: bytes, *, root: str) -> None:
    path = entry.path[len(root) :]
    if any(one.path == path for one in found):
        raise BadRequest(f"The archive has {path[:80]} twice.")
    _check_room(found, path, len(content))
    found.append(PackedFile(path, content, entry.is_executable))


def _check_room(found: list[PackedFile], path: str, size: int) -> None:
    if size > _MOST_FILE:
        raise TooLarge(f"{path[:80]} has more than {_MOST_FILE:,} bytes, the most for one file.")
    if len(found) >= _MOST_FILES:
        raise TooLarge(f"The skill has more than {_MOST_FILES} files.")
    if sum(len(one.content) for one in found) + size > _MOST_BYTES:
        raise TooLarge(f"The skill has more than {_MOST_BYTES:,} bytes.")


def _check_sizes(files: tuple[PackedFile, ...]) -> None:
    counted: list[PackedFile] = []
    for one in files:
        _check_room(counted, one.path, len(one.content))
        counted.append(one)


def _check_inside(path: str) -> None:
    """Refuse a path that leaves its folder, on any system."""
    parts = path.split("/")
    is_odd = "\\" in path or ":" in parts[0] or not path.isprintable()
    if is_odd or path.startswith("/") or ".." in parts or len(path) > 4 * _MOST_PATH:
        raise BadRequest(f"The path {path[:80]!r} leaves the folder of the skill, or is not plain.")


def _check_path(path: str) -> None:
    _check_inside(path)
    parts = path.split("/")
    if "" in parts or "." in parts or len(parts) > _MOST_DEPTH or len(path) > _MOST_PATH:
        raise BadRequest(
            f"The path {path[:80]!r} is not plain: at most {_MOST_DEPTH} parts and {_MOST_PATH} characters."
        )


def _runs(mode: int) -> bool:
    return bool(mode & _EXECUTABLE)
