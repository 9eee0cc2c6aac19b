"""Every page, narrow and wide, light and dark: nothing sticks out, and axe-core has nothing to say."""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Final

import httpx
import pytest
from axe_playwright_python.async_playwright import Axe

from tests.support.players import Table
from tests.support.up import Up
from tests.web.visitors import NARROW, WIDE, Visitor, Visitors

pytestmark = pytest.mark.slow

HOME_BYTES_MAX: Final = 200_000
SHIFT_MAX: Final = 0.02
"""Cumulative layout shift; below a tenth counts as good."""
_SHIFTED: Final = """() => new Promise((resolve) => {
  const found = [];
  const name = (node) => node?.localName ? `${node.localName}.${node.className}` : String(node?.nodeName);
  const observer = new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) {
      if (!entry.hadRecentInput) {
        const moved = entry.sources.map((one) => `${name(one.node)} ${one.previousRect.y} to ${one.currentRect.y}`);
        found.push([entry.value, moved]);
      }
    }
  });
  observer.observe({ type: 'layout-shift', buffered: true });
  setTimeout(() => resolve(found), 50);
})"""
"""What moved by itself: how much, and which elements."""
SCREENSHOTS: Final = os.environ.get("MACAO_WEB_SCREENSHOTS")
"""A directory that the pictures of all pages go to, to be looked at."""


@pytest.fixture(scope="module")
def finished(installation: Up) -> Table:
    """A finished match that counts, and its players."""
    with httpx.Client(base_url=installation.url, timeout=30) as client:
        table = Table.seat(client, 2, game="cards-places")
        table.play(random.Random(7))
        return table


@pytest.fixture(scope="module")
def running(installation: Up) -> Table:
    """A match that waits for its first move."""
    with httpx.Client(base_url=installation.url, timeout=30) as client:
        return Table.seat(client, 4, {"starting_chips": 60, "first_bank": 0}, game="cards-bank")


@pytest.fixture
def pages(finished: Table, running: Table) -> dict[str, tuple[str, str]]:
    """The address of each page, and what is there when it is complete."""
    return {
        "home": ("/", ".tables"),
        "new-table": ("/new/cards-places", "form"),
        "table": (f"/tables/{finished.table}", ".chairs"),
        "watching": (f"/matches/{running.match}", ".seat"),
        "result": (f"/matches/{finished.match}", ".result"),
        "replay": (f"/matches/{finished.match}/replay?at=20", ".player"),
        "audit": (f"/matches/{finished.match}/audit", ".verdict.sound"),
        "audit-file": ("/audit", "input[type=file]"),
        "leaderboards": ("/leaderboards/cards-places", "tbody tr"),
        "player": (f"/players/{finished.players[0].id}", "tbody tr"),
        "rules": ("/rules", ".games"),
        "rules-of-a-game": ("/rules/cards-places", ".prose"),
        "account": ("/account", "form"),
    }


@pytest.mark.parametrize(("viewport", "scheme"), [(WIDE, "light"), (NARROW, "dark")])
async def test_nothing_sticks_out_and_axe_finds_nothing(
    visitors: Visitors, pages: dict[str, tuple[str, str]], viewport: dict[str, int], scheme: str
) -> None:
    visitor = await visitors.come(viewport, color_scheme=scheme)
    wrong: list[str] = []
    for name, (path, complete) in pages.items():
        await visitor.open(path)
        await visitor.page.wait_for_selector(complete)
        wrong += await faults(visitor, f"{name} {scheme}")
    assert wrong == []


@pytest.mark.parametrize(("viewport", "scheme"), [(WIDE, "dark"), (NARROW, "light")])
async def test_a_table_in_play_as_well(visitors: Visitors, viewport: dict[str, int], scheme: str) -> None:
    visitor = await visitors.come(viewport, color_scheme=scheme)
    wrong: list[str] = []
    for game in ("cards-places", "dice-bank"):
        await visitor.play_with_bots(game)
        await visitor.next_offer()
        wrong += await faults(visitor, f"{game} {scheme}")
    assert wrong == []


async def faults(visitor: Visitor, name: str) -> list[str]:
    """Hold a page against axe-core and the width of the window, and return what is wrong with it."""
    page = visitor.page
    assert page.viewport_size
    width = page.viewport_size["width"]
    if SCREENSHOTS:
        await page.wait_for_timeout(700)
        path = Path(SCREENSHOTS) / f"{name.replace(' ', '-')}-{width}.png"
        await page.screenshot(path=path, full_page=True)
    found = (await Axe().run(page)).response["violations"]
    wrong = [
        f"{name}: {violation['id']}: {[(node['target'], node['failureSummary']) for node in violation['nodes']][:3]}"
        for violation in found
    ]
    shifted = await page.evaluate(_SHIFTED)
    if sum(much for much, _ in shifted) > SHIFT_MAX:
        wrong.append(f"{name}: things moved: {shifted}")
    if await page.evaluate("document.documentElement.scrollWidth") > width:
        wrong.append(f"{name}: wider than {width} px")
    return wrong


async def test_the_home_page_is_light_and_asks_nobody_else(visitors: Visitors) -> None:
    visitor = await visitors.come()
    await visitor.open("/")
    await visitor.page.wait_for_selector(".lobby ul, .lobby p")
    weights = await visitor.page.evaluate(
        "performance.getEntries().filter((one) => one.transferSize).map((one) => [one.name, one.transferSize])"
    )
    assert len(weights) > 10
    assert sum(size for _, size in weights) < HOME_BYTES_MAX


@pytest.mark.parametrize("language", ["ro", "it", "ru", "nb"])
async def test_the_browser_chooses_the_language_and_the_hand_another(
    visitors: Visitors, language: str
) -> None:
    visitor = await visitors.come(locale=language)
    await visitor.open("/")
    assert await visitor.page.get_attribute("html", "lang") == language
    await visitor.page.select_option("footer select >> nth=0", "en")
    await visitor.page.get_by_role("heading", name="In the lobby now").wait_for()
    await visitor.open("/rules")
    assert await visitor.page.get_attribute("html", "lang") == "en"


async def test_an_account_is_made_left_and_entered_again(visitors: Visitors) -> None:
    visitor = await visitors.come()
    visitor.expected.append("401")
    page = visitor.page
    await visitor.open("/account")
    await page.get_by_role("button", name="Come in").click()
    await page.wait_for_url("**/")
    await visitor.open("/account")
    await page.get_by_label("Name").fill("Web Visitor")
    await page.get_by_label("Password").fill("correct horse 7")
    await page.get_by_role("button", name="Become an account").click()
    await page.get_by_role("heading", name="Web Visitor").wait_for()
    await page.get_by_role("button", name="Sign out").click()
    await page.wait_for_url("**/")
    await visitor.open("/account")
    form = page.get_by_role("form", name="Sign in")
    await form.get_by_label("Name").fill("web visitor")
    await form.get_by_label("Password").fill("another horse 7")
    await form.get_by_role("button").click()
    await page.get_by_text("Name or password is not right.").wait_for()
    await form.get_by_label("Password").fill("correct horse 7")
    await form.get_by_role("button").click()
    await page.get_by_role("link", name="Web Visitor").wait_for()
