"""A database that is damaged under a running gateway: not ready, 503 for senders, and a reason."""

import asyncio
from pathlib import Path

import aiohttp
import pytest

from hermes.store.sqlite.connection import Database
from tests.system.live import live_gateway, model_server, with_model
from tests.system.test_copied_home import run

pytestmark = pytest.mark.sqlite_only


def damage(path: Path, table: str) -> None:
    """Overwrite the root page of a table, as a failing disk would."""
    db = Database(str(path))
    root = db.one("SELECT rootpage FROM sqlite_master WHERE name = ?", (table,))
    size = db.one("PRAGMA page_size")
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    with path.open("r+b") as file:
        file.seek((root - 1) * size)
        file.write(b"\xff" * size)
        file.flush()
        # Whoever has the pages in memory reads them again after another process has written.
        db.execute("UPDATE meta SET value = value")
        db.close()


@pytest.mark.req("J2", "W25", "A29")
async def test_a_damaged_database_is_not_ready_and_nobody_is_told_to_give_up(
    tmp_path: Path,
) -> None:
    home = tmp_path / "home"
    async with (
        model_server() as url,
        live_gateway(home, with_model(url)) as live,
        aiohttp.ClientSession(live.url, headers=live.bearer) as http,
    ):
        await live.post(http, sender="ann", text="one")
        await live.settled()
        await asyncio.to_thread(damage, home / "hermes.db", "inbox")

        answers = []
        for number in range(20):
            said = {"sender": f"s{number}", "text": "x"}
            async with http.post("/api/messages?wait=false", json=said) as answer:
                answers.append((answer.status, "retry-after" in answer.headers))
        async with http.get("/readyz") as answer:
            ready = answer.status, "damaged" in await answer.text()
        async with http.get("/healthz") as answer:
            healthy = answer.status
        _, status = await run(home, "status")
        examined, doctor = await run(home, "doctor")

    assert answers == [(503, True)] * 20
    assert (ready, healthy) == ((503, True), 200)
    assert "ACCEPTS NO MESSAGES" in status
    assert (examined, "hermes restore" in " ".join(doctor.split())) == (1, True)
