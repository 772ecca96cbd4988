"""The official SDKs, wrapped: what they send and receive on a loopback service is in the graph."""

import asyncio
import re
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import anthropic
import httpx2
import openai
import pytest
import pytest_asyncio

from hermes.errors import BadRequest
from hermes.graph import MessageGraph
from hermes.graph.clients import RecordedAnthropic, RecordedOpenAI
from hermes.testing.anthropic_server import AnthropicServer
from hermes.testing.model_server import ModelServer
from tests.unit.graph.exports.taken import take
from tests.unit.graph.said import system, user

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")
FUNCTION = {"name": "weather", "parameters": {"type": "object", "properties": {}}}
TOOLS = [{"type": "function", "function": FUNCTION}]
ASKING = '[[tool:weather {"city":"Bonn"}]]'
CALLED = {"name": "weather", "arguments": '{"city":"Bonn"}'}
# Any: the SDKs' clients and values.
Client = Any


@pytest_asyncio.fixture
async def models() -> AsyncIterator[ModelServer]:
    async with ModelServer() as server:
        yield server


@pytest_asyncio.fixture
async def claude() -> AsyncIterator[AnthropicServer]:
    async with AnthropicServer() as server:
        yield server


async def in_thread(
    server: ModelServer, graph: MessageGraph, work: Callable[[Client], object]
) -> None:
    """Run work with a blocking client, whose service is in this event loop."""

    def run() -> None:
        with openai.OpenAI(api_key="k", base_url=server.base_url, max_retries=0) as client:
            work(RecordedOpenAI(client, graph))

    await asyncio.to_thread(run)


def talk() -> MessageGraph:
    return MessageGraph([system("Be brief."), user("hello")], name="talk")


@pytest.mark.req("G4", "G6")
async def test_a_chat_completion_is_recorded(models: ModelServer) -> None:
    graph, answers = talk(), list[Client]()

    await in_thread(
        models,
        graph,
        lambda client: answers.append(
            client.chat.completions.create(model="m", temperature=0.5, max_tokens=9, stream=False)
        ),
    )

    assert answers[0].choices[0].message.content == "#1 hello"
    assert graph[2] == {"role": "assistant", "content": "#1 hello"}
    (call,) = graph.calls()
    assert (call.model, call.sampling, call.metadata, call.sampled) == (
        "m", {"max_tokens": 9, "temperature": 0.5}, {"stop_reason": "end"}, True
    )  # fmt: skip
    assert call.usage == {"tokens_in": 3, "tokens_out": 1}
    assert graph.is_sampled(2)
    ((row,), _) = take(graph)
    assert row["messages"][-1] == {"role": "assistant", "content": "#1 hello", "weight": 1}


@pytest.mark.req("G2", "G4", "G6")
@pytest.mark.parametrize("streamed", [False, True])
async def test_a_program_with_its_own_list_is_recorded_as_it_is(
    models: ModelServer, streamed: bool
) -> None:
    graph = MessageGraph(name="talk")

    def work(client: Client) -> None:
        messages: list[Any] = [system("Be brief."), user("hello")]
        answer = client.chat.completions.create(model="m", messages=messages)
        # An SDK's own value, and the same as people write it.
        messages += [answer.choices[0].message, user(ASKING)]
        if streamed:
            chunks = client.chat.completions.create(
                model="m", messages=messages, tools=TOOLS, stream=True,
                stream_options={"include_usage": True},
            )  # fmt: skip
            assert len(list(chunks)) > 1
            messages.append(graph[-1])
        else:
            answer = client.chat.completions.create(model="m", messages=messages, tools=TOOLS)
            messages.append(answer.choices[0].message.model_dump())
        call_id = graph[-1]["tool_calls"][0]["id"]
        messages.append({"role": "tool", "tool_call_id": call_id, "content": "12"})
        client.chat.completions.create(model="m", messages=messages, tools=TOOLS)

    await in_thread(models, graph, work)

    assert [message["role"] for message in graph] == [
        "system", "user", "assistant", "user", "assistant", "tool", "assistant"
    ]  # fmt: skip
    assert graph[4]["tool_calls"][0]["function"] == CALLED
    assert graph[6]["content"].endswith("-> 12")
    assert [call.metadata["stop_reason"] for call in graph.calls()] == ["end", "tool_calls", "end"]
    assert [call.length for call in graph.calls()] == [2, 4, 6]
    assert [graph.tools_of(call) for call in graph.calls()] == [None, TOOLS, TOOLS]
    assert all(call.usage["tokens_out"] for call in graph.calls())
    # Nothing that a call saw was changed by giving the same messages again.
    assert (graph.edges(), [graph.is_sampled(n) for n in (2, 4, 6)]) == ([], [True] * 3)
    assert graph.verify().ok


