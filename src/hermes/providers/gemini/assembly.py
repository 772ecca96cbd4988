"""Assembles the chunks of a streamed generateContent answer: pure, no sockets.

Text and thoughts are passed on as they come, each tool call complete; parts keep their order and
signatures, and the end is reported only after the service said why it stopped.
"""

from collections.abc import Iterable

import msgspec

from hermes.errors import ProviderRejected
from hermes.message.parts import Part, ReasoningPart, TextPart, ToolCallPart
from hermes.message.reply import Usage
from hermes.ports.options import AltToken, TokenLogprob
from hermes.ports.pricing import counted
from hermes.ports.provider import ModelEvent, ReasoningDelta, StopReason, TextDelta
from hermes.provider_kit.assembly import RunAssembly
from hermes.providers.gemini import wire
from hermes.providers.gemini.failures import failure, mask
from hermes.providers.gemini.settings import GeminiSettings

_NO_SIGNATURE = "MISSING_THOUGHT_SIGNATURE"
# These mean a broken answer; after any other reason that is not below, complete calls are valid.
_BROKEN = frozenset(
    {
        "MALFORMED_FUNCTION_CALL",
        "MALFORMED_RESPONSE",
        "UNEXPECTED_TOOL_CALL",
        "TOO_MANY_TOOL_CALLS",
        "NO_IMAGE",
        "IMAGE_OTHER",
        # The account was limited while the answer was written.
        "PUP_LIMITED_DISABLED",
        _NO_SIGNATURE,
    }
)
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
    "MODEL_ARMOR": "refusal",
    "ESCALATION": "refusal",
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


class _Token(msgspec.Struct, rename="camel"):
    token: str = ""
    log_probability: float = 0.0


class _TopTokens(msgspec.Struct):
    candidates: list[_Token] | None = None


class _Logprobs(msgspec.Struct, rename="camel"):
    chosen_candidates: list[_Token] | None = None
    top_candidates: list[_TopTokens] | None = None


class _Candidate(msgspec.Struct, rename="camel"):
    content: _Content | None = None
    finish_reason: str | None = None
    finish_message: str | None = None
    logprobs_result: _Logprobs | None = None


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


_decode = msgspec.json.Decoder(_Chunk).decode


