"""An archive that is damaged, cut off or made to do harm is refused before anything is written."""

import hashlib
import io
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import msgspec
import pytest

from hermes.errors import BadRequest
from hermes.ops.backup_manifest import FORMAT, HEAD, MANIFEST, BackupHead, BackupManifest, FileEntry
from hermes.ops.restore import examine

DATABASE = ("store/hermes.db", b"a database")
HEAD_BYTES = msgspec.json.encode(BackupHead(format=FORMAT, version="1", made_at=1.0))
Change = Callable[[tarfile.TarInfo], None]


DEEP = b'{"x":' * 4_000


def manifest_of(*files: tuple[str, bytes]) -> bytes:
    """Return a manifest that is right about the files."""
    entries = [
        FileEntry(name=name, size=len(data), sha256=hashlib.sha256(data).hexdigest())
        for name, data in files
    ]
    manifest = BackupManifest(
        format=FORMAT,
        version="1",
        engine="sqlite",
        schema_version=1,
        home_id="h",
        made_at=1.0,
        key="k",
        files=tuple(entries),
    )
    return msgspec.json.encode(manifest)


def archive(
    path: Path, *files: tuple[str, bytes], change: Change | None = None, pax: bool = False
) -> Path:
    """Write an archive; `change` changes the header of the last file but the manifest."""
    kind = tarfile.PAX_FORMAT if pax else tarfile.GNU_FORMAT
    with tarfile.open(path, "w:", format=kind) as out:
        for number, (name, data) in enumerate(files):
            head = tarfile.TarInfo(name)
            head.size = len(data)
            if change is not None and number == len(files) - 2:
                change(head)
            out.addfile(head, io.BytesIO(data))
    return path


def whole(*files: tuple[str, bytes]) -> list[tuple[str, bytes]]:
    """Return the files of an archive with its head and its manifest."""
    return [(HEAD, HEAD_BYTES), *files, (MANIFEST, manifest_of(*files))]


def examined(path: Path) -> BackupManifest:
    file: BinaryIO
    with path.open("rb") as file:
        return examine(file, tell=lambda _done, _total, _note: None)


@pytest.mark.req("W1")
def test_an_archive_that_is_as_its_manifest_says_is_accepted(tmp_path: Path) -> None:
    media = ("home/media/" + "x" * 200 + "/a.png", b"picture")

    found = examined(archive(tmp_path / "a.tar", *whole(DATABASE, media)))

    assert [entry.name for entry in found.files] == [DATABASE[0], media[0]]


@pytest.mark.req("W1")
@pytest.mark.parametrize(
    "name",
    [
        "home/../../etc/passwd",
        "/etc/passwd",
        "home//etc/passwd",
        "home/./x",
        "home/keys/store.keys",
        "home/.env",
        "home/run/gateway.lock",
        "home/hermes.db-wal",
        "home/restore.unfinished",
        "home/restore.part/x",
        "home/a\nb",
        "home/",
        "home/.ENV",
        "home/HERMES.db",
        "store/hermes.db-journal",
        "store/hermes.db-wal",
        "store/a/b",
        "home/media/" + "a/" * 64 + "x",
        "other/x",
        "x",
    ],
)
def test_a_name_that_would_do_harm_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(BadRequest, match="which no backup has"):
        examined(archive(tmp_path / "a.tar", *whole(DATABASE, (name, b"x"))))


def as_symlink(head: tarfile.TarInfo) -> None:
    head.type, head.linkname, head.size = tarfile.SYMTYPE, "/etc", 0


def as_hard_link(head: tarfile.TarInfo) -> None:
    head.type, head.linkname, head.size = tarfile.LNKTYPE, "/etc/passwd", 0


def as_folder(head: tarfile.TarInfo) -> None:
    head.type, head.size = tarfile.DIRTYPE, 0


def as_device(head: tarfile.TarInfo) -> None:
    head.type, head.size = tarfile.CHRTYPE, 0


def as_sparse(head: tarfile.TarInfo) -> None:
    head.type = tarfile.GNUTYPE_SPARSE


