"""What is a command about tasks and what is not: `read_task_commands`."""

import pytest

from hermes.errors import BadRequest
from hermes.sessions.task_commands import MOST_COMMANDS, TaskCommand, read_task_commands


@pytest.mark.req("M11")
def test_m11_the_commands_of_the_first_system_are_read_as_they_were_written() -> None:
    text = (
        "delegate_task_async w_1 'Draft release notes for v2.1' AND "
        "delegate_task_async w_2 'Summarise the last 30 days of support tickets'"
    )

    assert read_task_commands(text) == (
        TaskCommand(
            verb="delegate_task_async", workspaces=("w_1",), text="Draft release notes for v2.1"
        ),
        TaskCommand(
            verb="delegate_task_async",
            workspaces=("w_2",),
            text="Summarise the last 30 days of support tickets",
        ),
    )


@pytest.mark.req("M11")
@pytest.mark.parametrize(
    ("text", "command"),
    [
        (
            'delegate_task a,b "it\'s\\n \\"so\\" AND on"',
            TaskCommand(verb="delegate_task", workspaces=("a", "b"), text='it\'s\\n "so" AND on'),
        ),
        (
            "  delegate_task a\n'two\nlines \\' \\\\'  ",
            TaskCommand(verb="delegate_task", workspaces=("a",), text="two\nlines ' \\"),
        ),
        ("task_status m_1", TaskCommand(verb="task_status", task_id="m_1")),
        ("task_result m_1", TaskCommand(verb="task_result", task_id="m_1")),
        ("task_cancel m_1", TaskCommand(verb="task_cancel", task_id="m_1")),
    ],
)
def test_m11_every_command_is_read(text: str, command: TaskCommand) -> None:
    assert read_task_commands(text) == (command,)


@pytest.mark.req("M11")
@pytest.mark.parametrize(
    "text",
    [
        "",
        "hello",
        "> delegate_task a 'x'",
        "please delegate_task a 'x'",
        "`delegate_task a 'x'`",
        "Delegate_task a 'x'",
        "delegate_tasks a 'x'",
        "delegate_task",
        "/delegate_task a 'x'",
    ],
)
def test_m11_other_text_is_no_command(text: str) -> None:
    assert read_task_commands(text) == ()


@pytest.mark.req("M11")
@pytest.mark.parametrize(
    "text",
    [
        "delegate_task a x",
        "delegate_task a 'x",
        "delegate_task 'x'",
        "delegate_task a, b 'x'",
        "delegate_task a 'x' and task_status m_1",
        "delegate_task a 'x' AND",
        "delegate_task a 'x' AND hello",
        "delegate_task a 'it's'",
        "delegate_task a ' '",
        "task_status m_1,m_2",
        "task_status m_1 now",
        " AND ".join(["task_status m_1"] * (MOST_COMMANDS + 1)),
    ],
)
def test_m11_half_a_command_is_an_error(text: str) -> None:
    with pytest.raises(BadRequest, match=r"expected delegate_task|is empty|More than"):
        read_task_commands(text)


@pytest.mark.req("M11")
@pytest.mark.parametrize(
    "text", ["delegate_task a '" + "\\'" * 50_000, "delegate_task " + "a," * 50_000]
)
def test_m11_a_long_hostile_text_is_read_fast(text: str) -> None:
    with pytest.raises(BadRequest):
        read_task_commands(text)
