"""The order of what a model thought, said and called: streamed and whole, on every pair of wires.

Answers of every service are read by its provider and served on every wire of `/v1`; the official
SDKs are the clients.
"""

from collections.abc import AsyncIterator
from typing import Any

import anthropic
import msgspec
import openai
import pytest
from starlette.applications import Starlette
from starlette.routing import Route

from hermes.calls.events import FullAnswer
from hermes.calls.shown_pieces import ShownPieces
from hermes.message.parts import Part, ReasoningPart
from hermes.routing.plan import Candidate
from hermes.server.v1.chat import ChatDialect
from hermes.server.v1.messages import MessagesDialect
from hermes.server.v1.responses import ResponsesDialect
from tests.system.scripted_wire import ScriptedWire, running
from tests.system.upstream_stories import STORIES, UPSTREAMS, Story, read_from

# Any: the SDK's parameters are typed dicts of many shapes.
HELLO: Any = [{"role": "user", "content": "Hello"}]
every_wire = pytest.mark.parametrize("wire", UPSTREAMS)


def stories_of(wire: str) -> dict[str, Story]:
    """Return the stories of a service of which a whole answer holds everything.

    Ollama keeps what it thought only where a call follows.
    """
    return {
        name: story for name, story in STORIES.items() if wire != "ollama" or story[-1][0] == "call"
    }


class Gateway(ScriptedWire):
    """All wires over one answer of a service."""

    def __init__(self) -> None:
        super().__init__()
        self.app = Starlette(
            routes=[
                Route("/v1/chat/completions", self.chat, methods=["POST"]),
                Route("/v1/messages", self.chat, methods=["POST"]),
                Route("/v1/responses", self.chat, methods=["POST"]),
            ]
        )

    def tell(self, wire: str, story: Story) -> None:
        self.pieces, end = read_from(wire, story)
        self.answered = FullAnswer(candidate=Candidate("house", "m-1", "named"), end=end)


@pytest.fixture
def gateway() -> Gateway:
    return Gateway()


@pytest.fixture
async def address(gateway: Gateway) -> AsyncIterator[str]:
    async with running(gateway) as found:
        yield found


@pytest.fixture
async def claude(gateway: Gateway, address: str) -> AsyncIterator[anthropic.AsyncAnthropic]:
    gateway.dialect = MessagesDialect()
    async with anthropic.AsyncAnthropic(base_url=address, api_key="hk", max_retries=0) as made:
        yield made


@pytest.fixture
async def client(address: str) -> AsyncIterator[openai.AsyncOpenAI]:
    async with openai.AsyncOpenAI(base_url=f"{address}/v1", api_key="hk", max_retries=0) as made:
        yield made


def words_of(blocks: list[dict[str, Any]]) -> str:
    """Return what blocks of any wire say, in their order."""
    names = ("thinking", "text", "name")
    return "|".join(word for block in blocks for n in names if (word := block.get(n)))


def words_in(story: Story) -> str:
    return "|".join(words for _, words in story if words)


@pytest.mark.req("M5", "M7")
@every_wire
async def test_messages_are_streamed_in_the_order_of_whole_ones(gateway, claude, wire):
    for name, story in stories_of(wire).items():
        gateway.tell(wire, story)

        whole = await claude.messages.create(model="auto", max_tokens=9, messages=HELLO)
        streamed = await streamed_by(claude)

        content = [block.to_dict() for block in whole.content]
        assert [block.to_dict() for block in streamed.content] == content, name
        # Services that send no blocks have no border between two texts, or two thoughts.
        assert words_of(content).replace("|", "") == words_in(story).replace("|", ""), name


async def streamed_by(claude: anthropic.AsyncAnthropic) -> anthropic.types.Message:
    async with claude.messages.stream(model="auto", max_tokens=9, messages=HELLO) as stream:
        return await stream.get_final_message()


