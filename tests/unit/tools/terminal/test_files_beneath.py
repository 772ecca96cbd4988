"""Files below a folder that a program may have filled: nothing outside of it is reached."""

import os
from pathlib import Path

import pytest

from hermes.errors import BadRequest, NotFound, TooLarge
from hermes.tools.terminal.files_beneath import FilesBeneath


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    (tmp_path / "secret").write_text("outside")
    return folder


@pytest.fixture
def files(root: Path) -> FilesBeneath:
    return FilesBeneath(root, place="/files")


@pytest.mark.req("W42")
def test_a_file_is_written_whole_read_listed_and_removed(files: FilesBeneath, root: Path) -> None:
    assert files.write("a/b/note.txt", b"one")
    assert not files.write("/files/a/b/note.txt", b"second")
    assert files.read("a/../a/b/note.txt", limit=6) == b"second"
    assert [(one.path, one.size) for one in files.list().files] == [("a/b/note.txt", 6)]
    assert [one.name for one in (root / "a" / "b").iterdir()] == ["note.txt"]
    files.remove("a/b/note.txt")
    assert files.list().files == ()


@pytest.mark.req("W42")
@pytest.mark.parametrize(
    "path",
    ["../secret", "/etc/passwd", "a/../../secret", "..", "/files/../secret", "", ".", "a\0b"],
)
def test_a_path_that_leads_outside_is_refused(files: FilesBeneath, path: str) -> None:
    for act in (
        lambda: files.read(path, limit=100),
        lambda: files.write(path, b"x"),
        lambda: files.remove(path),
    ):
        with pytest.raises(BadRequest):
            act()


@pytest.mark.req("W42")
def test_links_are_never_followed(files: FilesBeneath, root: Path, tmp_path: Path) -> None:
    (root / "file").symlink_to(tmp_path / "secret")
    (root / "folder").symlink_to(tmp_path)
    (root / "real").mkdir()
    (root / "real" / "text").write_text("inside")
    os.mkfifo(root / "pipe")

    for path in ("file", "folder/secret", "pipe"):
        with pytest.raises(BadRequest):
            files.read(path, limit=100)
    for path in ("folder/new", "file"):
        with pytest.raises(BadRequest):
            files.write(path, b"x")
    with pytest.raises(BadRequest):
        files.list("folder")
    assert [one.path for one in files.list().files] == ["real/text"]
    assert [(one.path, data) for one, data in files.texts(limit=100)] == [("real/text", b"inside")]
    files.remove("file")
    assert (tmp_path / "secret").read_text() == "outside"
    assert {one.name for one in tmp_path.iterdir()} == {"secret", "work"}


@pytest.mark.req("W42")
def test_sizes_and_counts_have_limits(files: FilesBeneath, root: Path) -> None:
    for number in range(5):
        (root / f"f{number}").write_bytes(b"x" * 10)

    with pytest.raises(TooLarge, match="10 bytes; at most 9"):
        files.read("f0", limit=9)
    assert files.list(most=3).is_cut
    assert len(files.list(most=3).files) == 3
    assert not files.list(most=5).is_cut
    assert list(files.texts(limit=9)) == []


def test_what_is_not_there_is_named(files: FilesBeneath) -> None:
    for act in (lambda: files.read("no/such", limit=9), lambda: files.remove("none")):
        with pytest.raises(NotFound, match=r"There is no file (no/such|none)"):
            act()


def test_a_file_keeps_its_mode(files: FilesBeneath, root: Path) -> None:
    files.write("run.sh", b"a")
    (root / "run.sh").chmod(0o755)
    files.write("run.sh", b"b")

    assert (root / "run.sh").stat().st_mode & 0o777 == 0o755
