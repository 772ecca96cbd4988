"""The chunks of a streamed generateContent answer put together again: pure, no sockets.

Text and thoughts leave as they come, each tool call whole; parts keep their order and signatures,
and the end is told only after the service said why it stopped.
"""

import msgspec

from hermes.errors import ProviderError, ProviderRejected, ProviderUnavailable, StreamTruncated
from hermes.message.ids import MakeId
from hermes.message.parts import Part, ReasoningPart, TextPart, ToolCallPart, tool_calls_of
from hermes.message.reply import Usage
from hermes.ports.pricing import counted, estimated
from hermes.ports.provider import CallEnd, ReasoningDelta, StopReason, TextDelta, ToolCallDelta
from hermes.providers.gemini.failures import failure, mask
from hermes.providers.gemini.settings import GeminiSettings
from hermes.providers.gemini.wire import ALONE, DIALECT, NEXT

Delta = TextDelta | ReasoningDelta | ToolCallDelta

_NO_SIGNATURE = "MISSING_THOUGHT_SIGNATURE"
# Every other reason (a malformed call, an unexpected one, one that is new) means a broken answer.
_STOP_REASONS: dict[str, StopReason] = {
    "STOP": "end",
    "MAX_TOKENS": "length",
    "CONTINUATION": "length",
    "SAFETY": "refusal",
    "RECITATION": "refusal",
    "LANGUAGE": "refusal",
    "BLOCKLIST": "refusal",
    "PROHIBITED_CONTENT": "refusal",
    "SPII": "refusal",
    "OTHER": "refusal",
    "IMAGE_SAFETY": "refusal",
    "IMAGE_PROHIBITED_CONTENT": "refusal",
    "IMAGE_RECITATION": "refusal",
}


class _Call(msgspec.Struct):
    name: str = ""
    id: str | None = None
    args: msgspec.Raw = msgspec.Raw()


class _Part(msgspec.Struct, rename="camel"):
    text: str | None = None
    thought: bool = False
    thought_signature: str | None = None
    function_call: _Call | None = None
    inline_data: msgspec.Raw = msgspec.Raw()
    file_data: msgspec.Raw = msgspec.Raw()
    executable_code: msgspec.Raw = msgspec.Raw()
    code_execution_result: msgspec.Raw = msgspec.Raw()


class _Content(msgspec.Struct):
    parts: list[_Part] | None = None


class _Candidate(msgspec.Struct, rename="camel"):
    content: _Content | None = None
    finish_reason: str | None = None
    finish_message: str | None = None


class _Feedback(msgspec.Struct, rename="camel"):
    block_reason: str | None = None


class _Usage(msgspec.Struct, rename="camel"):
    prompt_token_count: int | None = None
    cached_content_token_count: int | None = None
    candidates_token_count: int | None = None
    thoughts_token_count: int | None = None
    tool_use_prompt_token_count: int | None = None


class _Error(msgspec.Struct):
    code: int | None = None


class _Chunk(msgspec.Struct, rename="camel"):
    candidates: list[_Candidate] | None = None
    prompt_feedback: _Feedback | None = None
    usage_metadata: _Usage | None = None
    model_version: str | None = None
    error: _Error | None = None


class _Run:
    """Text of one kind that is still growing; a signed piece is never merged with others."""

    __slots__ = ("pieces", "thought")

    def __init__(self, *, thought: bool) -> None:
        self.thought = thought
        self.pieces: list[str] = []

    def part(self) -> Part:
        text = "".join(self.pieces)
        return ReasoningPart(text, DIALECT) if self.thought else TextPart(text)


_decode = msgspec.json.Decoder(_Chunk).decode


