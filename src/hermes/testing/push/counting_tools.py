"""Tools that append a line to a file each time they actually run, for the torture tests."""

import msgspec

from hermes.errors import ToolError
from hermes.ports.provider import ToolSpec
from hermes.ports.tool import ToolContext, ToolTraits
from hermes.testing.push.tally import Tally

_PARAMETERS = msgspec.Raw(
    b'{"type":"object","properties":{"value":{"type":"string"}},"additionalProperties":false}'
)


class _Arguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    value: str = ""


class CountingTool:
    """Appends a line and reports it; fits `ports.tool.Tool`."""

    def __init__(self, name: str, tally: Tally, *, description: str, traits: ToolTraits) -> None:
        self._tally = tally
        self._spec = ToolSpec(name, description, _PARAMETERS)
        self._traits = traits

    @property
    def spec(self) -> ToolSpec:
        """The description for the model."""
        return self._spec

    @property
    def traits(self) -> ToolTraits:
        """How the tool may be run."""
        return self._traits

    async def run(self, arguments: msgspec.Raw, context: ToolContext) -> str:
        """Append one line and return what was counted."""
        name = self._spec.name
        try:
            value = msgspec.json.decode(bytes(arguments) or b"{}", type=_Arguments).value
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise ToolError(f"{name}: expected an object with a text 'value': {error}") from error
        if self._tally.path is None:
            raise ToolError(
                f"{name}: there is no file to count in; set platforms.pigeon.tool_count_file"
            )
        self._tally.add(tool=name, turn=context.turn_id, ordinal=context.ordinal, value=value)
        return f"{name} counted {value}".rstrip()


def counting_tools(tally: Tally) -> tuple[CountingTool, ...]:
    """Return the three tools, which write to the same file."""
    rows = {
        "count_once": ("running it twice counts twice", ToolTraits(idempotent=False)),
        "count_safe": ("may be run again", ToolTraits(idempotent=True)),
        "ask_first": ("after a person has said yes", ToolTraits(needs_approval=True)),
    }
    return tuple(
        CountingTool(name, tally, description=f"Counts one run; {said}.", traits=traits)
        for name, (said, traits) in rows.items()
    )