SERVER = {
    "type": "mcp",
    "server_url": "https://me:SECRET-1@example.org/mcp?of=a@b&key=SECRET-6",
    "server_description": "Answers https://example.org/?page=1 and others.",
    "authorization": "SECRET-2",
    "headers": {"X-Key": "SECRET-3"},
    "extra_query": {"key": "SECRET-7"},
    "extra_headers": {"X-Key": "SECRET-8"},
    "allowed": [{"Headers": "SECRET-4", "urls": ["http://SECRET-5@example.org#a"]}, 7],
}
KEPT = {
    "type": "mcp",
    "server_url": "https://example.org/mcp",
    "server_description": "Answers https://example.org/?page=1 and others.",
    "allowed": [{"urls": ["http://example.org"]}, 7],
}
# Options of both SDKs for one request.
EXTRA: dict[str, Any] = {
    "extra_headers": {"X-Key": "SECRET-9"},
    "extra_query": {"key": "SECRET-10"},
    "extra_body": {"key": "SECRET-11"},
}
CHOICE = {"index": 0, "message": {"role": "assistant", "content": "Yes."}, "finish_reason": "stop"}


class Service(httpx2.BaseTransport):
    """A service that takes every tool, and keeps what it was sent."""

    def __init__(self, answer: dict[str, Any]) -> None:
        self.sent: list[bytes] = []
        self._answer = answer

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        address = f"{request.url} {request.headers['x-key']} "
        self.sent.append(address.encode() + request.read())
        return httpx2.Response(200, json=self._answer)


def assert_no_secrets(graph: MessageGraph, service: Service, file: Path) -> None:
    graph.save(file)
    assert b"SECRET" not in file.read_bytes()
    sent = re.findall(rb"SECRET-\d+", service.sent[0])
    assert sorted(sent) == sorted(b"SECRET-%d" % n for n in range(1, 12))


@pytest.mark.req("G4")
def test_keys_in_tools_for_openai_are_sent_and_not_recorded(tmp_path: Path) -> None:
    graph, service = MessageGraph([user("hello")]), Service({"model": "m", "choices": [CHOICE]})
    properties = {"headers": {"description": "as in http://me:you@example.org"}}
    function = {"name": "get", "parameters": {"type": "object", "properties": properties}}
    own = {"type": "function", "function": function}

    with openai.OpenAI(api_key="k", http_client=httpx2.Client(transport=service)) as sdk:
        client: Client = RecordedOpenAI(sdk, graph)
        client.chat.completions.create(model="m", tools=[own, SERVER], **EXTRA)

    assert graph.tools_of(graph.calls()[0]) == [own, KEPT]
    assert_no_secrets(graph, service, tmp_path / "talk.db")


@pytest.mark.req("G4")
def test_keys_in_tools_for_anthropic_are_sent_and_not_recorded(tmp_path: Path) -> None:
    content = [{"type": "text", "text": "Yes."}]
    graph, service = MessageGraph([user("hello")]), Service({"model": "m", "content": content})

    with anthropic.Anthropic(api_key="k", http_client=httpx2.Client(transport=service)) as sdk:
        client: Client = RecordedAnthropic(sdk, graph)
        client.messages.create(model="m", max_tokens=9, tools=[*CLAUDE_TOOLS, SERVER], **EXTRA)

    assert graph.tools_of(graph.calls()[0]) == [*TOOLS, KEPT]
    assert_no_secrets(graph, service, tmp_path / "talk.db")


@pytest.mark.req("G4", "G6")
@pytest.mark.parametrize("leave", ["close", "with"])
async def test_a_stream_that_is_left_early_does_not_count_as_sampled(
    models: ModelServer, leave: str
) -> None:
    graph = MessageGraph([user("[[deltas:5]] a long text that is streamed")])

    def work(client: Client) -> None:
        stream = client.chat.completions.create(model="m", stream=True)
        if leave == "with":
            with stream:
                next(stream), next(stream)
        else:
            next(stream), next(stream)
            stream.close()

    await in_thread(models, graph, work)

    (call,) = graph.calls()
    assert (call.sampled, call.metadata) == (False, {"stop_reason": "interrupted"})
    assert graph[1]["content"].startswith("#1 ")
    assert len(graph[1]["content"]) < 40
    assert take(graph)[0] == []


@pytest.mark.req("G4")
@pytest.mark.parametrize(
    ("told", "streamed", "has_answer"),
    [("[[fail:500]]", False, False), ("[[fail:500]]", True, False), ("[[cut:2]][[deltas:5]] a b c", True, True)],
)  # fmt: skip
async def test_a_call_that_fails_is_recorded(
    models: ModelServer, told: str, *, streamed: bool, has_answer: bool
) -> None:
    graph = MessageGraph([user(told)])

    def work(client: Client) -> None:
        with pytest.raises(Exception) as caught:  # noqa: PT011  as the SDK has it
            list(client.chat.completions.create(model="m", stream=streamed))
        assert "hermes" not in type(caught.value).__module__

    await in_thread(models, graph, work)

    (call,) = graph.calls()
    assert (call.response is not None, call.sampled and has_answer) == (has_answer, False)
    assert ("error" in call.metadata) is not has_answer
    assert graph.verify().ok


