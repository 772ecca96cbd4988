"""Takes the pictures of the pages that README and docs show: `python tools/take_screenshots.py`.

It starts the real gateway on a temporary home with the scripted model server behind it, drives a
real browser through the page's own controls, and saves what the browser shows. The words of the
replies are written below, because a picture has to be the same every time; nothing else is staged.
"""

import argparse
import asyncio
import json
import shutil
import sys
import tempfile
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from playwright.async_api import Browser, Page, async_playwright, expect

from hermes.testing.model_script import ScriptedTurn, SeenConversation, ToolUse
from hermes.testing.model_server import ModelServer

ROOT = Path(__file__).resolve().parents[1]
START_S = 30.0
Scheme = Literal["light", "dark"]
EXAMPLES = """examples:
  python tools/take_screenshots.py                   the pictures into docs/images
  python tools/take_screenshots.py --out somewhere   into another folder

It needs a Chromium, as the browser tests do: apt-get install chromium
"""
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
]
SIZES = {"wide": (1180, 900), "phone": (390, 844)}
OTHERS: tuple[tuple[str, str, Scheme], ...] = (
    ("dark", "wide", "dark"),
    ("phone", "phone", "light"),
)
COOK = "I have rice, eggs and spinach. What can I cook in 20 minutes?"
TIMER = "Can my terminal tell me when the 20 minutes are over?"
PAY = "Please pay the electrician, 80 euros."
TOOL = '''
from hermes.tools import tool


@tool(needs_approval=True)
def pay(to: str, euros: int) -> str:
    """Pay somebody."""
    return f"{to} has got {euros} euros"
'''
EARLIER = ("What does RFC 2119 mean by SHOULD?", "Three names for a grey cat")
ANSWERS = {
    COOK: """\
**Egg fried rice with spinach.** It works best with cold rice.

| min | what to do |
| ---: | --- |
| 0 | cook the rice, or take yesterday's out of the fridge |
| 12 | scramble the eggs in a hot pan and set them aside |
| 15 | fry the rice, add the spinach and let it wilt |
| 19 | stir in the eggs, a little soy sauce, *done* |
""",
    TIMER: """\
Yes. This waits, then says so:

```sh
sleep 20m; echo "The rice is done"
```

`20m` is twenty minutes, and `Ctrl-C` ends the wait.
""",
}


def answer(seen: SeenConversation, _number: int) -> ScriptedTurn:
    """Return the written reply to a question, streamed as a model would."""
    if seen.last_text == PAY:
        return ScriptedTurn(tools=(ToolUse("pay", '{"to": "electrician", "euros": 80}'),))
    text = ANSWERS.get(seen.last_text, "Of course.")
    return ScriptedTurn(text=text, deltas=20, tokens_in=40 * seen.user_messages, tokens_out=90)


@asynccontextmanager
async def gateway(home: Path, *, model_url: str) -> AsyncIterator[None]:
    """Run `hermes up` on `home` until the block ends."""
    provider = {"base_url": model_url, "model": "stand-in"}
    config = {
        "server": {"port": 0},
        "providers": {"scripted": provider},
        "tools": {"modules": ["shop.py"]},
        "agents": {"main": {"tools": ["pay"]}},
    }
    (home / "shop.py").write_text(TOOL, encoding="utf-8")
    # JSON is YAML.
    (home / "config.yaml").write_text(json.dumps(config), encoding="utf-8")
    command = [sys.executable, "-m", "hermes", "up", "--home", str(home)]
    process = await asyncio.create_subprocess_exec(*command, stdout=DEVNULL, stderr=DEVNULL, env={})
    try:
        await _wait_for(home / "run" / "gateway.json", process)
        yield
    finally:
        process.terminate()
        await process.wait()


async def _wait_for(file: Path, process: asyncio.subprocess.Process) -> None:
    async with asyncio.timeout(START_S):
        while not await asyncio.to_thread(file.exists):
            if process.returncode is not None:
                sys.exit(f"hermes up ended with exit code {process.returncode}: run it by hand")
            await asyncio.sleep(0.05)