class GeminiAssembly:
    """One call's answer in the making; `sent_chars` is the size of what was asked."""

    def __init__(
        self, settings: GeminiSettings, *, model: str, sent_chars: int, make_id: MakeId
    ) -> None:
        self._settings = settings
        self._sent_chars = sent_chars
        self._make_id = make_id
        self._parts: list[Part] = []
        self._run: _Run | None = None
        self._calls = 0
        self._written = 0
        self._usage: _Usage | None = None
        self._model = model
        self._finish: str | None = None
        self._finish_message = ""
        self._blocked: str | None = None

    @property
    def ended(self) -> bool:
        """Whether the service has said why the answer stopped."""
        return self._finish is not None or self._blocked is not None

    @property
    def started(self) -> bool:
        """Whether anything of the answer has arrived."""
        return bool(self._parts or self._run)

    def feed(self, payload: bytes, *, is_last: bool = False) -> list[Delta]:
        """Take one event's payload and return what it adds to the visible stream.

        `is_last` says that the stream ended inside this event, so that half of it may be missing.
        """
        try:
            chunk = _decode(payload)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            if is_last:
                raise self._truncated() from error
            raise self._broken("sent something that is no generateContent chunk") from error
        if chunk.error is not None:
            raise self._reported(chunk.error, payload)
        if chunk.usage_metadata is not None:
            self._usage = chunk.usage_metadata
        if chunk.model_version:
            self._model = chunk.model_version
        if chunk.prompt_feedback is not None and chunk.prompt_feedback.block_reason:
            self._blocked = chunk.prompt_feedback.block_reason
        return self._candidate(chunk.candidates[0]) if chunk.candidates else []

    def end(self) -> CallEnd:
        """Return the whole answer; raise when its end was never announced or is no proper one."""
        if not self.ended:
            raise self._truncated()
        reason = self._stop_reason()
        self._close_run()
        parts = tuple(self._parts)
        if reason == "end" and tool_calls_of(parts):
            reason = "tool_calls"
        return CallEnd(parts, reason, self._measure(), self._model)

    def _candidate(self, candidate: _Candidate) -> list[Delta]:
        if candidate.finish_reason is not None:
            self._finish = candidate.finish_reason
            self._finish_message = candidate.finish_message or ""
        parts = candidate.content.parts if candidate.content is not None else None
        found = [delta for part in parts or () for delta in self._part(part)]
        return found + self._close_run() if self.ended else found

    def _part(self, part: _Part) -> list[Delta]:
        if part.function_call is not None:
            return self._call(part.function_call, signature=part.thought_signature)
        for name in ("inline_data", "file_data", "executable_code", "code_execution_result"):
            if getattr(part, name):
                raise self._broken(f"answered with a part that is no text and no call ({name})")
        text = part.text or ""
        self._written += len(text)
        if part.thought_signature is not None:
            return self._signed_text(text, part.thought_signature, thought=part.thought)
        return self._more(text, thought=part.thought) if text else []

    def _more(self, text: str, *, thought: bool) -> list[Delta]:
        told: list[Delta] = []
        if self._run is None or self._run.thought is not thought:
            told = self._close_run()
            self._run = _Run(thought=thought)
        self._run.pieces.append(text)
        return [*told, ReasoningDelta(text) if thought else self._text(text)]

    def _text(self, text: str) -> TextDelta:
        """Return more text; directly behind a signed text it is a part of its own."""
        is_next = bool(self._run and len(self._run.pieces) == 1 and self._parts)
        return TextDelta(text, starts_part=is_next and isinstance(self._parts[-1], TextPart))

    def _signed_text(self, text: str, signature: str, *, thought: bool) -> list[Delta]:
        told = self._close_run()
        if thought:
            return [*told, self._think(text, signature)]
        if not text:
            return [*told, self._think("", signature, of=ALONE)]
        told.append(self._think("", signature, of=NEXT))
        self._parts.append(TextPart(text))
        return [*told, TextDelta(text)]

    def _think(self, text: str, signature: str | None, *, of: str | None = None) -> ReasoningDelta:
        """Keep a thought that is whole, or the signature `of` another part, and tell it."""
        part = ReasoningPart(text, DIALECT, signature=signature, id=of)
        self._parts.append(part)
        return ReasoningDelta(text, whole=(part,))

    def _call(self, call: _Call, *, signature: str | None) -> list[Delta]:
        told = self._close_run()
        arguments = bytes(call.args).decode()
        if arguments in {"", "null"}:
            arguments = "{}"
        made = ToolCallPart(call.id or self._make_id("call"), call.name, arguments)
        if signature is not None:
            told.append(self._think("", signature, of=made.id))
        self._parts.append(made)
        self._written += len(arguments)
        self._calls += 1
        return [*told, ToolCallDelta(self._calls - 1, made.id, made.name, made.arguments)]

    def _close_run(self) -> list[Delta]:
        """End the text or thought that is still growing; the end of a thought is told."""
        if self._run is None:
            return []
        part = self._run.part()
        self._run = None
        self._parts.append(part)
        return [ReasoningDelta("", whole=(part,))] if isinstance(part, ReasoningPart) else []

    def _stop_reason(self) -> StopReason:
        if self._blocked is not None or self._finish is None:
            return "refusal"
        reason = _STOP_REASONS.get(self._finish)
        if reason is not None:
            return reason
        told = mask(f"{self._finish} {self._finish_message}", secret=self._settings.api_key)
        if self._finish == _NO_SIGNATURE:
            raise ProviderRejected(
                f"{self._settings.name}: the service refused the conversation ({told}); the"
                " reasoning parts of earlier answers must be sent back with them"
            )
        raise self._broken(f"stopped for a reason that makes no answer: {told}")

    def _measure(self) -> Usage:
        usage = self._usage
        if usage is None:
            # A server that counts nothing must not make budgets believe that nothing was used.
            return Usage(estimated(self._sent_chars), estimated(self._written))
        thoughts = counted(usage.thoughts_token_count)
        tokens_in = counted(usage.prompt_token_count) + counted(usage.tool_use_prompt_token_count)
        return Usage(
            tokens_in=tokens_in,
            tokens_out=counted(usage.candidates_token_count) + thoughts,
            cached_in=min(tokens_in, counted(usage.cached_content_token_count)),
            reasoning_out=thoughts,
        )

    def _reported(self, error: _Error, payload: bytes) -> ProviderError:
        """Return what an error inside the stream means; before any output it is as good as a status."""
        settings = self._settings
        made = failure(
            settings.name, error.code or 500, headers={}, body=payload, secret=settings.api_key
        )
        return StreamTruncated(f"{made}; the answer is not whole") if self.started else made

    def _truncated(self) -> StreamTruncated:
        return StreamTruncated(
            f"{self._settings.name}: the stream of {self._model} ended without a finish reason;"
            " the answer is not whole"
        )

    def _broken(self, what: str) -> ProviderError:
        text = f"{self._settings.name}: the service {what}; the answer is not whole"
        return StreamTruncated(text) if self.started else ProviderUnavailable(text)