@pytest.mark.req("W1")
@pytest.mark.parametrize("change", [as_symlink, as_hard_link, as_folder, as_device, as_sparse])
def test_only_plain_files_are_accepted(tmp_path: Path, change: Change) -> None:
    files = whole(DATABASE, ("home/x", b"x"))

    with pytest.raises(BadRequest, match="not a plain file"):
        examined(archive(tmp_path / "a.tar", *files, change=change))


@pytest.mark.req("W1")
def test_extended_headers_are_refused_unread(tmp_path: Path) -> None:
    long = ("home/" + "ü" * 300, b"x")

    with pytest.raises(BadRequest, match="not a plain file"):
        examined(archive(tmp_path / "a.tar", *whole(DATABASE, long), pax=True))


@pytest.mark.req("W1")
def test_a_name_that_fills_the_memory_is_refused_unread(tmp_path: Path) -> None:
    head = tarfile.TarInfo("././@LongLink")
    head.type, head.size = tarfile.GNUTYPE_LONGNAME, 10**9
    path = archive(tmp_path / "a.tar", (HEAD, HEAD_BYTES))
    content = path.read_bytes()[:1024] + head.tobuf(tarfile.GNU_FORMAT)
    path.write_bytes(content)

    with pytest.raises(BadRequest, match="a name of 1000000000 bytes"):
        examined(path)


@pytest.mark.req("W1")
@pytest.mark.parametrize(
    ("files", "what"),
    [
        ([(HEAD, HEAD_BYTES), DATABASE], "no manifest at its end"),
        ([(HEAD, HEAD_BYTES), DATABASE, (MANIFEST, b"{")], "manifest cannot be read"),
        ([(HEAD, HEAD_BYTES), DATABASE, (MANIFEST, DEEP)], "manifest cannot be read"),
        ([(HEAD, DEEP), DATABASE, (MANIFEST, manifest_of(DATABASE))], "head cannot be read"),
        ([(HEAD, HEAD_BYTES), (MANIFEST, manifest_of(DATABASE))], "is missing in the archive"),
        ([(HEAD, HEAD_BYTES), DATABASE, (MANIFEST, manifest_of())], "is missing in its manifest"),
        ([*whole(DATABASE), ("home/x", b"x")], "files after its manifest"),
        ([(HEAD, HEAD_BYTES), DATABASE, *whole(DATABASE)[1:]], "twice"),
        (whole(DATABASE, ("home/a", b"x"), ("home/a/b", b"x")), "a file and a folder"),
        ([DATABASE, *whole(DATABASE)], "not the archive of a backup"),
        ([(HEAD, b'{"format":2,"version":"9","made_at":1}')], "format 2"),
        ([(HEAD, b"x" * 70_000)], "too large"),
    ],
)
def test_an_archive_that_is_not_whole_is_refused(
    tmp_path: Path, files: list[tuple[str, bytes]], what: str
) -> None:
    with pytest.raises(BadRequest, match=what):
        examined(archive(tmp_path / "a.tar", *files))


@pytest.mark.req("W1")
def test_every_changed_byte_and_every_cut_is_noticed(tmp_path: Path) -> None:
    path = archive(tmp_path / "a.tar", *whole(DATABASE, ("home/media/a", b"picture")))
    content = path.read_bytes()
    changed = content.index(b"picture")
    path.write_bytes(content[:changed] + b"P" + content[changed + 1 :])
    with pytest.raises(BadRequest, match="'home/media/a' is damaged"):
        examined(path)

    end = content.rindex(b"}") + 1
    for size in range(0, end, 97):
        path.write_bytes(content[:size])
        with pytest.raises(BadRequest):
            examined(path)


@pytest.mark.req("W1")
@pytest.mark.parametrize("content", [b"", b"not an archive" * 100, b"\0" * 4096])
def test_other_files_are_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.tar"
    path.write_bytes(content)

    with pytest.raises(BadRequest, match=r"archive|too early"):
        examined(path)
