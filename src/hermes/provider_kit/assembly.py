"""What the assemblies of all model wires share: pure, no sockets.

An assembly takes the payloads of one streamed answer, returns what each adds to the visible stream
and builds the complete answer at the end. A wire parses its own payloads in `feed` and reports its
parts, its stop reason and its token counts; the rules for every wire are here. Nothing here runs
for each event, except what a wire calls itself.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import ClassVar, Generic, TypeVar

import msgspec

from hermes.errors import ProviderError, ProviderUnavailable, StreamTruncated
from hermes.message.ids import MakeId
from hermes.message.parts import Part, ReasoningPart, TextPart, ToolCallPart, tool_calls_of
from hermes.message.reply import Usage
from hermes.ports.options import TokenLogprob
from hermes.ports.pricing import estimated
from hermes.ports.provider import (
    CallEnd,
    ModelEvent,
    ReasoningDelta,
    StopReason,
    TextDelta,
    ToolCallDelta,
)
from hermes.provider_kit.settings import WireSettings
from hermes.provider_kit.unfinished_json import is_json, is_unfinished

_decode_tokens = msgspec.json.Decoder(tuple[TokenLogprob, ...]).decode
SettingsT = TypeVar("SettingsT", bound=WireSettings)

# Stop reasons at which a tool call may be cut off.
_CUT: frozenset[StopReason] = frozenset({"length", "refusal"})


class BaseAssembly(ABC, Generic[SettingsT]):
    """The answer of one call under construction; `sent_chars` is the size of the request.

    `END_MARKER` is what announces the end of an answer on the wire. `done` is true once nothing
    more has to be read. `wants_logprobs` says that the request asked for log probabilities.
    """

    END_MARKER: ClassVar[str] = "its end marker"

    def __init__(
        self, settings: SettingsT, *, sent_chars: int, make_id: MakeId, model: str = ""
    ) -> None:
        self._settings = settings
        self._sent_chars = sent_chars
        self._make_id = make_id
        self._model = model or settings.model
        self._refused = False
        self._logprobs: list[TokenLogprob] = []
        self.done = False
        self.wants_logprobs = False

    @property
    @abstractmethod
    def ended(self) -> bool:
        """Whether the service has said that the answer is complete."""

    @property
    @abstractmethod
    def started(self) -> bool:
        """Whether anything of the answer has arrived."""

    @abstractmethod
    def feed(self, payload: bytes) -> Sequence[ModelEvent]:
        """Take one payload and return what it adds to the visible stream."""

    def feed_last(self, payload: bytes) -> Sequence[ModelEvent]:
        """Take the payload in which the stream ended, so that part of it may be missing."""
        return self.feed(payload)

    def end(self) -> CallEnd:
        """Return the complete answer; raise `StreamTruncated` if its end was never announced."""
        if not self.ended:
            raise self._truncated()
        reason = self._stop_reason()
        parts = tuple(self._parts())
        calls = tool_calls_of(parts)
        if calls:
            parts = self._with_whole_calls(parts, calls, is_cut=reason in _CUT)
        if reason == "end":
            # Calls are left out only of an answer that was cut, which does not end.
            if calls:
                reason = "tool_calls"
            elif self._refused:
                reason = "refusal"
        usage, tokens = self._measure(parts), tuple(self._logprobs)
        return CallEnd(parts, reason, usage, self._model, logprobs=tokens)

    @abstractmethod
    def _stop_reason(self) -> StopReason:
        """Return why the answer stopped: "end" also if it stopped for tool calls or a refusal."""

    @abstractmethod
    def _parts(self) -> Iterable[Part]:
        """Return the parts of the answer in their order."""

    @abstractmethod
    def _measure(self, parts: tuple[Part, ...]) -> Usage:
        """Return the token counts of the service, or an estimate."""

    def _with_logprobs(
        self, events: Sequence[ModelEvent], tokens: Sequence[TokenLogprob]
    ) -> Sequence[ModelEvent]:
        """Keep the tokens of some events; return the events, with the tokens at the last text."""
        self._logprobs += tokens
        found = list(events)
        for place in reversed(range(len(found))):
            event = found[place]
            if isinstance(event, TextDelta) and tokens:
                found[place] = msgspec.structs.replace(event, logprobs=tuple(tokens))
                break
        return found

    def _guess(self, written_chars: int) -> Usage:
        """Estimate the tokens: a service that counts nothing must not look free to budgets."""
        return Usage(estimated(self._sent_chars), estimated(written_chars))

    def _with_whole_calls(
        self, parts: tuple[Part, ...], calls: tuple[ToolCallPart, ...], *, is_cut: bool
    ) -> tuple[Part, ...]:
        """Return the parts; a call that was cut off with its answer must not be run."""
        if is_cut:
            return tuple(
                part
                for part in parts
                if not isinstance(part, ToolCallPart) or is_json(part.arguments)
            )
        if any(is_unfinished(call.arguments) for call in calls):
            raise self._broken("ended in the middle of a tool call's arguments")
        return parts

    def _truncated(self) -> StreamTruncated:
        return StreamTruncated(
            f"{self._settings.name}: the stream of {self._model} ended without {self.END_MARKER};"
            " the answer is not whole"
        )

    def _broken(self, what: str) -> ProviderError:
        text = (
            f"{self._settings.name}: the {self._settings.SERVICE} {what}; the answer is not whole"
        )
        return StreamTruncated(text) if self.started else ProviderUnavailable(text)

    def _failed(self, error: ProviderError) -> ProviderError:
        """Return the error for an error inside the stream: before any output, what it says."""
        return StreamTruncated(f"{error}; the answer is not whole") if self.started else error


def read_tokens(raw: msgspec.Raw) -> tuple[TokenLogprob, ...]:
    """Return tokens with log probabilities, as OpenAI and others write them; none if they differ.

    They are beside the answer: a service that writes them differently has still answered.
    """
    try:
        return _decode_tokens(raw) if bytes(raw) else ()
    except (msgspec.DecodeError, UnicodeDecodeError):
        return ()


class RunAssembly(BaseAssembly[SettingsT]):
    """An answer whose tool calls come complete; text and thoughts grow in runs between them.

    `DIALECT` is the wire to which thoughts go back.
    """

    DIALECT: ClassVar[str]

    def __init__(
        self, settings: SettingsT, *, sent_chars: int, make_id: MakeId, model: str = ""
    ) -> None:
        super().__init__(settings, sent_chars=sent_chars, make_id=make_id, model=model)
        self._made: list[Part] = []
        self._run: list[str] | None = None
        self._is_thought = False
        self._calls = 0
        self._written = 0

    @property
    def started(self) -> bool:
        """Whether anything of the answer has arrived."""
        return bool(self._made or self._run)

    def _more(self, text: str, *, thought: bool) -> list[ModelEvent]:
        """Add text to the current run, or begin the next run with it."""
        self._written += len(text)
        if self._run is not None and self._is_thought is thought:
            self._run.append(text)
            return [ReasoningDelta(text) if thought else TextDelta(text)]
        events = self._close_run()
        # Two consecutive text parts: a client must see where the second one begins.
        is_next = bool(self._made) and isinstance(self._made[-1], TextPart)
        self._run, self._is_thought = [text], thought
        more = ReasoningDelta(text) if thought else TextDelta(text, starts_part=is_next)
        return [*events, more]

    def _close_run(self) -> list[ModelEvent]:
        """End the run; the end of a thought is an event."""
        if self._run is None:
            return []
        text, self._run = "".join(self._run), None
        if not self._is_thought:
            self._made.append(TextPart(text))
            return []
        part = ReasoningPart(text, self.DIALECT)
        self._made.append(part)
        return [ReasoningDelta("", whole=(part,))]

    def _add_call(self, call: ToolCallPart) -> ToolCallDelta:
        """Add a complete tool call to the answer and return its event."""
        self._made.append(call)
        self._written += len(call.arguments)
        self._calls += 1
        return ToolCallDelta(self._calls - 1, call.id, call.name, call.arguments)
