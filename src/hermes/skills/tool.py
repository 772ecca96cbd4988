"""`read_skill`: gives a model the instructions of a skill, or one of its files.

Only skills of the turn can be read: the turn says which those are, and no argument adds one.
"""

from typing import Annotated, Final

import msgspec
from msgspec import Meta

from hermes.errors import Refused, ToolError
from hermes.ports.tool import Tool, ToolContext
from hermes.skills.book import SkillBook
from hermes.tools.function_tool import tool

READ_SKILL: Final = "read_skill"


def skill_tool(book: SkillBook) -> Tool:
    """Return the tool."""

    @tool(name=READ_SKILL, idempotent=True, parallel=True)
    def read_skill(
        context: ToolContext,
        name: Annotated[str, "The name of the skill."],
        file: Annotated[str, "One of its files; its instructions if left out."] = "",
        *,
        first_line: Annotated[int, Meta(ge=1), "The first line to return."] = 1,
        lines: Annotated[int, Meta(ge=1), "How many lines to return at most."] = 2_000,
    ) -> str:
        """Read the instructions of a skill, or one of its files."""
        if name not in context.skills:
            known = ", ".join(context.skills) or "none"
            raise ToolError(f"there is no skill {name[:64]!r} here; the skills are: {known}")
        try:
            text = book.text(name, file) if file else book.instructions(name)
        except Refused as error:
            raise ToolError(str(error)) from error
        except OSError as error:
            raise ToolError(f"the skill cannot be read: {error.strerror}") from error
        return _cut(text, first_line, lines)

    return _SkillTool(read_skill)


class _SkillTool:
    """The function, with the trait that it is there only where skills are."""

    def __init__(self, function: Tool) -> None:
        self.spec = function.spec
        self.traits = msgspec.structs.replace(function.traits, reads_skills=True)
        self.run = function.run


def _cut(text: str, first: int, count: int) -> str:
    every = text.splitlines()
    shown = every[first - 1 : first - 1 + count]
    left = len(every) - (first - 1) - len(shown)
    note = [f"[{left} more lines; there are {len(every)}]"] if left > 0 else []
    return "\n".join((*shown, *note)) or "(There are no such lines.)"
