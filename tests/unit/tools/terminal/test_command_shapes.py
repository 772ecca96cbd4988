"""Which commands fit the shapes of the configuration, and need no approval."""

import pytest

from hermes.tools.terminal.command_shapes import fits

SHAPES = ("git status", "ls *", "python3 tests/*.py", "cat 'a file'")


@pytest.mark.req("W42")
@pytest.mark.parametrize(
    "command",
    [
        "git status",
        "ls",
        "ls -la /tmp",
        "ls 'a b'",
        "python3 tests/one.py",
        'cat "a file"',
        " ls  -l ",
    ],
)
def test_a_simple_command_fits_its_shape(command: str) -> None:
    assert fits(command, SHAPES)


@pytest.mark.req("W42")
@pytest.mark.parametrize(
    "command",
    [
        *("git", "git status -s", "git push", "lsof", "/tmp/ls", "", "python3 tests/one.py -x"),
        *(
            "ls; rm x",
            "ls && rm x",
            "ls | sh",
            "ls > x",
            "ls < x",
            "ls &",
            "ls $(rm x)",
            "ls `rm x`",
        ),
        *("ls $HOME", "ls\nrm x", "ls \\\n", "X=1 ls", "LD_PRELOAD=x ls", "ls 'open", "ls {a,b}"),
        *("(ls)", "!ls", "ls # rm", "ls '$(rm x)'", "ls \u202erm", "ls\0", "ls\trm", "\u00a0ls"),
    ],
)
def test_anything_else_fits_none(command: str) -> None:
    assert not fits(command, SHAPES)


def test_without_shapes_nothing_fits() -> None:
    assert not fits("ls", ())
