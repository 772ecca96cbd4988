"""A32, G7: answers are made again over a real gateway, with a tool whose starts are counted in a file."""

import asyncio
import json
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from playwright.async_api import Browser, expect

from hermes.testing.model_script import ScriptedTurn, SeenConversation, ToolUse
from hermes.testing.model_server import ModelServer
from tests.stores.opening import tables
from tests.system.live import Live, live_gateway, run_command
from tests.system.test_dashboard import PHONE, in_browser, opened
from tests.system.test_operator_commands import hermes

TOOLS = '''"""Counts its starts in a file."""

from pathlib import Path

from hermes.tools import tool

STARTS = Path(__file__).with_name("starts")


@tool
def get_weather(city: str) -> str:
    """Tell the weather of a city."""
    with STARTS.open("a") as file:
        file.write(f"{city}\\n")
    return f"It is wet in {city}."
'''
CONFIG = "tools: {modules: [weather.py]}\n"
# What has to be the same before and after dry replays: all that reaches people, or is paid by them.
BOOKS = ("outbox", "ledger", "holds", "inbox", "steps", "lanes", "approvals", "wallets")


class Weather:
    """A script that calls the tool once; what it says and asks for can be changed, and it can hang."""

    def __init__(self) -> None:
        self.city, self.word = "Rome", "Then"
        self.hangs = False
        self.called = asyncio.Event()

    def __call__(self, seen: SeenConversation, _number: int) -> ScriptedTurn:
        if seen.tool_results:
            return ScriptedTurn(text=f"{self.word}: {seen.tool_results[-1]}")
        if self.hangs:
            self.called.set()
            return ScriptedTurn(text="never", fault="hang")
        return ScriptedTurn(tools=(ToolUse("get_weather", json.dumps({"city": self.city})),))


@asynccontextmanager
async def gateway(tmp_path: Path, model: ModelServer) -> AsyncIterator[Live]:
    """Run a gateway whose home has the tool."""
    home = tmp_path / "home"
    home.mkdir(mode=0o700, exist_ok=True)
    (home / "weather.py").write_text(TOOLS)
    (home / "config.yaml").write_text(CONFIG)
    provider = "HERMES_PROVIDERS__OPENAI__"
    settings = {
        f"{provider}BASE_URL": model.base_url,
        f"{provider}API_KEY": "sk-test",
        f"{provider}PRICE_IN_PER_MILLION": "100",
        f"{provider}PRICE_OUT_PER_MILLION": "100",
    }
    async with live_gateway(home, settings) as live:
        yield live


async def ask(live: Live, text: str) -> str:
    """Have a message answered; return its id."""
    async with aiohttp.ClientSession() as session:
        reply = await live.post(session, sender="ann", text=text)
    assert reply["outcome"] == "answered", reply
    return str(reply["id"])


def starts(live: Live) -> list[str]:
    """Return what the tool was started for, in order."""
    return (live.home / "starts").read_text().split()


def books(home: Path) -> dict[str, list[tuple[Any, ...]]]:
    with tables(home, read_only=True) as db:
        return {name: db.rows(f"SELECT * FROM {name}") for name in BOOKS}


def costs(home: Path) -> dict[str, float]:
    """Return what the ledger has for each person, and what the rows of replays say."""
    with tables(home, read_only=True) as db:
        found = dict(db.rows("SELECT person_id, sum(cost_usd) FROM spend GROUP BY person_id"))
        found["replays"] = db.one("SELECT coalesce(sum(cost_usd), 0) FROM replays")
        return found


async def told(home: Path, *arguments: str, code: int = 0) -> dict[str, Any]:
    """Run a command and return the JSON that it prints."""
    done = await run_command(home, *arguments, "--json")
    assert done.returncode == code, (done.stdout, done.stderr)
    return dict(json.loads(done.stdout))


