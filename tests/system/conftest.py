"""The one place where HTTP and browser tests get their gateway from."""

from collections.abc import AsyncIterator

import aiohttp
import pytest
from playwright.async_api import Browser, async_playwright

from tests.system.chromium import CHROMIUM, FLAGS
from tests.system.twin_gateway import Gateway, Options, running_gateway


@pytest.fixture
def options() -> Options:
    return Options()


@pytest.fixture
async def gateway(options: Options) -> AsyncIterator[Gateway]:
    async with running_gateway(options) as running:
        yield running


@pytest.fixture
async def http(gateway: Gateway) -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(gateway.url, cookie_jar=aiohttp.DummyCookieJar()) as session:
        yield session


@pytest.fixture
async def browser() -> AsyncIterator[Browser]:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        await browser.close()
