"""A backup under load, its restore into a new home, and what a kill in the middle of them leaves."""

import asyncio
import json
import sys
from pathlib import Path

import aiohttp
import pytest

from tests.system.live import (
    Live,
    environment,
    live_gateway,
    model_server,
    run_command,
    with_model,
)
from tests.system.test_copied_home import run

pytestmark = pytest.mark.sqlite_only

SENDERS = 8
FIRST = 3
# Makes a backup, and dies when the archive is being written.
KILLED = """
import os, signal, sys
from pathlib import Path
from hermes.app.backup import make_backup
from hermes.config import load
def tell(done, total, note):
    if done > total // 2:
        os.kill(os.getpid(), signal.SIGKILL)
make_backup(load({}, Path(sys.argv[1])), Path(sys.argv[2]), tell=tell)
"""


class Crowd:
    """People who write one message after the other, and what was answered to them."""

    def __init__(self, live: Live) -> None:
        self._live = live
        self.answered: dict[str, str] = {}
        self._ends = False

    async def speak(self, http: aiohttp.ClientSession, sender: str) -> None:
        number = 0
        while not self._ends:
            number += 1
            reply = await self._live.post(http, sender=sender, text=f"{sender} {number}")
            self.answered[str(reply["id"])] = str(reply["reply"])

    async def until(self, count: int) -> None:
        async with asyncio.timeout(60):
            while len(self.answered) < count:  # noqa: ASYNC110  other tasks do it
                await asyncio.sleep(0.02)

    def end(self) -> None:
        self._ends = True


def names(folder: Path) -> list[str]:
    """Return the files of a backup, whole or not."""
    return sorted(path.name for path in folder.iterdir() if "backup.tar" in path.name)


async def replies(live: Live, http: aiohttp.ClientSession, ids: list[str]) -> dict[str, str]:
    """Return what a gateway knows of the messages."""
    found = {}
    for message_id in ids:
        url = f"{live.url}/api/messages/{message_id}"
        async with http.get(url, headers=live.bearer) as answer:
            found[message_id] = (await answer.json())["reply"]
    return found


@pytest.mark.req("A8", "J10", "J20", "J24", "W1")
async def test_a_backup_under_load_has_every_message_that_was_answered_before(
    tmp_path: Path,
) -> None:
    home, new, archive = tmp_path / "home", tmp_path / "new", tmp_path / "backup.tar"
    async with model_server() as url:
        async with (
            live_gateway(home, with_model(url)) as live,
            aiohttp.ClientSession() as http,
        ):
            crowd = Crowd(live)
            tasks = [asyncio.create_task(crowd.speak(http, f"s{n}")) for n in range(SENDERS)]
            await crowd.until(SENDERS * FIRST)
            before = dict(crowd.answered)
            made, said = await run(home, "backup", str(archive), "--json")
            await crowd.until(len(crowd.answered) + SENDERS)
            crowd.end()
            await asyncio.gather(*tasks)

        key = str(home / "keys" / "store.keys")
        restored, text = await run(
            home, "restore", str(archive), "--home", str(new), "--key-file", key
        )
        verified, _ = await run(new, "graph", "verify")
        async with live_gateway(new, with_model(url)) as live, aiohttp.ClientSession() as http:
            known = await replies(live, http, list(before))
            explained, story = await run(new, "why", next(iter(before)), "--json")
            next_reply = await live.post(http, sender="s0", text="and on")

    assert (made, restored, verified) == (0, 0, 0), said + text
    assert known == before
    assert (explained, json.loads(story)["outcome"]) == (0, "answered")
    assert str(next_reply["reply"]).endswith("and on")


@pytest.mark.req("A8", "J20", "W1")
async def test_a_backup_that_is_killed_leaves_no_file_and_harms_nobody(tmp_path: Path) -> None:
    home, archive = tmp_path / "home", tmp_path / "backup.tar"
    async with (
        model_server() as url,
        live_gateway(home, with_model(url)) as live,
        aiohttp.ClientSession() as http,
    ):
        await live.post(http, sender="ann", text="one")
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", KILLED, str(home), str(archive), env=environment(home)
        )
        killed = await process.wait()
        left = names(tmp_path)
        second = await live.post(http, sender="ann", text="two")
        made = (await run_command(home, "backup", str(archive))).returncode

    assert (killed, left) == (-9, [f".backup.tar.{process.pid}.part"])
    assert second["reply"] == "#2 two"
    # The next backup removes what the killed one left.
    assert (made, names(tmp_path)) == (0, ["backup.tar"])


@pytest.mark.req("J2", "W1")
async def test_a_backup_that_is_stopped_leaves_nothing(tmp_path: Path) -> None:
    home = tmp_path / "home"
    async with model_server() as url, live_gateway(home, with_model(url)) as live:
        async with aiohttp.ClientSession() as http:
            await live.post(http, sender="ann", text="one")
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *("-m", "hermes", "backup", "-"),
            env=environment(home),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        assert process.stdout is not None
        # Nobody reads on: it waits in the middle of the archive.
        await process.stdout.read(1)
        process.terminate()
        _, said = await process.communicate()
        left = list(home.glob(".backup.*"))

    assert (process.returncode, left) == (143, []), said