@pytest.mark.req("A32", "G7", "W7")
async def test_replays_of_a_live_gateway_start_no_tool_and_reach_nobody_unless_asked(
    tmp_path: Path,
) -> None:
    script = Weather()
    async with ModelServer(script) as model, gateway(tmp_path, model) as live:
        home = live.home
        message = await ask(live, "What about Rome?")
        await live.settled()
        before, paid = books(home), costs(home)

        # when it is replayed dry: as it was, with another prompt, and with a call not on record
        same = await told(home, "replay", message, "--fail-above", "0")
        script.word = "Now"
        other = await told(home, "replay", message, "--system", "Be brief.", "--label", "brief")
        shown = await hermes(home, "replay", "show", other["replay"]["id"][-8:])
        script.city = "Oslo"
        ended = await told(home, "replay", message, code=1)
        after_dry, dry_starts, dry_costs = books(home), starts(live), costs(home)
        # and with tools that run
        live_tools = await told(home, "replay", message, "--live-tools")

        assert [one["replay"]["state"] for one in (same, other, ended, live_tools)] == [
            "answered",
            "answered",
            "ended",
            "answered",
        ]
        assert (same["replay"]["change"], ended["replay"]["reason"]) == (0.0, "not_on_record")
        assert other["after"]["text"] == "Now: It is wet in Rome."
        assert "-Then: It is wet in Rome." in shown
        assert "+Now: It is wet in Rome." in shown
        assert (after_dry, dry_starts) == (before, ["Rome"])
        assert (starts(live), live_tools["replay"]["tools_started"]) == (["Rome", "Oslo"], 1)
        # the gateway pays, and the person does not
        person = next(name for name in paid if name.startswith("p_"))
        assert dry_costs[person] == paid[person]
        assert dry_costs["platform"] == pytest.approx(dry_costs["replays"])
        assert dry_costs["platform"] > 0
        rows = (await told(home, "costs", "--by", "channel"))["rows"]
        assert {"replay", "rest"} <= {row["name"] for row in rows}
        # it is found again, on record, and the conversation is whole
        listed = await told(home, "replay", "list", "--label", "brief")
        assert [one["id"] for one in listed["replays"]] == [other["replay"]["id"]]
        orders = (await told(home, "audit"))["orders"]
        made = [one for one in orders if one["action"] == "replays.run"]
        assert [one["state"] for one in made] == ["ok"] * 4
        assert set(made[0]["targets"]) == {message, live_tools["replay"]["id"]}
        drawn = await hermes(home, "graph", "show", "ann")
        assert f"replay:{other['replay']['id']}" in drawn
        await hermes(home, "graph", "verify")


@pytest.mark.req("A32", "J8", "J19")
async def test_a_kill_in_the_middle_of_a_replay_delivers_nothing_and_the_books_balance(
    tmp_path: Path,
) -> None:
    script = Weather()
    async with ModelServer(script) as model:
        async with gateway(tmp_path, model) as live:
            message = await ask(live, "What about Rome?")
            await live.settled()
            before = books(live.home)
            script.hangs = True
            replay = asyncio.create_task(run_command(live.home, "replay", message))
            await asyncio.wait_for(script.called.wait(), 30)
            await live.stop(signal.SIGKILL)
            assert (await replay).returncode == 1
        script.hangs = False
        async with gateway(tmp_path, model) as live:
            home, calls = live.home, len(model.invocations)
            (cut_off,) = (await told(home, "replay", "list"))["replays"]
            # a barrier: whatever would have been resumed before it is done
            await ask(live, "And now?")
            await live.settled()
            after, balance = books(home), costs(home)
            await hermes(home, "graph", "verify")

    assert (cut_off["state"], cut_off["cost_usd"]) == ("cut_off", 0.0)
    for name in ("outbox", "ledger", "inbox"):
        assert after[name][: len(before[name])] == before[name]
        assert len(after[name]) == 2 * len(before[name]), name
    assert balance.get("platform", 0.0) == balance["replays"] == 0.0
    assert (starts(live), len(model.invocations)) == (["Rome"] * 2, calls + 2)


