"""The one place where HTTP and browser tests get their gateway from, and Matrix tests their homeserver."""

import asyncio
from collections.abc import AsyncIterator, Iterator

import aiohttp
import pytest
from playwright.async_api import Browser, async_playwright

from tests.system.chromium import CHROMIUM, FLAGS
from tests.system.real_synapse import PYTHON, Person, Synapse
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


@pytest.fixture(scope="module")
def synapse(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Synapse]:
    if not PYTHON.exists():
        pytest.skip("Synapse is not installed: run tools/install_test_parts.sh")
    running = Synapse(tmp_path_factory.mktemp("synapse"))
    asyncio.run(running.start())
    yield running
    running.stop()


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as made:
        yield made


@pytest.fixture
async def bot(synapse: Synapse, session: aiohttp.ClientSession) -> Person:
    return await synapse.register(session, "hermes")
