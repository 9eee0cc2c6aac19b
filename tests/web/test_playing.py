"""Guests play whole matches in the browser."""

from __future__ import annotations

import os
from typing import Final

import pytest

from tests.web.visitors import Visitors

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
    await guest.match_id()
    assert await guest.play_by_keyboard() > 3
    assert await guest.page.locator(".places li").count() == 3
