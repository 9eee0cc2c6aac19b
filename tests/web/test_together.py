"""Several browsers at one table, and a connection that is cut."""

from __future__ import annotations

import asyncio
import re

import pytest

from tests.support.proxy import Proxy
from tests.web.visitors import NARROW, Visitors

HIDDEN = {"chance-committed", "chance-revealed", "seed-revealed"}
SHOWN_MAX = 60

pytestmark = pytest.mark.slow


async def test_two_play_each_other_while_a_third_watches(visitors: Visitors) -> None:
    anna, bela, clara = await visitors.come(), await visitors.come(NARROW), await visitors.come()
    # A table names its match before the match has begun, so who follows the table may come too early, and asks again.
    bela.expected.append("404.*/stream")
    await anna.open("/new/dice-race")
    await anna.page.select_option("[name=seats]", "2")
    await anna.page.click("details summary")
    await anna.page.get_by_label("Chips to win").fill("1")
    await anna.page.click("button[type=submit]")
    await anna.page.wait_for_url(re.compile("/tables/t_"))
    table = anna.page.url
    await bela.open(table)
    await bela.page.get_by_role("button", name="Sit down").click()
    await anna.page.get_by_text("Everybody is here. You may start.").wait_for()
    await anna.page.click("[data-act=start]")
    match = await anna.match_id()
    assert await bela.match_id() == match
    await clara.open(f"/matches/{match}")
    await clara.page.get_by_text("You are watching").wait_for()
    assert await clara.page.locator(".actions").count() == 0
    await asyncio.gather(anna.play_by_mouse(), bela.play_by_mouse())
    for visitor in (anna, bela, clara):
        await visitor.page.wait_for_selector(".result")
    places = [await visitor.page.locator(".places li").all_inner_texts() for visitor in (anna, bela, clara)]
    assert places[0] == places[1] == places[2]
    assert len(places[0]) == 2
    # The next match is followed by those who sit here: the host starts it, the other is taken along.
    await anna.page.get_by_role("button", name="Play again").click()
    await anna.page.wait_for_url(lambda url: "/matches/" in url and match not in url)
    await bela.page.wait_for_url(anna.page.url)
    await bela.page.wait_for_selector(".seat")


async def test_a_lost_connection_resumes_without_a_reload(visitors: Visitors) -> None:
    host, port = visitors.url.removeprefix("http://").split(":")
    async with Proxy(host, int(port)) as proxy:
        guest = await visitors.come(base_url=f"http://127.0.0.1:{proxy.port}")
        guest.expected.append("ERR_")
        match = await guest.play_with_bots("dice-race")
        for _ in range(3):
            await guest.click_once()
        await guest.page.evaluate("window.notReloaded = true")
        proxy.refuse(yes=True)
        proxy.cut_all()
        await guest.page.get_by_text("The connection is lost").wait_for()
        proxy.refuse(yes=False)
        await guest.page.get_by_text("The connection is lost").wait_for(state="hidden")
        # From here it is cut again and again while the match goes on.
        cutting = asyncio.create_task(_cut_now_and_then(proxy))
        await guest.play_by_mouse()
        cutting.cancel()
        assert await guest.page.evaluate("window.notReloaded")
        # Nothing of the log is missing, and nothing is there twice.
        await guest.page.locator(".log li").first.filter(has_text="The match is over").wait_for()
        events = (await (await guest.page.request.get(f"/v1/matches/{match}/events?limit=1000")).json())[
            "items"
        ]
        told = [event for event in events if event["type"] not in HIDDEN]
        assert await guest.page.locator(".log li").count() == min(len(told), SHOWN_MAX)


async def _cut_now_and_then(proxy: Proxy) -> None:
    while True:
        await asyncio.sleep(0.7)
        proxy.cut_all()
