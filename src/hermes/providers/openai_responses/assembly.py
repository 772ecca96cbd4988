"""Assembles the events of a streamed Responses call: pure, no sockets.

Deltas are passed on as they come; the stored answer is taken from the finished items, and the end
is reported only after the service called the response completed or incomplete.
"""

from collections.abc import Callable, Iterator, Sequence

import msgspec

from hermes.errors import ProviderError, ProviderRejected
from hermes.message.ids import MakeId
from hermes.message.parts import Part, ReasoningPart, TextPart, ToolCallPart
from hermes.message.reply import Usage
from hermes.ports.pricing import counted
from hermes.ports.provider import (
    ModelEvent,
    ReasoningDelta,
    StopReason,
    TextDelta,
    ToolCallDelta,
)
from hermes.provider_kit.assembly import BaseAssembly, read_tokens
from hermes.provider_kit.service_failure import mask, safe_code, safe_param
from hermes.providers.openai_responses.events import (
    Event,
    Item,
    Problem,
    WireResponse,
    decode_event,
    decode_item,
    decode_kind,
)
from hermes.providers.openai_responses.settings import ResponsesSettings
from hermes.providers.openai_responses.wire import DIALECT

_DONE = b"[DONE]"
_ITEMS = frozenset({"message", "function_call", "reasoning"})
_SUMMARY_BREAK = "\n\n"
# The image itself is at fault, so no service could read it.
_REJECTED_EVERYWHERE = frozenset({"empty_image_file", "invalid_base64_image"})
# The request is at fault, by the rules of this service.
_REJECTED = frozenset(
    {
        "bio_policy",
        "data_residency_mismatch",
        "empty_image_file",
        "failed_to_download_image",
        "image_content_policy_violation",
        "image_file_not_found",
        "image_file_too_large",
        "image_parse_error",
        "image_too_large",
        "image_too_small",
        "invalid_base64_image",
        "invalid_image",
        "invalid_image_format",
        "invalid_image_mode",
        "invalid_image_url",
        "invalid_prompt",
        "unsupported_image_media_type",
    }
)


