"""One call under `/v1`, whatever its wire: authentication, model choice, the call, the answer.

The answer begins only once there is output: a failure before that has its own status, a failure
after it is reported in the stream.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import aclosing
from functools import cached_property, partial

import msgspec

from hermes.agents.roster import Roster
from hermes.calls.context_fit import request_tokens
from hermes.calls.demands import conflict_hints, demands_of, sampling_hints
from hermes.calls.embedder import Embeddings
from hermes.calls.events import CallEvent, CallFailure, CallStart, FullAnswer, Piece, SlotWait
from hermes.calls.ledger import CallLedger
from hermes.calls.model_caller import CallSpec, ModelCaller
from hermes.calls.planner import Planner
from hermes.calls.schema import check_schema
from hermes.config import Settings
from hermes.errors import BadRequest, Forbidden, HermesError, Overloaded, StreamTruncated
from hermes.http.route import Answer, Handler, HttpExchange, refuse_url_credentials
from hermes.http.sse import EventStream
from hermes.media.check import FileLimits, check_by_value, check_files_by_value
from hermes.media.image_files import is_inline
from hermes.message.ids import MakeId
from hermes.message.parts import AudioPart, FilePart, ImagePart, TextPart
from hermes.ports.channel import HttpResponse
from hermes.ports.clock import Clock
from hermes.ports.options import Option
from hermes.ports.provider import ModelName, ModelRequest, TextDelta
from hermes.ports.responses import ResponseStore
from hermes.routing.plan import CallNeeds, Candidate, Plan
from hermes.server.v1.agent_turns import AgentTurns, ignored_by_agents, refuse_for_agents
from hermes.server.v1.callers import ApiCaller, Callers, check_model
from hermes.server.v1.choices import all_at_once, one_after_another
from hermes.server.v1.dialect import ApiDialect, ResponseStorage, Stamp, StreamWriter, WireCall
from hermes.server.v1.presence import CallerLeft, Presence
from hermes.server.v1.rate_headers import RateHeaders, openai_rate, rate_behind, with_headers
from hermes.server.v1.record import Record, name_of

AGENT = "agent:"
AUTO = "auto"
_BODY_S = 60.0
_KEEP_ALIVE_S = 15.0
_STOP_RETRY_S = 5.0
# A shorter request fits the context of any model.
_LONG_CHARS = 20_000
_BEFORE_OUTPUT = (SlotWait, CallStart, CallFailure, ModelName)
_FILES = (ImagePart, FilePart, AudioPart)
_File = ImagePart | FilePart | AudioPart
_LEFT = 499  # nobody reads it: the caller has disconnected


class V1Parts(msgspec.Struct, frozen=True, kw_only=True):
    """The dependencies of the endpoints."""

    callers: Callers
    planner: Planner
    calls: ModelCaller
    embeddings: Embeddings
    ledger: CallLedger
    turns: AgentTurns
    settings: Settings
    clock: Clock
    make_id: MakeId
    responses: ResponseStore
    roster: Roster


class WireEndpoint:
    """The endpoint of one wire; its dialect and its storage are loaded by the first call."""

    def __init__(
        self,
        load: Callable[[], ApiDialect],
        parts: V1Parts,
        *,
        rates: RateHeaders,
        load_storage: Callable[[], ResponseStorage] | None = None,
    ) -> None:
        self._load = load
        self._parts = parts
        self._rates = rates
        self._load_storage = load_storage

    @cached_property
    def _dialect(self) -> ApiDialect:
        return self._load()

    @cached_property
    def _storage(self) -> ResponseStorage | None:
        return None if self._load_storage is None else self._load_storage()

    async def post(self, exchange: HttpExchange) -> Answer:
        """Serve one call; report every error in the wire's own shape."""
        parts = self._parts
        try:
            refuse_url_credentials(exchange)
            caller = await parts.callers.check(exchange.headers)
        except HermesError as error:
            rate = rate_behind(error, at=parts.clock.now())
            return with_headers(self._dialect.refusal(error), self._rates(rate))
        record = new_record(parts, caller)
        try:
            return await self._serve(exchange, caller, record=record)
        except HermesError as error:
            return self._refused(error, record)
        except asyncio.CancelledError:
            # If the caller is still there, only a stopping gateway cancels a call. What was sent to
            # a model is paid for all the same.
            return self._refused(stopping(), record)

    def _refused(self, error: HermesError, record: Record) -> HttpResponse:
        record.failed(error)
        record.write()
        refusal = with_headers(self._dialect.refusal(error), self._rates(record.caller.rate))
        return record.refused(refusal)

    async def _serve(self, exchange: HttpExchange, caller: ApiCaller, *, record: Record) -> Answer:
        limit = self._parts.settings.v1.max_body_bytes
        body = await exchange.body(limit=limit, timeout_s=_BODY_S)
        storage = self._storage
        if storage is None:
            call = self._dialect.read(body, exchange.headers)
        else:
            call = await storage.read(body, exchange.headers, caller=caller)
        record.wanted = call.model
        if not call.model.isprintable():
            raise BadRequest("The model's name contains invalid characters.")
        if call.request.schema is not None:
            check_schema(call.request.schema)
        files = _files_of(call.request)
        if caller.run is not None and not all(map(_is_by_value, files)):
            # Whoever fetches it would be the network of a program that has none.
            raise Forbidden("A program may not send the address of a file: send its bytes.")
        await self._check_files([one for one in files if _is_by_value(one)])
        if call.model.startswith(AGENT):
            refuse_for_agents(call)
            ignored = (*call.ignored, *ignored_by_agents(call.request))
            call = msgspec.structs.replace(call, ignored=ignored)
        caller = record.caller = self._parts.callers.take_more(caller, call.choices - 1)
        try:
            async with Presence(exchange):
                events = await self._events(call, caller, exchange=exchange, record=record)
                return await self._answer(call, events, caller=caller, record=record)
        except CallerLeft:
            record.write()
            return HttpResponse(status=_LEFT)

    async def _check_files(self, files: Sequence[_File]) -> None:
        if files:
            media = self._parts.settings.media
            limits = FileLimits(max_bytes=media.max_bytes, max_pixels=media.max_pixels)
            await asyncio.to_thread(_check_by_value, files, limits)

    async def _events(
        self, call: WireCall, caller: ApiCaller, *, exchange: HttpExchange, record: Record
    ) -> AsyncGenerator[CallEvent, None]:
        parts = self._parts
        if call.model.startswith(AGENT):
            check_model(caller, call.model)
            return parts.turns.run(call, caller, headers=exchange.headers)
        ask = ask_of(call, fetches=parts.settings.v1.fetch_pictures)
        plan = allowed_plan(caller, call.model, await parts.planner.plan(ask))
        spec = CallSpec(
            call_id=record.stamp.id,
            request=_limited(call.request, caller),
            payer=caller.payer(),
            whole=not call.stream,
            wait_s=parts.settings.v1.wait_s,
            # Several answers from the cache would all be the same one.
            remembers=call.choices == 1 and self._remembers(caller, exchange),
            hedges=True,
            shows_thoughts=True,
        )
        if call.choices == 1:
            return parts.calls.run(spec, plan, receipt=record.receipt)
        start = partial(parts.calls.run, spec, plan, receipt=record.receipt)
        if call.stream:
            return one_after_another(start, call.choices)
        return all_at_once(start, call.choices, record=record)

    def _remembers(self, caller: ApiCaller, exchange: HttpExchange) -> bool:
        """Return whether the answer may come from the cache: as the call says, otherwise as the
        settings say.
        """
        if caller.key is None:
            return False
        said = exchange.headers.get("x-hermes-cache")
        return self._parts.settings.cache.v1 if said is None else said.lower() in {"on", "true"}

    async def _answer(
        self,
        call: WireCall,
        events: AsyncGenerator[CallEvent, None],
        *,
        caller: ApiCaller,
        record: Record,
    ) -> Answer:
        has_begun, rates = False, self._rates(record.caller.rate)
        try:
            first = await _next(events, record)
            has_begun = call.stream
            while not call.stream and not isinstance(first, FullAnswer):
                first = await _next(events, record)
        finally:
            if not has_begun:
                await events.aclose()
        storage = self._storage if call.stored else None
        if not call.stream and isinstance(first, FullAnswer):
            body = self._dialect.whole(call, first, stamp=record.stamp)
            if storage is not None:
                await storage.keep(call, body, caller=caller, stamp=record.stamp)
            record.write()
            call = self._with_vain_hints(call, first.candidate)
            headers = {**headers_of(call, record, answer=first), **rates}
            return HttpResponse(body=body, headers=headers)
        call = self._with_vain_hints(call, record.candidate)
        stamp = record.stamp_of_stream()
        if storage is None:
            writer = self._dialect.stream(call, stamp=stamp)
        else:
            begun = _from(first, events)
            writer, events = storage.stream(call, begun, caller=caller, stamp=stamp)
            first = await _next(events, record)
        write = _frames if call.choices == 1 else _frames_of_several
        return EventStream(
            write(first, events, writer=writer, record=record),
            keep_alive_s=_KEEP_ALIVE_S,
            headers={**headers_of(call, record), **rates},
            cut_off=partial(_cut_off, writer, record),
        )

    def _with_vain_hints(self, call: WireCall, candidate: Candidate | None) -> WireCall:
        """Return the call; hints that its model does not have are listed as without effect."""
        hints = (*call.hints, *_conflicts(call), *sampling_hints(call.request))
        if not hints:
            return call
        has = frozenset() if candidate is None else self._parts.planner.options_of(candidate)
        vain = [field for option, field in hints if option not in has]
        return msgspec.structs.replace(call, ignored=tuple(dict.fromkeys((*call.ignored, *vain))))