async def sign_in_link(home: Path) -> str:
    """Return a fresh link, as `hermes link` prints it."""
    command = [sys.executable, "-m", "hermes", "link", "--home", str(home)]
    process = await asyncio.create_subprocess_exec(*command, stdout=PIPE, env={})
    printed, _ = await process.communicate()
    return printed.decode().strip()


async def open_page(browser: Browser, link: str, *, size: str, scheme: Scheme) -> Page:
    """Open the chat, signed in."""
    width, height = SIZES[size]
    context = await browser.new_context(
        viewport={"width": width, "height": height},
        color_scheme=scheme,
        device_scale_factor=2,
        reduced_motion="reduce",
    )
    page = await context.new_page()
    await page.goto(link)
    await expect(page.locator("#text")).to_be_focused()
    return page


async def ask(page: Page, text: str) -> None:
    """Send a message with the keyboard and wait for the end of its reply."""
    before = await page.locator(".facts").count()
    await page.fill("#text", text)
    await page.keyboard.press("Enter")
    await expect(page.locator(".facts")).to_have_count(before + 1)


async def talk(page: Page) -> None:
    """Hold the conversations that the pictures show."""
    for text in EARLIER:
        await ask(page, text)
        await page.click("#new")
        await expect(page.locator(".facts")).to_have_count(0)
    await ask(page, COOK)
    await ask(page, TIMER)


async def ask_for_approval(page: Page) -> None:
    """Ask in a new conversation for what needs an approval."""
    await page.click("#new")
    await expect(page.locator(".facts")).to_have_count(0)
    await page.fill("#text", PAY)
    await page.keyboard.press("Enter")
    await expect(page.locator(".question-card")).to_be_visible()


async def open_dashboard(page: Page) -> None:
    """Open the operators' overview of the last hour, in which all of this happened."""
    address = urlsplit(page.url)
    await page.goto(f"{address.scheme}://{address.netloc}/dashboard?span=hour")
    await expect(page.locator(".attention")).to_be_visible()


async def take(out: Path, browser_path: str) -> None:
    """Start everything, talk once, and save the conversation in each size and colour."""
    home = Path(tempfile.mkdtemp(prefix="hermes-pictures-"))
    try:
        async with (
            ModelServer(answer) as model,
            gateway(home, model_url=model.base_url),
            async_playwright() as playwright,
        ):
            browser = await playwright.chromium.launch(executable_path=browser_path, args=FLAGS)
            page = await open_page(browser, await sign_in_link(home), size="wide", scheme="light")
            await talk(page)
            await save(page, out / "chat.png")
            for name, size, scheme in OTHERS:
                link = await sign_in_link(home)
                other = await open_page(browser, link, size=size, scheme=scheme)
                await other.goto(page.url)
                await expect(other.locator(".facts")).to_have_count(2)
                await save(other, out / f"chat-{name}.png")
            await ask_for_approval(page)
            await save(page, out / "chat-approval.png")
            await open_dashboard(page)
            await save(page, out / "dashboard.png")
            await browser.close()
    finally:
        shutil.rmtree(home)


async def save(page: Page, file: Path) -> None:
    """Save what the browser shows, without a blinking cursor."""
    await page.evaluate("document.activeElement.blur()")
    picture = await page.screenshot(path=file, animations="disabled", caret="hide")
    print(f"{file}: {len(picture) // 1000} kB")


def main() -> None:
    """Read the options and take the pictures."""
    parser = argparse.ArgumentParser(
        description="Take the pictures of the chat page.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "images")
    out: Path = parser.parse_args().out
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        sys.exit("No Chromium was found, expected one of the commands: " + ", ".join(BROWSERS))
    out.mkdir(parents=True, exist_ok=True)
    asyncio.run(take(out, browser))


if __name__ == "__main__":
    main()
