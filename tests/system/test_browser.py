"""The web chat in a real browser, through the page's own buttons and keys."""

import re
from pathlib import Path
from typing import Literal

import pytest
from playwright.async_api import Browser, Page, Route, ViewportSize, expect

from hermes.errors import ProviderTimeout
from hermes.testing.gateway_api import Ask, Hold, Note
from tests.system.chromium import CHROMIUM
from tests.system.twin_gateway import Gateway, Options

pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium here: apt-get install chromium"),
    pytest.mark.req("W9"),
]
WIDE: ViewportSize = {"width": 1200, "height": 800}
PHONE: ViewportSize = {"width": 320, "height": 600}


async def open_page(
    browser: Browser,
    gateway: Gateway,
    *,
    size: ViewportSize = WIDE,
    scheme: Literal["light", "dark"] = "light",
) -> Page:
    context = await browser.new_context(viewport=size, color_scheme=scheme)
    page = await context.new_page()
    page.set_default_timeout(10_000)
    await page.goto(await gateway.link())
    await expect(page.locator("#text")).to_be_focused()
    return page


async def send(page: Page, text: str) -> None:
    await page.fill("#text", text)
    await page.keyboard.press("Enter")


async def test_a_message_streams_in(browser: Browser, gateway: Gateway) -> None:
    begin, middle = Hold(), Hold()
    gateway.script.on(
        "hello", begin, Note("status", "Loading the model"), "Good ", middle, "**day**."
    )
    page = await open_page(browser, gateway)
    await expect(page.locator("#notice")).to_contain_text("small demonstration model")
    await send(page, "hello")
    await expect(page.locator("#stop")).to_be_visible()
    begin.release()
    await expect(page.locator(".reply .body")).to_have_text("Good")
    await expect(page.locator(".reply")).to_have_class(re.compile("writing"))
    middle.release()
    await expect(page.locator(".reply .body strong")).to_have_text("day")
    await expect(page.locator(".facts")).to_have_text(
        re.compile(r"scripted.*tokens: 1 in, 2 out.*\$0\.000006")
    )
    await expect(page.locator("#stop")).to_be_hidden()
    await expect(page.locator("#announcer")).to_contain_text("Good day.")
    await expect(page.locator("#conversations a[aria-current]")).to_have_text("hello")


async def test_the_page_names_the_model_that_answers_now(
    browser: Browser, gateway: Gateway, options: Options
) -> None:
    page = await open_page(browser, gateway)
    await expect(page.locator("#model")).to_have_text("scripted")
    await expect(page.locator("#notice")).to_be_visible()
    # when an operator swaps the model while the page is open
    options.model, options.demo = "other:model", False
    await send(page, "hello")
    await expect(page.locator("#model")).to_have_text("other:model")
    await expect(page.locator("#notice")).to_be_hidden()


async def test_progress_is_shown_while_the_model_loads(browser: Browser, gateway: Gateway) -> None:
    hold = Hold()
    gateway.script.on("hello", Note("status", "Loading the model, 40 %"), hold, "day")
    page = await open_page(browser, gateway)
    await send(page, "hello")
    await expect(page.locator(".progress")).to_contain_text("Loading the model, 40 %")
    hold.release()
    await expect(page.locator(".facts")).to_be_visible()
    await expect(page.locator(".progress")).to_be_hidden()


async def test_a_reload_in_the_middle_keeps_the_reply_coming(
    browser: Browser, gateway: Gateway
) -> None:
    hold = Hold()
    gateway.script.on("tell", "Once upon ", hold, "a time.")
    page = await open_page(browser, gateway)
    await send(page, "tell")
    await expect(page.locator(".reply .body")).to_have_text("Once upon")
    await page.reload()
    await expect(page.locator(".mine")).to_have_text("tell")
    await expect(page.locator(".reply .body")).to_have_text("Once upon")
    hold.release()
    await expect(page.locator(".reply .body")).to_have_text("Once upon a time.")
    await page.reload()
    await expect(page.locator(".reply .body")).to_have_text("Once upon a time.")
    await expect(page.locator(".facts")).to_be_visible()