class ResponsesAssembly(BaseAssembly[ResponsesSettings]):
    """The answer of one call under construction."""

    END_MARKER = "its end event"

    def __init__(
        self, settings: ResponsesSettings, *, sent_chars: int, make_id: MakeId, model: str = ""
    ) -> None:
        super().__init__(settings, sent_chars=sent_chars, make_id=make_id, model=model)
        self._items: dict[int, Item] = {}
        self._thoughts: dict[str, tuple[ReasoningPart, ...]] = {}
        self._thought: list[str] = []
        self._calls: dict[int, int] = {}
        self._written = 0
        self._called: set[str] = set()
        self._has_said = False
        self._saying: tuple[int, bool] | None = None
        self._before = b""
        self._last: WireResponse | None = None
        self._cut: str | None = None
        self._takes: dict[str, Callable[[Event], Sequence[ModelEvent]]] = {
            "response.created": self._begin,
            "response.output_text.delta": self._text,
            "response.refusal.delta": self._refuse,
            "response.reasoning_summary_part.added": self._summary_part,
            "response.reasoning_summary_text.delta": self._think,
            "response.reasoning_text.delta": self._think,
            "response.output_item.added": self._added,
            "response.function_call_arguments.delta": self._arguments,
            "response.output_item.done": self._finished,
            "response.completed": self._complete,
            "response.incomplete": self._incomplete,
            "response.failed": self._fail,
            "error": self._fail,
        }

    @property
    def ended(self) -> bool:
        """Whether the service has said that the answer is complete."""
        return self._last is not None

    @property
    def started(self) -> bool:
        """Whether anything of the answer has arrived."""
        return bool(self._written or self._calls)

    def feed(self, payload: bytes) -> Sequence[ModelEvent]:
        """Take one event's payload and return what it adds to the visible stream."""
        if payload == _DONE:
            self.done = True
            return ()
        try:
            event = decode_event(payload)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return self._unread_event(payload)
        if event.sequence_number > 0 and payload == self._before:
            return ()  # the same event once more: numbers are unique
        self._before = payload
        take = self._takes.get(event.type)
        return take(event) if take is not None else ()

    def _size(self) -> int:
        return self._written + len(self._items)

    def _unread_event(self, payload: bytes) -> tuple[()]:
        """Skip an event that cannot be read: those of kinds that are not read here may have any
        shape.
        """
        kind = _kind_of(payload)
        if kind and kind not in self._takes:
            return ()
        return self._skip_unread("sent something that is not an event of a response")

    def _item(self, raw: msgspec.Raw) -> Item | None:
        """Return an item of a kind that is read here; others are skipped."""
        if not raw or bytes(raw) == b"null":
            return None
        kind = _kind_of(raw)
        if kind not in _ITEMS:
            self._skip(kind)
            return None
        try:
            return decode_item(raw)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            self._skip_unread(f"sent an item of the kind {kind} that cannot be read")
            return None

    def _begin(self, event: Event) -> Sequence[ModelEvent]:
        if event.response is not None and event.response.model:
            self._model = event.response.model
        return ()

    def _text(self, event: Event) -> Sequence[ModelEvent]:
        if not event.delta:
            return ()
        self._has_said = True
        said = (self._say(event.delta, event.output_index),)
        return (
            self._with_logprobs(said, read_tokens(event.logprobs)) if self.wants_logprobs else said
        )

    def _refuse(self, event: Event) -> Sequence[ModelEvent]:
        if not event.delta:
            return ()
        self._has_said = True
        return (self._say(event.delta, event.output_index, refusal=True),)

    def _say(self, text: str, index: int, *, refusal: bool = False) -> TextDelta:
        # The refusal is a separate part of its message.
        place = (index, refusal)
        is_next = self._saying is not None and self._saying != place
        self._saying = place
        self._written += len(text)
        return TextDelta(text, starts_part=is_next, refusal=refusal)

    def _summary_part(self, _event: Event) -> Sequence[ModelEvent]:
        if not self._thought:
            return ()
        self._thought.append(_SUMMARY_BREAK)
        return (ReasoningDelta(_SUMMARY_BREAK),)

    def _think(self, event: Event) -> Sequence[ModelEvent]:
        if not event.delta:
            return ()
        self._saying = None
        self._thought.append(event.delta)
        self._written += len(event.delta)
        return (ReasoningDelta(event.delta),)

    def _added(self, event: Event) -> Sequence[ModelEvent]:
        item = self._item(event.item)
        if item is None or item.type != "function_call":
            return ()
        return self._call(item, event.output_index)

    def _call(self, item: Item, index: int) -> Sequence[ModelEvent]:
        self._saying = None
        position = self._calls[index] = len(self._calls)
        call_id = item.call_id or item.id or ""
        self._called.add(call_id)
        return (ToolCallDelta(position, call_id, item.name or "", item.arguments or ""),)

    def _arguments(self, event: Event) -> Sequence[ModelEvent]:
        position = self._calls.get(event.output_index)
        if position is None or not event.delta:
            return ()
        self._written += len(event.delta)
        return (ToolCallDelta(position, arguments=event.delta),)

    def _finished(self, event: Event) -> Sequence[ModelEvent]:
        item, index = self._item(event.item), event.output_index
        if item is None:
            return ()
        self._items[index] = item
        if item.type == "reasoning":
            return self._sealed(item)
        # Some servers send no deltas: the first event of an item contains all of it.
        if item.type == "message" and not self._has_said:
            return [self._say(text, index, refusal=bad) for text, bad in said_in(item) if text]
        call_id = item.call_id or item.id
        if item.type == "function_call" and call_id and call_id not in self._called:
            return self._call(item, index)
        return ()

    def _sealed(self, item: Item) -> Sequence[ModelEvent]:
        """Report the end of a thought, with its summary if no delta contained it."""
        shown, self._thought = "".join(self._thought), []
        whole = tuple(thoughts_of(item, shown=shown))
        if not whole:
            return ()
        if item.id:
            self._thoughts[item.id] = whole
        text = "" if shown else _SUMMARY_BREAK.join(part.text for part in whole)
        self._saying = None
        self._written += len(text)
        return (ReasoningDelta(text, whole=whole),)

    def _complete(self, event: Event) -> Sequence[ModelEvent]:
        self._begin(event)
        self._last = event.response or WireResponse()
        self.done = True
        return ()

    def _incomplete(self, event: Event) -> Sequence[ModelEvent]:
        self._complete(event)
        details = event.response.incomplete_details if event.response is not None else None
        self._cut = (details.reason if details is not None else None) or "unknown"
        return ()

    def _fail(self, event: Event) -> Sequence[ModelEvent]:
        inner = event.response.error if event.response is not None else event.error
        problem = inner or Problem(event.code, event.message, event.param)
        secret = self._settings.api_key
        told = mask(problem.message or "it gave no reason", secret=secret)
        error: ProviderError = self._broken(f"reported an error inside the stream: {told}")
        if problem.code in _REJECTED and not self.started:
            error = ProviderRejected(
                f"{self._settings.name}: the service refused: {told}",
                everywhere=problem.code in _REJECTED_EVERYWHERE,
            )
        code = safe_code(problem.code, secret=secret)
        raise error.named(code, safe_param(problem.param, secret=secret))

    def _stop_reason(self) -> StopReason:
        if self._cut is None:
            return "end"
        return "refusal" if self._cut == "content_filter" else "length"

    def _parts(self) -> Iterator[Part]:
        last = self._last
        output = last.output if last is not None else None
        items = [item for raw in output or () if (item := self._item(raw)) is not None]
        # Some servers omit the output in their last event; the items came one by one before.
        for item in items or [item for _, item in sorted(self._items.items())]:
            # A thought stays as it was reported when it was done.
            told = self._thoughts.get(item.id) if item.id else None
            yield from self._item_parts(item) if told is None else told

    def _item_parts(self, item: Item) -> Iterator[Part]:
        if item.type == "message":
            for text, is_refusal in said_in(item):
                if is_refusal:
                    self._refusal.append(text)
                if text:
                    yield TextPart(text)
        elif item.type == "function_call":
            call_id = item.call_id or item.id or self._make_id("call")
            yield ToolCallPart(call_id, item.name or "", item.arguments or "{}")
        elif item.type == "reasoning":
            yield from thoughts_of(item)

    def _thoughts_go_back(self) -> bool:
        return any(whole[0].sealed for whole in self._thoughts.values()) or not self._thoughts

    def _measure(self, parts: tuple[Part, ...]) -> Usage:
        usage = self._last.usage if self._last is not None else None
        if usage is None:
            return self._guess(self._written)
        details_in, details_out = usage.input_tokens_details, usage.output_tokens_details
        return Usage(
            tokens_in=counted(usage.input_tokens),
            tokens_out=counted(usage.output_tokens),
            cached_in=counted(details_in.cached_tokens if details_in else None),
            reasoning_out=counted(details_out.reasoning_tokens if details_out else None),
        )


