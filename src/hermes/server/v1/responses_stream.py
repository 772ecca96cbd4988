"""Writes a streamed answer as the events of the Responses wire.

An item opens with its first piece, and deltas are sent at once. All items close at the end: only
then is it known what a service has sealed of its reasoning, and clients order items by when they
close.
"""

import msgspec

from hermes.calls.events import FullAnswer, Piece
from hermes.errors import (
    BadRequest,
    HermesError,
    OverBudget,
    ProviderRejected,
    ProviderUnavailable,
    TryLater,
)
from hermes.message.parts import ToolCallPart
from hermes.ports.provider import CallEnd, ReasoningDelta, TextDelta, ToolCallDelta
from hermes.server.v1.dialect import Stamp, WireCall
from hermes.server.v1.openai_errors import openai_error, service_names
from hermes.server.v1.responses_close import ItemCloser, item_of, open_content
from hermes.server.v1.responses_events import Frames, delta_head
from hermes.server.v1.responses_in import echo_of
from hermes.server.v1.responses_out import (
    Group,
    Ids,
    Json,
    ResponseWriter,
    Thought,
    call_item,
    cut_reason,
    groups_of,
    message_item,
    reasoning_item,
    refusal_of,
    wire_tokens,
)
from hermes.server.v1.responses_slots import Pair, SlotKind, StreamItem, kind_of, pair_up
from hermes.server.v1.responses_thoughts import DIALECT, ends_item, own_id

# These items hold more than text: they are sent once they are complete.
_WHOLE_ONLY = frozenset({"local_shell", "tool_search"})