@pytest.mark.req("W16", "W18")
@pytest.mark.parametrize("way", ["key", "button"])
async def test_a_long_answer_can_be_stopped(browser: Browser, gateway: Gateway, way: str) -> None:
    gateway.script.on("tell", "Once upon ", Hold(), "a time.")
    page = await open_page(browser, gateway)
    await send(page, "tell")
    await expect(page.locator(".reply .body")).to_have_text("Once upon")
    if way == "key":
        await page.keyboard.press("Escape")
    else:
        await page.click("#stop")
    await expect(page.locator(".facts")).to_contain_text("Stopped")
    await expect(page.locator(".reply .body")).to_have_text("Once upon")
    await expect(page.locator("#stop")).to_be_hidden()
    await send(page, "next")
    await expect(page.locator(".reply .body").last).to_have_text("You said: next")


async def test_a_small_phone_shows_everything(
    browser: Browser, gateway: Gateway, tmp_path: Path
) -> None:
    gateway.script.on(
        "wide", "```\n" + "x" * 300 + "\n```\n\n| a | b |\n|--|--|\n| 1 | 2 |\n\n" + "w" * 200
    )
    page = await open_page(browser, gateway, size=PHONE)
    await send(page, "wide")
    await expect(page.locator(".facts")).to_be_visible()
    assert await page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
    await expect(page.locator("#sidebar")).to_be_hidden()
    await page.click("#open-sidebar")
    await expect(page.locator("#sidebar")).to_be_visible()
    await expect(page.locator("#close-sidebar")).to_be_focused()
    assert await page.evaluate("document.getElementById('main').inert")
    await page.keyboard.press("Escape")
    await expect(page.locator("#sidebar")).to_be_hidden()
    await expect(page.locator("#open-sidebar")).to_be_focused()
    await page.screenshot(path=tmp_path / "phone.png")


async def tab_back_to(page: Page, selector: str) -> None:
    for _ in range(20):
        await page.keyboard.press("Shift+Tab")
        if await page.evaluate("selector => document.activeElement.matches(selector)", selector):
            return
    raise AssertionError(f"{selector} cannot be reached by keyboard")


async def test_everything_works_by_keyboard(browser: Browser, gateway: Gateway) -> None:
    page = await open_page(browser, gateway)
    await page.keyboard.type("first line")
    await page.keyboard.press("Shift+Enter")
    await page.keyboard.type("second line")
    await page.keyboard.press("Enter")
    await expect(page.locator(".mine")).to_have_text("first line\nsecond line")
    await expect(page.locator(".facts")).to_be_visible()
    await expect(page.locator("#text")).to_be_focused()
    first = page.url
    await page.keyboard.press("Control+k")
    await expect(page.locator("#empty")).to_be_visible()
    await expect(page.locator("#text")).to_be_focused()
    assert page.url != first
    await tab_back_to(page, ".skip")
    await expect(page.locator(".skip")).to_be_in_viewport()
    await page.keyboard.press("Enter")
    await expect(page.locator("#text")).to_be_focused()
    await tab_back_to(page, "#conversations a")
    outline = await page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"
    await page.keyboard.press("Enter")
    await expect(page.locator(".mine")).to_have_text("first line\nsecond line")
    assert page.url == first


ATTACKS = """<script>window.pwned = 1</script>

<img src=x onerror="window.pwned = 2">

[click](javascript:window.pwned=3) [tab](java\tscript:window.pwned=4) [data](data:text/html,<script>1</script>)

![pixel](https://evil.example/pixel.png) <javascript:window.pwned=5> <a href="javascript:window.pwned=6">x</a>

| <b onclick="window.pwned=7">a</b> | b |
|---|---|
| <svg onload=window.pwned=8> | [x](vbscript:1) |

```html
</code></pre><script>window.pwned = 9</script>
```

`</code><script>window.pwned = 10</script>` [good](https://example.org/a?b=1&c="d")
"""