def said_in(item: Item) -> tuple[tuple[str, bool], ...]:
    """Return the text of a message and the text of its refusal, each with whether it is one."""
    pieces = item.content or ()
    said = "".join(piece.text or "" for piece in pieces)
    refused = "".join(piece.refusal or "" for piece in pieces)
    return ((said, False), (refused, True)) if refused else ((said, False),)


def thoughts_of(item: Item, *, shown: str = "") -> Iterator[ReasoningPart]:
    """Yield one part for each piece of the summary; the first one holds the encrypted reasoning.

    Reasoning that is not encrypted is one part, with the text that was `shown` of it; the service
    would not accept it back.
    """
    if not item.encrypted_content:
        told = [piece.text for piece in item.summary or item.content or () if piece.text]
        if text := shown or _SUMMARY_BREAK.join(told):
            yield ReasoningPart(text, DIALECT, id=item.id)
        return
    first, *others = [piece.text or "" for piece in item.summary or ()] or [""]
    yield ReasoningPart(first, DIALECT, sealed=item.encrypted_content, id=item.id)
    for text in others:
        yield ReasoningPart(text, DIALECT, id=item.id)


def _kind_of(raw: bytes | msgspec.Raw) -> str:
    """Return the kind of an event or an item, or an empty text."""
    try:
        return decode_kind(raw).type
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return ""
