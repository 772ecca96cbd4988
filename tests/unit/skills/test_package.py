"""Skills from folders and archives: what is taken, and that nothing else gets in."""

import gzip
import io
import os
import stat
import tarfile
import zipfile
from contextlib import suppress
from pathlib import Path

import pytest

from hermes.errors import BadRequest, NotFound, Refused, TooLarge
from hermes.skills.archive import pack, unpack
from hermes.skills.package import PackedFile, read_folder

SKILL = b"---\nname: invoice\ndescription: Writes invoices.\n---\nWrite.\n"
MAIN = PackedFile("SKILL.md", SKILL)
SCRIPT = PackedFile("scripts/run.sh", b"echo hi", is_executable=True)
LINK = stat.S_IFLNK | 0o777


def zipped(*entries: tuple[str, bytes], mode: int = 0o100644) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in entries:
            info = zipfile.ZipInfo(name)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = (mode if name != "SKILL.md" else 0o100644) << 16
            file.writestr(info, data)
    return out.getvalue()


def tarred(*infos: tuple[tarfile.TarInfo, bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as file:
        for info, data in infos:
            info.size = len(data)
            file.addfile(info, io.BytesIO(data))
    return out.getvalue()


def member(name: str, kind: bytes = tarfile.REGTYPE, target: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.mode = kind, target, 0o755
    return info


@pytest.mark.req("W38")
def test_a_folder_becomes_an_archive_and_comes_back_the_same(tmp_path: Path) -> None:
    (tmp_path / "scripts").mkdir()
    (tmp_path / "SKILL.md").write_bytes(SKILL)
    (tmp_path / "scripts" / "run.sh").write_bytes(SCRIPT.content)
    (tmp_path / "scripts" / "run.sh").chmod(0o755)
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "config").write_text("left out")
    (tmp_path / "assets").mkdir()
    (tmp_path / "assets" / "logo.png").write_bytes(b"\x89PNG\0")

    read = read_folder(tmp_path)

    assert read.files == (MAIN, PackedFile("assets/logo.png", b"\x89PNG\0"), SCRIPT)
    assert unpack(pack(read)) == read
    assert pack(read) == pack(unpack(pack(read)))


@pytest.mark.req("W38")
def test_the_one_skill_of_an_archive_is_found_below_its_folders() -> None:
    files = (("repo-main/README.md", b"no"), ("repo-main/skills/invoice/SKILL.md", SKILL))
    tar = tarred(*((member(name), data) for name, data in files))

    assert unpack(zipped(*files, mode=0)).files == (MAIN,)
    assert [one.path for one in unpack(tar).files] == ["SKILL.md"]
    assert [one.path for one in unpack(gzip.compress(tar)).files] == ["SKILL.md"]


@pytest.mark.req("W38")
def test_of_several_skills_one_has_to_be_named() -> None:
    archive = zipped(("a/invoice/SKILL.md", SKILL), ("a/menu/SKILL.md", SKILL))
    with pytest.raises(BadRequest, match=r"has 2 skills: a/invoice, a/menu\. Name .* --path"):
        unpack(archive)

    assert unpack(archive, inner="invoice").files == (MAIN,)
    assert unpack(archive, inner="a/menu/").files == (MAIN,)
    with pytest.raises(BadRequest, match=r"no folder nowhere with a SKILL\.md in the archive"):
        unpack(archive, inner="nowhere")


@pytest.mark.req("W38")
@pytest.mark.parametrize(
    "path",
    [
        "../out.txt",
        "a/../../out.txt",
        "/etc/cron.d/x",
        "C:/out.txt",
        "a\\..\\out.txt",
        "a\nb",
        "a\x1b[2Jb",
        "a\u202eb",
        "/".join("abcdefghi"),
        "x" * 201,
        "./a",
        "a//b",
    ],
)
def test_a_path_that_leaves_its_folder_is_refused(path: str) -> None:
    for archive in (
        zipped(("SKILL.md", SKILL), (path, b"x")),
        tarred((member("SKILL.md"), SKILL), (member(path), b"x")),
    ):
        with pytest.raises(BadRequest, match=r"leaves the folder of the skill|is not plain"):
            unpack(archive)


@pytest.mark.req("W38")
def test_links_and_devices_are_refused(tmp_path: Path) -> None:
    kinds = (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE)
    odd = [
        tarred((member("SKILL.md"), SKILL), (member("a", kind, "/etc/passwd"), b""))
        for kind in kinds
    ]
    odd.append(zipped(("SKILL.md", SKILL), ("a", b"/etc/passwd"), mode=LINK))
    for archive in odd:
        with pytest.raises(BadRequest, match="a is a link or a device"):
            unpack(archive)

    (tmp_path / "SKILL.md").write_bytes(SKILL)
    (tmp_path / "link").symlink_to("/etc/passwd")
    with pytest.raises(BadRequest, match="link is a link or a device"):
        read_folder(tmp_path)
    (tmp_path / "link").unlink()
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(BadRequest, match="pipe is a link or a device"):
        read_folder(tmp_path)


@pytest.mark.req("W38")
def test_bombs_end_at_the_limits(tmp_path: Path) -> None:
    zeros = bytes(2_000_001)
    with pytest.raises(Refused, match="big has more than 2,000,000 bytes"):
        unpack(zipped(("SKILL.md", SKILL), ("big", zeros)))
    with pytest.raises(Refused, match="more than 8,000,000 bytes"):
        unpack(zipped(("SKILL.md", SKILL), *((f"f{n}", zeros[:-1]) for n in range(5))))
    with pytest.raises(Refused, match="more than 300 files"):
        unpack(zipped(("SKILL.md", SKILL), *((f"f{n}", b"") for n in range(300))))
    with pytest.raises(Refused, match="larger than 100,000,000 bytes unpacked"):
        unpack(gzip.compress(bytes(100_000_001), compresslevel=1))
    (tmp_path / "SKILL.md").write_bytes(SKILL)
    (tmp_path / "big").write_bytes(zeros)
    with pytest.raises(Refused, match="big has more than 2,000,000 bytes"):
        read_folder(tmp_path)


@pytest.mark.req("W38")
def test_an_archive_that_says_less_than_it_holds_is_cut_by_what_is_read() -> None:
    archive = bytearray(zipped(("SKILL.md", SKILL), ("big", bytes(3_000_000))))
    # The size that the central directory states.
    at = archive.rindex(b"PK\x01\x02")
    archive[at + 24 : at + 28] = (10).to_bytes(4, "little")
    with pytest.raises(Refused):
        unpack(bytes(archive))


@pytest.mark.req("W38")
@pytest.mark.parametrize(
    ("archive", "problem"),
    [
        (b"hello", "neither a zip nor a tar"),
        (b"", "neither a zip nor a tar"),
        (b"PK\x03\x04" + bytes(100), "zip archive is damaged"),
        (b"\x1f\x8b" + bytes(100), "damaged: it cannot be unpacked"),
        (gzip.compress(tarred((member("SKILL.md"), SKILL)))[:-20], "is cut off"),
        (zipped(("README.md", b"x")), "There is no SKILL.md in the archive"),
        (zipped(("SKILL.md", b"x")), "has no front matter"),
    ],
)
def test_damaged_archives_and_those_without_a_skill_are_refused(
    archive: bytes, problem: str
) -> None:
    with pytest.raises(Refused, match=problem):
        unpack(archive)


@pytest.mark.req("W38")
def test_an_encrypted_zip_is_refused() -> None:
    archive = bytearray(zipped(("SKILL.md", SKILL)))
    for mark, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        archive[archive.index(mark) + at] |= 1
    with pytest.raises(BadRequest, match="encrypted"):
        unpack(bytes(archive))


def test_two_files_of_one_name_are_refused() -> None:
    with pytest.warns(UserWarning, match="Duplicate name"):
        archive = zipped(("SKILL.md", SKILL), ("a", b"1"), ("a", b"2"))
    with pytest.raises(BadRequest, match="has a twice"):
        unpack(archive)


def test_a_folder_that_is_not_there_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="There is no folder"):
        read_folder(tmp_path / "nowhere")
    with pytest.raises(BadRequest, match=r"There is no SKILL\.md in it"):
        read_folder(tmp_path)


@pytest.mark.req("W38")
def test_a_zip_that_is_damaged_anywhere_is_one_clear_error() -> None:
    whole = zipped(("SKILL.md", SKILL), ("a/b", b"c"))

    for at in range(4, len(whole)):
        for byte in (0x00, 0x7F, 0xFF):
            damaged = whole[:at] + bytes([byte]) + whole[at + 1 :]
            with suppress(BadRequest, TooLarge):
                unpack(damaged)


@pytest.mark.req("W38")
def test_a_file_that_is_also_a_folder_is_refused() -> None:
    with pytest.raises(BadRequest, match=r"a is a file, and also the folder of a/b/c\."):
        unpack(zipped(("SKILL.md", SKILL), ("a", b"1"), ("a/b/c", b"2")))