def _check_by_value(files: Sequence[_File], limits: FileLimits) -> None:
    check_by_value([one.media.url or "" for one in files if isinstance(one, ImagePart)], limits)
    check_files_by_value([one.media for one in files if not isinstance(one, ImagePart)], limits)


def stopping() -> Overloaded:
    """Return the error for a call that is cut off because the gateway stops."""
    return Overloaded("Hermes is stopping. Send this again in a moment.", _STOP_RETRY_S)


def _cut_off(writer: StreamWriter, record: Record) -> bytes:
    """Return the end of a stream that is cut off because the gateway stops."""
    error = stopping()
    record.failed(error)
    return writer.failed(error)


def new_record(parts: V1Parts, caller: ApiCaller) -> Record:
    """Start the record of one call."""
    stamp = Stamp(parts.make_id("v"), parts.clock.now(), clock=parts.clock)
    return Record(stamp, caller, ledger=parts.ledger, clock=parts.clock)


def handler_of(
    load: Callable[[], ApiDialect],
    parts: V1Parts,
    *,
    rates: RateHeaders = openai_rate,
    load_storage: Callable[[], ResponseStorage] | None = None,
) -> Handler:
    """Return the handler of one wire; `rates` names a key's request rate as its clients do."""
    return WireEndpoint(load, parts, rates=rates, load_storage=load_storage).post