@pytest.mark.req("W34")
async def test_markup_in_replies_stays_text(browser: Browser, gateway: Gateway) -> None:
    gateway.script.on("attack", *(ATTACKS[at : at + 7] for at in range(0, len(ATTACKS), 7)))
    page = await open_page(browser, gateway)
    fetched: list[str] = []
    page.on("request", lambda request: fetched.append(request.url))
    await send(page, "attack")
    await expect(page.locator(".facts")).to_be_visible()
    await page.reload()
    await expect(page.locator(".facts")).to_be_visible()
    body = page.locator(".reply .body")
    await expect(body).to_contain_text("<script>window.pwned = 1</script>")
    await expect(body).to_contain_text('<img src=x onerror="window.pwned = 2">')
    await expect(body).to_contain_text("[click](javascript:window.pwned=3)")
    assert await body.locator("script, img, svg, iframe, b, [onclick], [onerror]").count() == 0
    links = await body.locator("a").evaluate_all("all => all.map((a) => [a.protocol, a.rel])")
    assert links == [["https:", "noopener noreferrer"]] * 2
    assert await page.evaluate("window.pwned") is None
    assert [url for url in fetched if not url.startswith(gateway.url)] == []


MARKDOWN = """# Title

A *slanted* and **strong** line with `code`, ~~gone~~ and snake_case_name.
Second line: 2 * 3 * 4, see https://example.org/x.

- one
- two
  1. nested
- three

3. third

> quoted

---

| Name | Sum |
|:--|--:|
| a \\| b | 1 |

```python
print("**not bold**")
```
"""


async def test_markdown_is_rendered(browser: Browser, gateway: Gateway) -> None:
    gateway.script.on("show", *MARKDOWN)
    page = await open_page(browser, gateway)
    await page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    await send(page, "show")
    await expect(page.locator(".facts")).to_be_visible()
    body = page.locator(".reply .body")
    tags = await body.evaluate("node => [...node.children].map((child) => child.localName)")
    assert tags == ["h1", "p", "ul", "ol", "blockquote", "hr", "div", "div"]
    expected = {
        "h1": "Title",
        "p > em": "slanted",
        "p > strong": "strong",
        "p > code": "code",
        "p > s": "gone",
        "p > a": "https://example.org/x",
        "ul > li > ol > li": "nested",
        "blockquote > p": "quoted",
        "td:first-child": "a | b",
        "td.right": "1",
        "pre > code": 'print("**not bold**")',
    }
    found = {path: await body.locator(path).text_content() for path in expected}
    assert found == expected
    await expect(body.locator("p").first).to_contain_text("snake_case_name.")
    await expect(body.locator("p").first).to_contain_text("2 * 3 * 4")
    await body.locator(".code button").click()
    await expect(body.locator(".code button")).to_have_text("Copied")
    assert await page.evaluate("navigator.clipboard.readText()") == 'print("**not bold**")'


async def test_hostile_markdown_does_not_hang_the_page(browser: Browser, gateway: Gateway) -> None:
    text = "\n\n".join([
        "*" * 5000, "_a" * 5000, "[" * 5000, "[a](" * 2000, ">" * 3000,
        "**a" * 3000, "\n".join(" " * depth + "- x" for depth in range(300)), "|" * 5000,
        "| a |\n|" + "-|" * 2000, "|" * 1500 + "\n" + "-|" * 1500 + "\n" + "|\n" * 1500,
        "# " + " " * 5000 + "\u2028x\u2028y", "`" + "a" * 30_000 + "`",
        # It begins code that does not end, so that it must be the last.
        "`" * 5000,
    ])  # fmt: skip
    gateway.script.on("hostile", text)
    page = await open_page(browser, gateway)
    await send(page, "hostile")
    await expect(page.locator(".facts")).to_be_visible()
    took, cells = await page.evaluate(
        """async (text) => {
            const { renderInto } = await import("/assets/markdown.js");
            const start = performance.now();
            const holder = document.createElement("div");
            renderInto(holder, text);
            return [performance.now() - start, holder.querySelectorAll("td, th").length];
        }""",
        text,
    )
    assert took < 2000
    assert cells < 10_000


