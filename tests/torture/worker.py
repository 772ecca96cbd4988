"""A process that tells stories: jobs come in as JSON lines, results go out as JSON lines."""

import asyncio
import sys
import threading
from pathlib import Path

import msgspec
import uvloop

from tests.torture.bench import Bench, Job, open_bench

# After so many stories the stand-ins start anew, so that what they remember stays small.
STORIES_PER_BENCH = 60


async def _jobs(queue: "asyncio.Queue[Job | None]") -> None:
    """Read jobs until the input closes."""
    loop = asyncio.get_running_loop()

    def read() -> None:
        for line in sys.stdin.buffer:
            job = msgspec.json.decode(line, type=Job)
            loop.call_soon_threadsafe(queue.put_nowait, job)
        loop.call_soon_threadsafe(queue.put_nowait, None)

    threading.Thread(target=read, daemon=True).start()


async def _tell(bench: Bench, job: Job) -> None:
    result = await bench.run(job)
    if job.kills:
        # Which failpoints were passed is asked only of stories without kills.
        result = msgspec.structs.replace(result, passed=())
    sys.stdout.buffer.write(msgspec.json.encode(result) + b"\n")
    sys.stdout.buffer.flush()


async def serve(folder: Path) -> None:
    """Tell every story that is asked for, side by side."""
    queue: asyncio.Queue[Job | None] = asyncio.Queue()
    await _jobs(queue)
    ended = False
    while not ended:
        async with open_bench(folder) as bench, asyncio.TaskGroup() as group:
            for _ in range(STORIES_PER_BENCH):
                job = await queue.get()
                if job is None:
                    ended = True
                    break
                group.create_task(_tell(bench, job))


if __name__ == "__main__":
    uvloop.run(serve(Path(sys.argv[1])))
