"""The skills of a home: found, read, added, removed, and refused when others could change them."""

import os
from pathlib import Path

import pytest

from hermes.errors import BadRequest, Conflict, NotFound
from hermes.skills.folder import SkillFolder
from hermes.skills.package import PackedFile, package_of
from hermes.testing.manual_time import ManualClock


def text(name: str = "invoice") -> bytes:
    return f"---\nname: {name}\ndescription: About {name}.\n---\nDo {name}.\n".encode()


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir(mode=0o700)
    return folder


def put(home: Path, name: str, content: bytes | None = None) -> Path:
    folder = home / "skills" / name
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_bytes(text(name) if content is None else content)
    return folder


def opened(home: Path, clock: ManualClock | None = None) -> SkillFolder:
    return SkillFolder(home, is_command=lambda word: word == "stop", clock=clock or ManualClock())


def problem(home: Path, name: str) -> str:
    return opened(home).skills()[name].problem


@pytest.mark.req("W38")
def test_a_home_without_skills_has_none(home: Path) -> None:
    assert opened(home).usable() == ()


@pytest.mark.req("W38")
def test_a_folder_that_comes_changes_and_goes_is_noticed(home: Path) -> None:
    clock = ManualClock()
    skills = opened(home, clock)
    seen = [skills.usable()]
    folder = put(home, "invoice")
    for change in (
        lambda: None,
        lambda: (folder / "SKILL.md").write_bytes(text("other")),
        lambda: (folder / "SKILL.md").write_bytes(text()),
        lambda: folder.rename(home / "elsewhere"),
    ):
        change()
        clock.advance(1)
        seen.append(skills.usable())

    assert seen == [(), ("invoice",), (), ("invoice",), ()]


@pytest.mark.req("W38")
@pytest.mark.parametrize("place", ["", "SKILL.md"])
def test_what_others_can_change_is_not_used(home: Path, place: str) -> None:
    folder = put(home, "invoice")
    (folder / place).chmod(0o777)

    assert "can be changed by other users (mode 0777)" in problem(home, "invoice")
    assert opened(home).usable() == ()


@pytest.mark.req("W38")
def test_a_file_that_others_can_change_is_not_read_nor_shown_to_programs(home: Path) -> None:
    folder = put(home, "invoice")
    (folder / "notes.txt").write_text("hello")
    (folder / "notes.txt").chmod(0o666)
    skills = opened(home)

    with pytest.raises(BadRequest, match="can be changed by other users"):
        skills.read("invoice", "notes.txt")
    assert skills.checked_folder("invoice") is None
    (folder / "notes.txt").chmod(0o644)
    assert skills.read("invoice", "notes.txt") == b"hello"
    assert skills.checked_folder("invoice") == folder


@pytest.mark.req("W38")
def test_no_path_and_no_link_leads_out_of_a_skill(home: Path) -> None:
    folder = put(home, "invoice")
    (home / "secret").write_text("SECRET")
    (folder / "link").symlink_to(home / "secret")
    (folder / "folder").symlink_to(home)
    skills = opened(home)

    for path in ("../../secret", str(home / "secret"), "a/../../../secret", "/etc/passwd"):
        with pytest.raises(BadRequest, match="is outside of the skill"):
            skills.read("invoice", path)
    for path in ("link", "folder/secret"):
        with pytest.raises(BadRequest, match="links are not followed"):
            skills.read("invoice", path)
    with pytest.raises(NotFound, match="has no file nothing"):
        skills.read("invoice", "nothing")
    assert skills.checked_folder("invoice") == folder


@pytest.mark.req("W38")
def test_what_is_wrong_with_a_folder_is_its_problem_alone(home: Path) -> None:
    put(home, "invoice")
    put(home, "Bad Name")
    put(home, "stop")
    put(home, "other", text("invoice"))
    put(home, "empty", b"")
    (home / "skills" / "nothing").mkdir()
    (home / "skills" / "file").write_text("x")
    (home / "skills" / "linked").symlink_to(home / "skills" / "invoice")
    (home / "skills" / ".hidden").mkdir()
    (home / "skills" / "fifo").mkdir()
    os.mkfifo(home / "skills" / "fifo" / "SKILL.md")
    skills = opened(home)

    assert skills.usable() == ("invoice",)
    assert {name: one.problem.split(":")[0] for name, one in skills.skills().items()} == {
        "Bad Name": "The folder 'Bad Name' is not named as a skill",
        "empty": "SKILL.md has no front matter",
        "fifo": "SKILL.md is not a file",
        "file": f"{home}/skills/file is not a folder, or is a link",
        "invoice": "",
        "linked": f"{home}/skills/linked is not a folder, or is a link",
        "nothing": "There is no SKILL.md in it.",
        "other": "Its SKILL.md has the name 'invoice', and its folder is 'other'",
        "stop": "/stop is a command already",
    }


@pytest.mark.req("W38")
def test_a_skill_is_added_whole_and_removed(home: Path) -> None:
    skills = opened(home)
    package = package_of(
        (PackedFile("SKILL.md", text()), PackedFile("bin/run", b"#!", is_executable=True))
    )
    added = skills.add(package)
    run = added.folder / "bin" / "run"
    again = opened(home).usable()
    removed = skills.remove("invoice")

    assert (added.name, added.problem, again) == ("invoice", "", ("invoice",))
    assert removed.name == "invoice"
    assert not run.exists()
    assert list((home / "skills").iterdir()) == []
    assert skills.usable() == ()


@pytest.mark.req("W38")
def test_programs_of_the_sandbox_can_read_what_is_added(home: Path) -> None:
    before = os.umask(0o077)
    try:
        package = package_of(
            (PackedFile("SKILL.md", text()), PackedFile("bin/run", b"#!", is_executable=True))
        )
        folder = opened(home).add(package).folder
    finally:
        os.umask(before)
    modes = [
        oct(one.stat().st_mode & 0o777)
        for one in (folder, folder / "bin", folder / "SKILL.md", folder / "bin" / "run")
    ]

    assert modes == ["0o755", "0o755", "0o644", "0o755"]


@pytest.mark.req("W38")
def test_a_name_that_is_taken_is_refused(home: Path) -> None:
    skills = opened(home)
    skills.add(package_of((PackedFile("SKILL.md", text()),)))

    with pytest.raises(Conflict, match="There is a skill invoice already"):
        skills.add(package_of((PackedFile("SKILL.md", text()),)))
    with pytest.raises(BadRequest, match="/stop is a command already"):
        skills.add(package_of((PackedFile("SKILL.md", text("stop")),)))
    with pytest.raises(NotFound, match="There is no skill 'menu'"):
        skills.remove("menu")
    with pytest.raises(NotFound, match=r"There is no skill '\.\./\.\.'"):
        skills.remove("../..")


@pytest.mark.req("W38")
def test_what_a_crash_left_is_removed(home: Path) -> None:
    left = home / "skills" / ".invoice.0123456789abcdef.part"
    left.mkdir(parents=True)
    (left / "SKILL.md").write_bytes(text())
    skills = opened(home)
    before = skills.usable()
    skills.add(package_of((PackedFile("SKILL.md", text("menu")),)))

    assert before == ()
    assert not left.exists()
