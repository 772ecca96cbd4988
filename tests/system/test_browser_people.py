"""People in a real browser: the invitation, who is signed in, and one's own browsers."""

import json
from pathlib import Path

import pytest
from playwright.async_api import Browser, Page, expect

from tests.system.chromium import CHROMIUM
from tests.system.identity_server import PROGRAM, real_provider
from tests.system.live import Live, live_gateway, model_server, with_model
from tests.system.test_browser_history import ask
from tests.system.test_operator_commands import hermes

pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium here: apt-get install chromium"),
    pytest.mark.req("W35"),
]


async def invitation(home: Path, name: str) -> dict[str, str]:
    made: dict[str, str] = json.loads(await hermes(home, "invite", name, "--json"))
    return made


async def titles(page: Page) -> list[str]:
    return await page.locator("#conversations .name").all_inner_texts()


async def accept(browser: Browser, link: str) -> Page:
    """Open an invitation in a browser of its own and press the button."""
    page = await (await browser.new_context()).new_page()
    await page.goto(link)
    await page.get_by_role("button", name="Sign in").click()
    await expect(page.get_by_role("button", name="Signed in as")).to_be_visible()
    return page


async def test_people_are_invited_and_have_the_page_to_themselves(
    browser: Browser, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    async with model_server() as url, live_gateway(home, with_model(url)) as live:
        ann = await accept(browser, (await invitation(home, "ann"))["link"])
        await ask(ann, "The word is zebra.", replies=1)
        bob = await by_code(browser, live, (await invitation(home, "bob"))["code"].lower())
        await ask(bob, "I am Bob.", replies=1)

        await expect(ann.get_by_role("button", name="Signed in as ann")).to_be_visible()
        await expect(bob.get_by_role("button", name="Signed in as bob")).to_be_visible()
        assert (await titles(ann), await titles(bob)) == (["The word is zebra."], ["I am Bob."])
        # The address of a conversation is worth nothing to somebody else.
        await bob.goto(live.url + "/#/" + ann.url.rpartition("/")[2])
        await expect(bob.get_by_text("What can I do for you?")).to_be_visible()
        await expect(bob.get_by_text("zebra")).to_have_count(0)

        await ends_another_browser(browser, home, ann)
        await is_signed_out_by_a_block(home, bob)


async def by_code(browser: Browser, live: Live, code: str) -> Page:
    page = await (await browser.new_context()).new_page()
    await page.goto(live.url)
    await page.get_by_label("Or enter the code of an invitation").fill("ABCD-EFGH-JKMN-PQRS")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("alert")).to_contain_text("ask for a new one")
    await page.get_by_label("Or enter the code of an invitation").fill(code)
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("button", name="Signed in as")).to_be_visible()
    return page


async def ends_another_browser(browser: Browser, home: Path, page: Page) -> None:
    phone = await accept(browser, (await invitation(home, "ann"))["link"])
    await expect(phone.locator("#conversations .name")).to_have_text(["The word is zebra."])
    await page.get_by_role("button", name="Signed in as ann").click()
    dialog = page.get_by_role("dialog", name="You are ann.")
    await expect(dialog.get_by_text("this browser")).to_have_count(1)
    await expect(dialog.get_by_text("Chrome on Linux")).to_have_count(2)

    await dialog.get_by_role("button", name="Sign out all others").click()

    await expect(dialog.locator("li")).to_have_count(1)
    await expect(dialog.get_by_role("button", name="Close")).to_be_focused()
    await page.keyboard.press("Escape")
    await expect(dialog).to_be_hidden()
    await phone.reload()
    await expect(phone.get_by_text("Welcome to Hermes")).to_be_visible()
    await phone.fill("#token", (await invitation(home, "ann"))["code"])


async def is_signed_out_by_a_block(home: Path, page: Page) -> None:
    """A text that was not sent comes back for its writer, and for nobody else in the tab."""
    await page.fill("#text", "for Bob alone")
    await hermes(home, "users", "block", "web:bob")
    await page.keyboard.press("Enter")
    await expect(page.get_by_text("You are signed out")).to_be_visible()

    await page.fill("#token", (await invitation(home, "eve"))["code"])
    await page.keyboard.press("Enter")

    await expect(page.get_by_role("button", name="Signed in as eve")).to_be_visible()
    await expect(page.locator("#text")).to_have_value("")
    await expect(page.locator("#unsent")).to_be_hidden()


@pytest.mark.skipif(not PROGRAM.exists(), reason="no identity provider here: make test brings one")
async def test_the_identity_provider_opens_the_door_of_the_page(
    browser: Browser, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    users = {"ann": {"email": "ann@example.org", "email_verified": True, "name": "Ann Lee"}}
    async with real_provider(users) as issuer, model_server() as url:
        oidc = {
            "issuer": issuer,
            "client_id": "hermes",
            "name": "Example",
            "secret": "IDENTITY_SECRET",
            "domains": ["example.org"],
        }
        (home / "config.yaml").write_text(json.dumps({"access": {"oidc": oidc}}))
        variables = {**with_model(url), "IDENTITY_SECRET": "not-a-real-secret"}
        async with live_gateway(home, variables) as live:
            page = await (await browser.new_context()).new_page()
            await page.goto(live.url)
            await page.get_by_role("button", name="Sign in with Example").click()
            await page.get_by_role("button", name="ann").click()

            await expect(page.get_by_role("button", name="Signed in as Ann Lee")).to_be_visible()
            await ask(page, "Hello.", replies=1)
            listed = json.loads(await hermes(home, "users", "list", "--json"))["users"]
    names = [one["name"] for user in listed for one in user["channels"] if "name" in one]
    assert names == ["Ann Lee"]