class GeminiAssembly(RunAssembly[GeminiSettings]):
    """The answer of one call under construction; signed text is never merged with other text."""

    END_MARKER = "a finish reason"
    DIALECT = wire.DIALECT

    _usage: _Usage | None = None
    _finish: str | None = None
    _finish_message = ""
    _blocked: str | None = None

    @property
    def ended(self) -> bool:
        """Whether the service has said why the answer stopped."""
        return self._finish is not None or self._blocked is not None

    def feed(self, payload: bytes) -> list[ModelEvent]:
        """Take one event's payload and return what it adds to the visible stream."""
        try:
            chunk = _decode(payload)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return [*self._skip_unread("sent something that is not a generateContent chunk")]
        if chunk.error is not None:
            name, code = self._settings.name, chunk.error.code or 500
            secret = self._settings.api_key
            raise self._failed(failure(name, code, headers={}, body=payload, secret=secret))
        if chunk.usage_metadata is not None:
            self._usage = chunk.usage_metadata
        if chunk.model_version:
            self._model = chunk.model_version
        if chunk.prompt_feedback is not None and chunk.prompt_feedback.block_reason:
            self._blocked = chunk.prompt_feedback.block_reason
        return self._candidate(chunk.candidates[0]) if chunk.candidates else []

    def feed_last(self, payload: bytes) -> list[ModelEvent]:
        """Take the event in which the stream ended: an incomplete one is a truncated answer."""
        try:
            _decode(payload)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise self._truncated() from error
        return self.feed(payload)

    def _candidate(self, candidate: _Candidate) -> list[ModelEvent]:
        if candidate.finish_reason is not None:
            self._finish = candidate.finish_reason
            self._finish_message = candidate.finish_message or ""
        parts = candidate.content.parts if candidate.content is not None else None
        found = [delta for part in parts or () for delta in self._part(part)]
        if candidate.logprobs_result is not None:
            found = list(self._with_logprobs(found, _tokens(candidate.logprobs_result)))
        return found + self._close_run() if self.ended else found

    def _part(self, part: _Part) -> list[ModelEvent]:
        if part.function_call is not None:
            return self._call(part.function_call, signature=part.thought_signature)
        for name in ("inline_data", "file_data", "executable_code", "code_execution_result"):
            if getattr(part, name):
                raise self._broken(f"answered with a part that is neither text nor a call ({name})")
        text = part.text or ""
        if part.thought_signature is not None:
            return self._signed_text(text, part.thought_signature, thought=part.thought)
        return self._more(text, thought=part.thought) if text else []

    def _signed_text(self, text: str, signature: str, *, thought: bool) -> list[ModelEvent]:
        events = self._close_run()
        self._written += len(text)
        if thought:
            return [*events, self._think(text, signature)]
        if not text:
            return [*events, self._think("", signature, of=wire.ALONE)]
        events.append(self._think("", signature, of=wire.NEXT))
        self._made.append(TextPart(text))
        return [*events, TextDelta(text)]

    def _think(self, text: str, signature: str | None, *, of: str | None = None) -> ReasoningDelta:
        """Keep a complete thought, or the signature `of` another part, and return its event."""
        part = ReasoningPart(text, wire.DIALECT, signature=signature, id=of)
        self._made.append(part)
        return ReasoningDelta(text, whole=(part,))

    def _call(self, call: _Call, *, signature: str | None) -> list[ModelEvent]:
        events = self._close_run()
        arguments = bytes(call.args).decode()
        if arguments in {"", "null"}:
            arguments = "{}"
        made = ToolCallPart(call.id or self._make_id("call"), call.name, arguments)
        if signature is not None:
            events.append(self._think("", signature, of=made.id))
        return [*events, self._add_call(made)]

    def _stop_reason(self) -> StopReason:
        if self._blocked is not None or self._finish is None:
            return "refusal"
        reason = _STOP_REASONS.get(self._finish)
        if reason is not None:
            return reason
        if self._calls and self._finish not in _BROKEN:
            self._skip(f"finishReason.{self._finish}")
            return "end"
        told = mask(f"{self._finish} {self._finish_message}", secret=self._settings.api_key)
        if self._finish == _NO_SIGNATURE:
            raise ProviderRejected(
                f"{self._settings.name}: the service refused the conversation ({told}); the"
                " reasoning parts of earlier answers must be sent back with them"
            )
        raise self._broken(f"stopped without an answer: {told}")

    def _parts(self) -> Iterable[Part]:
        self._close_run()
        return self._made

    def _measure(self, parts: tuple[Part, ...]) -> Usage:
        usage = self._usage
        if usage is None:
            return self._guess(self._written)
        thoughts = counted(usage.thoughts_token_count)
        tokens_in = counted(usage.prompt_token_count) + counted(usage.tool_use_prompt_token_count)
        return Usage(
            tokens_in=tokens_in,
            tokens_out=counted(usage.candidates_token_count) + thoughts,
            cached_in=min(tokens_in, counted(usage.cached_content_token_count)),
            reasoning_out=thoughts,
        )


def _tokens(found: _Logprobs) -> list[TokenLogprob]:
    """Return the tokens, each with the alternatives at its place."""
    chosen, tops = found.chosen_candidates or [], found.top_candidates or []
    return [
        TokenLogprob(
            one.token,
            one.log_probability,
            tuple(one.token.encode()),
            _alternatives(tops[place]) if place < len(tops) else (),
        )
        for place, one in enumerate(chosen)
    ]


def _alternatives(top: _TopTokens) -> tuple[AltToken, ...]:
    return tuple(
        AltToken(one.token, one.log_probability, tuple(one.token.encode()))
        for one in top.candidates or ()
    )
