"""What every model wire gets from the kit, shown with the smallest wire that it allows."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from typing import Any

import msgspec
import pytest

from hermes.errors import (
    ConfigurationError,
    ProviderUnavailable,
    StreamTruncated,
)
from hermes.message.chat import user_text
from hermes.message.parts import Part, TextPart, ToolCallPart
from hermes.message.reply import Usage
from hermes.net.client import HttpClient, HttpSettings
from hermes.ports.provider import CallEnd, ModelEvent, ModelRequest, StopReason, TextDelta
from hermes.provider_kit.assembly import BaseAssembly, RunAssembly
from hermes.provider_kit.embeddings import check_vectors, decode_embedding
from hermes.provider_kit.idle_timer import IdleTimer, Timer
from hermes.provider_kit.provider import WireProvider
from hermes.provider_kit.settings import WireSettings
from hermes.provider_kit.stream import AnswerAssembly, ModelEndpoint
from hermes.testing.scripted_http import Out, ReceivedRequest, ScriptedHttp


class PlainSettings(WireSettings, frozen=True, kw_only=True):
    base_url: str = "https://models.example.com/v1/"
    context_tokens: int = 1000

    @property
    def needs_key(self) -> bool:
        return not self.is_on_this_machine


class PlainLine(msgspec.Struct):
    text: str = ""
    call: str | None = None
    end: StopReason | None = None
    refused: bool = False
    error: str | None = None


class PlainAssembly(RunAssembly[PlainSettings]):
    """Lines of text and whole calls; the last one says why the answer stopped."""

    DIALECT = "plain"
    _end: StopReason | None = None

    @property
    def ended(self) -> bool:
        return self._end is not None

    def feed(self, payload: bytes) -> Sequence[ModelEvent]:
        try:
            line = msgspec.json.decode(payload, type=PlainLine)
        except msgspec.DecodeError as error:
            raise self._broken("sent no line") from error
        if line.error is not None:
            raise self._failed(ProviderUnavailable(line.error))
        self._end = line.end
        if line.refused:
            self._refusal.append(line.text)
        events = self._more(line.text, thought=False) if line.text else []
        if line.call is not None:
            events += self._close_run()
            events.append(self._add_call(ToolCallPart(self._make_id("call"), "f", line.call)))
        return events

    def _stop_reason(self) -> StopReason:
        return self._end or "end"

    def _parts(self) -> Iterable[Part]:
        self._close_run()
        return self._made

    def _measure(self, _parts: tuple[Part, ...]) -> Usage:
        return self._guess(self._written)


class PlainProvider(WireProvider[PlainSettings]):
    DIALECT = "plain"

    def _endpoint_of(self, model: str) -> ModelEndpoint:
        endpoint = self._endpoint(self._settings.url(f"/say/{model}"))
        return msgspec.structs.replace(endpoint, end_wait_s=0.01)

    async def _prepare(self, request: ModelRequest) -> tuple[bytes, AnswerAssembly]:
        body = request.messages[-1].text.encode()
        return body, PlainAssembly(self._settings, sent_chars=len(body), make_id=self._new_id)


SETTINGS = PlainSettings(name="p", model="m", api_key="k")


def assembly() -> PlainAssembly:
    return PlainAssembly(SETTINGS, sent_chars=8, make_id=lambda prefix: f"{prefix}_made")


# Any: JSON of a line.
def line(**fields: Any) -> bytes:
    return msgspec.json.encode(fields)


def ended(*lines: bytes) -> CallEnd:
    made = assembly()
    for one in lines:
        made.feed(one)
    return made.end()


@pytest.fixture
async def client() -> AsyncIterator[HttpClient]:
    made = HttpClient(HttpSettings())
    yield made
    await made.close()


@pytest.mark.req("P5")
@pytest.mark.parametrize("wire", [BaseAssembly, WireProvider])
def test_a_wire_without_its_own_half_cannot_be_made(wire):
    with pytest.raises(TypeError, match="abstract"):
        wire(SETTINGS, None)


@pytest.mark.req("P5")
@pytest.mark.parametrize(
    ("fields", "usable"),
    [
        ({}, True),
        ({"api_key": None}, False),
        ({"enabled": False}, False),
        ({"api_key": None, "base_url": "http://localhost:1"}, True),
    ],
)
def test_a_service_is_usable_with_the_key_that_its_address_needs(fields, usable):
    assert msgspec.structs.replace(SETTINGS, **fields).usable is usable


@pytest.mark.req("P5")
@pytest.mark.parametrize(
    ("asked", "own", "limit"),
    [(None, None, None), (5, None, 5), (None, 7, 7), (5, 7, 5), (7, 5, 5)],
)
def test_the_lower_output_limit_counts(asked, own, limit):
    settings = msgspec.structs.replace(SETTINGS, max_output_tokens=own)
    request = ModelRequest(model="m", messages=(), max_output_tokens=asked)

    assert settings.output_limit(request) == limit


@pytest.mark.req("P5")
@pytest.mark.parametrize("key", ["sk 1", "sk-1\n", "schlüssel"])
def test_a_key_that_cannot_be_sent_is_refused_before_any_call(client, key):
    with pytest.raises(ConfigurationError, match=r"^providers\.p\.api_key contains"):
        PlainProvider(msgspec.structs.replace(SETTINGS, api_key=key), client)


@pytest.mark.req("A23")
async def test_one_call_goes_where_the_wire_says_and_ends_when_nothing_more_comes(client):
    async def answer(_received: ReceivedRequest, out: Out) -> None:
        out.begin("text/event-stream")
        out.frame(b'data: {"text":"Good "}\n\ndata: {"text":"day","end":"end"}\n\n')
        await asyncio.Event().wait()

    async with ScriptedHttp(answer) as server:
        settings = msgspec.structs.replace(SETTINGS, base_url=f"{server.origin}/v1/")
        provider = PlainProvider(settings, client)
        request = ModelRequest(model="m-2", messages=(user_text("hi"),))
        events = [event async for event in provider.stream(request)]

    sent = server.requests[0]
    assert (sent.path, sent.body, sent.headers["authorization"], sent.headers["accept"]) == (
        "/v1/say/m-2",
        b"hi",
        "Bearer k",
        "text/event-stream",
    )
    assert events == [
        TextDelta("Good "),
        TextDelta("day"),
        CallEnd((TextPart("Good day"),), "end", Usage(1, 2), "m"),
    ]


@pytest.mark.req("P5")
def test_an_answer_without_its_end_is_truncated():
    with pytest.raises(StreamTruncated, match=r"^p: the stream of m ended without its end marker"):
        ended(line(text="Good"))


@pytest.mark.req("P5")
@pytest.mark.parametrize("payload", [b"no JSON", line(error="p: out of cheese")])
def test_a_failure_inside_the_stream_is_a_truncation_only_after_the_first_word(payload):
    early, late = assembly(), assembly()
    late.feed(line(text="Good"))

    with pytest.raises(ProviderUnavailable):
        early.feed(payload)
    with pytest.raises(StreamTruncated, match=r"the answer is not whole$"):
        late.feed(payload)


@pytest.mark.req("P5")
@pytest.mark.parametrize(
    ("last", "reason"),
    [
        ({"end": "end"}, "end"),
        ({"end": "end", "refused": True}, "refusal"),
        ({"end": "end", "call": "{}"}, "tool_calls"),
        ({"end": "end", "call": "{}", "refused": True}, "tool_calls"),
        ({"end": "length", "call": "{}"}, "length"),
    ],
)
def test_an_answer_stopped_for_its_tool_calls_or_its_refusal(last, reason):
    assert ended(line(text="Good", **last)).stop_reason == reason


@pytest.mark.req("P5")
@pytest.mark.parametrize("arguments", ['{"a": "b', "[" * 100_000], ids=["open", "deep"])
def test_a_call_that_was_cut_off_is_left_out_unless_the_model_itself_ended_there(arguments):
    assert ended(line(text="Good", call=arguments, end="length")).parts == (TextPart("Good"),)
    call = ToolCallPart("call_made", "f", arguments)
    assert ended(line(text="Good", call=arguments, end="end")).parts == (TextPart("Good"), call)


@pytest.mark.req("P7")
@pytest.mark.parametrize(
    ("vectors", "words"),
    [
        ([(1.0,)], "^p: the service returned 1 embeddings, expected 2: one for each text$"),
        ([(1.0,), ()], "^p: the service returned an embedding without numbers; none is used$"),
    ],
)
def test_vectors_that_are_missing_are_not_used(vectors, words):
    with pytest.raises(ProviderUnavailable, match=words):
        check_vectors(vectors, SETTINGS, expected=2)


@pytest.mark.req("P7")
def test_an_answer_that_is_no_list_of_vectors_is_translated():
    with pytest.raises(ProviderUnavailable, match="200 with something else, expected a list of"):
        decode_embedding(b"<html>", SETTINGS, decode=msgspec.json.Decoder(list[float]).decode)


class HandTimers:
    """Timers that a test sets off itself."""

    def __init__(self) -> None:
        self.running: list[float] = []

    def call_later(self, seconds: float, _action: object) -> Timer:
        self.running.append(seconds)
        return self

    def cancel(self) -> None:
        self.running.pop()


@pytest.mark.req("P1")
def test_an_idle_timer_that_is_started_again_runs_once():
    timers = HandTimers()
    idle = IdleTimer(7, lambda: None, call_later=timers.call_later)

    idle.start()
    idle.start()
    assert timers.running == [7]

    idle.stop()
    idle.stop()
    assert timers.running == []