@pytest.mark.req("A6", "J2")
async def test_problems_are_cards_that_can_be_tried_again(
    browser: Browser, gateway: Gateway
) -> None:
    page = await open_page(browser, gateway)
    gateway.gateway_api.full = True
    await send(page, "hello")
    await expect(page.locator(".problem-card")).to_contain_text("Too many messages are waiting")
    gateway.gateway_api.full = False
    await page.click(".problem-card button")
    await expect(page.locator(".reply .body")).to_have_text("You said: hello")
    await expect(page.locator(".problem-card")).to_have_count(0)
    gateway.script.on("hard", ProviderTimeout("the model was silent"))
    await send(page, "hard")
    await expect(page.locator(".problem-card")).to_contain_text("Please send that again")
    assert len(gateway.gateway_api.messages()) == 2


@pytest.mark.req("J9")
async def test_an_approval_is_asked_for_and_given(browser: Browser, gateway: Gateway) -> None:
    gateway.script.on("delete it", Ask("May I delete it?", "shell", "rm it"), "Deleted.")
    page = await open_page(browser, gateway)
    await send(page, "delete it")
    await expect(page.locator(".question-card")).to_contain_text("May I run shell?")
    await expect(page.locator(".question-card .detail")).to_have_text("rm it")
    await page.get_by_role("button", name="Approve").click()
    await expect(page.locator(".reply .body")).to_have_text("Deleted.")
    await expect(page.locator(".facts")).to_be_visible()
    assert [event.text for event in gateway.gateway_api.messages()] == ["delete it", "/approve a_1"]


@pytest.mark.req("J1")
async def test_a_lost_answer_is_asked_for_again_and_kept_once(
    browser: Browser, gateway: Gateway
) -> None:
    page = await open_page(browser, gateway)
    lost: list[str] = []

    async def lose_first(route: Route) -> None:
        if lost:
            await route.continue_()
        else:
            lost.append(await (await route.fetch()).text())
            await route.abort("connectionreset")

    await page.route("**/web/messages", lose_first)
    await send(page, "hello")
    await expect(page.locator("#link")).to_contain_text("Reconnecting")
    await expect(page.locator(".reply .body")).to_have_text("You said: hello")
    await expect(page.locator("#link")).to_be_hidden()
    assert "event: done" in lost[0]
    assert [event.text for event in gateway.gateway_api.messages()] == ["hello"]


async def test_the_browser_signs_in_by_token_and_a_used_link_says_what_to_do(
    browser: Browser, gateway: Gateway
) -> None:
    context = await browser.new_context(viewport=WIDE)
    page = await context.new_page()
    link = await gateway.link()
    await gateway.access.sign_in(link.partition("code=")[2])
    await page.goto(link)
    await expect(page.locator("h1")).to_have_text("This link no longer works")
    await expect(page.locator("main")).to_contain_text("hermes link")
    await page.goto(gateway.url)
    await page.fill("#token", "wrong")
    await page.keyboard.press("Enter")
    await expect(page.locator("#problem")).to_contain_text("Unknown token")
    await page.fill("#token", gateway.token)
    await page.keyboard.press("Enter")
    await expect(page.locator("#text")).to_be_visible()


async def test_the_sign_in_form_works_without_scripts(browser: Browser, gateway: Gateway) -> None:
    context = await browser.new_context(java_script_enabled=False)
    page = await context.new_page()
    await page.goto(gateway.url)
    await page.fill("#token", "wrong")
    await page.click("button")
    await expect(page.locator("#problem")).to_contain_text("Unknown token")
    await page.fill("#token", gateway.token)
    await page.click("button")
    await expect(page).to_have_title("Hermes")


async def test_dark_mode(browser: Browser, gateway: Gateway, tmp_path: Path) -> None:
    page = await open_page(browser, gateway, scheme="dark")
    await send(page, "hello")
    await expect(page.locator(".facts")).to_be_visible()
    background = await page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert background == "rgb(21, 22, 20)"
    shot = await page.screenshot(path=tmp_path / "dark.png")
    assert shot.startswith(b"\x89PNG")
