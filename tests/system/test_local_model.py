"""The built-in model in its real process: loading, cancelling, unloading, and the loop's freedom."""

import asyncio
import os
import signal
import sys
import time
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from pathlib import Path

import msgspec
import pytest

from hermes.calls.schema import problem_of
from hermes.errors import ProviderRejected, StreamTruncated
from hermes.message.chat import ChatMessage, user_text
from hermes.message.parts import ToolCallPart, ToolResultPart, text_of, tool_calls_of
from hermes.ports.provider import (
    CallEnd,
    ModelEvent,
    ModelRequest,
    OutputSchema,
    TextDelta,
    ToolCallDelta,
    ToolChoice,
    ToolSpec,
)
from hermes.providers.local.provider import LocalProvider
from hermes.providers.local.settings import LocalSettings, is_installed

# The engine itself stalls for 0.2 to 1.0 s while it loads; the loop of the gateway must not.
LONGEST_STALL_S = 0.15
WEATHER = ToolSpec(
    "get_weather",
    "Tells the weather in a city.",
    msgspec.Raw(
        b'{"type":"object","properties":{"city":{"$ref":"#/$defs/c"},"days":{"enum":[1,7]}},'
        b'"required":["city","days"],"$defs":{"c":{"type":"string","maxLength":12}}}'
    ),
)
CLOCK = ToolSpec("clock", "Tells the time.", msgspec.Raw(b'{"type":"object"}'))
PERSON = OutputSchema(
    name="person",
    schema=msgspec.Raw(
        b'{"type":"object","properties":{"name":{"type":"string","maxLength":12},'
        b'"age":{"type":"integer","minimum":18,"maximum":99},"kind":{"enum":["cat","dog"]}},'
        b'"required":["name","age","kind"],"additionalProperties":false}'
    ),
)
STORY = ModelRequest(model="m", messages=(user_text("Tell me a long story about the sea."),))


class HandTimer:
    """A timer that fires when the test says so."""

    def __init__(self) -> None:
        self.pending: list[tuple[float, Callable[[], None]]] = []

    def call_later(self, delay: float, action: Callable[[], None]) -> "HandTimer":
        self.pending.append((delay, action))
        return self

    def cancel(self) -> None:
        self.pending.clear()

    def fire(self) -> None:
        self.pending.pop()[1]()


@pytest.fixture
def timer() -> HandTimer:
    return HandTimer()


@pytest.fixture
def statuses() -> list[str]:
    return []


@pytest.fixture
async def model(timer, statuses) -> AsyncIterator[LocalProvider]:
    made = LocalProvider(
        LocalSettings(threads=1, idle_unload_s=33),
        on_status=statuses.append,
        call_later=timer.call_later,
    )
    yield made
    await made.close()


def asking(text: str, *, tokens: int = 6) -> ModelRequest:
    return ModelRequest(model="m", messages=(user_text(text),), max_output_tokens=tokens)


async def answer(model: LocalProvider, request: ModelRequest) -> CallEnd:
    events = [event async for event in model.stream(request)]
    assert isinstance(events[-1], CallEnd)
    return events[-1]


async def events_of(model: LocalProvider, request: ModelRequest) -> list[ModelEvent]:
    return [event async for event in model.stream(request)]


def with_tools(text: str, choice: ToolChoice, *, tokens: int = 60) -> ModelRequest:
    request = asking(text, tokens=tokens)
    return msgspec.structs.replace(request, tools=(WEATHER, CLOCK), tool_choice=choice)


