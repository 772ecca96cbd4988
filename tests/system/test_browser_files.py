"""Pictures and files on the chat page: added by button, paste and drop, shown, and fetched back."""

from pathlib import Path

import pytest
from playwright.async_api import Browser, FilePayload, Page, expect

from hermes.errors import ProviderTimeout
from hermes.media.cache import CacheRules
from hermes.message.parts import FilePart, ImagePart, TextPart
from hermes.testing.model_script import ScriptedTurn, SeenConversation
from hermes.testing.model_server import ModelServer
from tests.system.chromium import CHROMIUM
from tests.system.live import live_gateway, with_model
from tests.system.test_browser import PHONE, open_page, send
from tests.system.test_browser_history import open_live
from tests.system.twin_gateway import Gateway

pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium here: apt-get install chromium"),
    pytest.mark.req("W9"),
]
# Whatever a page can hand over besides a file picker: the named event with files in it.
HAND_OVER = """async ([kind, selector, name, mime]) => {
  const canvas = new OffscreenCanvas(40, 30);
  const context = canvas.getContext("2d");
  context.fillStyle = "teal";
  context.fillRect(0, 0, 40, 30);
  const blob = mime === "image/png" ? await canvas.convertToBlob() : new Blob(["some text"]);
  const data = new DataTransfer();
  data.items.add(new File([blob], name, { type: mime }));
  const options = { bubbles: true, cancelable: true };
  const made = kind === "paste"
    ? new ClipboardEvent(kind, { ...options, clipboardData: data })
    : new DragEvent(kind, { ...options, dataTransfer: data });
  document.querySelector(selector).dispatchEvent(made);
}"""
SIZES = "images => images.map(image => [image.naturalWidth, image.naturalHeight])"


async def hand_over(page: Page, kind: str, selector: str, name: str, mime: str) -> None:
    await page.evaluate(HAND_OVER, [kind, selector, name, mime])


async def test_files_come_by_button_paste_and_drop_and_stand_in_the_transcript(
    browser: Browser, gateway: Gateway, tmp_path: Path
) -> None:
    page = await open_page(browser, gateway)
    async with page.expect_file_chooser() as choosing:
        await page.click("#add-files")
    notes: FilePayload = {"name": "<i>notes.txt", "mimeType": "text/plain", "buffer": b"abc"}
    await (await choosing.value).set_files([notes])
    await hand_over(page, "paste", "#text", "shot.png", "image/png")
    await hand_over(page, "dragover", "#main", "other.txt", "text/plain")
    await expect(page.locator("#drop")).to_be_visible()
    await hand_over(page, "drop", "#main", "other.txt", "text/plain")
    await expect(page.locator("#drop")).to_be_hidden()
    chips = page.locator("#chosen li")
    names = page.locator("#chosen .file-name")
    await expect(names).to_have_text(["<i>notes.txt", "shot.png", "other.txt"])
    await page.get_by_role("button", name="Remove other.txt").click()
    await expect(chips).to_have_count(2)
    await expect(page.locator(".thumb")).to_have_count(1)
    await page.screenshot(path=tmp_path / "files.png")

    # when they are sent without a word
    await page.keyboard.press("Enter")
    await expect(chips).to_have_count(0)
    await expect(page.locator(".mine .file-name")).to_have_text("<i>notes.txt")
    await expect(page.locator(".mine .files img")).to_be_visible()
    assert await page.eval_on_selector_all(".mine img", SIZES) == [[40, 30]]
    (event,) = gateway.gateway_api.messages()
    assert [type(part) for part in event.parts] == [FilePart, ImagePart]

    # when the page is loaded again, they are still there
    await page.reload()
    await expect(page.locator(".mine .files img")).to_be_visible()
    await expect(page.locator(".mine .file")).to_have_attribute("aria-label", "Save _i_notes.txt")
    assert await page.eval_on_selector_all(".mine img", SIZES) == [[40, 30]]


async def test_what_cannot_be_sent_is_said_and_the_rest_stays(
    browser: Browser, gateway: Gateway
) -> None:
    gateway.files.rules = CacheRules(max_bytes=1000, max_files=2)
    page = await open_page(browser, gateway, size=PHONE)
    add = page.locator("#file-input")

    def file(name: str, size: int) -> FilePayload:
        return {"name": name, "mimeType": "text/plain", "buffer": b"x" * size}

    await add.set_input_files([file("a.txt", 1), file("big.txt", 1001)])
    await expect(page.locator("#file-problem")).to_have_text(
        "big.txt is larger than 1 kB and was not added."
    )
    await add.set_input_files([file("b.txt", 1), file("c.txt", 1)])
    await expect(page.locator("#file-problem")).to_have_text("A message can have at most 2 files.")
    await expect(page.locator("#chosen .file-name")).to_have_text(["a.txt", "b.txt"])
    assert await page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
    # when the answer fails, trying again sends the files again
    gateway.script.on("look", ProviderTimeout("too slow"))
    await send(page, "look")
    await page.get_by_role("button", name="Try again").wait_for()
    await page.reload()
    gateway.script.on("look", "I see.")
    await page.get_by_role("button", name="Try again").click()
    await expect(page.locator(".reply .body").last).to_have_text("I see.")
    first, second = gateway.gateway_api.messages()
    assert (first.parts[0], len(first.parts), len(second.parts)) == (TextPart("look"), 3, 3)


async def test_the_files_of_a_real_answer_are_shown_and_kept(
    browser: Browser, tmp_path: Path
) -> None:
    files = tmp_path / "files"
    files.mkdir()
    (files / "report.txt").write_text("all is well")

    def answer(seen: SeenConversation, _number: int) -> ScriptedTurn:
        return ScriptedTurn(text="Here it is.\n\nMEDIA: report.txt")

    async with ModelServer(answer) as model:
        more = {**with_model(model.base_url), "HERMES_MEDIA__FOLDERS": f'["{files}"]'}
        async with live_gateway(tmp_path / "home", more) as live:
            page = await open_live(browser, live)
            await hand_over(page, "paste", "#text", "shot.png", "image/png")
            await send(page, "what is this?")
            await expect(page.locator(".reply .body")).to_have_text("Here it is.")
            # then the picture went to the model, and both files can be fetched
            link = page.locator(".reply .file")
            await expect(link).to_have_text("report.txt11 B")
            await page.reload()
            await expect(link).to_be_visible()
            assert await page.eval_on_selector_all(".mine img", SIZES) == [[40, 30]]
            async with page.expect_download() as downloading:
                await link.click()
            saved = await (await downloading.value).path()
            # the picture is with its turn, where the model's request took it from
            assert on_disk(saved, live.home) == ("all is well", 1)


def on_disk(saved: Path, home: Path) -> tuple[str, int]:
    return saved.read_text(), len(list((home / "media").glob("p_*/m_*/*.png")))
