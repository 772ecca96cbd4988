"""The fixed piece of Python: work that is always the same, whose CPU time says how fast the machine is.

It does what a gateway does most: JSON, dicts, strings, attributes, and small steps of an event loop.
A CPU figure divided by it (`..._in_fixed_pieces`) can be compared between a fast and a slow minute, as
long as both were measured with the same `FIXED_PIECE_VERSION`.
"""

import asyncio
import gc
import json
import statistics
from time import thread_time

# Change it with every change to the work below: figures of two versions do not compare.
FIXED_PIECE_VERSION = 2
SUFFIX = "_in_fixed_pieces"
_PIECES = 3
_MESSAGES, _HOPS = 500, 400
_MS = {"us": 1e-3, "ms": 1.0, "s": 1e3}
_TEXT = "Wear a warm coat, it is two degrees and windy; the ferry leaves at a quarter past nine."


def fixed_piece_ms(pieces: int = _PIECES) -> float:
    """Return the CPU time of the piece, the median of some runs, in milliseconds."""
    return statistics.median(_timed() for _ in range(pieces)) * 1e3


def ratio_name(figure: str) -> str:
    """Return the name of a CPU figure in fixed pieces: `cpu_ms_per_turn` is `cpu_per_turn_in_...`."""
    unit = _unit(figure)
    parts = figure.split("_")
    parts.remove(unit)
    return "_".join(parts) + SUFFIX


def in_fixed_pieces(figure: str, value: float, *, piece_ms: float) -> float:
    """Return how many fixed pieces a CPU figure is; its name tells its unit."""
    return value * _MS[_unit(figure)] / piece_ms


def cpu_figures(numbers: dict[str, float]) -> dict[str, str]:
    """Return the CPU figures of a run, each with the name of its ratio."""
    timed = [name for name in numbers if not name.endswith(SUFFIX) and _MS.keys() & name.split("_")]
    return {name: ratio_name(name) for name in timed if ratio_name(name) in numbers}


def do_piece() -> int:
    """Do the work once; returns a number that depends on all of it."""
    seen: dict[str, int] = {}
    total = sum(_handle(number, seen) for number in range(_MESSAGES))
    loop = asyncio.new_event_loop()
    try:
        return total + len(seen) + loop.run_until_complete(_hop_all())
    finally:
        loop.close()


def _timed() -> float:
    # A collection would walk all that the bench holds, which is another amount in every group.
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        began = thread_time()
        do_piece()
        return thread_time() - began
    finally:
        if was_enabled:
            gc.enable()


class _Message:
    def __init__(self, number: int, text: str) -> None:
        self.number = number
        self.text = text
        self.words: list[str] = []
        self.size = 0


def _handle(number: int, seen: dict[str, int]) -> int:
    body = {"id": number, "sender": f"person-{number % 50}", "text": f"{_TEXT} ({number})"}
    told = json.loads(json.dumps(body))
    message = _Message(told["id"], told["text"])
    message.words = message.text.lower().replace(",", "").split()
    for word in message.words:
        key = f"{told['sender']}:{word}"
        seen[key] = seen.get(key, 0) + 1
        message.size += len(word)
    return message.size + message.number


async def _hop_all() -> int:
    """Hand numbers from one task to another and back, one at a time."""
    there: asyncio.Queue[int] = asyncio.Queue(1)
    back: asyncio.Queue[int] = asyncio.Queue(1)

    async def answer() -> None:
        for _ in range(_HOPS):
            await back.put(await there.get() + 1)

    answering, total = asyncio.create_task(answer()), 0
    for number in range(_HOPS):
        await there.put(number)
        total += await back.get()
    await answering
    return total


def _unit(figure: str) -> str:
    units = [part for part in figure.split("_") if part in _MS]
    if len(units) != 1:
        raise ValueError(
            f"{figure}: the name of a CPU figure has one unit of {', '.join(_MS)} between underscores, "
            f"found {len(units)}"
        )
    return units[0]
