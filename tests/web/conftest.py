"""One installation and one browser for all tests of the pages; every visitor has a profile of its own."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator, Iterator
from typing import Final

import pytest
import pytest_asyncio
from playwright.async_api import Browser, async_playwright

from tests.support.up import Up, open_directory
from tests.web.visitors import Visitors

CHROMIUM: Final = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
ARGUMENTS: Final = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
BOT_PACE_SECONDS: Final = "0.05"


@pytest.fixture(scope="session")
def installation() -> Iterator[Up]:
    """``macao up``, with bots that hardly pause."""
    environment = {"MACAO_BOT_PACE_SECONDS": BOT_PACE_SECONDS}
    with open_directory() as directory, Up(directory / "home", environment=environment) as running:
        yield running.wait_ready()


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser() -> AsyncIterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("there is no chromium: install the package of that name")
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        await browser.close()


@pytest_asyncio.fixture(loop_scope="session")
async def visitors(browser: Browser, installation: Up) -> AsyncIterator[Visitors]:
    """Makes visitors; at the end none of them may have met with an error or asked another origin for anything."""
    visitors = Visitors(browser, installation.url)
    yield visitors
    await visitors.leave()
