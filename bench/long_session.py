"""The numbers of the group `sessions` about one long conversation in front of a small model.

Two gateways take the same messages in alternation, one that sums the conversation up and one that
leaves older messages out, so that a busy minute affects both: the difference is what summing up
costs. The model refuses every prompt that it cannot hold.
"""

import http.client
from collections.abc import Iterator

import msgspec

from bench.gateway import Running, gateway, small_model
from bench.process import cpu_s
from bench.registry import Say

MESSAGES = 2_000
MESSAGE_BYTES = 4_000
CONTEXT_TOKENS = 32_000
_PARTS = 20
_PATIENCE_S = 60.0
_WORDS = "The ferry leaves at seven and the tickets are in the blue bag. "
_SIZE = {"HERMES_PROVIDERS__OPENAI__CONTEXT_TOKENS": str(CONTEXT_TOKENS)}
_OFF = {**_SIZE, "HERMES_COMPACTION__ENABLED": "false"}


class _Told(msgspec.Struct, frozen=True):
    """What the bench reads of an answer."""

    outcome: str = ""


class _Talker:
    """One conversation over the REST channel of a gateway."""

    def __init__(self, running: Running) -> None:
        self._connection = http.client.HTTPConnection(
            "127.0.0.1", running.port, timeout=_PATIENCE_S
        )
        self._headers = {
            "authorization": f"Bearer {running.token}",
            "content-type": "application/json",
        }
        self._pid = running.pid
        self._said = 0
        self.failures = 0
        self.cpu_s = 0.0

    def talk(self, count: int) -> None:
        """Say so many things, and count what was not answered."""
        before = cpu_s(self._pid)
        for _ in range(count):
            self._said += 1
            self.failures += self._ask(_text(self._said)) != "answered"
        self.cpu_s += cpu_s(self._pid) - before

    def _ask(self, text: str) -> str:
        body = msgspec.json.encode({"sender": "long", "text": text})
        self._connection.request("POST", "/api/messages", body=body, headers=self._headers)
        answer = self._connection.getresponse()
        told = answer.read()
        return msgspec.json.decode(told, type=_Told).outcome if answer.status == 200 else ""


def measure_long_session(say: Say) -> Iterator[dict[str, float]]:
    """Have one long conversation, with summaries and without."""
    say(f"one conversation of {MESSAGES:,} messages")
    with (
        small_model(CONTEXT_TOKENS) as model,
        gateway(model, settings=_SIZE) as summing,
        gateway(model, settings=_OFF) as leaving,
    ):
        talkers = (_Talker(summing), _Talker(leaving))
        for _ in range(_PARTS):
            for talker in talkers:
                talker.talk(MESSAGES // _PARTS)
    with_summaries, without = talkers
    per_1k_ms = 1_000_000 / MESSAGES
    yield {
        "long_session_failures": float(with_summaries.failures + without.failures),
        "long_session_cpu_ms_per_message": with_summaries.cpu_s * 1_000 / MESSAGES,
        "compaction_cpu_ms_per_1k_messages": max(
            0.0, (with_summaries.cpu_s - without.cpu_s) * per_1k_ms
        ),
    }


def _text(number: int) -> str:
    text = f"{number}: {_WORDS * (MESSAGE_BYTES // len(_WORDS) + 1)}"
    return text[:MESSAGE_BYTES]
