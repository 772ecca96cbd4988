"""The load: messages through the REST channel from a process of its own.

`python -m bench.load` reads one `Plan` as JSON from standard input, runs it and prints one
`Outcome`. A plan is bounded in messages and in seconds. Every message has an id of its own and
every worker a conversation of its own; an answer that is no fresh, finished turn is an error.
"""

import asyncio
import os
import subprocess
import sys
from time import monotonic

import msgspec
import uvloop

from bench.http import Connection, connect
from bench.process import cpu_s, rss_mb

_ANSWERED = b'"outcome":"answered"'
_FRESH = b'"duplicate":false'


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What to send: `turns` messages, `workers` at a time, for at most `seconds`.

    After `conversation_turns` messages a worker starts a new conversation; 0 means never. A plan
    of the same `name` as an earlier one goes on with its conversations.
    """

    port: int
    token: str
    pid: int
    name: str
    workers: int
    turns: int
    seconds: float = 120.0
    conversation_turns: int = 0
    text: str = "What should I wear in Oslo today? Answer in one sentence."


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What came back; CPU and memory are those of the gateway process."""

    turns: int
    errors: int
    wall_s: float
    cpu_s: float
    rss_before_mb: float
    rss_after_mb: float
    p50_ms: float
    p99_ms: float
    first_error: str | None = None

    @property
    def turns_per_s(self) -> float:
        """Finished turns per second of wall time."""
        return self.turns / self.wall_s

    @property
    def cpu_ms_per_turn(self) -> float:
        """CPU of the gateway process per finished turn."""
        return self.cpu_s * 1000 / self.turns


def run(plan: Plan) -> Outcome:
    """Run a plan in a process of its own; raises `RuntimeError` when a message went wrong."""
    ended = subprocess.run(
        [sys.executable, "-m", "bench.load"],
        input=msgspec.json.encode(plan),
        capture_output=True,
        timeout=plan.seconds + 60,
        check=False,
    )
    if ended.returncode != 0:
        raise RuntimeError(f"the load process failed: {ended.stderr.decode()[-2000:]}")
    outcome = msgspec.json.decode(ended.stdout, type=Outcome)
    if outcome.errors or not outcome.turns:
        raise RuntimeError(
            f"{outcome.errors} of {outcome.turns + outcome.errors} messages of {plan.name} went "
            f"wrong; the first: {outcome.first_error}"
        )
    return outcome


class _Load:
    """A plan while it runs."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._run = os.urandom(8).hex()
        self._left = plan.turns
        self._deadline = monotonic() + plan.seconds
        self.took: list[float] = []
        self.failures: list[str] = []

    async def work(self, connection: Connection, number: int) -> None:
        """Send messages one after another until the plan is used up."""
        sent = 0
        while self._left > 0 and monotonic() < self._deadline:
            self._left -= 1
            started = monotonic()
            status, body = await connection.ask(self._request(number, sent))
            if status == 200 and _ANSWERED in body and _FRESH in body:
                self.took.append(monotonic() - started)
            else:
                self.failures.append(f"{status} {body[:300]!r}")
            sent += 1

    def _request(self, number: int, sent: int) -> bytes:
        plan = self._plan
        round_ = sent // plan.conversation_turns if plan.conversation_turns else 0
        who = f"{plan.name}-{number}-{round_}"
        body = msgspec.json.encode(
            {"sender": who, "text": plan.text, "id": f"{self._run}-{number}-{sent}"}
        )
        head = (
            f"POST /api/messages HTTP/1.1\r\nhost: 127.0.0.1:{plan.port}\r\n"
            f"authorization: Bearer {plan.token}\r\ncontent-type: application/json\r\n"
            f"content-length: {len(body)}\r\n\r\n"
        )
        return head.encode() + body


async def carry_out(plan: Plan) -> Outcome:
    """Connect everybody, then send and measure."""
    connections = [await connect("127.0.0.1", plan.port) for _ in range(plan.workers)]
    load = _Load(plan)
    rss_before, cpu_before, started = rss_mb(plan.pid), cpu_s(plan.pid), monotonic()
    async with asyncio.timeout(plan.seconds + 30):
        await asyncio.gather(*(load.work(one, n) for n, one in enumerate(connections)))
    wall_s, cpu = monotonic() - started, cpu_s(plan.pid) - cpu_before
    for connection in connections:
        connection.close()
    took = sorted(load.took) or [0.0]
    return Outcome(
        turns=len(load.took),
        errors=len(load.failures),
        wall_s=wall_s,
        cpu_s=cpu,
        rss_before_mb=rss_before,
        rss_after_mb=rss_mb(plan.pid),
        p50_ms=took[len(took) // 2] * 1000,
        p99_ms=took[min(len(took) - 1, len(took) * 99 // 100)] * 1000,
        first_error=load.failures[0] if load.failures else None,
    )


if __name__ == "__main__":
    given = msgspec.json.decode(sys.stdin.buffer.read(), type=Plan)
    sys.stdout.buffer.write(msgspec.json.encode(uvloop.run(carry_out(given))))