@pytest.mark.req("A32")
async def test_a_set_of_replays_is_a_regression_test_within_a_limit_of_costs(
    tmp_path: Path,
) -> None:
    script = Weather()
    async with ModelServer(script) as model, gateway(tmp_path, model) as live:
        home = live.home
        asked = [await ask(live, f"{number}: what about Rome?") for number in range(4)]
        one = ("replay", "--since", "1h")

        same = await told(home, *one, "--fail-above", "0.1")
        script.word = "Something else entirely was said"
        changed = await told(home, *one, "--sample", "2", "--fail-above", "0.1", code=1)
        again = await told(home, *one, "--sample", "2", "--label", "again")
        table = await hermes(home, *one, "--sample", "2")
        limited = await told(home, *one, "--max-cost", "0.00001", "--parallel", "1")
        nothing = await run_command(home, "replay", "--since", "1h", "--agent", "nobody")
        unnamed = await run_command(home, "replay", "run")

        assert sorted(line["message"] for line in same["lines"]) == sorted(asked)
        assert [line["replay"]["change"] for line in same["lines"]] == [0.0] * 4
        drawn = {line["message"] for line in changed["lines"]}
        assert drawn == {line["message"] for line in again["lines"]}
        assert len(drawn) == 2
        assert "2 of 2 answered; 2 changed; cost $" in table
        assert (len(limited["lines"]), limited["left"], limited["is_over_cost"]) == (1, 3, True)
        assert limited["lines"][0]["replay"]["reason"] == "over_cost"
        assert (nothing.returncode, unnamed.returncode) == (1, 2)
        assert starts(live) == ["Rome"] * 4


@in_browser
@pytest.mark.req("A32", "W7")
async def test_the_page_of_the_dashboard_shows_both_answers_side_by_side(
    tmp_path: Path, browser: Browser
) -> None:
    script = Weather()
    async with ModelServer(script) as model, gateway(tmp_path, model) as live:
        create = ("token", "create", "--role")
        operator = (await told(live.home, *create, "operator", "--name", "op"))["secret"]
        viewer = (await told(live.home, *create, "viewer", "--name", "see"))["secret"]
        message = await ask(live, "What about Rome?")
        script.word = "<b>Now</b>"

        page = await opened(browser, live.url, operator, path=f"/replay?message={message}")
        await expect(page.get_by_text("No answer was made again yet.")).to_be_visible()
        await page.get_by_label("system").fill("Be brief.")
        await page.get_by_role("button", name="Make the answer again").click()
        await expect(page.locator(".sides .answer")).to_have_text(
            ["Then: It is wet in Rome.", "<b>Now</b>: It is wet in Rome."]
        )
        await expect(page.locator(".diff .plus").last).to_have_text(
            "+<b>Now</b>: It is wet in Rome."
        )
        # what was made is in the list at once
        await page.locator("td a").first.click()
        await expect(page.locator(".sides .answer").last).to_contain_text("<b>Now</b>")
        # a reason instead of an answer, and what is not known
        script.city = "Oslo"
        await page.goto(f"{live.url}/dashboard/replay")
        await page.get_by_label("message").first.fill(message)
        await page.get_by_role("button", name="Make the answer again").click()
        await expect(page.get_by_text("arguments that are not on record")).to_be_visible()
        await page.get_by_label("message").first.fill("m_none")
        await page.get_by_role("button", name="Make the answer again").click()
        await expect(page.locator(".problem")).to_contain_text("No message is known as 'm_none'")
        # on a phone nothing is wider than the page; a viewer may not see it
        small = await opened(browser, live.url, operator, path="/replay", size=PHONE)
        await expect(small.locator("td a").first).to_be_visible()
        assert await small.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
        seen = await opened(browser, live.url, viewer, path="/replay")
        await expect(seen.get_by_role("alert")).to_contain_text("needs the role operator")
