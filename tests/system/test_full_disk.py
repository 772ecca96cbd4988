"""J2: a whole gateway on a disk that is full: it refuses, commits what runs, and recovers by itself."""

import asyncio
import json
import os
import sqlite3
import subprocess
from collections.abc import AsyncIterator, Callable
from contextlib import closing
from pathlib import Path

import aiohttp
import pytest

from tests.system.live import Live, live_gateway, model_server, with_model
from tests.system.test_life import until_running
from tests.system.test_operator_commands import hermes
from tests.unit.plugins.hook_folder import write_hook

NAMES = ("n1", "n2", "n3", "n4", "n5")
# Under the reserve, and yet enough for what runs to commit.
SOME_BYTES = 700_000
EAR = """
    import pathlib

    async def handle(event_type, context):
        with pathlib.Path(__file__).with_name("heard").open("a") as file:
            print(event_type, file=file)
"""

pytestmark = [
    pytest.mark.sqlite_only,
    pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small disk needs root"),
]


@pytest.fixture
def disk(tmp_path: Path):
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=12m", "tmpfs", str(place)]
    if subprocess.run(mount, check=False, capture_output=True).returncode != 0:
        pytest.skip("this machine does not let root mount a tmpfs")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


@pytest.fixture
async def live(disk: Path) -> AsyncIterator[Live]:
    home = disk / "home"
    home.mkdir(mode=0o700)
    write_hook(home, "ear", said="events: [agent:end]", code=EAR)
    async with model_server() as url:
        reserve = {"HERMES_STORE__DISK_RESERVE_MB": "1", "HERMES_LOG__LEVEL": "debug"}
        async with live_gateway(home, {**with_model(url), **reserve}) as running:
            yield running


def fill(disk: Path, *, leaving: int) -> None:
    """Leave so many bytes, or not one, of the disk."""
    free = os.statvfs(disk)
    ballast = os.open(disk / "ballast", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    try:
        os.write(ballast, bytes(free.f_bavail * free.f_frsize - leaving))
        while not leaving:
            os.write(ballast, bytes(4096))
    except OSError:
        pass  # that was the last byte
    finally:
        os.close(ballast)


def empty_wal(home: Path) -> None:
    """Let the next commit need room: what a WAL had once is written over without any."""
    with closing(sqlite3.connect(home / "hermes.db", timeout=10)) as db:
        busy, _, _ = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    assert not busy


async def until(claim: Callable[[], object]) -> None:
    async with asyncio.timeout(30):
        while not await claim():  # type: ignore[misc]  # noqa: ASYNC110  another process does it
            await asyncio.sleep(0.1)


@pytest.mark.req("J2", "J10", "J25", "A29", "W25", "W36")
async def test_a_full_disk_stops_nothing_for_good(live: Live, disk: Path) -> None:
    home = live.home
    async with aiohttp.ClientSession(live.url, headers=live.bearer) as http:
        await live.post(http, sender="ann", text="a word before the flood")
        daily = ("rest:ann", "every day at 12:00", "the daily word")
        job = json.loads(await hermes(home, "cron", "add", *daily, "--json"))

        async def metric(line: str) -> bool:
            async with http.get("/metrics") as answer:
                return line in (await answer.text()).splitlines()

        async def refusal() -> aiohttp.ClientResponse | None:
            said = {"sender": "late", "text": "anybody there"}
            async with http.post("/api/messages?wait=false", json=said) as answer:
                # Nothing of it could be recorded, so no id is promised.
                assert "refusal" not in (await answer.json()).get("error", {})
                return answer if answer.status == 503 else None

        # Turns run when the reserve is touched: they are answered, and nothing new is taken.
        asked = [
            asyncio.create_task(live.post(http, sender=name, text=f"[[slow:1.5]] {name}"))
            for name in NAMES
        ]
        await until_running(live, http, len(NAMES))
        fill(disk, leaving=SOME_BYTES)
        await until(lambda: metric("store_writable 0"))
        refused = await refusal()
        assert refused is not None
        assert float(refused.headers["retry-after"]) > 0
        replies = [one["reply"] for one in await asyncio.gather(*asked)]
        assert replies == [f"#1 [[slow:1.5]] {name}" for name in NAMES]
        async with http.get("/readyz") as ready:
            assert ready.status == 503

        # Not one byte is left, for a turn that is about to commit, for the log and for the index.
        (disk / "ballast").unlink()
        await until(lambda: metric("store_writable 1"))
        last = asyncio.create_task(live.post(http, sender="last", text="[[slow:1]] the last one"))
        await until_running(live, http, 1)
        empty_wal(home)
        fill(disk, leaving=0)
        await until(lambda: metric("store_writable 0"))
        assert await refusal() is not None
        # An operator's look is written down or not made.
        async with http.get("/control/search?text=flood") as looked:
            assert (looked.status, "disk is full" in await looked.text()) == (503, True)
        async with http.get("/healthz") as health:
            assert health.status == 200
        await asyncio.wait({last}, timeout=1.5)
        assert not last.done()

        # There is room again: nobody has to do anything.
        (disk / "ballast").unlink()
        assert (await last)["reply"] == "#1 [[slow:1]] the last one"
        await until(lambda: metric("store_writable 1"))
        assert (await live.post(http, sender="ann", text="and after it"))[
            "reply"
        ] == "#2 and after it"

        async def is_found() -> bool:
            async with http.get("/control/search?text=last+one") as looked:
                return bool((await looked.json())["found"])

        await until(is_found)
        await hermes(home, "cron", "run", job["job"]["id"])
        logged = await hermes(home, "logs", "--limit", "5")
    assert logged.strip()
    heard = (home / "hooks/ear/heard").read_text().count("agent:end")
    assert heard >= len(NAMES) + 2
