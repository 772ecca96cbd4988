"""Rich answers on the chat page: code colours, formulas, tasks, footnotes, tools and thoughts that unfold."""

from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, Page, expect

from hermes.testing.gateway_api import Note
from hermes.testing.model_script import ScriptedTurn, SeenConversation, ToolUse
from tests.system.chromium import CHROMIUM
from tests.system.test_browser import open_page, send
from tests.system.test_browser_first_week import first_week
from tests.system.test_browser_history import open_live
from tests.system.twin_gateway import Gateway

pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium here: apt-get install chromium"),
    pytest.mark.req("W9"),
]
# How much a browser may have to fetch before the chat page is there.
MOST_BYTES = 100_000
RICH = r"""## A little of everything

The roots of $ax^2 + bx + c = 0$ are

$$x = \frac{-b \pm \sqrt{b^2 - 4ac}}{2a}$$

and \(e^{i\pi} + 1 = 0\) holds. It costs $5, not $10.[^1]

- [x] measure
- [ ] cut

```python
# greet
def greet(name: str) -> str:
    return f"Hello, {name}" * 2
```

[^1]: Prices of *yesterday*.
"""
RENDER = """async (texts) => {
  const { renderInto } = await import("/assets/markdown.js");
  return texts.map((text) => {
    const holder = document.createElement("div");
    renderInto(holder, text);
    return holder.innerHTML;
  });
}"""


async def rendered(page: Page, *texts: str) -> list[str]:
    found: list[str] = await page.evaluate(RENDER, list(texts))
    return found


async def test_answers_show_formulas_tasks_footnotes_and_colours(
    browser: Browser, gateway: Gateway, tmp_path: Path
) -> None:
    gateway.script.on("show", *(RICH[at : at + 9] for at in range(0, len(RICH), 9)))
    page = await open_page(browser, gateway)
    await send(page, "show")
    await expect(page.locator(".facts")).to_be_visible()
    body = page.locator(".reply .body")
    await expect(body.locator("math")).to_have_count(3)
    await expect(body.locator(".math > math[display=block] mfrac")).to_have_count(1)
    await expect(body.locator("li.task input")).to_have_count(2)
    assert await body.locator("input:checked").count() == 1
    await expect(body.locator("p sup")).to_have_text(["1", "1"])
    await expect(body.locator(".footnote em")).to_have_text("yesterday")
    await expect(body).to_contain_text("It costs $5, not $10.")
    kinds = await body.locator("pre span").evaluate_all(
        "spans => spans.map(one => [one.className, one.textContent])"
    )
    assert kinds == [
        ["c-note", "# greet"],
        ["c-word", "def"],
        ["c-word", "return"],
        ["c-text", '"Hello, {name}"'],
        ["c-number", "2"],
    ]
    await page.screenshot(path=tmp_path / "rich.png")

    # when formulas are odd: what is not known is shown as it was written, and nothing runs
    shown = await rendered(
        page,
        r"$\unknown{x}$",
        r"$\text{<img src=x onerror=alert(1)>}$",
        r"$$\begin{pmatrix} a & b \\ c & d \\ \end{pmatrix}$$",
        r"$$\sum_{i=0}^n \mathbb{R} \left( \hat{x} \right)$$",
        "$" + "{" * 500 + "$",
        "$" + r"\sqrt" * 150 + "$",
        "$$\nnever ends",
        r"\$5 and \[",
        "```js\nconst a = `b`; /* c */ // d\n```",
        "```diff\n+a\n-b\n```",
    )
    assert shown[0] == r"<p><code>\unknown{x}</code></p>"
    assert "<img" not in shown[1]
    assert shown[2].count("<mtd>") == 4
    assert "<munderover>" in shown[3]
    assert "ℝ" in shown[3]
    assert ["<code>" in one for one in shown[4:6]] == [True, True]
    assert shown[6] == "<p>$$<br>never ends</p>"
    assert shown[7] == "<p>$5 and [</p>"
    assert [shown[8].count(f"c-{kind}") for kind in ("word", "text", "note")] == [1, 1, 2]
    assert [shown[9].count(f"c-{kind}") for kind in ("added", "removed")] == [1, 1]


async def test_hostile_formulas_and_code_do_not_hang_the_page(
    browser: Browser, gateway: Gateway
) -> None:
    page = await open_page(browser, gateway)
    texts = [
        "$a " * 10_000, "$$" * 5000, "\\(" * 10_000 + "\\)", "$$\n" * 2000, "[^a" * 5000,
        "- [ ] x\n" * 1000, "[^1]: x\n" * 1000, "$" + "^" * 900 + "$", "$" + "'" * 900 + "$",
        "```js\n" + "/*" * 20_000, '```python\n"""' + "'\"" * 10_000, "```c\n" + "0" * 50_000,
    ]  # fmt: skip
    took: Any = await page.evaluate(
        """async (texts) => {
            const { renderInto } = await import("/assets/markdown.js");
            const start = performance.now();
            for (const text of texts) renderInto(document.createElement("div"), text);
            return performance.now() - start;
        }""",
        texts,
    )
    assert took < 3000


async def test_the_first_paint_of_the_chat_page_needs_less_than_100_kilobytes(
    browser: Browser, gateway: Gateway
) -> None:
    context = await browser.new_context()
    page = await context.new_page()
    session = await context.new_cdp_session(page)
    await session.send("Network.enable")
    sizes: list[float] = []
    session.on("Network.loadingFinished", lambda event: sizes.append(event["encodedDataLength"]))
    await page.goto(await gateway.link())
    await expect(page.locator("#empty")).to_be_visible()
    await expect(page.locator("#model")).to_be_visible()
    assert len(sizes) > 20
    assert sum(sizes) < MOST_BYTES


async def test_tools_unfold_with_their_results(browser: Browser, tmp_path: Path) -> None:
    def script(seen: SeenConversation, _number: int) -> ScriptedTurn:
        if not seen.tool_results:
            return ScriptedTurn(tools=(ToolUse("pay", '{"to":"bob"}'),))
        return ScriptedTurn(text="Paid.")

    async with first_week(tmp_path / "home", script=script) as live:
        page = await open_live(browser, live)
        await send(page, "pay bob")
        await page.get_by_role("button", name="Approve").click()
        await expect(page.locator(".reply .body")).to_have_text("Paid.")
        for _ in range(2):
            await page.get_by_text("Tools that were used").click()
            details = page.locator(".unfold .detail")
            await expect(details).to_have_text(['{"to":"bob"}', "paid bob"])
            await page.reload()


async def test_thoughts_and_a_tool_without_a_result_unfold(
    browser: Browser, gateway: Gateway
) -> None:
    gateway.script.on(
        "hello", Note("thought", "What <i>time</i>?"), Note("tool", "<b>clock</b>"), "Late."
    )
    page = await open_page(browser, gateway)
    await send(page, "hello")
    await page.get_by_text("What the model thought").click()
    await expect(page.locator(".unfold .thought")).to_have_text("What <i>time</i>?")
    await page.get_by_text("Tools that were used").click()
    await expect(page.locator(".call-name")).to_have_text("<b>clock</b>")
    await expect(page.locator(".unfold .detail")).to_have_text("{}")
