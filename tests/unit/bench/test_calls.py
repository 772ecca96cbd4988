"""Calls to a model server: the upstream that costs nothing, and a load that checks every answer."""

import asyncio
import json
import os
from pathlib import Path

import pytest

from bench.answers import ANSWERS
from bench.call_plan import CallPlan
from bench.calls import REQUEST, STREAM
from bench.calm import Rounds
from bench.groups.models import GROUP
from bench.load import Outcome, carry_out
from bench.peers.litellm import GROUP as PEER
from bench.peers.litellm import level_numbers
from bench.upstream import listen, prepare


def plan(answer: str, *, stream: bool, port: int = 9) -> CallPlan:
    return CallPlan(
        port=port,
        token="hk_test",
        pid=os.getpid(),
        name="test",
        workers=3,
        count=7,
        model="bench-1",
        answer=answer,
        stream=stream,
    )


def streamed(answer: str) -> bytes:
    """Return the body of a streamed answer as its caller gets it."""
    chunks = b"".join(prepare(ANSWERS[answer]).plain[1:])
    lines = chunks.split(b"\r\n")
    return b"".join(line for line in lines if line.startswith(b"data:"))


async def send(answer: str, *, stream: bool) -> Outcome:
    server = await listen()
    async with server:
        port = server.sockets[0].getsockname()[1]
        return await carry_out(plan(answer, stream=stream, port=port))


@pytest.mark.parametrize("answer", sorted(ANSWERS))
@pytest.mark.parametrize("stream", [True, False])
async def test_every_answer_of_the_upstream_is_what_the_load_expects(
    answer: str, stream: bool
) -> None:
    outcome = await send(answer, stream=stream)

    assert (outcome.count, outcome.errors, outcome.first_error) == (7, 0, None)


async def test_a_call_that_names_no_answer_is_an_error() -> None:
    server = await listen()
    async with server:
        reader, writer = await asyncio.open_connection(
            *server.sockets[0].getsockname(), limit=65_536
        )
        writer.write(plan("none", stream=True).request(0, 0, run="r"))
        head = await reader.readuntil(b"\r\n\r\n")
        writer.close()
        await writer.wait_closed()

    assert head.startswith(b"HTTP/1.1 400 ")


def test_a_long_stream_is_fifty_pieces_in_writes_of_their_own() -> None:
    writes = prepare(ANSWERS["long"]).with_usage

    pieces = [write for write in writes if b'"delta":{"content":"' in write]
    assert len(pieces) == 50
    assert len(writes) == 1 + 1 + 50 + 1 + 1 + 1  # head, role, text, reason, usage, end
    assert all(write.count(b"data:") <= 1 for write in writes)


def test_no_two_calls_are_the_same_so_no_memory_can_answer_them() -> None:
    made = plan("short", stream=False)

    requests = {made.request(n, sent, run=run) for n in (0, 1) for sent in (0, 1) for run in "ab"}

    assert len(requests) == 8


GOOD = streamed("long")


@pytest.mark.parametrize(
    ("status", "body", "problem"),
    [
        (500, GOOD, "500"),
        (200, GOOD.replace(b"data: [DONE]\n\n", b""), "end marker"),
        (200, GOOD.replace(b'"finish_reason":"stop"', b'"finish_reason":null'), "ends for None"),
        (200, GOOD.replace(b'"finish_reason":"stop"', b'"finish_reason":"length"'), "'length'"),
        (200, GOOD.replace(b'{"content":"Wear', b'{"content":"Bear'), "50 deltas with 'Bear"),
        (200, GOOD.replace(b'{"content":"Wear ', b'{"content":"'), "49 deltas with"),
        (200, GOOD.replace(b'"choices"', b'"chances"', 1), "choices"),
        (200, GOOD[:-1], "end marker"),
        (200, b"", "not enough values"),
    ],
)
def test_a_stream_that_is_not_the_whole_answer_is_an_error(
    status: int, body: bytes, problem: str
) -> None:
    assert plan("long", stream=True).problem(200, GOOD) is None

    found = plan("long", stream=True).problem(status, body)

    assert found is not None
    assert problem in found


def test_pieces_that_were_joined_on_the_way_are_an_error() -> None:
    whole = json.dumps(ANSWERS["long"].text).encode()
    joined = (
        b'data: {"choices":[{"delta":{"content":' + whole + b'},"finish_reason":"stop"}]}\n\n'
        b"data: [DONE]\n\n"
    )

    found = plan("long", stream=True).problem(200, joined)

    assert found is not None
    assert found.startswith("1 deltas with")


def test_a_whole_answer_must_have_the_text_and_an_end() -> None:
    body = prepare(ANSWERS["short"]).whole.partition(b"\r\n\r\n")[2]
    made = plan("short", stream=False)

    assert made.problem(200, body) is None
    assert made.problem(200, body.replace(b"Wear", b"Bear")) is not None
    assert made.problem(200, body.replace(b'"stop"', b"null")) is not None
    assert made.problem(200, body[:-1]) is not None


def test_the_ratio_at_sixteen_is_the_one_with_a_target() -> None:
    own, other = rounds_of(0.5), rounds_of(12.0)

    assert level_numbers(REQUEST, 16, own=own, other=other) == {
        "v1_cpu_ms_per_request_16": 0.5,
        "v1_cpu_per_request_16_in_fixed_pieces": 0.05,
        "litellm_cpu_ms_per_request_16": 12.0,
        "litellm_cpu_per_request_16_in_fixed_pieces": 1.2,
        "v1_cpu_ratio_litellm": 24.0,
    }
    assert level_numbers(STREAM, 64, own=own, other=other)["v1_stream_cpu_ratio_litellm_64"] == 24.0


def rounds_of(cpu_ms: float) -> Rounds[Outcome]:
    """Return one round of 1,000 calls on a machine that needs 10 ms for the fixed piece."""
    rounds: Rounds[Outcome] = Rounds(lambda: 10.0)
    rounds.run(
        lambda: Outcome(
            count=1000,
            errors=0,
            wall_s=1,
            cpu_s=cpu_ms,
            load_cpu_s=0,
            rss_before_mb=1,
            rss_after_mb=1,
            p50_ms=1,
            p99_ms=1,
        )
    )
    return rounds


def test_the_targets_are_those_that_were_promised() -> None:
    promised = {name: target.text for name, target in {**GROUP.targets, **PEER.targets}.items()}

    assert promised == {
        "route_us": "<= 20",
        "route_us_by_task": "<= 20",
        "v1_cpu_ms_per_request_1": "<= 0.8",
        "v1_cpu_ms_per_request_16": "<= 0.8",
        "v1_cpu_ms_per_request_64": "<= 0.8",
        "v1_cpu_ms_per_stream50_1": "<= 2",
        "v1_cpu_ms_per_stream50_16": "<= 2",
        "v1_cpu_ms_per_stream50_64": "<= 2",
        "v1_cpu_ratio_litellm": ">= 16",
        "v1_stream_cpu_ratio_litellm": ">= 35",
    }


def test_the_peer_is_installed_by_name_and_version_alone() -> None:
    wanted = Path("bench/peers/litellm.in").read_text(encoding="utf-8").splitlines()

    assert len(wanted) == 1
    assert wanted[0].startswith("litellm[proxy]==")
