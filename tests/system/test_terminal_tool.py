"""The terminal in a running gateway: approvals, files over the API, kill -9, restarts, erasure."""

import asyncio
import itertools
import json
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest

from hermes.tools.terminal.sandbox import missing_tools
from tests.system.live import Live, live_gateway, model_server, run_command, with_model
from tests.system.test_operator_commands import hermes

pytestmark = pytest.mark.skipif(bool(missing_tools()), reason="bubblewrap is not installed")

CONFIG = """
terminal:
  enabled: true
  files: true
  approval: allow
  allow: ["cat *", "sleep *", "touch *"]
  upload_bytes: 1000
"""
ANN = {"sender": "ann"}


def asks(tool: str, **arguments: object) -> str:
    return f"[[tool:{tool} {json.dumps(arguments, separators=(',', ':'))}]] please"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir(mode=0o700)
    (folder / "config.yaml").write_text(CONFIG)
    return folder


@asynccontextmanager
async def opened(home: Path, url: str) -> AsyncIterator[tuple[Live, aiohttp.ClientSession]]:
    async with (
        live_gateway(home, with_model(url)) as live,
        aiohttp.ClientSession(live.url, headers=live.bearer) as http,
    ):
        yield live, http


async def say(http: aiohttp.ClientSession, text: str, **more: str) -> dict[str, object]:
    async with http.post("/api/messages", json={"sender": "ann", "text": text, **more}) as answer:
        found: dict[str, object] = await answer.json()
        return found


async def until(claim: Callable[[], Awaitable[bool]]) -> None:
    """Wait until what a command prints is as claimed."""
    async with asyncio.timeout(30):
        for _ in itertools.count():
            if await claim():
                return
            await asyncio.sleep(0.1)


async def tells(home: Path, message: object, words: str) -> str:
    """Wait until the story of a message has some words, and return it."""

    async def has_words() -> bool:
        return words in await story(home, message)

    await until(has_words)
    return await story(home, message)


async def story(home: Path, message: object) -> str:
    """Return the story of a message; of one that did not arrive yet nothing."""
    return (await run_command(home, "why", str(message), "--text")).stdout


@pytest.mark.req("W42", "J9")
async def test_a_command_waits_for_the_person_who_sees_all_of_it(home: Path) -> None:
    command = "echo " + "x" * 1_500 + " > note; echo written"
    async with model_server() as url, opened(home, url) as (_, http):
        asked = await say(http, asks("terminal", command=command))
        (line,) = json.loads(await hermes(home, "approvals", "--json"))["approvals"]
        await hermes(home, "approvals", "approve", line["id"])
        said = await tells(home, asked["id"], "exit code 0")

    assert command in line["question"]
    assert "written" in said


@pytest.mark.req("W42")
async def test_files_come_and_go_over_the_api(home: Path) -> None:
    async with model_server() as url, opened(home, url) as (live, http):
        unknown = await http.put("/api/files/in.txt", params=ANN, data=b"hello")
        await say(http, "hello")
        made = await http.put("/api/files/a/in.txt", params=ANN, data=b"from ann")
        large = await http.put("/api/files/large", params=ANN, data=b"x" * 1_001)
        outside = await http.put("/api/files/..%2fout", params=ANN, data=b"x")
        endless = await http.put(f"/api/files/{'x' * 300}", params=ANN, data=b"x")
        nobody = await http.get("/api/files")
        read = await say(http, asks("terminal", command="cat a/in.txt"))
        said = await story(home, read["id"])
        await say(http, asks("write_file", path="out.html", text="<script>"))
        listed = await (await http.get("/api/files", params=ANN)).json()
        page = await http.get("/api/files/out.html", params=ANN)
        body = await page.read()
        await say(http, "hi", conversation="other")
        other = {**ANN, "conversation": "other"}
        elsewhere = await (await http.get("/api/files", params=other)).json()
        gone = await http.delete("/api/files/out.html", params=ANN)
        again = await http.get("/api/files/out.html", params=ANN)
        async with aiohttp.ClientSession(live.url) as stranger:
            locked = await stranger.get("/api/files/a/in.txt", params=ANN)

    assert (unknown.status, made.status, large.status, outside.status) == (404, 201, 413, 400)
    assert (nobody.status, endless.status) == (400, 400)
    assert "from ann" in said
    assert [one["path"] for one in listed["files"]] == ["a/in.txt", "out.html"]
    assert (body, page.headers["content-disposition"]) == (b"<script>", "attachment")
    assert page.headers["content-type"] == "application/octet-stream"
    assert elsewhere == {"files": []}
    assert (gone.status, again.status, locked.status) == (204, 404, 401)


