"""Guests play whole matches in the browser."""

from __future__ import annotations

import os
from typing import Final

import pytest

from tests.web.visitors import Visitor, Visitors

pytestmark = pytest.mark.slow

ALL_GAMES: Final = ["dice-race", "dice-bank", "cards-bank", "cards-places", "cards-points"]
QUICK_GAMES: Final = ["cards-bank", "cards-places"]
GAMES: Final = ALL_GAMES if os.environ.get("MACAO_WEB_GAMES") == "all" else QUICK_GAMES
"""The others take minutes: MACAO_WEB_GAMES=all plays them as well."""


@pytest.mark.parametrize("game", GAMES)
async def test_a_guest_plays_a_whole_match_with_the_mouse(visitors: Visitors, game: str) -> None:
    guest = await visitors.come()
    match = await guest.play_with_bots(game)
    assert await guest.play_by_mouse() > 3
    assert await guest.page.locator(".places li").count() == 3
    answer = await guest.page.request.get(f"/v1/matches/{match}/audit")
    assert (await answer.json())["sound"]


async def test_a_guest_plays_a_whole_match_with_the_keyboard(visitors: Visitors) -> None:
    guest = await visitors.come()
    await guest.open("/")
    assert await guest.tab_to("[data-start='bots dice-race']")
    await guest.page.keyboard.press("Enter")
    match = await guest.match_id()
    assert await guest.play_by_keyboard() > 3
    assert await guest.page.locator(".places li").count() == 3
    await disputes_it(guest, match)


async def disputes_it(guest: Visitor, match: str) -> None:
    """Complain about the match from the page of its audit, and read the case file."""
    page = guest.page
    await guest.open(f"/matches/{match}/audit")
    await page.get_by_text("Disputes about this match").click()
    await page.get_by_text("Nobody has disputed anything.").wait_for()
    await page.get_by_label("What is wrong?").fill("The die fell off the table.")
    await page.get_by_role("button", name="Send the complaint").click()
    await page.get_by_role("button", name="The case file").click()
    await page.locator("macao-disputes .prose").wait_for()
    assert await page.get_by_text("The die fell off the table.").count() >= 2
    await page.get_by_role("button", name="Withdraw").click()
    await page.get_by_text("withdrawn").wait_for()


async def test_a_refusal_says_why_with_the_clause(visitors: Visitors) -> None:
    guest = await visitors.come()
    guest.expected.append("422")
    await guest.play_with_bots("cards-places")
    page = guest.page
    while not await page.locator(".held-card.dim").count():
        assert await guest.click_once() != "over"
        await guest.next_offer()
    while await page.locator(".turn-hint.now").count() == 0:
        await page.wait_for_timeout(50)
    await page.locator(".held-card.dim").first.click()
    # An ace goes on everything, so a card that does not fit calls no suit.
    await page.locator(".actions [data-move='play']").click()
    refusal = page.locator(".message.refusal")
    await refusal.wait_for()
    assert "clause CP-" in await refusal.inner_text()
    clause = (await refusal.locator("a").get_attribute("href") or "").partition("#")[2]
    await refusal.locator("a").click()
    await page.locator(f"[id='{clause}'].target").wait_for()
