"""The chat page of a real gateway as its owner meets it in the first week: each row as a person does it."""

import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from playwright.async_api import Browser, Locator, Page, ViewportSize, expect

from hermes.testing.model_script import Script, ScriptedTurn, SeenConversation, answer_by_text
from hermes.testing.model_server import ModelServer
from tests.system.chromium import CHROMIUM
from tests.system.live import Live, live_gateway, with_model
from tests.system.test_browser import send
from tests.system.test_browser_history import open_live

pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium here: apt-get install chromium"),
    pytest.mark.req("W9"),
]
TOOL = '''
from hermes.tools import tool


@tool(needs_approval=True)
def pay(to: str) -> str:
    """Pay somebody."""
    return f"paid {to}"
'''
PAY = '[[tool:pay {"to":"bob"}]] please pay bob'
PHONE: ViewportSize = {"width": 390, "height": 844}
NEW_PORT = "http://127.0.0.1:1/v1"


def write_tool(home: Path) -> None:
    home.mkdir()
    (home / "shop.py").write_text(TOOL)


@asynccontextmanager
async def first_week(
    home: Path, more: Mapping[str, str] | None = None, *, script: Script = answer_by_text
) -> AsyncIterator[Live]:
    write_tool(home)
    async with ModelServer(script) as model:
        settings = {
            **with_model(model.base_url),
            "HERMES_TOOLS__MODULES": '["shop.py"]',
            "HERMES_AGENTS__MAIN__TOOLS": '["pay"]',
            "HERMES_ROUTING__RETRY_S": "0",
            **(more or {}),
        }
        async with live_gateway(home, settings) as live:
            yield live


def exchange(page: Page, number: int) -> Locator:
    return page.locator(".exchange").nth(number)


@pytest.mark.req("J9")
async def test_an_approval_says_what_it_waits_for_and_the_answer_stands_under_its_question(
    browser: Browser, tmp_path: Path
) -> None:
    async with first_week(tmp_path / "home") as live:
        page = await open_live(browser, live)
        await send(page, PAY)
        card = page.locator(".question-card")
        await expect(card).to_contain_text("This waits for your answer")
        await expect(card).to_contain_text("May I run pay?")
        await expect(card.locator(".detail")).to_have_text('{"to":"bob"}')
        await expect(card).to_contain_text(
            re.compile(r"It waits until (\w+ \d+ \w+, )?\d\d:\d\d, then it counts")
        )
        await expect(page.locator("#conversations a .name")).to_have_text(PAY)

        await page.reload()
        await expect(card).to_contain_text("May I run pay?")
        await expect(card.locator(".detail")).to_have_text('{"to":"bob"}')

        # when the person writes something else: it is answered, and what waited says what it became
        await send(page, "what time is it?")
        await expect(exchange(page, 1).locator(".body")).to_contain_text("what time is it?")
        await expect(exchange(page, 0).locator(".body")).to_contain_text("I did not run pay")
        await expect(exchange(page, 0).locator(".facts")).to_contain_text("Stopped")
        await expect(card).to_have_count(0)

        # when the next one is approved: the answer is placed under its own question
        await send(page, PAY)
        await page.get_by_role("button", name="Approve").click()
        await expect(exchange(page, 2).locator(".body")).to_contain_text("paid bob")
        await expect(exchange(page, 2).locator(".reply")).to_have_count(1)
        before = await page.locator("#messages").inner_text()
        await page.reload()
        await expect(exchange(page, 2).locator(".facts")).to_be_visible()
        assert await page.locator("#messages").inner_text() == before


async def test_a_new_conversation_is_listed_before_its_first_answer(
    browser: Browser, tmp_path: Path
) -> None:
    async with first_week(tmp_path / "home") as live:
        page = await open_live(browser, live)
        await expect(page.locator("#conversations")).to_contain_text("appear here")
        await send(page, "[[hang]] the first words")
        await expect(page.locator("#conversations a")).to_contain_text("the first words")
        await page.click("#stop")
        await expect(page.locator(".facts")).to_contain_text("Stopped")


