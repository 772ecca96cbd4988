"""What a SKILL.md may say, and what is wrong with one that is refused."""

import pytest

from hermes.errors import BadRequest
from hermes.skills.skill_file import SkillFile, is_skill_name, read_skill_file

FRONT = "name: invoice\ndescription: Writes invoices."


def content(front: str = FRONT, body: str = "# How\n\nWrite it.\n") -> bytes:
    return f"---\n{front}\n---\n{body}".encode()


@pytest.mark.req("W38")
def test_every_field_of_the_format_is_read() -> None:
    front = (
        "name: pdf-forms\ndescription: >-\n  Fills\n  forms.\nlicense: Apache-2.0\n"
        "compatibility: Needs git\nmetadata:\n  author: me\n  version: 1.0\n"
        "allowed-tools: Bash(git:*) Read\nunknown: 2026-01-01\n"
    )

    assert read_skill_file(content(front)) == SkillFile(
        name="pdf-forms",
        description="Fills forms.",
        body="# How\n\nWrite it.",
        license="Apache-2.0",
        compatibility="Needs git",
        metadata={"author": "me", "version": "1.0"},
        allowed_tools=("Bash(git:*)", "Read"),
    )


@pytest.mark.req("W38")
def test_line_ends_and_marks_of_other_systems_are_fine() -> None:
    read = read_skill_file(b"\xef\xbb\xbf" + content().replace(b"\n", b"\r\n"))

    assert (read.name, read.body) == ("invoice", "# How\n\nWrite it.")


@pytest.mark.req("W38")
@pytest.mark.parametrize(
    ("front", "problem"),
    [
        ("name: Invoice\ndescription: x", "The name in SKILL.md is 'Invoice': expected 1 to 64"),
        ("name: a--b\ndescription: x", "The name in SKILL.md is 'a--b'"),
        ("name: ../a\ndescription: x", "The name in SKILL.md is '../a'"),
        (f"name: {'a' * 65}\ndescription: x", "'name' of SKILL.md has 65 characters"),
        ("description: x", "'name' of SKILL.md is missing"),
        ("name: a", "'description' of SKILL.md is missing or empty"),
        ("name: a\ndescription: ' '", "'description' of SKILL.md is missing or empty"),
        (f"name: a\ndescription: {'x' * 1025}", "has 1,025 characters: 1,024 are the most"),
        ("name: [a]\ndescription: x", "'name' of SKILL.md is a list or a table"),
        ("name: a\nname: b\ndescription: x", "has 'name' twice"),
        ("name: a\ndescription: x: y", "is not YAML at line 3"),
        ("- name", "is not a table of fields"),
        ("", "is not a table of fields"),
        ("name: &n a\ndescription: x", "uses an anchor or alias at line 2"),
        ("name: a\ndescription: *n", "uses an anchor or alias at line 3"),
        ("name: a\ndescription: !!python/object/apply:os.system [ls]", "uses a tag at line 3"),
        (f"name: a\ndescription: {'[' * 5_000}", "is nested deeper than 5 levels at line 3"),
        (f"name: a\ndescription: x\nnote: {'y' * 20_000}", "at most 16,384 are read"),
        ("name: a\ndescription: x\nmetadata: [1]", "'metadata' of SKILL.md must be a table"),
        ("name: a\ndescription: x\nallowed-tools: {a: b}", "'allowed-tools' of SKILL.md must be"),
        ("? [a]\n: b\nname: a\ndescription: x", "is not YAML"),
    ],
)
def test_bad_front_matter_is_refused_with_its_reason(front: str, problem: str) -> None:
    with pytest.raises(BadRequest) as refused:
        read_skill_file(content(front))

    assert problem in str(refused.value)


@pytest.mark.req("W38")
def test_an_alias_bomb_is_refused_before_it_grows() -> None:
    levels = [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 9)]
    with pytest.raises(BadRequest, match="uses an anchor or alias at line 2"):
        read_skill_file(content("\n".join(("a0: &a0 [x]", *levels))))


@pytest.mark.req("W38")
@pytest.mark.parametrize(
    ("whole", "problem"),
    [
        (b"# No front matter", "has no front matter"),
        (b"---\nname: a\ndescription: x\n", "has no front matter"),
        (b"", "has no front matter"),
        (b"\x89PNG\r\n\x1a\n", "is not UTF-8 at byte 0"),
        (content(body="a\0b"), "contains a NUL character"),
        (content(body="x" * 100_001), "at most 100,000 are read"),
    ],
)
def test_what_is_no_skill_at_all_is_refused(whole: bytes, problem: str) -> None:
    with pytest.raises(BadRequest) as refused:
        read_skill_file(whole)

    assert problem in str(refused.value)


def test_names_are_those_of_the_format() -> None:
    assert [
        name
        for name in ("a", "a-1", "-a", "a-", "a--b", "A", "a_b", "é", "a" * 65)
        if is_skill_name(name)
    ] == ["a", "a-1"]
