"""Descriptions of programs: what is filled in, and what a wrong one is told."""

from pathlib import Path

import pytest

from hermes.errors import ConfigurationError
from hermes.tools.programs.description import BUILT_IN, Description, filled, read_description

pytestmark = pytest.mark.req("A25")


@pytest.mark.parametrize("name", BUILT_IN)
def test_the_built_in_ones_can_be_read(name: str) -> None:
    made = read_description(name, None)
    given = {"session": "s", "model": "m", "models": "http://m", "key": "k", "folder": "/files"}

    line, variables = made.line(given, is_new=True), made.environment(given)

    assert line[0] in ("claude", "codex")
    assert not any("{" in word for word in (*line, *variables.values()))
    assert "k" in variables.values()


def test_what_is_not_given_is_left_out_with_its_words() -> None:
    made = Description(
        command=("run",),
        new=("--new", "{session}"),
        again=("--resume", "{session}"),
        model=("--model", "{model}"),
        gateway=("--at", "{models}"),
        gateway_variables={"KEY": "{key}"},
    )

    assert made.line({}, is_new=True) == ("run",)
    assert made.environment({}) == {}
    assert made.line({"session": "s", "models": "u"}, is_new=False) == (
        *("run", "--at", "u", "--resume", "s"),
    )


def test_a_value_is_not_searched_for_places() -> None:
    given = {"system": "a {key} b", "key": "secret"}

    assert filled("{system} and {key}", given) == "a {key} b and secret"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("command = [", "is not valid"),
        ("command = []", "`command` is empty"),
        ('command = ["x"]\nnew = ["--new"]', "belong together"),
        ('command = ["x"]\nspeaks = "latin"', "speaks"),
        ('command = ["x"]\ncomand = 1', "comand"),
        ("x = '" + "y" * 100_001 + "'", "more than 100,000 bytes"),
    ],
)
def test_a_wrong_one_is_named_with_what_is_wrong(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "agent.toml"
    path.write_text(text)

    with pytest.raises(ConfigurationError, match=r"adapters\.mine\.description: ") as raised:
        read_description("mine", path)
    assert problem in str(raised.value)


def test_one_of_your_own_needs_a_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="only claude_local and codex_local need none"):
        read_description("mine", None)
    with pytest.raises(ConfigurationError, match="cannot be read"):
        read_description("mine", tmp_path / "none.toml")