@pytest.mark.req("M3", "M7")
@every_wire
async def test_a_client_brings_streamed_thoughts_back_to_their_places(gateway, claude, wire):
    for name, story in stories_of(wire).items():
        gateway.tell(wire, story)
        streamed = await streamed_by(claude)

        said = {"role": "assistant", "content": streamed.content}
        await claude.messages.create(model="auto", max_tokens=9, messages=[*HELLO, said, *HELLO])

        told, sent = gateway.answered.end.parts, gateway.calls[-1].request.messages[1].parts
        assert [type(part) for part in sent] == [type(part) for part in told], name
        assert thoughts_of(sent) == thoughts_of(told), name


def thoughts_of(parts: tuple[Part, ...]) -> list[ReasoningPart]:
    return [part for part in parts if isinstance(part, ReasoningPart)]


@pytest.mark.req("M7")
@pytest.mark.parametrize("wire", ["anthropic", "responses"])
@pytest.mark.parametrize("name", ["two texts", "two thoughts", "thoughts between"])
async def test_blocks_stay_apart_where_the_service_sends_blocks(gateway, claude, wire, name):
    gateway.tell(wire, STORIES[name])

    streamed = await streamed_by(claude)

    assert words_of([block.to_dict() for block in streamed.content]) == words_in(STORIES[name])


@pytest.mark.req("M5", "M7")
@every_wire
async def test_a_dropped_call_leaves_no_thought_as_the_last_block(gateway, claude, wire):
    story = (("thought", "Hm."), ("call", "red"), ("thought", "So."), ("call", "blue"))
    gateway.tell(wire, story)
    passing = ShownPieces(None, one_call=True)
    gateway.pieces = [kept for piece in gateway.pieces for kept in passing.pieces(piece)]
    gateway.pieces += passing.rest(gateway.answered.end)
    end = passing.whole(gateway.answered.end)
    gateway.answered = msgspec.structs.replace(gateway.answered, end=end)

    whole = await claude.messages.create(model="auto", max_tokens=9, messages=HELLO)
    streamed = await streamed_by(claude)

    assert words_of([block.to_dict() for block in whole.content]) == "Hm.|red"
    assert words_of([block.to_dict() for block in streamed.content]) == "Hm.|red"


@pytest.mark.req("M5", "M7")
@every_wire
async def test_responses_are_streamed_in_the_order_of_whole_ones(gateway, client, wire):
    gateway.dialect = ResponsesDialect()
    for name, story in stories_of(wire).items():
        gateway.tell(wire, story)

        whole = await client.responses.create(model="auto", input="Hello")
        stream = await client.responses.create(model="auto", input="Hello", stream=True)
        events = [event async for event in stream]

        kinds = [item.type for item in whole.output]
        assert items_of(events, "response.output_item.added") == list(enumerate(kinds)), name
        assert items_of(events, "response.output_item.done") == list(enumerate(kinds)), name
        assert [item.type for item in events[-1].response.output] == kinds, name


# Any: the SDK's events are of many types, each with its own fields.
def items_of(events: list[Any], kind: str) -> list[tuple[int, str]]:
    return [(event.output_index, event.item.type) for event in events if event.type == kind]


@pytest.mark.req("M5", "M7")
@every_wire
async def test_chat_chunks_come_in_the_order_of_the_service(gateway, client, wire):
    gateway.dialect = ChatDialect()
    for name, story in stories_of(wire).items():
        gateway.tell(wire, story)

        whole = await client.chat.completions.create(model="auto", messages=HELLO)
        stream = await client.chat.completions.create(model="auto", messages=HELLO, stream=True)
        deltas = [chunk.choices[0].delta.to_dict() async for chunk in stream if chunk.choices]

        assert "".join(map(said_in, deltas)) == words_in(story).replace("|", ""), name
        text = "".join(delta.get("content") or "" for delta in deltas)
        assert text == (whole.choices[0].message.content or ""), name


def said_in(delta: dict[str, Any]) -> str:
    calls = "".join(call["function"].get("name", "") for call in delta.get("tool_calls", ()))
    return delta.get("reasoning_content") or delta.get("content") or calls
