"""What a channel pays to check who sent a call of 2 kB, by the rows of the manifests that are signed."""

import statistics
from collections.abc import Iterator
from functools import partial
from time import process_time_ns

from bench.calm import Rounds, cpu_numbers
from bench.registry import Say
from hermes.channel_kit.proof import check_proof, sign
from hermes.plugins.manifest import load_manifest
from hermes.ports.channel import HttpRequest
from hermes.ports.channel_rows import ProofRow

_BODY_BYTES = 2048
_ROUNDS = 5
_TIMES = 40
_CHECKS = 500
_NOW = 1_700_000_000.0
_SECRET = "a secret of some length"


def measure_signatures(say: Say) -> Iterator[dict[str, float]]:
    """Time the check by the dearest of the rows."""
    rows = _rows()
    say(f"{_ROUNDS} rounds of {_TIMES} times {_CHECKS} checks of a body of {_BODY_BYTES} bytes")
    calls = [sign(row, _call(), secret=_SECRET, now=_NOW) for row in rows]
    rounds: Rounds[float] = Rounds()
    for _ in range(_ROUNDS):
        rounds.run(partial(_dearest_us, rows, calls))
    yield cpu_numbers("kit_signature_us", rounds)


def _rows() -> list[ProofRow]:
    slack = load_manifest("hermes.channels.slack").rows.webhook
    assert slack is not None
    assert slack.proof is not None
    return [slack.proof, *load_manifest("hermes.channels.webhook").rows.proofs.values()]


def _call() -> HttpRequest:
    body = b'{"type":"message","text":"' + b"x" * (_BODY_BYTES - 28) + b'"}'
    headers = {"webhook-id": "msg_1", "content-type": "application/json"}
    return HttpRequest(method="POST", path="/", query={}, headers=headers, body=body)


def _dearest_us(rows: list[ProofRow], calls: list[HttpRequest]) -> float:
    return max(_median_us(row, call) for row, call in zip(rows, calls, strict=True))


def _median_us(row: ProofRow, call: HttpRequest) -> float:
    times = []
    for _ in range(_TIMES):
        began = process_time_ns()
        for _ in range(_CHECKS):
            check_proof(row, call, secret=_SECRET, now=_NOW)
        times.append((process_time_ns() - began) / _CHECKS / 1000)
    return statistics.median(times)