@pytest.mark.req("W23")
async def test_what_undo_and_retry_took_out_is_folded_at_once_and_after_a_reload(
    browser: Browser, tmp_path: Path
) -> None:
    def script(_seen: SeenConversation, number: int) -> ScriptedTurn:
        return ScriptedTurn(text=f"answer {number}")

    async with first_week(tmp_path / "home", script=script) as live:
        page = await open_live(browser, live)
        folds = page.locator("details.taken-out > summary")
        for number, text in enumerate(["one", "two", "/retry"], start=1):
            await send(page, text)
            await expect(page.locator(".facts")).to_have_count(number)
        await expect(folds).to_have_text([re.compile("An earlier answer")])
        await send(page, "/undo")
        for _ in range(2):
            await expect(folds).to_have_text(
                [re.compile("conversation: two"), re.compile("conversation: /retry")]
            )
            await expect(page.locator(".mine", has_text="one")).to_be_visible()
            await expect(page.locator(".mine", has_text="two")).to_be_hidden()
            await page.reload()
        await folds.first.click()
        await expect(page.locator(".mine", has_text="two")).to_be_visible()


@pytest.mark.req("W23")
async def test_a_retry_that_says_the_same_folds_the_answer_before_it(
    browser: Browser, tmp_path: Path
) -> None:
    def script(_seen: SeenConversation, _number: int) -> ScriptedTurn:
        return ScriptedTurn(text="the same")

    async with first_week(tmp_path / "home", script=script) as live:
        page = await open_live(browser, live)
        for number, text in enumerate(["one", "/retry"], start=1):
            await send(page, text)
            await expect(page.locator(".facts")).to_have_count(number)
        for _ in range(2):
            await expect(page.locator("details.taken-out > summary")).to_have_text(
                [re.compile("An earlier answer")]
            )
            await expect(exchange(page, 0).locator(".reply")).to_be_hidden()
            await expect(exchange(page, 1).locator(".reply .body")).to_be_visible()
            await page.reload()


@pytest.mark.req("A6")
async def test_the_owner_sees_why_an_answer_failed_and_reads_its_story(
    browser: Browser, tmp_path: Path
) -> None:
    async with first_week(tmp_path / "home") as live:
        page = await open_live(browser, live)
        reasons = {401: "refused the request with 401", 500: "answered 500"}
        for number, (status, reason) in enumerate(reasons.items()):
            await send(page, f"[[fail:{status}]] number {number}")
            card = exchange(page, number).locator(".problem-card")
            await expect(card.locator(".note").first).to_contain_text(reason)
            await expect(card.locator(".note.id")).to_have_text(re.compile(r"^m_\w+$"))
        async with page.expect_popup() as opened:
            await page.locator(".problem-card a", has_text="Why?").last.click()
        story = await opened.value
        await expect(story.locator("#answer")).to_contain_text("500")
        await expect(story.locator("dd").first).to_have_text(re.compile(r"^m_\w+$"))
        await expect(story.get_by_role("region", name="Timeline")).to_contain_text("accepted")
        address = story.url
        await story.get_by_role("link", name="Back to the chat").click()
        await expect(story.locator(".mine").last).to_have_text("[[fail:500]] number 1")
        assert story.url == page.url
        stranger = await (await browser.new_context()).new_page()
        await stranger.goto(address)
        await expect(stranger.locator("h1")).to_have_text("Welcome to Hermes")


CUT = re.compile(
    "cut off|not complete|broke|failed|stopped here|stops here|time limit", re.IGNORECASE
)


