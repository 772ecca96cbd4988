"""Skills in a running gateway: added by commands, run by people, loaded by models, their scripts in the sandbox."""

import asyncio
import io
import json
import os
import signal
import sys
import zipfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from hermes.tools.terminal.sandbox import missing_tools
from tests.system.live import (
    START_S,
    environment,
    live_gateway,
    model_server,
    run_command,
    with_model,
)
from tests.system.test_operator_commands import hermes
from tests.system.test_workspaces import Api

MAIN = """\
---
name: invoice
description: Writes invoices. Use it when somebody wants an invoice.
license: MIT
allowed-tools: terminal
---
# Invoices

The code word is ORCHID. Run scripts/total.sh with the amounts.
"""
SCRIPT = '#!/bin/sh\necho "total: $(($1 + $2))"\n'
CONFIG = """
agents:
  main: {skills: ["*"]}
  other: {name: Other}
terminal:
  enabled: true
  approval: allow
  allow: ["/skills/invoice/scripts/total.sh *", "touch *", "ls *", "sh *"]
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir(mode=0o700)
    (folder / "config.yaml").write_text(CONFIG)
    return folder


@pytest.fixture
def skill(tmp_path: Path) -> Path:
    """Return a folder with a skill, outside of the home."""
    folder = tmp_path / "invoice"
    (folder / "scripts").mkdir(parents=True)
    (folder / "SKILL.md").write_text(MAIN)
    (folder / "scripts" / "total.sh").write_text(SCRIPT)
    (folder / "scripts" / "total.sh").chmod(0o755)
    return folder


@asynccontextmanager
async def opened(home: Path, url: str) -> AsyncIterator[Api]:
    async with live_gateway(home, with_model(url)) as live, aiohttp.ClientSession() as session:
        yield Api(live, session)


def asks(tool: str, **arguments: object) -> str:
    return f"[[tool:{tool} {json.dumps(arguments, separators=(',', ':'))}]] please"


async def told(home: Path, answer: tuple[int, Any]) -> str:
    """Return the story of a message with what was said."""
    status, message = answer
    assert status == 200, message
    return (await run_command(home, "why", message["id"], "--text")).stdout


async def refused(home: Path, *arguments: str) -> str:
    """Run a command that is refused; return its error on one line."""
    return " ".join((await hermes(home, *arguments, code=1)).split())


@pytest.mark.req("W38")
async def test_a_skill_is_added_run_by_name_loaded_by_a_model_and_removed(
    home: Path, skill: Path, tmp_path: Path
) -> None:
    out = tmp_path / "rows"
    async with model_server() as url, opened(home, url) as api:
        asked = await refused(home, "skills", "add", str(skill))
        added = json.loads(await hermes(home, "skills", "add", str(skill), "--yes", "--json"))
        (line,) = json.loads(await hermes(home, "skills", "list", "--json"))["skills"]
        ran = await api.ask("POST", "/api/messages", sender="ann", text="/invoice for march")
        by_field = await api.ask(
            "POST", "/api/messages", sender="bob", text="for march", skill="invoice"
        )
        loaded = await api.ask(
            "POST", "/api/messages", sender="eve", text=asks("read_skill", name="invoice")
        )
        story = await told(home, loaded)
        await hermes(home, "graph", "consent", "rest:ann", "on")
        await hermes(home, "graph", "export", "ann", "--format", "openai", "--out", str(out))
        graph = "".join(file.read_text() for file in out.iterdir())
        await hermes(home, "graph", "verify")
        shown = await hermes(home, "skills", "show", "invoice")
        again = await refused(home, "skills", "add", str(skill), "--yes")
        await hermes(home, "skills", "remove", "invoice", "--yes")
        gone = await api.ask("POST", "/api/messages", sender="ann", text="/invoice for april")
        audit = json.loads(await hermes(home, "audit", "--json"))

    assert "Nobody can be asked here" in asked
    assert (added["name"], added["used_by"]) == ("invoice", ["agent main"])
    assert line["problem"] == ""
    assert "ORCHID" in ran[1]["reply"]
    assert "ORCHID" in by_field[1]["reply"]
    assert "ORCHID" in story
    assert "ORCHID" in graph
    assert "wants without asking" in shown
    assert "ORCHID" in shown
    assert "There is a skill invoice already" in again
    assert gone[1]["reply"].startswith("I do not know the command /invoice.")
    assert not (home / "skills" / "invoice").exists()
    orders = {row["action"]: row["targets"] for row in audit["orders"]}
    assert orders["skills.add"] == ["invoice"]
    assert orders["skills.remove"] == ["invoice"]


@pytest.mark.req("W38", "M8")
async def test_a_stored_agent_binds_skills_with_a_version_and_others_do_not_see_them(
    home: Path, skill: Path
) -> None:
    load = asks("read_skill", name="invoice")
    async with model_server() as url, opened(home, url) as api:
        await hermes(home, "skills", "add", str(skill), "--yes")
        await api.ask("POST", "/workspaces", name="clerk", role="a clerk")
        await api.settled("clerk")
        before = await api.say("clerk", load)
        status, changed = await api.ask("PATCH", "/workspaces/clerk", skills=["invoice"])
        after = await api.say("clerk", load)
        wrong, why = await api.ask("PATCH", "/workspaces/clerk", skills=["../x"])
        other = await api.say("other", load)
        typed = await api.say("other", "/invoice")
        _, diff = await api.ask("GET", "/workspaces/clerk/diff")
        await hermes(home, "agents", "stop", "clerk")
        await hermes(home, "agents", "edit", "clerk", "--set", 'skills=["invoice", "menu"]')
        listed = json.loads(await hermes(home, "skills", "list", "--json"))
        stories = [await told(home, one) for one in (before, after, other)]

    assert (status, changed["version"], changed["skills"]) == (200, 2, ["invoice"])
    assert ["ORCHID" in story for story in stories] == [False, True, False]
    assert typed[1]["reply"].startswith("I do not know the command /invoice.")
    assert (wrong, "skills" in why["error"]["message"]) == (400, True)
    assert listed["missing"] == ["menu"]
    assert listed["skills"][0]["used_by"] == ["agent main", "agent clerk"]
    assert diff["fields"] == [{"field": "skills", "old": None, "new": ["invoice"]}]


@pytest.mark.req("W38", "W42")
@pytest.mark.skipif(bool(missing_tools()), reason="bubblewrap is not installed")
async def test_a_script_runs_in_the_sandbox_where_the_skill_is_bound_and_changes_nothing(
    home: Path, skill: Path
) -> None:
    async with model_server() as url, opened(home, url) as api:
        await hermes(home, "skills", "add", str(skill), "--yes")
        run = asks("terminal", command="/skills/invoice/scripts/total.sh 2 40")
        write = asks("terminal", command="touch /skills/invoice/x")
        look = asks("terminal", command="ls /skills/invoice/scripts")
        said = [await told(home, await api.say("main", text)) for text in (run, write, look)]
        elsewhere = await told(home, await api.say("other", look))
        loaded = await told(home, await api.say("main", asks("read_skill", name="invoice")))

    assert "total: 42" in said[0]
    assert "Read-only file system" in said[1]
    assert "total.sh" in said[2]
    assert "No such file or directory" in elsewhere
    assert "in /skills/invoice and cannot change them" in loaded
    assert sorted(one.name for one in (home / "skills" / "invoice").iterdir()) == [
        "SKILL.md",
        "scripts",
    ]


@pytest.mark.req("W38", "J8")
async def test_after_kill_9_skills_are_as_they_were(home: Path, skill: Path) -> None:
    async with model_server() as url:
        async with live_gateway(home, with_model(url)) as live:
            await hermes(home, "skills", "add", str(skill), "--yes")
            await live.stop(signal.SIGKILL)
        async with opened(home, url) as api:
            ran = await api.ask("POST", "/api/messages", sender="ann", text="/invoice for march")

    assert "ORCHID" in ran[1]["reply"]


@pytest.mark.req("W38")
async def test_only_an_owner_adds_and_removes(home: Path) -> None:
    async with model_server() as url, opened(home, url) as api:
        operator = await api.other()
        add, _ = await operator.ask("POST", "/control/skills", archive="AAAA")
        remove, _ = await operator.ask("DELETE", "/control/skills/invoice")
        bad, why = await api.ask("POST", "/control/skills", archive="not base64!")
        none, _ = await api.ask("DELETE", "/control/skills/..%2f..")
        listed, report = await operator.ask("GET", "/control/skills")

    assert (add, remove, bad, none) == (403, 403, 400, 404)
    assert "not base64" in why["error"]["message"]
    assert (listed, report) == (200, {"skills": [], "missing": []})


@asynccontextmanager
async def archive_server(content: bytes) -> AsyncIterator[int]:
    """Serve an archive, and a redirect into the machine's own networks, on this machine."""

    async def archive(_request: web.Request) -> web.Response:
        return web.Response(body=content)

    async def inside(_request: web.Request) -> web.Response:
        return web.Response(status=302, headers={"location": "http://169.254.169.254/a.zip"})

    async def endless(request: web.Request) -> web.StreamResponse:
        answer = web.StreamResponse()
        await answer.prepare(request)
        for _ in range(12):
            await answer.write(bytes(1_000_000))
        return answer

    app = web.Application()
    app.router.add_get("/invoice.zip", archive)
    app.router.add_get("/inside", inside)
    app.router.add_get("/endless", endless)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()