def _files_of(request: ModelRequest) -> Sequence[_File]:
    """Return the files of a request that have an address, which may be a data URL."""
    parts = (part for message in request.messages for part in message.parts)
    return [part for part in parts if isinstance(part, _FILES) and part.media.url]


def _is_by_value(file: _File) -> bool:
    return file.media.url is not None and is_inline(file.media.url)


def ask_of(call: WireCall, *, fetches: bool = True) -> CallNeeds:
    """Return what routing needs to know about a call.

    Unless Hermes `fetches` pictures, only a service that does can see those at an address.
    """
    request = call.request
    last = next((m for m in reversed(request.messages) if m.role == "user"), None)
    kinds = {type(part) for message in request.messages for part in message.parts}
    has_files = FilePart in kinds or AudioPart in kinds or (ImagePart in kinds and not fetches)
    return CallNeeds(
        prompt="" if last is None else last.text,
        model=call.model,
        tools=bool(request.tools),
        images=ImagePart in kinds,
        options=demands_of(request, has_files=has_files, fetches=fetches),
        tokens=_tokens_of(request),
    )


def _tokens_of(request: ModelRequest) -> int:
    """Return at least how many tokens a long request has; 0 for one that any model holds.

    The estimate is high: a third less never keeps a call from a model that could have held it.
    """
    chars = sum(len(p.text) for m in request.messages for p in m.parts if isinstance(p, TextPart))
    return request_tokens(request) * 2 // 3 if chars > _LONG_CHARS else 0


def allowed_plan(caller: ApiCaller, wanted: str, plan: Plan) -> Plan:
    """Return the plan reduced to the candidates that the caller's key allows."""
    if caller.may_use(wanted):
        return plan
    kept = tuple(
        one
        for one in plan.candidates
        if caller.may_use(one.model, one.provider, f"{one.provider}:{one.model}")
    )
    if not kept:
        check_model(caller, wanted)
        raise Forbidden(f"This key may not use {wanted[:80]!r}.")
    return msgspec.structs.replace(plan, candidates=kept)


def _limited(request: ModelRequest, caller: ApiCaller) -> ModelRequest:
    most = None if caller.key is None else caller.key.max_output_tokens
    if most is None:
        return request
    wanted = request.max_output_tokens
    return msgspec.structs.replace(
        request, max_output_tokens=most if wanted is None else min(wanted, most)
    )