@pytest.mark.req("A6")
@pytest.mark.parametrize(
    ("said", "settings", "says", "does"),
    [
        ("[[deltas:4]] [[cut:2]] a long story", {}, "was cut off here. Please ask again.", True),
        (
            "[[deltas:4]] [[hang:2]] a long story",
            {"HERMES_TURNS__LIMIT_S": "8"},
            "I stopped here: this took longer than I may work on one message. Please ask for less",
            True,
        ),
        (
            "[[stops:length]] a long story",
            {"HERMES_TURNS__CONTINUATIONS": "0"},
            'Say "continue" and I go on.',
            False,
        ),
    ],
)
async def test_a_cut_answer_says_once_that_it_was_cut_and_how_to_go_on(
    browser: Browser,
    tmp_path: Path,
    said: str,
    settings: dict[str, str],
    says: str,
    does: bool,
) -> None:
    async with first_week(tmp_path / "home", settings) as live:
        page = await open_live(browser, live)
        await send(page, said)
        for _ in range(2):
            await expect(page.locator(".facts")).to_be_visible(timeout=20_000)
            reply = await page.locator(".reply").inner_text()
            assert (reply.count("#1"), reply.count(says)) == (1, 1), reply
            assert len(CUT.findall(reply)) == 1
            assert await page.get_by_role("button", name="Try again").count() == does
            await expect(page.get_by_role("link", name="Why?")).to_have_count(1)
            await page.reload()


@pytest.mark.req("A6")
async def test_a_refused_connection_is_told_apart(browser: Browser, tmp_path: Path) -> None:
    async with first_week(tmp_path / "home", {"OPENAI_BASE_URL": NEW_PORT}) as live:
        page = await open_live(browser, live)
        await send(page, "hello")
        await expect(page.locator(".problem-card .note").first).to_contain_text(
            re.compile("connect|refused", re.IGNORECASE)
        )


@pytest.mark.req("W21")
async def test_a_temporary_chat_takes_nothing_along_and_the_others_say_what_they_began_with(
    browser: Browser, tmp_path: Path
) -> None:
    async with first_week(tmp_path / "home") as live:
        page = await open_live(browser, live)
        await expect(page.locator("#temporary-note")).to_contain_text("5 messages")
        await send(page, "the red kite is mine")
        await expect(page.locator(".facts")).to_have_count(1)
        await expect(page.locator("#memory")).to_be_hidden()

        await page.click("#new")
        await send(page, "hello")
        await expect(page.locator("#memory summary")).to_have_text(
            "Hermes began with 1 message of another conversation"
        )
        await page.click("#memory summary")
        await expect(page.locator("#memory li")).to_contain_text("the red kite is mine")

        await page.click("#new")
        await page.get_by_role("switch", name="Temporary chat").click()
        await expect(page.locator("#temporary-note")).to_contain_text("nothing is learnt from it")
        await send(page, "tell me of kites")
        await expect(page.locator(".facts")).to_have_count(1)
        await expect(page.locator("#temporary-chip")).to_be_visible()
        await page.reload()
        await expect(page.locator("#temporary-chip")).to_be_visible()
        await expect(page.locator("#memory")).to_be_hidden()
        await expect(page.locator("#conversations a[aria-current]")).to_contain_text("temporary")
        await page.click("#new")
        await expect(page.locator("#temporary-chip")).to_be_hidden()


SMALL = """() => [...document.querySelectorAll("button, a[href], summary, .switch")]
    .filter((node) => node.checkVisibility() && !node.closest("p, .skip, .body p"))
    .map((node) => [node.textContent.trim() || node.ariaLabel, node.getBoundingClientRect()])
    .filter(([, box]) => box.width < 44 || box.height < 44)
    .map(([name, box]) => `${name}: ${box.width} x ${box.height}`)"""


async def test_thumbs_have_44_px_on_a_phone(browser: Browser, tmp_path: Path) -> None:
    async with first_week(tmp_path / "home") as live:
        link = re.search(r"http://\S+/signin\?code=\S+", live.said())
        assert link is not None
        context = await browser.new_context(viewport=PHONE, has_touch=True, color_scheme="dark")
        page = await context.new_page()
        await page.goto(link.group())
        await expect(page.locator("#model")).to_be_visible()
        assert await page.evaluate(SMALL) == []
        await send(page, "```sh\necho hi\n```")
        await expect(page.locator(".facts")).to_have_count(1)
        await send(page, "[[fail:500]] no")
        await expect(page.locator(".problem-card")).to_be_visible()
        await send(page, PAY)
        await expect(page.locator(".question-card")).to_be_visible()
        assert await page.evaluate(SMALL) == []
        await page.click("#open-sidebar")
        await expect(page.locator("#close-sidebar")).to_be_focused()
        assert await page.evaluate(SMALL) == []
        assert await page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