def alive(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists()


def cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.req("M7", "P6")
async def test_it_loads_on_the_first_call_only_and_says_so(model, statuses):
    before = model.engine_pid

    await answer(model, asking("hello"))
    loaded = model.engine_pid
    await answer(model, asking("hello again"))

    assert is_installed()
    assert (before, model.engine_pid) == (None, loaded)
    assert statuses == ["loading the demonstration model", "the demonstration model is ready"]
    assert model.info.demonstration
    assert (model.info.tools, model.info.schema, model.info.vision) == (True, True, False)


@pytest.mark.req("P6")
async def test_neither_loading_nor_generating_holds_up_the_loop(model):
    gaps: list[float] = []

    async def tick() -> None:
        last = time.perf_counter()
        while True:
            await asyncio.sleep(0.002)
            now = time.perf_counter()
            gaps.append(now - last)
            last = now

    ticking = asyncio.create_task(tick())
    await answer(model, asking("Tell me about the sea.", tokens=40))
    ticking.cancel()

    assert len(gaps) > 20
    assert max(gaps) < LONGEST_STALL_S


@pytest.mark.req("P6")
async def test_an_idle_model_leaves_memory_and_comes_back(model, timer, statuses):
    await answer(model, asking("hello"))
    pid = model.engine_pid
    delay = timer.pending[-1][0]

    timer.fire()
    await model.unload()
    gone = (model.engine_pid, alive(pid))
    again = await answer(model, asking("hello"))

    assert delay == 33
    assert gone == (None, False)
    assert again.usage.tokens_out > 0
    assert statuses[2:4] == [
        "the demonstration model has left memory",
        "loading the demonstration model",
    ]


@pytest.mark.req("A9")
async def test_closing_a_call_stops_the_generation_and_keeps_the_model(model):
    async with aclosing(model.stream(STORY)) as events:
        await anext(events)
        pid = model.engine_pid
    worked = cpu_seconds(pid)

    end = await answer(model, asking("hello"))

    assert model.engine_pid == pid
    assert end.usage.tokens_out <= 6
    # The rest of the story would have taken it several seconds more.
    assert cpu_seconds(pid) - worked < 1.0


@pytest.mark.req("A9")
async def test_a_call_cancelled_while_it_reads_a_long_prompt_does_not_block_the_next(model):
    await answer(model, asking("hello"))
    call = asyncio.create_task(answer(model, asking("many words " * 1500)))
    await asyncio.sleep(0)
    await asyncio.sleep(0)

    call.cancel()
    await asyncio.gather(call, return_exceptions=True)
    end = await asyncio.wait_for(answer(model, asking("hello")), 60)

    assert call.cancelled()
    assert end.usage.tokens_out > 0


@pytest.mark.req("P5", "J8")
async def test_a_killed_engine_is_a_truncated_answer_and_the_next_call_starts_it_again(model):
    async with aclosing(model.stream(STORY)) as events:
        await anext(events)
        os.kill(model.engine_pid, signal.SIGKILL)
        with pytest.raises(StreamTruncated):
            _ = [event async for event in events]

    assert (await answer(model, asking("hello"))).usage.tokens_out > 0


@pytest.mark.req("P6")
async def test_a_conversation_too_long_for_the_context_is_cut_only_where_that_is_allowed():
    small = LocalProvider(LocalSettings(threads=1, context_tokens=512, max_output_tokens=16))
    turns = tuple(user_text(f"第{n}章 の話、とても長い話です。" * 8) for n in range(8))
    request = ModelRequest(model="m", messages=turns)

    end = await answer(small, msgspec.structs.replace(request, cut_history=True))
    with pytest.raises(ProviderRejected, match=r"context length of 512 tokens") as caught:
        await answer(small, request)
    await small.close()

    assert 0 < end.usage.tokens_in <= 512 - 16
    assert (caught.value.everywhere, caught.value.status) == (False, 400)
    assert int(str(caught.value).split()[1]) > 512


@pytest.mark.req("P6")
@pytest.mark.parametrize("cut_history", [True, False])
async def test_a_last_message_that_does_not_fit_alone_is_refused(cut_history):
    small = LocalProvider(LocalSettings(threads=1, context_tokens=512, max_output_tokens=16))
    turns = (user_text("hello"), user_text("many words " * 300))
    request = ModelRequest(model="m", messages=turns, cut_history=cut_history)

    with pytest.raises(ProviderRejected, match=r"local: \d{3,} tokens do not fit") as caught:
        await answer(small, request)
    again = await answer(small, asking("hello"))
    await small.close()

    assert (caught.value.everywhere, caught.value.status) == (False, 400)
    assert again.usage.tokens_out > 0


@pytest.mark.req("P6")
async def test_what_may_not_be_cut_is_read_whole(model):
    turns = tuple(user_text("many words " * 60) for _ in range(10))
    request = ModelRequest(model="m", messages=turns, max_output_tokens=2)
    limit = LocalSettings().max_prompt_tokens

    end = await answer(model, request)
    short = await answer(model, msgspec.structs.replace(request, cut_history=True))

    assert short.usage.tokens_in <= limit < end.usage.tokens_in


@pytest.mark.req("M7")
async def test_a_program_that_reaches_the_models_own_limit_leaves_no_code_block_open():
    small = LocalProvider(LocalSettings(threads=1, max_output_tokens=32))
    question = user_text("Write a Python function that adds two numbers")

    end = await answer(small, ModelRequest(model="m", messages=(question,), temperature=0))
    await small.close()

    text = text_of(end.parts)
    assert end.stop_reason == "length"
    assert text.count("```") == 2
    assert text.endswith(("```", "```\n…"))


@pytest.mark.req("P6")
async def test_closing_the_provider_ends_the_engine(model):
    await answer(model, asking("hello"))
    pid = model.engine_pid

    await model.close()

    assert not alive(pid)
    assert not await model.available()


@pytest.mark.req("M5")
async def test_a_tool_that_must_be_called_is_called_with_arguments_that_fit(model):
    choice = ToolChoice("required", "get_weather")
    events = await events_of(model, with_tools("How is the weather in Rome?", choice))
    end = events[-1]
    form = OutputSchema(name="arguments", schema=WEATHER.parameters)

    assert isinstance(end, CallEnd)
    [call] = end.parts
    assert isinstance(call, ToolCallPart)
    assert (call.name, end.stop_reason) == ("get_weather", "tool_calls")
    assert problem_of(form, call.arguments) is None
    deltas = [event for event in events[:-1] if isinstance(event, ToolCallDelta)]
    assert (deltas[0].id, deltas[0].name) == (call.id, call.name)
    assert "".join(delta.arguments for delta in deltas) == call.arguments
    assert len(deltas) > 2


@pytest.mark.req("M5", "M7")
async def test_with_tools_in_play_it_answers_or_calls_and_without_a_choice_it_only_answers(model):
    free = await events_of(model, with_tools("Hello!", ToolChoice()))
    any_tool = await answer(model, with_tools("Hello!", ToolChoice("required")))
    none = await events_of(model, with_tools("Hello!", ToolChoice("none"), tokens=6))

    told = "".join(event.text for event in free if isinstance(event, TextDelta))
    assert isinstance(free[-1], CallEnd)
    assert bool(told) != bool(tool_calls_of(free[-1].parts))
    assert told == text_of(free[-1].parts)
    assert "{" not in told[:1]
    assert {call.name for call in tool_calls_of(any_tool.parts)} <= {"get_weather", "clock"}
    assert len(any_tool.parts) == len(tool_calls_of(any_tool.parts)) > 0
    assert isinstance(none[-1], CallEnd)
    assert not tool_calls_of(none[-1].parts)


@pytest.mark.req("M5", "M3")
async def test_it_goes_on_after_a_tools_result(model):
    turns = (
        user_text("What time is it?"),
        ChatMessage("assistant", (ToolCallPart("c", "clock", "{}"),)),
        ChatMessage("tool", (ToolResultPart("c", "clock", "noon"),)),
    )
    request = msgspec.structs.replace(with_tools("", ToolChoice()), messages=turns)

    assert (await answer(model, request)).parts


@pytest.mark.req("M6")
async def test_an_answer_fits_its_schema_and_streams(model):
    request = msgspec.structs.replace(asking("Tell me about Bob.", tokens=60), schema=PERSON)

    events = await events_of(model, request)

    end = events[-1]
    assert isinstance(end, CallEnd)
    text = text_of(end.parts)
    assert problem_of(PERSON, text) is None
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == text
    assert (end.stop_reason, len(events) > 4) == ("end", True)


@pytest.mark.req("M6")
async def test_a_schema_that_the_engine_cannot_hold_is_refused_and_the_next_call_works(model):
    unknown = OutputSchema(name="s", schema=msgspec.Raw(b'{"type":"foo"}'))

    with pytest.raises(ProviderRejected, match="cannot enforce a schema of this request"):
        await answer(model, msgspec.structs.replace(asking("hello"), schema=unknown))

    assert (await answer(model, asking("hello"))).usage.tokens_out > 0


@pytest.mark.req("M5")
async def test_a_call_that_is_cut_is_no_call(model):
    request = with_tools("Weather in Rome?", ToolChoice("required", "get_weather"), tokens=14)

    end = await answer(model, request)

    assert (end.parts, end.stop_reason) == ((), "length")


GATEWAY = """
import asyncio
import signal
from hermes.message.chat import user_text
from hermes.ports.provider import ModelRequest
from hermes.providers.local.provider import LocalProvider
from hermes.providers.local.settings import LocalSettings

async def main():
    model = LocalProvider(LocalSettings(threads=1))
    request = ModelRequest(model="m", messages=(user_text("Tell me a long story."),))
    async for _ in model.stream(request):
        print(model.engine_pid, flush=True)
    await model.close()

signal.signal(signal.SIGINT, lambda *_: None)
asyncio.run(main())
"""


@pytest.mark.req("J4", "P6")
async def test_the_engine_is_gone_when_the_gateway_is_killed_in_the_middle_of_a_call():
    gateway = await asyncio.create_subprocess_exec(sys.executable, "-c", GATEWAY, stdout=PIPE)
    assert gateway.stdout is not None
    engine = os.pidfd_open(int(await gateway.stdout.readline()))
    ended = asyncio.Event()
    asyncio.get_running_loop().add_reader(engine, ended.set)

    gateway.kill()
    await gateway.communicate()

    await asyncio.wait_for(ended.wait(), 10)
    asyncio.get_running_loop().remove_reader(engine)
    os.close(engine)


@pytest.mark.req("J4", "P6")
async def test_the_engine_is_gone_when_the_gateway_is_killed_while_it_loads():
    gateway = await asyncio.create_subprocess_exec(sys.executable, "-c", GATEWAY, stdout=PIPE)
    children = Path(f"/proc/{gateway.pid}/task/{gateway.pid}/children")
    async with asyncio.timeout(60):
        while not (found := children.read_text().split()):  # noqa: ASYNC110, ASYNC240
            await asyncio.sleep(0.01)
        engine = int(found[0])

        gateway.kill()
        await gateway.communicate()
        while alive(engine):  # noqa: ASYNC110
            await asyncio.sleep(0.05)


@pytest.mark.req("A9", "P6")
async def test_a_ctrl_c_in_the_gateways_terminal_leaves_the_engine_at_work():
    gateway = await asyncio.create_subprocess_exec(
        sys.executable, "-c", GATEWAY, stdout=PIPE, start_new_session=True
    )
    assert gateway.stdout is not None
    await gateway.stdout.readline()

    os.killpg(gateway.pid, signal.SIGINT)
    await asyncio.wait_for(gateway.communicate(), 120)

    assert gateway.returncode == 0


@pytest.mark.req("W34")
async def test_the_engine_listens_on_no_network_address(model):
    await answer(model, asking("hello"))

    assert listening(model.engine_pid) == []


def listening(pid: int) -> list[str]:
    process = Path(f"/proc/{pid}")
    links = [str(link.readlink()) for link in (process / "fd").iterdir()]
    inodes = {link.removeprefix("socket:[").rstrip("]") for link in links}
    tables = [(process / "net" / name).read_text() for name in ("tcp", "tcp6", "udp", "udp6")]
    rows = [line.split() for table in tables for line in table.splitlines()[1:]]
    return [row[1] for row in rows if row[9] in inodes]
