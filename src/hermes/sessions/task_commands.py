"""Messages of programs that are commands about delegated tasks. Pure.

`delegate_task_async WORKSPACE 'TEXT' AND delegate_task_async OTHER 'TEXT'`: a whole message is one
command, or several with AND between them. Anything else is text for the model. Who may write them is
not decided here.
"""

import re
from typing import Final, Literal

import msgspec

from hermes.errors import BadRequest

Verb = Literal["delegate_task", "delegate_task_async", "task_status", "task_result", "task_cancel"]
MOST_COMMANDS: Final = 16
USE: Final = (
    "delegate_task WORKSPACE[,WORKSPACE] 'TEXT', delegate_task_async WORKSPACE[,WORKSPACE] 'TEXT', "
    "task_status ID, task_result ID or task_cancel ID, with AND between several"
)
_VERB = re.compile(r"(delegate_task_async|delegate_task|task_status|task_result|task_cancel)\s+")
_NAMES = re.compile(r"""([^\s,'"]{1,200}(?:,[^\s,'"]{1,200})*)\s*""")
_TEXT = re.compile(r"""'((?:[^'\\]|\\.)*)'\s*|"((?:[^"\\]|\\.)*)"\s*""", re.DOTALL)
_ESCAPED = re.compile(r"""\\(['"\\])""")
_AND = re.compile(r"AND\s+")
_SHOWN = 60


class TaskCommand(msgspec.Struct, frozen=True, kw_only=True):
    """One command: whom it gives which task, or the task that it is about."""

    verb: Verb
    workspaces: tuple[str, ...] = ()
    text: str = ""
    task_id: str = ""

    @property
    def delegates(self) -> bool:
        """Whether it gives a task."""
        return self.verb in ("delegate_task", "delegate_task_async")


def read_task_commands(text: str) -> tuple[TaskCommand, ...]:
    """Return the commands that a message is; none if it does not begin with one.

    Raises `BadRequest` if it begins with one and is not whole.
    """
    text = text.strip()
    found: list[TaskCommand] = []
    place = 0
    while _VERB.match(text, place):
        command, place = _read(text, place)
        found.append(command)
        if len(found) > MOST_COMMANDS:
            raise BadRequest(f"More than {MOST_COMMANDS} commands in one message: send several.")
        if place == len(text):
            return tuple(found)
        further = _AND.match(text, place)
        if further is None:
            raise _unreadable(text, place)
        place = further.end()
    if found:
        raise _unreadable(text, place)
    return ()


def _read(text: str, place: int) -> tuple[TaskCommand, int]:
    verb = _VERB.match(text, place)
    assert verb is not None
    name: Verb = msgspec.convert(verb[1], Verb)
    named = _NAMES.match(text, verb.end())
    if named is None:
        raise _unreadable(text, verb.end())
    names = tuple(named[1].split(","))
    if name not in ("delegate_task", "delegate_task_async"):
        if len(names) > 1:
            raise _unreadable(text, verb.end())
        return TaskCommand(verb=name, task_id=names[0]), named.end()
    quoted = _TEXT.match(text, named.end())
    if quoted is None:
        raise _unreadable(text, named.end())
    task = _ESCAPED.sub(r"\1", quoted[1] if quoted[2] is None else quoted[2])
    if not task.strip():
        raise BadRequest(f"The task for {names[0]!r} is empty: write what is to be done.")
    return TaskCommand(verb=name, workspaces=names, text=task), quoted.end()


def _unreadable(text: str, place: int) -> BadRequest:
    rest = text[place : place + _SHOWN]
    return BadRequest(f"Not a command from {rest!r} on: expected {USE}.")
