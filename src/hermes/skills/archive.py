"""A skill in an archive: zip, tar or tar.gz, as files in memory.

What an archive says of itself is not believed: sizes are counted while it is read. Its own module,
because only whoever adds a skill needs it.
"""

import io
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from typing import Final

import msgspec

from hermes.errors import BadRequest, TooLarge
from hermes.skills.package import (
    LEFT_OUT,
    MOST_FILE,
    MOST_PACKED,
    PackedFile,
    SkillPackage,
    check_inside,
    check_room,
    is_executable_mode,
    package_of,
)
from hermes.skills.skill_file import FILE

_MOST_ENTRIES: Final = 20_000
_MOST_UNZIPPED: Final = 100_000_000
_UNIX: Final = 16
# What the module for zip archives raises about what it does not expect.
_DAMAGES: Final = (
    *(zipfile.BadZipFile, zlib.error, struct.error, NotImplementedError, RuntimeError),
    *(EOFError, OSError, ValueError, LookupError),
)


class _Entry(msgspec.Struct, frozen=True):
    """One entry of an archive: its path, and its kind if it is no plain file."""

    path: str
    other: str = ""
    is_executable: bool = False


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
                    content = stream.read(MOST_FILE + 1)
                _add(found, one, content, root=root)
    except _DAMAGES:
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
    return _Entry(
        info.orig_filename, "" if is_plain else "a link or a device", is_executable_mode(mode)
    )


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
                _add(found, one, stream.read(MOST_FILE + 1), root=root)
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
    return _Entry(
        info.name, "" if is_plain else "a link or a device", is_executable_mode(info.mode)
    )


def _chosen(entries: list[_Entry], inner: str) -> tuple[str, list[tuple[int, _Entry]]]:
    """Return the folder of the one skill, and the entries below it with their places."""
    if len(entries) > _MOST_ENTRIES:
        raise TooLarge(f"The archive has more than {_MOST_ENTRIES:,} entries.")
    for one in entries:
        check_inside(one.path)
    root = _root([one.path for one in entries], inner)
    chosen = [
        (at, one)
        for at, one in enumerate(entries)
        if one.path.startswith(root) and not LEFT_OUT & set(one.path.split("/"))
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
    check_room(found, path, len(content))
    found.append(PackedFile(path, content, entry.is_executable))
