"""Tool calls put together from their pieces, told as they grow: pure, no sockets."""

from hermes.message.ids import MakeId
from hermes.message.parts import ToolCallPart
from hermes.ports.provider import ToolCallDelta
from hermes.providers.openai.chunks import CallPiece


class _Call:
    """A tool call whose pieces are still arriving; it is told once its name is known."""

    __slots__ = ("arguments", "id", "name", "position", "told")

    def __init__(self, position: int) -> None:
        self.position = position
        self.id = ""
        self.name = ""
        self.arguments: list[str] = []
        self.told = False


class CallCollector:
    """The tool calls of one answer, in the order in which they began."""

    def __init__(self, make_id: MakeId) -> None:
        self._make_id = make_id
        self._calls: dict[int, _Call] = {}

    def add(self, piece: CallPiece) -> ToolCallDelta | None:
        """Take one piece and return what it adds to the visible stream."""
        call = self._call_of(piece)
        if piece.id and not call.id:
            call.id = piece.id
        function = piece.function
        more = ""
        if function is not None:
            # Some servers repeat the whole name with every piece.
            if function.name and function.name != call.name:
                call.name += function.name
            if function.arguments:
                more = function.arguments
                call.arguments.append(more)
        if call.told:
            return ToolCallDelta(call.position, arguments=more) if more else None
        return self._tell(call) if call.name else None

    def __len__(self) -> int:
        return len(self._calls)

    def finished(self) -> list[ToolCallPart]:
        """Return the calls by position, their pieces put together."""
        return [
            ToolCallPart(
                call.id or self._make_id("call"), call.name, "".join(call.arguments) or "{}"
            )
            for call in self._calls.values()
        ]

    def _call_of(self, piece: CallPiece) -> _Call:
        index = piece.index
        if index is None:
            # Servers without an index send each call whole; a piece with an id begins a new one.
            index = len(self._calls) if piece.id or not self._calls else len(self._calls) - 1
        call = self._calls.get(index)
        if call is None:
            call = self._calls[index] = _Call(len(self._calls))
        return call

    def _tell(self, call: _Call) -> ToolCallDelta:
        call.told = True
        call.id = call.id or self._make_id("call")
        return ToolCallDelta(call.position, call.id, call.name, "".join(call.arguments))