@pytest.mark.req("W42", "J8")
async def test_after_kill_9_a_command_is_not_run_again(home: Path) -> None:
    async with model_server() as url:
        async with opened(home, url) as (live, http):
            running = asyncio.create_task(say(http, asks("terminal", command="sleep 47"), id="cut"))
            await tells(home, "cut", "tool terminal")
            await live.stop(signal.SIGKILL)
            with pytest.raises(aiohttp.ClientError):
                await running
        async with opened(home, url):
            said = await tells(home, "cut", "outcome unknown")

    assert "it was not run again" in said


@pytest.mark.req("W42")
async def test_a_background_process_is_listed_and_the_next_turn_hears_of_its_end(
    home: Path,
) -> None:
    async with model_server() as url:
        async with opened(home, url) as (live, http):
            await say(http, asks("terminal", command="sleep 48", background=True))
            status = json.loads(await hermes(home, "status", "--json"))
            shown = await hermes(home, "status")
            assert await live.stop() in (0, 75)
        async with opened(home, url) as (_, http):
            after = await say(http, "what about it?")
            said = await story(home, after["id"])

    (process,) = status["processes"]
    assert process["id"] == "b1"
    assert process["session"] in shown
    assert after["outcome"] == "answered"
    assert "b1 (sleep 48): it ended when this gateway stopped" in said


@pytest.mark.req("W42")
async def test_new_ends_background_processes_and_erasure_removes_the_folder(home: Path) -> None:
    async def has_none() -> bool:
        return not json.loads(await hermes(home, "status", "--json"))["processes"]

    async with model_server() as url, opened(home, url) as (_, http):
        await say(http, asks("terminal", command="sleep 49", background=True))
        await say(http, "/new")
        await until(has_none)
        await say(http, asks("write_file", path="mine", text="x"))
        folders = list((home / "workdirs").iterdir())
        await hermes(home, "users", "erase", "rest:ann", "--yes")

    assert len(folders) == 1
    assert list((home / "workdirs").iterdir()) == []


WRITER = "while :; do echo private > $RANDOM.txt; done"


@pytest.mark.req("W42", "J24")
async def test_erasing_a_person_ends_their_command_and_leaves_none_of_its_files(home: Path) -> None:
    # A command that writes faster than anybody removes.
    (home / "config.yaml").write_text(CONFIG.replace('"touch *"', '"touch *", "bash w.sh"'))

    async def writes() -> bool:
        return any((home / "workdirs").glob("*/*/files/*.txt"))

    async with model_server() as url, opened(home, url) as (_, http):
        await say(http, asks("write_file", path="w.sh", text=WRITER))
        running = asyncio.create_task(say(http, asks("terminal", command="bash w.sh")))
        await until(writes)
        await hermes(home, "users", "erase", "rest:ann", "--yes")
        left = list((home / "workdirs").iterdir())
        await running

    assert left == []
    assert list((home / "workdirs").iterdir()) == []


@pytest.mark.req("W42", "J24", "J9")
async def test_what_a_kill_in_an_erasure_leaves_is_removed_at_the_next_start(home: Path) -> None:
    async def has_none() -> bool:
        return not list((home / "workdirs").iterdir())

    async with model_server() as url:
        async with opened(home, url) as (live, http):
            await say(http, asks("write_file", path="mine", text="private"))
            (folder,) = (home / "workdirs").iterdir()
            await hermes(home, "users", "erase", "rest:ann", "--yes")
            await live.stop(signal.SIGKILL)
        # As if the kill had come before the files were removed.
        (folder / "session" / "files").mkdir(parents=True)
        (folder / "session" / "files" / "mine").write_text("private")
        async with opened(home, url):
            await until(has_none)


@pytest.mark.req("W42")
async def test_doctor_says_whether_the_sandbox_works(home: Path) -> None:
    works = (await run_command(home, "doctor")).stdout
    (home / "config.yaml").write_text(CONFIG + "  sandbox: unsafe\n")
    unsafe = (await run_command(home, "doctor")).stdout
    (home / "config.yaml").write_text("")
    off = (await run_command(home, "doctor")).stdout

    assert "a command ran in the sandbox of bubblewrap" in works
    assert "commands of models run without a sandbox" in unsafe
    assert "the terminal is off" in off
