"""Writes one answer as the events of a streamed message: blocks open, grow and close in turn.

Pure. A call whose arguments are incomplete keeps its block open: pieces for others wait meanwhile.
A thought is sealed where it ends, so that blocks keep their order of arrival. Whatever was not
streamed is written at the end.
"""

import msgspec

from hermes.calls.events import FullAnswer, Piece
from hermes.calls.token_estimate import input_tokens
from hermes.errors import HermesError
from hermes.http.sse import frame
from hermes.message.parts import Part, TextPart, ToolCallPart, tool_calls_of
from hermes.message.reply import Usage
from hermes.ports.provider import ReasoningDelta, TextDelta, ToolCallDelta
from hermes.server.v1.anthropic_errors import anthropic_error
from hermes.server.v1.dialect import Stamp, WireCall
from hermes.server.v1.messages_out import (
    Json,
    Thought,
    grouped,
    message_head,
    stop_of,
    thinking_block,
    usage_of,
    words_of,
    words_of_thought,
)
from hermes.server.v1.messages_thoughts import DIALECT, ForeignThought, luggage_of, packed

PING = frame("ping", {"type": "ping"})
_STOP = frame("message_stop", {"type": "message_stop"})
_DELTA = (
    b'event: content_block_delta\ndata: {"type":"content_block_delta","index":%d,'
    b'"delta":{"type":"%b","%b":'
)
_TAIL = b"}}\n\n"
# The delta of each type of block, and the field that it extends.
_GROWING = {
    "text": (b"text_delta", b"text"),
    "thinking": (b"thinking_delta", b"thinking"),
    "tool_use": (b"input_json_delta", b"partial_json"),
}
_THOUGHTS = frozenset({"thinking", "redacted_thinking"})
_THINKING: Json = {"thinking": "", "signature": ""}
_SIGNATURE = (b"signature_delta", b"signature")
_encode = msgspec.json.Encoder().encode


class _Call:
    """A tool call and how much of it was sent."""

    __slots__ = ("id", "index", "pieces")

    def __init__(self, index: int, id_: str) -> None:
        self.index = index
        self.id = id_
        self.pieces: list[str] = []

    def is_whole(self) -> bool:
        """Return whether the arguments are complete, so that nothing more can come."""
        if not self.pieces or not self.pieces[-1].rstrip().endswith("}"):
            return False
        try:
            msgspec.json.decode("".join(self.pieces))
        except (msgspec.DecodeError, RecursionError):
            return False
        return True