@pytest.mark.req("W38", "W34")
async def test_an_archive_is_fetched_through_the_guard(home: Path, skill: Path) -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        for path in ("SKILL.md", "scripts/total.sh"):
            file.write(skill / path, f"repo-main/invoice/{path}")
    async with archive_server(out.getvalue()) as port:
        closed = [
            await refused(home, "skills", "add", address, "--yes")
            for address in (
                f"http://127.0.0.1:{port}/invoice.zip",
                f"https://127.0.0.1:{port}/invoice.zip",
                "https://169.254.169.254/latest/a.zip",
                "https://2130706433/a.zip",
            )
        ]
        net = f"\nnet: {{exempt: [127.0.0.1/32], ports: [{port}]}}\n"
        (home / "config.yaml").write_text(CONFIG + net)
        base = f"http://127.0.0.1:{port}"
        inside = await refused(home, "skills", "add", f"{base}/inside", "--yes")
        endless = await refused(home, "skills", "add", f"{base}/endless", "--yes")
        missing = await refused(home, "skills", "add", f"{base}/nothing", "--yes")
        added = await hermes(home, "skills", "add", f"{base}/invoice.zip", "--yes")

    assert "over https only" in closed[0]
    assert "this machine, RFC 1122" in closed[1]
    assert "a cloud's metadata service" in closed[2]
    assert "a number in an unusual form" in closed[3]
    assert not any("added" in one.lower() for one in (*closed, inside, endless, missing))
    assert "169.254.169.254" in inside
    assert "more than 10,000,000 bytes" in endless
    assert "status 404, expected 200" in missing
    assert added == "Added the skill invoice; it is used by agent main.\n"


