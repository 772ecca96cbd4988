"""Values that no honest caller sends, in every field of every request, at a real gateway.

A caller's mistake is a caller's error: no value makes the gateway fail, and a number out of range is
refused by the name of its field.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlencode

import aiohttp
import msgspec
import pytest
import pytest_asyncio
from msgspec import inspect

from hermes.channels.rest.inbound import RestMessage
from hermes.channels.web.inbound import StopRequest, TokenForm, WebMessage
from hermes.control.orders import ORDERS
from hermes.server.v1.chat_shape import ChatBody
from hermes.server.v1.completions import CompletionsBody
from hermes.server.v1.embeddings import EmbeddingsBody
from hermes.server.v1.messages_shape import MessagesBody
from hermes.server.v1.responses_shape import ResponsesBody
from tests.system.live import Live, live_gateway, model_server, with_model

PATIENCE_S = 120.0
AT_ONCE = 8
MODEL = "openai:gpt-4o-mini"
SAID: Mapping[str, object] = {"messages": [{"role": "user", "content": "hello"}]}
DIGITS = "9" * 400
DEEP = 20_000
# It takes no field but the name of who gives it, and would end the gateway.
NOT_GIVEN = {"gateway.restart"}
# JSON texts; the second value tells whether a number field must refuse it by name.
HOSTILE = {
    "400 digits": (DIGITS, True),
    "400 digits below zero": (f"-{DIGITS}", True),
    "4,000 digits": (DIGITS * 10, True),
    "10,000 digits": (DIGITS * 25, True),
    "too large a float": ("1e400", True),
    "one more than 64 bits": (str(2**64), True),
    "a half": ("0.5e-300", False),
    "not a number": ("NaN", False),
    "infinity": ("Infinity", False),
    "minus one": ("-1", False),
    "a long string": (json.dumps("x" * 150_000), False),
    "a string with NUL": (json.dumps("\0" * 20), False),
    "a lone surrogate": ('"\\ud800"', False),
    "deep lists": ("[" * DEEP + "]" * DEEP, False),
    "deep objects": ('{"a":' * DEEP + "1" + "}" * DEEP, False),
    "many numbers": (f"[{','.join([DIGITS] * 50)}]", False),
    "an object of numbers": (f'{{"a":{DIGITS},"type":{DIGITS}}}', False),
}
IN_A_QUERY = (DIGITS, f"-{DIGITS}", DIGITS * 25, "1e400", "nan", "-inf", "\u0661", "0x1", " ")


@dataclass(frozen=True)
class Door:
    """One path, the struct that its requests are, and what a good one needs."""

    path: str
    kind: type[msgspec.Struct]
    needs: Mapping[str, object] = field(default_factory=dict)
    query: bool = False


# Places deeper in a body; each hostile value is put in the place of the word HERE.
CHAT = f'{{"model":"{MODEL}","messages":[{{"role":"user","content":"hello"}}],%s}}'
SCHEMA = '{"type":"object","maxProperties":"HERE","properties":{"a":{"maximum":"HERE"}}}'
INNER = {
    "/v1/chat/completions": (
        CHAT % f'"tools":[{{"type":"function","function":{{"name":"look","parameters":{SCHEMA}}}}}]',
        CHAT % f'"response_format":{{"type":"json_schema","json_schema":{{"name":"a","schema":{SCHEMA}}}}}',
        CHAT % '"logit_bias":{"1":"HERE"}',
        CHAT % '"stop":["HERE"],"stream_options":{"include_usage":"HERE"}',
        f'{{"model":"{MODEL}","messages":[{{"role":"assistant","content":"a","reasoning_details":'
        '[{"type":"reasoning.text","text":"a","index":"HERE"}]},{"role":"user","content":"b"}]}',
    ),
    "/v1/messages": (
        CHAT % '"max_tokens":20,"thinking":{"type":"enabled","budget_tokens":"HERE"}',
        CHAT % f'"max_tokens":20,"tools":[{{"name":"look","input_schema":{SCHEMA},"input_examples":"HERE"}}]',
        CHAT % '"max_tokens":20,"mcp_servers":["HERE"],"output_config":{"task_budget":"HERE"}',
    ),
    "/v1/responses": (
        f'{{"model":"{MODEL}","input":[{{"type":"message","role":"user","content":"HERE"}}]}}',
        f'{{"model":"{MODEL}","input":[{{"type":"local_shell_call","id":"a","call_id":"b","action":'
        '{"type":"exec","command":["ls"],"env":{},"timeout_ms":"HERE"},"status":"completed"}]}',
        f'{{"model":"{MODEL}","input":"hello","text":{{"format":{{"type":"json_schema","name":"a","schema":{SCHEMA}}}}}}}',
        f'{{"model":"{MODEL}","input":"hello","tools":[{{"type":"function","name":"look","parameters":{SCHEMA}}}]}}',
    ),
    "/v1/embeddings": (f'{{"model":"{MODEL}","input":[["HERE"]]}}',),
    "/v1/completions": (f'{{"model":"{MODEL}","prompt":[["HERE"],"HERE"]}}',),
}  # fmt: skip
DOORS = (
    Door("/v1/chat/completions", ChatBody, {"model": MODEL, **SAID}),
    Door("/v1/completions", CompletionsBody, {"model": MODEL, "prompt": "hello"}),
    Door("/v1/responses", ResponsesBody, {"model": MODEL, "input": "hello"}),
    Door("/v1/messages", MessagesBody, {"model": MODEL, "max_tokens": 10, **SAID}),
    Door("/v1/messages/count_tokens", MessagesBody, {"model": MODEL, "max_tokens": 10, **SAID}),
    Door("/v1/embeddings", EmbeddingsBody, {"model": MODEL, "input": "hello"}),
    Door("/api/messages", RestMessage, {"sender": "eve", "text": "hello"}),
    Door("/web/messages", WebMessage, {"conversation": "eve", "text": "hello", "id": "1"}),
    Door("/web/stop", StopRequest, {"conversation": "eve"}),
    Door("/signin", TokenForm, {"token": "nobody's"}),
    *(
        Door(one.path, one.request, query=one.method == "GET")
        for one in ORDERS
        if msgspec.structs.fields(one.request)
        and not (one.parameters or one.variant or one.name in NOT_GIVEN)
    ),
)


@dataclass(frozen=True)
class Case:
    """One request: where, with what, and the field that its refusal must name, if any."""

    name: str
    path: str
    body: str | None = None
    named: str | None = None


def numbers_of(kind: type[msgspec.Struct]) -> set[str]:
    """Return the fields that take a number and nothing else, or null."""
    found = set()
    for one in inspect.type_info(kind).fields:  # type: ignore[attr-defined]
        inner = one.type.types if isinstance(one.type, inspect.UnionType) else (one.type,)
        told = [type(part) for part in inner if not isinstance(part, inspect.NoneType)]
        if set(told) <= {inspect.IntType, inspect.FloatType}:
            found.add(one.encode_name)
    return found


def in_bodies(door: Door) -> Iterator[Case]:
    """Return every hostile value in every field of a body, and in place of the body."""
    numbers = numbers_of(door.kind)
    for one in msgspec.structs.fields(door.kind):
        rest = {key: value for key, value in door.needs.items() if key != one.encode_name}
        told = "".join(f",{json.dumps(key)}:{json.dumps(value)}" for key, value in rest.items())
        for what, (text, is_refused) in HOSTILE.items():
            body = f'{{"{one.encode_name}":{text}{told}}}'
            must = one.encode_name if is_refused and one.encode_name in numbers else None
            yield Case(f"{door.path} {one.encode_name}: {what}", door.path, body, must)
    for what, (text, _) in HOSTILE.items():
        yield Case(f"{door.path}: {what}", door.path, text)


def inside() -> Iterator[Case]:
    """Return every hostile value in the places deeper in bodies."""
    for path, bodies in INNER.items():
        for number, body in enumerate(bodies):
            for what, (text, _) in HOSTILE.items():
                name = f"{path}, place {number}: {what}"
                yield Case(name, path, body.replace('"HERE"', text))


def in_queries(door: Door) -> Iterator[Case]:
    """Return every hostile value in every field of a query."""
    numbers = numbers_of(door.kind)
    for one in msgspec.structs.fields(door.kind):
        for text in IN_A_QUERY:
            query = urlencode({one.encode_name: text})
            must = one.encode_name if one.encode_name in numbers else None
            name = f"{door.path} {one.encode_name}: {text[:9]}"
            yield Case(name, f"{door.path}?{query}", named=must)


def in_paths() -> Iterator[Case]:
    """Return hostile values in the queries of other pages, and in paths."""
    for text in IN_A_QUERY:
        asked = urlencode({"limit": text, "after": text, "before": text, "wait": text})
        for path in (
            *("/v1/models", "/web/conversations/eve", "/web/conversations", "/v1/responses/none"),
            *("/v1/responses/none/input_items", "/api/messages/none"),
        ):
            yield Case(f"{path}: {text[:9]}", f"{path}?{asked}")
        for path in ("/v1/models/{}", "/api/messages/{}", "/v1/responses/{}", "/control/why/{}"):
            part = urlencode({"": text})[1:]
            yield Case(f"{path}: {text[:9]}", path.format(part))


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def live(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Live]:
    folder: Path = tmp_path_factory.mktemp("values")
    async with (
        model_server() as url,
        live_gateway(folder / "home", with_model(url)) as gateway,
    ):
        yield gateway


class Asked:
    """Sends cases to a gateway, a few at a time, and collects what was wrong."""

    def __init__(self, http: aiohttp.ClientSession) -> None:
        self._http = http
        self._free = asyncio.Semaphore(AT_ONCE)
        self.wrong: list[str] = []

    async def ask(self, case: Case) -> None:
        async with self._free:
            method = "GET" if case.body is None else "POST"
            async with self._http.request(method, case.path, data=case.body) as answer:
                text = await answer.text()
                status = answer.status
        # 502 is the service's fault: its answer does not fit the schema that was asked for.
        is_error = status >= 500 and status != 502
        if is_error or (case.named is not None and (status != 400 or case.named not in text)):
            self.wrong.append(f"{case.name}: {status} {text[:200]}")


async def wrong_answers(live: Live, cases: Iterator[Case]) -> list[str]:
    """Send every case, and then a message, which is answered; return what was wrong."""
    headers = {**live.bearer, "content-type": "application/json"}
    async with (
        asyncio.timeout(PATIENCE_S),
        aiohttp.ClientSession(live.url, headers=headers) as http,
    ):
        asked = Asked(http)
        await asyncio.gather(*(asked.ask(case) for case in cases))
        reply = await live.post(http, sender="ann", text="hello")
    assert reply["outcome"] == "answered"
    return asked.wrong


@pytest.mark.req("W6")
@pytest.mark.parametrize("door", [one for one in DOORS if not one.query], ids=lambda one: one.path)
@pytest.mark.asyncio(loop_scope="module")
async def test_no_value_in_a_body_makes_the_gateway_fail(live: Live, door: Door) -> None:
    assert await wrong_answers(live, in_bodies(door)) == []
    assert "Traceback" not in live.said()


@pytest.mark.req("W6")
@pytest.mark.asyncio(loop_scope="module")
async def test_no_value_deep_in_a_body_makes_the_gateway_fail(live: Live) -> None:
    assert await wrong_answers(live, inside()) == []
    assert "Traceback" not in live.said()


@pytest.mark.req("W6")
@pytest.mark.asyncio(loop_scope="module")
async def test_no_value_in_a_query_or_a_path_makes_the_gateway_fail(live: Live) -> None:
    cases = (case for door in DOORS if door.query for case in in_queries(door))

    assert await wrong_answers(live, cases) == []
    assert await wrong_answers(live, in_paths()) == []
    assert "Traceback" not in live.said()
