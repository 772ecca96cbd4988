"""What the assemblies of all model wires share: pure, no sockets.

An assembly takes the payloads of one streamed answer, returns what each adds to the visible stream
and builds the complete answer at the end. A wire parses its own payloads in `feed` and reports its
parts, its stop reason and its token counts; the rules for every wire are here. Nothing here runs
for each event, except what a wire calls itself.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import ClassVar, Generic, TypeVar

import msgspec

from hermes.errors import ProviderError, ProviderUnavailable, StreamTruncated
from hermes.message.ids import MakeId
from hermes.message.parts import (
    Part,
    ReasoningPart,
    TextPart,
    ToolCallPart,
    text_of,
    tool_calls_of,
)
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
from hermes.schema.unfinished_json import is_json

_decode_tokens = msgspec.json.Decoder(tuple[TokenLogprob, ...]).decode
SettingsT = TypeVar("SettingsT", bound=WireSettings)

# Stop reasons at which a tool call may be cut off.
_CUT: frozenset[StopReason] = frozenset({"length", "refusal"})
# More unreadable payloads than this are not an answer with a fault.
_MOST_UNREAD = 3
_MOST_SKIPPED = 20
_KIND = re.compile(r"[A-Za-z][\w.-]{0,63}")


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
        self._refusal: list[str] = []
        self._stop_sequence: str | None = None
        self._skipped: dict[str, None] = {}
        self._unread = 0
        self._size_at_unread = -1
        self._logprobs: list[TokenLogprob] = []
        self.done = False
        self.wants_logprobs = False

    @property
    def model(self) -> str:
        """The model that answers, by the service's name for it."""
        return self._model

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
        if self._unread and self._size() == self._size_at_unread:
            raise self._broken("sent something unreadable where the answer should end")
        reason = self._stop_reason()
        parts = tuple(self._parts())
        calls = tool_calls_of(parts)
        if calls and self._unread:
            # A call with a hole in its arguments may be valid JSON and mean something else.
            raise self._broken("sent something unreadable within an answer that calls tools")
        if calls and reason in _CUT:
            parts = _without_cut_calls(parts)
        refusal = self._words_of_refusal(parts)
        if reason == "end":
            # Calls are left out only of an answer that was cut, which does not end.
            if calls:
                reason = "tool_calls"
            elif self._refusal:
                reason = "refusal"
        return CallEnd(
            parts,
            reason,
            self._measure(parts),
            self._model,
            is_verbatim=not self._skipped,
            stop_sequence=self._stop_sequence,
            refusal=refusal if reason == "refusal" else None,
            thoughts_go_back=self._thoughts_go_back(),
            skipped=tuple(self._skipped),
            logprobs=tuple(self._logprobs),
        )

    @abstractmethod
    def _size(self) -> int:
        """Return a number that grows with everything that arrives of the answer."""

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

    def _thoughts_go_back(self) -> bool:
        """Return whether the service takes the thoughts of the answer back."""
        return True

    def _words_of_refusal(self, parts: tuple[Part, ...]) -> str | None:
        """Return the text with which the model refused, if the answer ends with it."""
        words = "".join(self._refusal)
        return words if words and text_of(parts).endswith(words) else None

    def _skip(self, kind: str) -> None:
        """Leave something out of the answer that has no meaning here, and remember its kind."""
        if len(self._skipped) < _MOST_SKIPPED:
            self._skipped[kind if _KIND.fullmatch(kind) else "unknown"] = None

    def _skip_unread(self, what: str) -> tuple[()]:
        """Leave out a payload that cannot be read; raise if the answer has not begun, or if there
        are too many of them.
        """
        self._unread += 1
        if not self.started or self._unread > _MOST_UNREAD:
            raise self._broken(what)
        self._size_at_unread = self._size()
        self._skip("unreadable")
        return ()

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
        if not self.started:
            return error
        truncated = StreamTruncated(f"{error}; the answer is not whole")
        return truncated.named(error.service_code, error.param)


def _without_cut_calls(parts: tuple[Part, ...]) -> tuple[Part, ...]:
    """Return the parts without calls that were cut off with their answer: they must not be run."""
    return tuple(
        part for part in parts if not isinstance(part, ToolCallPart) or is_json(part.arguments)
    )


def read_tokens(raw: msgspec.Raw) -> tuple[TokenLogprob, ...]:
    """Return tokens with log probabilities, as OpenAI and others write them; none if they differ.

    They are beside the answer: a service that writes them differently has still answered.
    """
    try:
        return _decode_tokens(raw) if bytes(raw) else ()
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
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

    def _size(self) -> int:
        return self._written + self._calls

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