def _conflicts(call: WireCall) -> Iterator[tuple[Option, str]]:
    """Yield what a model needs to heed the hints of a call together, with their fields."""
    fields = dict(call.hints)
    if fields:
        for option, hint in conflict_hints(call.request):
            if hint in fields:
                yield option, fields[hint]


def headers_of(
    call: WireCall, record: Record, *, answer: FullAnswer | None = None
) -> dict[str, str]:
    """Return the headers of an answer: its id, the fields without effect, and who answers."""
    headers = {"x-request-id": record.stamp.id, "request-id": record.stamp.id}
    if call.ignored:
        headers["x-hermes-ignored"] = ", ".join(call.ignored)[:500]
    if record.answering:
        headers["x-hermes-model"] = _ascii(record.answering)
    if answer is not None:
        headers |= notes_of(answer)
        if answer.cached_from is not None:
            headers["x-hermes-cached-from"] = answer.cached_from
    return headers


def notes_of(answer: FullAnswer) -> dict[str, str]:
    """Return what was left out of an answer, as headers."""
    notes: dict[str, str] = {}
    if answer.dropped_calls:
        notes["x-hermes-dropped-calls"] = str(answer.dropped_calls)
    if answer.end.skipped:
        notes["x-hermes-skipped"] = ", ".join(answer.end.skipped)[:500]
    return notes


def _ascii(name: str) -> str:
    return name[:200].encode("ascii", "replace").decode()


def _comments_of(answer: FullAnswer, *, announced: str) -> bytes:
    """Return what is known only after the headers were sent, as comments: every client skips them,
    and people can read them.
    """
    notes = notes_of(answer)
    if name_of(answer.candidate) != announced:
        notes["x-hermes-model"] = _ascii(name_of(answer.candidate))
    return b"".join(b": %b: %b\n\n" % (k.encode(), v.encode()) for k, v in notes.items())


async def _next(events: AsyncGenerator[CallEvent, None], record: Record) -> Piece | FullAnswer:
    """Return the next event for the caller."""
    while True:
        event = await anext(events, None)
        if event is None:
            raise _no_answer()
        record.hear(event)
        if not isinstance(event, _BEFORE_OUTPUT):
            return event


async def _from(
    first: CallEvent, events: AsyncGenerator[CallEvent, None]
) -> AsyncGenerator[CallEvent, None]:
    """Yield the events of a call from its first one, which was taken."""
    async with aclosing(events):
        yield first
        async for event in events:
            yield event


def _no_answer() -> StreamTruncated:
    return StreamTruncated("the call ended without an answer")


async def _frames(
    first: Piece | FullAnswer,
    events: AsyncGenerator[CallEvent, None],
    *,
    writer: StreamWriter,
    record: Record,
) -> AsyncGenerator[bytes, None]:
    announced = record.answering
    try:
        async with aclosing(events):
            answer = first if isinstance(first, FullAnswer) else None
            if not isinstance(first, FullAnswer):
                yield writer.feed(first)
                async for event in events:
                    # Nearly all events are text, and a record hears nothing in text.
                    if isinstance(event, TextDelta):
                        yield writer.feed(event)
                        continue
                    record.hear(event)
                    if isinstance(event, FullAnswer):
                        answer = event
                        break
                    if not isinstance(event, _BEFORE_OUTPUT):
                        yield writer.feed(event)
            if answer is None:
                raise _no_answer()
            record.write()
            if comments := _comments_of(answer, announced=announced):
                yield comments
            yield writer.end(answer)
    except HermesError as error:
        record.failed(error)
        yield writer.failed(error)
    finally:
        record.write()


async def _frames_of_several(
    first: Piece | FullAnswer,
    events: AsyncGenerator[CallEvent, None],
    *,
    writer: StreamWriter,
    record: Record,
) -> AsyncGenerator[bytes, None]:
    """Yield the frames of several answers, one after another."""
    try:
        async with aclosing(events):
            yield writer.end(first) if isinstance(first, FullAnswer) else writer.feed(first)
            async for event in events:
                record.hear(event)
                if isinstance(event, FullAnswer):
                    yield writer.end(event)
                elif not isinstance(event, _BEFORE_OUTPUT):
                    yield writer.feed(event)
    except HermesError as error:
        record.failed(error)
        yield writer.failed(error)
    finally:
        record.write()
