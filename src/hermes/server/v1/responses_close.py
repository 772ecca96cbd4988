"""Closes the items of a Responses stream: sends what is left, then that each item is done."""

import msgspec

from hermes.message.parts import ToolCallPart
from hermes.server.v1.responses_events import Frames, delta_head
from hermes.server.v1.responses_out import (
    Group,
    Json,
    OutputMessage,
    Status,
    Thought,
    call_item,
    content_part,
    custom_input,
    message_item,
    reasoning_item,
)
from hermes.server.v1.responses_slots import StreamItem


def item_of(group: Group | None, slot: StreamItem, *, is_cut: bool, refused: bool = False) -> Json:
    """Return an item in its final form; without a `group` it is what was sent of it."""
    status: Status = "incomplete" if is_cut else "completed"
    if slot.kind == "thought":
        parts = group.parts if isinstance(group, Thought) else ()
        texts = group.texts if isinstance(group, Thought) else ()
        shown = (slot.text,) if slot.pieces else ()
        return reasoning_item(slot.id, texts or shown, parts=parts)
    if slot.kind == "said":
        is_refusal = refused and not slot.pieces
        text = _said(group, slot)
        return message_item(slot.id, text, status=status, refused=is_refusal, tokens=slot.tokens)
    call = _call(group, slot)
    if group is None:
        status = "incomplete"
    return call_item(slot.id, call, shape=slot.shape, status=status)


def _said(group: Group | None, slot: StreamItem) -> str:
    """Return the text of a message; text already sent stays, whatever the answer is now."""
    shown = slot.text
    if isinstance(group, OutputMessage) and group.text.startswith(shown):
        return group.text
    return shown


def _call(group: Group | None, slot: StreamItem) -> ToolCallPart:
    """Return a call under the id that it was sent with."""
    assert slot.call is not None
    arguments = group.arguments if isinstance(group, ToolCallPart) else slot.text
    return msgspec.structs.replace(slot.call, arguments=arguments)


class ItemCloser:
    """Closes the items of one stream."""

    def __init__(self, frames: Frames, *, refused: bool) -> None:
        self._frames = frames
        self.refused = refused

    def close(self, group: Group | None, slot: StreamItem, *, item: Json) -> bytes:
        """Write what is left of an item, and that it is done."""
        if slot.kind == "call" and group is None:
            # The call is incomplete: marked as done, a client would run half of it.
            return b""
        at = {"item_id": slot.id, "output_index": slot.place}
        if slot.kind == "thought":
            frames = self._close_thought(slot, at, item=item)
        elif slot.kind == "said":
            frames = self._close_said(slot, at, part=item["content"][0])
        else:
            frames = self._close_call(group, slot, at=at, item=item)
        done = self._frames.event("response.output_item.done", output_index=slot.place, item=item)
        return b"".join((*frames, done))

    def _close_thought(self, slot: StreamItem, at: Json, *, item: Json) -> list[bytes]:
        event = self._frames.event
        frames: list[bytes] = []
        texts = [slot.text] if slot.pieces else [piece["text"] for piece in item["summary"]]
        for place, text in enumerate(texts):
            where = {**at, "summary_index": place}
            part = {"type": "summary_text", "text": text}
            if not slot.pieces:
                empty = {"type": "summary_text", "text": ""}
                head = delta_head("response.reasoning_summary_text.delta", **where)
                frames += [
                    event("response.reasoning_summary_part.added", **where, part=empty),
                    self._frames.delta(head, text),
                ]
            frames += [
                event("response.reasoning_summary_text.done", **where, text=text),
                event("response.reasoning_summary_part.done", **where, part=part),
            ]
        return frames

    def _close_said(self, slot: StreamItem, at: Json, *, part: Json) -> list[bytes]:
        event = self._frames.event
        where = {**at, "content_index": 0}
        frames: list[bytes] = []
        if part["type"] == "refusal":
            text = part["refusal"]
            empty = content_part("", refused=True)
            return [
                event("response.content_part.added", **where, part=empty),
                self._frames.delta(delta_head("response.refusal.delta", **where), text),
                event("response.refusal.done", **where, refusal=text),
                event("response.content_part.done", **where, part=part),
            ]
        text = part["text"]
        if not slot.head:
            slot.head = delta_head("response.output_text.delta", **where, logprobs=[])
            frames.append(event("response.content_part.added", **where, part=content_part("")))
        if rest := text[len(slot.text) :]:
            frames.append(self._frames.delta(slot.head, rest))
        frames += [
            event("response.output_text.done", **where, text=text, logprobs=part["logprobs"]),
            event("response.content_part.done", **where, part=part),
        ]
        return frames

    def _close_call(
        self, group: Group | None, slot: StreamItem, *, at: Json, item: Json
    ) -> list[bytes]:
        event = self._frames.event
        if not slot.announced:
            opened = {**item, "status": "in_progress"}
            return [event("response.output_item.added", output_index=slot.place, item=opened)]
        call = _call(group, slot)
        if not slot.head:
            text = custom_input(call)
            head = delta_head("response.custom_tool_call_input.delta", **at)
            return [
                self._frames.delta(head, text),
                event("response.custom_tool_call_input.done", **at, input=text),
            ]
        frames: list[bytes] = []
        if call.arguments.startswith(slot.text) and (rest := call.arguments[len(slot.text) :]):
            frames.append(self._frames.delta(slot.head, rest))
        name = item["name"]
        done = "response.function_call_arguments.done"
        frames.append(event(done, **at, name=name, arguments=call.arguments))
        return frames