class MessagesStream:
    """Writes one answer; what was written so far decides what the end still has to add."""

    def __init__(self, call: WireCall, *, stamp: Stamp) -> None:
        self._call = call
        self._stamp = stamp
        self._frames: list[bytes] = []
        self._begun = False
        self._block = ""
        self._count = 0
        self._head = b""
        self._text_chars = 0
        self._thoughts: list[str] = []
        self._thinking: list[str] = []
        self._ended: set[Thought] = set()
        self._place = 0
        self._seals: set[str] = set()
        self._calls: dict[int, _Call] = {}
        self._calling: _Call | None = None
        self._held: list[Piece] = []

    def feed(self, piece: Piece) -> bytes:
        """Write more of the answer; the first frames also open it."""
        if (
            self._block == "text"
            and isinstance(piece, TextDelta)
            and piece.text
            and not piece.starts_part
        ):
            self._text_chars += len(piece.text)
            return b"%b%b%b" % (self._head, _encode(piece.text), _TAIL)
        self._take(piece)
        return self._written()

    def end(self, answer: FullAnswer) -> bytes:
        """Write what was not streamed, the stop reason, the usage and the end marker."""
        end = answer.end
        self._begin()
        self._finish_calls(end.parts)
        self._write_rest(end.parts)
        self._close()
        self._event("message_delta", {"delta": stop_of(end), "usage": usage_of(end.usage)})
        self._frames.append(_STOP)
        return self._written()

    def failed(self, error: HermesError) -> bytes:
        """Write that the answer failed; close nothing, so that nothing looks complete."""
        self._frames.append(frame("error", anthropic_error(error)))
        return self._written()

    def _written(self) -> bytes:
        made = b"".join(self._frames)
        self._frames.clear()
        return made

    def _event(self, kind: str, data: Json) -> None:
        self._frames.append(frame(kind, {"type": kind, **data}))

    def _begin(self) -> None:
        if self._begun:
            return
        self._begun = True
        head = message_head(self._stamp, model=self._stamp.model or self._call.model)
        # The service's own count is known at the end; clients show this number until then.
        head["usage"] = usage_of(Usage(tokens_in=input_tokens(self._call.request)))
        self._event("message_start", {"message": head})
        self._frames.append(PING)

    def _take(self, piece: Piece) -> None:
        if self._must_wait(piece):
            self._held.append(piece)
        elif isinstance(piece, TextDelta):
            self._text_chars += len(piece.text)
            if piece.starts_part:
                self._close()
            self._grow("text", piece.text)
        elif isinstance(piece, ReasoningDelta):
            self._take_thought(piece)
        else:
            self._take_call(piece)

    def _must_wait(self, piece: Piece) -> bool:
        current = self._calling
        if current is None or (isinstance(piece, ToolCallDelta) and piece.index == current.index):
            return False
        return bool(self._held) or not current.is_whole()

    def _take_thought(self, piece: ReasoningDelta) -> None:
        if piece.sealed is not None:
            self._seals.add(piece.sealed)
            self._whole_block({"type": "redacted_thinking", "data": piece.sealed})
        if piece.text:
            self._thoughts.append(piece.text)
            self._grow("thinking", piece.text)
        if piece.signature:
            self._seals.add(piece.signature)
            self._sign(piece.signature)
        if piece.whole:
            self._ended.add(piece.whole)
            self._seal(piece.whole)

    def _seal(self, thought: Thought) -> None:
        """Close the block of a thought with its seal."""
        shown = "".join(self._thinking)
        block = thinking_block(thought, place=self._place, shown=shown)
        self._sign(str(block.get("signature", "")))

    def _take_call(self, piece: ToolCallDelta) -> None:
        call = self._calls.get(piece.index)
        if call is None:
            call = self._calls[piece.index] = _Call(piece.index, piece.id)
            self._open("tool_use", id=piece.id, name=piece.name, input={})
            self._calling = call
        if call is not self._calling or not piece.arguments:
            return
        call.pieces.append(piece.arguments)
        self._grow("tool_use", piece.arguments)
        if self._held and call.is_whole():
            self._release()

    def _release(self) -> None:
        """Close the call that others were waiting for, and write what waited."""
        self._close()
        held, self._held = self._held, []
        for piece in held:
            self._take(piece)

    def _finish_calls(self, parts: tuple[Part, ...]) -> None:
        """Write the missing part of the open call, and everything that waited for it."""
        known = {part.id: part.arguments for part in tool_calls_of(parts)}
        while self._calling is not None:
            call = self._calling
            rest = known.get(call.id, "")[sum(map(len, call.pieces)) :]
            if rest:
                self._grow("tool_use", rest)
            self._release()

    def _write_rest(self, parts: tuple[Part, ...]) -> None:
        unseen = self._text_chars
        shown_calls = {call.id for call in self._calls.values()}
        foreign: list[ForeignThought] = []
        place = 0
        for part in grouped(parts):
            if isinstance(part, tuple):
                foreign += self._write_thought(part, place)
                continue
            place += 1
            if isinstance(part, ToolCallPart):
                if part.id not in shown_calls:
                    self._open("tool_use", id=part.id, name=part.name, input={})
                    self._grow("tool_use", part.arguments)
            elif isinstance(part, TextPart):
                self._write_text(part.text, unseen)
                unseen = max(0, unseen - len(part.text))
            else:
                self._write_text(words_of(part), 0)
        if foreign:
            self._open("thinking", **_THINKING)
            self._sign(packed(foreign))

    def _write_text(self, text: str, shown: int) -> None:
        if not shown:
            self._close()
        self._grow("text", text[shown:])

    def _write_thought(self, thought: Thought, place: int) -> list[ForeignThought]:
        """Write a thought that was not streamed; for one that was, return what is still to
        be sent.
        """
        if thought in self._ended:
            return []
        if not self._thoughts and not self._seals and not self._ended:
            self._write_block(thinking_block(thought, place=place))
        elif thought[0].dialect != DIALECT:
            is_all = words_of_thought(thought) == "".join(self._thoughts) and len(thought) == 1
            return [luggage_of(p, place, text=None if is_all else p.text) for p in thought]
        return []

    def _write_block(self, block: Json) -> None:
        if block["type"] == "redacted_thinking":
            self._whole_block(block)
            return
        self._open("thinking", **_THINKING)
        self._grow("thinking", str(block["thinking"]))
        if signature := block["signature"]:
            self._sign(str(signature))
        self._close()

    def _open(self, kind: str, **fields: object) -> None:
        self._start({"type": kind, **fields})
        self._block = kind
        self._head = _DELTA % (self._count, *_GROWING[kind])

    def _start(self, block: Json) -> None:
        self._begin()
        self._close()
        self._place += block["type"] not in _THOUGHTS
        self._event("content_block_start", {"index": self._count, "content_block": block})

    def _whole_block(self, block: Json) -> None:
        self._start(block)
        self._stop()

    def _grow(self, kind: str, text: str) -> None:
        if not text:
            return
        if self._block != kind:
            self._open(kind, **({"text": ""} if kind == "text" else _THINKING))
        if kind == "thinking":
            self._thinking.append(text)
        self._frames.append(b"%b%b%b" % (self._head, _encode(text), _TAIL))

    def _sign(self, signature: str) -> None:
        """Write the signature, which is the last event of a thought."""
        if self._block != "thinking":
            self._open("thinking", **_THINKING)
        self._frames += (_DELTA % (self._count, *_SIGNATURE), _encode(signature), _TAIL)
        self._close()

    def _close(self) -> None:
        if self._block:
            self._stop()

    def _stop(self) -> None:
        self._event("content_block_stop", {"index": self._count})
        self._count += 1
        self._block = ""
        self._thinking.clear()
        self._calling = None
