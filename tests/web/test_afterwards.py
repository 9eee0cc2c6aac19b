"""A finished match: looked at again, and checked in the browser."""

from __future__ import annotations

import asyncio
import random
import re
from pathlib import Path

import httpx
import pytest
from playwright.async_api import Page

from tests.support.players import Table
from tests.support.up import Up
from tests.web.visitors import Visitors

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def match(installation: Up) -> str:
    """A finished match with chips, busts and playoffs."""
    with httpx.Client(base_url=installation.url, timeout=30) as client:
        table = Table.seat(client, 3, {"stakes": "dangerous", "max_rounds": 4, "starting_chips": 10})
        table.play(random.Random(5))
        return table.match


async def seats_by_height(page: Page) -> list[int]:
    paths = await page.locator(".plot .line").evaluate_all(
        "(lines) => lines.map((line) => line.getAttribute('d'))"
    )
    heights = [
        float((re.findall(r"V([\d.]+)", path) or re.findall(r"^M[\d.]+ ([\d.]+)", path))[-1])
        for path in paths
    ]
    return sorted(range(len(heights)), key=lambda seat: heights[seat])


async def seats_by_chips(page: Page) -> list[int]:
    chips = await page.locator(".seat .chips:first-of-type > span[aria-hidden]").all_inner_texts()
    return sorted(range(len(chips)), key=lambda seat: -int(chips[seat]))


async def test_a_replay_scrubs_steps_plays_and_jumps(visitors: Visitors, match: str) -> None:
    visitor = await visitors.come()
    page = visitor.page
    await visitor.open(f"/matches/{match}/replay?at=5")
    await page.wait_for_selector(".player")
    now = page.locator(".log li.now")
    first = await now.inner_text()
    assert await page.locator(".told-now").inner_text() == first

    await page.get_by_label("One step forward").click()
    await page.locator(".told-now").filter(has_not_text=first).wait_for()
    await page.get_by_label("One step back").click()
    await page.locator(".told-now", has_text=first).wait_for()

    scrubber = page.get_by_label("Where in the match")
    await scrubber.focus()
    await page.keyboard.press("End")
    await page.locator(".told-now", has_text="The match is over").wait_for()
    # The chart, worked out from the events, ends as high as the chips that the service shows, as soon as it shows them.
    async with asyncio.timeout(10):
        while (by_height := await seats_by_height(page)) != await seats_by_chips(page):
            await asyncio.sleep(0.05)
    assert sorted(by_height) == [0, 1, 2]

    await page.locator(".moments button").first.click()
    moment = await page.locator(".moments button").first.inner_text()
    assert await page.locator(".told-now").inner_text() == moment
    at = re.search(r"\?at=(\d+)$", page.url)
    assert at
    other = await visitors.come()
    await other.open(f"/matches/{match}/replay?at={at[1]}")
    await other.page.wait_for_selector(".player")
    assert await other.page.locator(".told-now").inner_text() == moment

    await page.get_by_label("To the beginning").click()
    await page.get_by_label("Speed").select_option("4")
    await page.click("[data-act=play]")
    await page.wait_for_function("() => Number(document.querySelector('.player input').value) >= 4")
    await page.get_by_role("button", name="Pause").click()


async def test_the_audit_turns_green_and_red_for_a_doctored_record(
    visitors: Visitors, match: str, tmp_path: Path
) -> None:
    visitor = await visitors.come()
    page = visitor.page
    await visitor.open(f"/matches/{match}/audit")
    await page.wait_for_selector(".verdict.sound")
    await page.get_by_text("under the rules.").wait_for()
    assert await page.locator(".step.wrong").count() == 0
    assert await page.locator(".step.sound").count() >= 9
    assert await page.get_by_text("Its hash is the one that was promised").count() == 1

    record = await (await page.request.get(f"/v1/matches/{match}/record")).text()
    lines = record.split("\n")
    rolled = next(index for index, line in enumerate(lines) if '"type":"rolled"' in line)
    lines[rolled] = re.sub(
        r'(\\"total\\":)(\d)', lambda found: f"{found[1]}{(int(found[2]) + 1) % 10}", lines[rolled]
    )
    doctored = tmp_path / "doctored.ndjson"
    doctored.write_text("\n".join(lines))
    await page.set_input_files("input[type=file]", doctored)
    await page.wait_for_selector(".verdict.wrong")
    assert f"event {rolled}" in await page.locator(".verdict").inner_text()
    assert await page.locator(".step.wrong", has_text="Chain of hashes").count() == 1

    sound = tmp_path / "sound.ndjson"
    sound.write_text(record)
    await page.set_input_files("input[type=file]", sound)
    await page.wait_for_selector(".verdict.sound")