class ResponsesStream:
    """Writes one answer."""

    def __init__(self, call: WireCall, stamp: Stamp) -> None:
        self._echo = echo_of(call)
        self._ids = Ids(stamp)
        self._made_up = f"call_{stamp.id}"
        self._response = ResponseWriter(call, stamp)
        self._frames = Frames()
        self._slots: list[StreamItem] = []
        self._calls: dict[int, StreamItem] = {}
        self._current: StreamItem | None = None
        self._has_begun = False
        self._output: list[Json] | None = None
        # The end of every item, if the answer was closed before its end is written.
        self._closing = b""
        self._whole = b""

    def feed(self, piece: Piece) -> bytes:
        """Write more of the answer; the first frames also open it."""
        if isinstance(piece, ToolCallDelta):
            return self._feed_call(piece)
        words = self._feed_words(piece) if piece.text else b""
        return words if isinstance(piece, TextDelta) else words + self._feed_seal(piece)

    def _feed_words(self, piece: TextDelta | ReasoningDelta) -> bytes:
        kind = _kind_of(piece)
        slot, opening = self._current, b""
        if slot is None or slot.kind != kind or not slot.head:
            slot, opening = self._open_words(kind)
        slot.pieces.append(piece.text)
        if isinstance(piece, TextDelta) and piece.logprobs:
            return opening + self._delta_with_tokens(slot, piece)
        return opening + self._frames.delta(slot.head, piece.text)

    def _delta_with_tokens(self, slot: StreamItem, piece: TextDelta) -> bytes:
        slot.tokens += piece.logprobs
        return self._frames.event(
            "response.output_text.delta",
            item_id=slot.id,
            output_index=slot.place,
            content_index=0,
            delta=piece.text,
            logprobs=wire_tokens(piece.logprobs),
        )

    def _feed_seal(self, piece: ReasoningDelta) -> bytes:
        """Assign a place to a finished thought; its seal is sent when all items close."""
        if not (piece.whole or piece.sealed or piece.signature):
            return b""
        frames = self._begin()
        slot = self._current
        if slot is None or slot.kind != "thought":
            slot, opening = self._add("thought", own_id(piece.whole) if piece.whole else None)
            frames += opening
        last = piece.whole[-1] if piece.whole else None
        is_signed = piece.signature is not None and bool(slot.pieces)
        if is_signed or (last is not None and (last.dialect == DIALECT or ends_item(last))):
            self._current = None  # the next thought is a separate item
        return frames

    def end(self, answer: FullAnswer) -> bytes:
        """Write what was not streamed, then the end of every item and of the answer."""
        if not self._whole:
            self.closed(answer)
        is_whole = cut_reason(answer.end) is None
        kind = "response.completed" if is_whole else "response.incomplete"
        return self._closing + self._tell(kind, self._whole)

    def closed(self, answer: FullAnswer) -> bytes:
        """Close every item, and return the response as `end` will send it."""
        frames = [self._begin()]
        reason = cut_reason(answer.end)
        pairs = pair_up(self._groups(answer.end), self._slots)
        closing = ItemCloser(self._frames)
        output: list[Json] = []
        for place, pair in enumerate(pairs):
            is_cut = reason is not None and place == len(pairs) - 1
            group, slot = pair[0], pair[1] or self._open_late(pair, frames)
            item = item_of(group, slot, is_cut=is_cut)
            frames.append(closing.close(group, slot, item=item))
            output.append(item)
        self._output, self._closing = output, b"".join(frames)
        self._whole = self._response.ended(answer, output)
        return self._whole

    def _groups(self, end: CallEnd) -> list[Group]:
        """Return the items of the whole answer; text that was sent as text stays text."""
        has_said = any(slot.kind == "said" for slot in self._slots)
        refusal = end.refusal if has_said else refusal_of(end, self._echo)
        return groups_of(end.parts, refusal=refusal)

    def failed(self, error: HermesError) -> bytes:
        """Write that the answer failed: no item is marked as done that is not."""
        output = self._output
        if output is None:
            output = [item_of(None, slot, is_cut=True) for slot in self._slots]
        opening = self._begin() + self._closing
        response = self._response.failed(failure_of(error), output)
        return opening + self._tell("response.failed", response)

    def _tell(self, kind: str, response: bytes) -> bytes:
        return self._frames.event(kind, response=msgspec.Raw(response))

    def _begin(self) -> bytes:
        if self._has_begun:
            return b""
        self._has_begun = True
        running = self._response.running()
        frames = self._tell("response.created", running)
        return frames + self._tell("response.in_progress", running)

    def _open_words(self, kind: SlotKind) -> tuple[StreamItem, bytes]:
        frames = self._begin()
        slot = self._current
        if slot is None or slot.kind != kind:
            slot, opening = self._add(kind)
            frames += opening
        return slot, frames + self._add_part(slot)

    def _add(self, kind: SlotKind, item_id: str | None = None) -> tuple[StreamItem, bytes]:
        place = len(self._slots)
        if kind == "thought":
            slot = StreamItem(kind, place, item_id or self._ids.thought(place))
            item = reasoning_item(slot.id)
        else:
            slot = StreamItem(kind, place, self._ids.message(place))
            item = message_item(slot.id, "", status="in_progress")
        self._slots.append(slot)
        self._current = slot
        return slot, self._frames.event("response.output_item.added", output_index=place, item=item)

    def _add_part(self, slot: StreamItem) -> bytes:
        at = {"item_id": slot.id, "output_index": slot.place}
        if slot.kind == "thought":
            slot.head = delta_head("response.reasoning_summary_text.delta", **at, summary_index=0)
            part: Json = {"type": "summary_text", "text": ""}
            kind = "response.reasoning_summary_part.added"
            return self._frames.event(kind, **at, summary_index=0, part=part)
        slot.head, opening = open_content(self._frames, slot)
        return opening

    def _feed_call(self, piece: ToolCallDelta) -> bytes:
        slot, opening = self._calls.get(piece.index), b""
        if slot is None:
            opening = self._begin()
            call_id = piece.id or f"{self._made_up}_{len(self._slots)}"
            slot, added = self._add_call(ToolCallPart(call_id, piece.name, ""))
            self._calls[piece.index] = slot
            opening += added
        if not piece.arguments:
            return opening
        slot.pieces.append(piece.arguments)
        if not slot.head:
            return opening
        return opening + self._frames.delta(slot.head, piece.arguments)

    def _add_call(self, call: ToolCallPart) -> tuple[StreamItem, bytes]:
        place, shape = len(self._slots), self._echo.shapes.get(call.name)
        slot = StreamItem("call", place, self._ids.call(place, shape), call=call, shape=shape)
        self._slots.append(slot)
        self._current = slot
        kind = "function" if shape is None else shape.kind
        if kind in _WHOLE_ONLY:
            slot.announced = False
            return slot, b""
        if kind == "function":
            at = {"item_id": slot.id, "output_index": place}
            slot.head = delta_head("response.function_call_arguments.delta", **at)
        item = call_item(slot.id, call, shape=shape, status="in_progress")
        added = self._frames.event("response.output_item.added", output_index=place, item=item)
        return slot, added

    def _open_late(self, pair: Pair, frames: list[bytes]) -> StreamItem:
        """Open an item that was not streamed."""
        group = pair[0]
        assert group is not None
        if isinstance(group, ToolCallPart):
            slot, opening = self._add_call(msgspec.structs.replace(group, arguments=""))
        elif isinstance(group, Thought):
            slot, opening = self._add(kind_of(group), own_id(group.parts))
        else:
            slot, opening = self._add(kind_of(group))
        frames.append(opening)
        return slot


def _kind_of(piece: TextDelta | ReasoningDelta) -> SlotKind:
    if isinstance(piece, ReasoningDelta):
        return "thought"
    return "refused" if piece.refusal else "said"


def failure_of(error: HermesError) -> Json:
    """Return why a response failed, in the codes that clients decide by."""
    told = openai_error(error)["error"]
    assert isinstance(told, dict)
    message = str(told["message"])
    wait = error.retry_after if isinstance(error, TryLater | ProviderUnavailable) else None
    code = "server_error"
    if isinstance(error, OverBudget):
        code = "insufficient_quota"
    elif wait is not None:
        code = "rate_limit_exceeded"
        # Codex reads the delay from this text.
        message = f"{message} Please try again in {max(1, round(wait))}s."
    elif isinstance(error, BadRequest) or (
        isinstance(error, ProviderRejected) and error.everywhere
    ):
        code = "invalid_prompt"
    own_code, param = service_names(error)
    found: Json = {"code": own_code or code, "message": message}
    return found if param is None else found | {"param": param}
