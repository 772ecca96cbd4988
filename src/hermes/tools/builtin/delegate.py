"""`delegate`: gives a task to a subagent, whose answer is the result.

The subagent's turn runs on its own lane below the calling turn, with its own chat. It is named by
the tool call, so a call that is repeated after a crash finds the same subagent.
"""

from collections.abc import Mapping
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from hermes.ports.provider import ToolSpec
from hermes.ports.tool import ToolContext, ToolTraits

INTENT: Final = "delegation"
# A subagent has its own limits for everything it does, and may wait for a person.
_TIMEOUT_S: Final = 7_200.0


class _Arguments(msgspec.Struct, forbid_unknown_fields=True):
    task: Annotated[str, Meta(min_length=1)]
    agent: str = ""


class Delegate:
    """The tool; implements the tool port. `agents` are those it may name, with their purpose."""

    def __init__(self, agents: Mapping[str, str]) -> None:
        self._spec = _spec(agents)
        self._traits = ToolTraits(
            idempotent=True,
            cancellable=True,
            parallel=True,
            timeout_s=_TIMEOUT_S,
            intents=(INTENT,),
            on_by_default=True,
        )

    @property
    def spec(self) -> ToolSpec:
        """The description for the model."""
        return self._spec

    @property
    def traits(self) -> ToolTraits:
        """How the tool may be run."""
        return self._traits

    async def run(self, arguments: msgspec.Raw, context: ToolContext) -> str:
        """Run the subagent to its end and return its answer."""
        asked = msgspec.json.decode(arguments, type=_Arguments)
        return await context.run_child(asked.task, asked.agent)


def _spec(agents: Mapping[str, str]) -> ToolSpec:
    told = "; ".join(f"{name}: {about}" if about else name for name, about in agents.items())
    return ToolSpec(
        name="delegate",
        description=(
            "Give one self-contained task to a subagent and get its answer. It knows nothing of "
            "this conversation: put all it needs into the task. Several calls run side by side."
        ),
        parameters=msgspec.Raw(
            msgspec.json.encode(
                {
                    "type": "object",
                    "properties": {
                        "task": {"type": "string", "minLength": 1},
                        "agent": {
                            "type": "string",
                            "enum": ["", *agents],
                            "description": f"Who does it, nothing for yourself. {told}",
                        },
                    },
                    "required": ["task"],
                    "additionalProperties": False,
                }
            )
        ),
    )