@pytest.mark.req("W38")
async def test_bad_skills_are_refused_with_a_reason_and_nothing_is_written(
    home: Path, skill: Path, tmp_path: Path
) -> None:
    async def add() -> str:
        return await refused(home, "skills", "add", str(skill), "--yes")

    (skill / "SKILL.md").write_text("# no front matter")
    plain = await add()
    (skill / "SKILL.md").write_text(MAIN.replace("name: invoice", "name: stop"))
    command = await add()
    (skill / "SKILL.md").write_text(MAIN)
    (skill / "link").symlink_to("/etc/passwd")
    link = await add()
    nothing = await refused(home, "skills", "add", str(tmp_path / "nowhere"), "--yes")

    assert "has no front matter" in plain
    assert "/stop is a command already" in command
    assert "is a link or a device" in link
    assert "There is no folder" in nothing
    assert not (home / "skills").exists()


@pytest.mark.req("W38")
async def test_a_skill_that_others_can_change_is_off_and_doctor_says_so(
    home: Path, skill: Path
) -> None:
    await hermes(home, "skills", "add", str(skill), "--yes")
    (home / "skills" / "invoice" / "SKILL.md").chmod(0o666)
    listed = json.loads(await hermes(home, "skills", "list", "--json"))
    doctor = (await run_command(home, "doctor", "--json")).stdout

    assert "can be changed by other users" in listed["skills"][0]["problem"]
    assert "invoice/SKILL.md can be changed by other users" in doctor


@pytest.mark.req("W38")
async def test_what_an_author_writes_cannot_move_the_terminal(home: Path, skill: Path) -> None:
    evil = MAIN.replace(
        "description: Writes invoices. Use it when somebody wants an invoice.",
        'description: "Writes \\e[2J\\u202e [red]invoices[/red]."',
    ).replace("# Invoices", "# \x1b[2J Invoices")
    (skill / "SKILL.md").write_text(evil)
    await hermes(home, "skills", "add", str(skill), "--yes")
    shown = await hermes(home, "skills", "show", "invoice")
    listed = await hermes(home, "skills", "list", "--wide")

    assert "\x1b" not in shown + listed
    assert "\u202e" not in shown + listed
    assert "[red]invoices[/red]" in shown


@pytest.mark.req("W38")
async def test_two_who_add_one_skill_leave_one(home: Path, skill: Path) -> None:
    async with model_server() as url, opened(home, url):
        add = ("skills", "add", str(skill), "--yes")
        both = await asyncio.gather(run_command(home, *add), run_command(home, *add))

    assert sorted(one.returncode for one in both) == [0, 1]
    assert [one.name for one in (home / "skills").iterdir()] == ["invoice"]


@pytest.mark.req("W38")
@pytest.mark.parametrize(("word", "is_added"), [("n", False), ("y", True)])
async def test_a_person_sees_all_of_a_skill_and_decides(
    home: Path, skill: Path, word: str, *, is_added: bool
) -> None:
    ours, theirs = os.openpty()
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "hermes", "skills", "add", str(skill)),
        env=environment(home),
        stdin=theirs,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    os.close(theirs)
    os.write(ours, f"{word}\n".encode())
    assert process.stdout is not None
    async with asyncio.timeout(START_S):
        said = (await process.stdout.read()).decode()
        await process.wait()
    os.close(ours)

    for shown in ("invoice", "MIT", "wants without asking", "scripts/total.sh", "ORCHID"):
        assert shown in said
    assert "Add the skill invoice? [y/N]" in said
    assert (home / "skills" / "invoice").exists() is is_added
    assert (process.returncode == 0) is is_added