@pytest.mark.req("G4", "G6")
@pytest.mark.parametrize("streamed", [False, True])
async def test_the_client_for_event_loops(models: ModelServer, streamed: bool) -> None:
    graph = talk()

    async with openai.AsyncOpenAI(
        api_key="k", base_url=models.base_url, max_retries=0
    ) as client:  # fmt: skip
        recorded = RecordedOpenAI(client, graph).with_options(timeout=9)
        answer = await recorded.chat.completions.create(model="m", messages=graph, stream=streamed)
        if streamed:
            assert [chunk async for chunk in answer] != []

    assert graph[2]["content"] == "#1 hello"
    assert (graph.is_sampled(2), graph.calls()[0].metadata) == (True, {"stop_reason": "end"})


@pytest.mark.req("G6")
async def test_what_would_not_be_recorded_is_refused(models: ModelServer) -> None:
    def work(client: Client) -> None:
        for use in (
            lambda: client.responses,
            lambda: client.completions,
            lambda: client.chat.completions.parse,
            lambda: client.chat.completions.with_raw_response,
        ):
            with pytest.raises(BadRequest, match=r"is not recorded. Use chat\.completions\.create"):
                use()
        assert str(client.base_url).startswith(models.base_url)

    await in_thread(models, talk(), work)
    other = RecordedAnthropic(anthropic.Anthropic(api_key="k"), talk())
    for use in (lambda: other.beta, lambda: other.messages.stream, lambda: other.messages.batches):
        with pytest.raises(BadRequest, match=r"is not recorded. Use messages\.create"):
            use()
    assert callable(other.messages.count_tokens)


CLAUDE_TOOLS = [{"name": "weather", "input_schema": FUNCTION["parameters"]}]


@pytest.mark.req("G4", "G6")
@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("in_loop", [False, True])
async def test_anthropics_client_is_recorded(
    claude: AnthropicServer, *, streamed: bool, in_loop: bool
) -> None:
    graph = talk()
    options: dict[str, Any] = {"model": "claude", "max_tokens": 99, "stream": streamed}

    async def ask(**more: Any) -> None:
        if in_loop:
            async with anthropic.AsyncAnthropic(
                api_key="sk-ant-api-k", base_url=claude.base_url, max_retries=0
            ) as client:
                found = await RecordedAnthropic(client, graph).messages.create(**options, **more)
                _ = [event async for event in found] if streamed else found
            return

        def run() -> None:
            with anthropic.Anthropic(
                api_key="sk-ant-api-k", base_url=claude.base_url, max_retries=0
            ) as client:
                found = RecordedAnthropic(client, graph).messages.create(**options, **more)
                _ = list(found) if streamed else found

        await asyncio.to_thread(run)

    await ask()
    # As people write it: the answer as a text.
    messages = [user("hello"), {"role": "assistant", "content": "#1 hello"}, user(ASKING)]
    await ask(messages=messages, tools=CLAUDE_TOOLS)
    call_id = graph[-1]["content"][-1]["id"]
    result = {"type": "tool_result", "tool_use_id": call_id, "content": "12"}
    graph.append({"role": "user", "content": [result]})
    await ask(tools=CLAUDE_TOOLS)

    assert graph[0] == system("Be brief.")
    assert graph[2]["content"] == [{"type": "text", "text": "#1 hello"}]
    used = graph[4]["content"][-1]
    assert (used["type"], used["name"], used["input"]) == ("tool_use", "weather", {"city": "Bonn"})
    assert graph[6]["content"][0]["text"].endswith("-> 12")
    assert [call.metadata["stop_reason"] for call in graph.calls()] == ["end", "tool_calls", "end"]
    assert [graph.tools_of(call) for call in graph.calls()] == [None, TOOLS, TOOLS]
    assert all(call.usage["tokens_in"] and call.usage["tokens_out"] for call in graph.calls())
    assert [call.sampling for call in graph.calls()] == [{"max_tokens": 99}] * 3
    assert [graph.is_sampled(n) for n in (2, 4, 6)] == [True] * 3
    assert graph.verify().ok
    assert len(claude.invocations) == 3
    assert b'"system":"Be brief."' in claude.invocations[0].body.replace(b'": "', b'":"')


@pytest.mark.req("G6")
async def test_the_system_of_a_request_is_what_the_call_saw_first(claude: AnthropicServer) -> None:
    graph = MessageGraph([user("hello")])

    async with anthropic.AsyncAnthropic(
        api_key="sk-ant-api-k", base_url=claude.base_url, max_retries=0
    ) as client:
        recorded = RecordedAnthropic(client, graph)
        await recorded.messages.create(model="claude", max_tokens=9, system="Be kind.")
        graph.insert(0, system("Be brief."))
        with pytest.raises(BadRequest, match="Use one of the two"):
            recorded.messages.create(model="claude", max_tokens=9, system="Be kind.")

    (call,) = graph.calls()
    assert graph.at(call) == [system("Be kind."), user("hello")]
    assert call.lead == 1
    assert b"Be kind." in claude.invocations[0].body
