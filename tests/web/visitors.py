"""Visitors: people with a browser, who click or press keys and see what the page shows."""

from __future__ import annotations

import re
from typing import Any, Final

from playwright.async_api import Browser, BrowserContext, ConsoleMessage, Page, Request

WIDE: Final = {"width": 1440, "height": 900}
NARROW: Final = {"width": 360, "height": 740}
PATIENCE_MS: Final = 20_000
MOVES_MAX: Final = 600
TABS_MAX: Final = 80
ENOUGH_DICE: Final = 6

# What a player can do now, the most urgent first; "" while others think.
_OFFERED: Final = """() => {
  if (document.querySelector('.result')) return 'over';
  const busy = [...document.querySelectorAll('[data-move]')].some((button) => button.disabled);
  if (busy) return '';
  if (document.querySelector('.actions .calling')) return 'call';
  if (document.querySelector('.catch')) return 'catch';
  // As many cards at once as go together.
  if (document.querySelector('.held-card.fits:not(.chosen)')) return 'choose';
  const word = document.querySelector('.actions .word[aria-pressed="false"]');
  if (word) return 'word';
  if (document.querySelector('.actions .suit')) return 'suit';
  if (document.querySelector('.actions [data-move="play"]')) return 'play';
  const total = Number(document.querySelector('.gauge b')?.textContent ?? 0);
  const order = total >= ENOUGH ? ['stand', 'roll'] : ['roll', 'stand'];
  const all = ['stake', 'take', 'sit-out', 'draw', 'pass', 'ask', ...order];
  return all.find((move) => document.querySelector(`.actions [data-move="${move}"]`)) ?? '';
}""".replace("ENOUGH", str(ENOUGH_DICE))

# Where to click, or null where it is gone.
_MIDDLE: Final = """(selector) => {
  const found = document.querySelector(selector);
  if (!found) return null;
  found.scrollIntoView({ block: 'nearest' });
  const { x, y, width, height } = found.getBoundingClientRect();
  return [x + width / 2, y + height / 2];
}"""

_SELECTORS: Final = {
    "call": ".actions .calling",
    "catch": ".catch",
    "word": ".actions .word",
    "suit": ".actions .suit",
    "play": ".actions [data-move='play']",
    "choose": ".held-card.fits:not(.chosen)",
}


class Visitors:
    """Makes visitors of one installation, and takes leave of them."""

    def __init__(self, browser: Browser, url: str) -> None:
        self._browser = browser
        self.url = url
        self._visitors: list[Visitor] = []

    async def come(self, viewport: dict[str, int] | None = None, **more: Any) -> Visitor:
        """Return a new visitor with an empty profile."""
        url = more.setdefault("base_url", self.url)
        more.setdefault("locale", "en-GB")
        context = await self._browser.new_context(viewport=viewport or WIDE, **more)
        context.set_default_timeout(PATIENCE_MS)
        visitor = Visitor(context, await context.new_page(), url)
        self._visitors.append(visitor)
        return visitor

    async def leave(self) -> None:
        """Close every profile. Nobody may have met with an error."""
        for visitor in self._visitors:
            await visitor.context.close()
        complaints = [complaint for visitor in self._visitors for complaint in visitor.complaints()]
        assert not complaints, "\n".join(complaints)


class Visitor:
    """One browser profile with one window.

    Attributes:
        expected: patterns of console messages that the test itself brings about.
    """

    def __init__(self, context: BrowserContext, page: Page, url: str) -> None:
        self.context = context
        self.page = page
        self.expected: list[str] = []
        self._url = url
        self._heard: list[str] = []
        self.requested: list[Request] = []
        page.on("console", self._console)
        page.on("pageerror", lambda error: self._heard.append(f"{error}\n{error.stack}"))
        page.on("request", self._request)

    def complaints(self) -> list[str]:
        """Return what the console said, and the addresses of other origins that were asked for."""
        foreign = [
            request.url for request in self.requested if not request.url.startswith((self._url, "blob:"))
        ]
        heard = [
            text for text in self._heard if not any(re.search(pattern, text) for pattern in self.expected)
        ]
        return heard + foreign

    async def open(self, path: str) -> None:
        """Load a page."""
        await self.page.goto(path)
        await self.page.wait_for_selector("main h1", state="attached")

    async def play_with_bots(self, game: str) -> str:
        """Sit down from the home page, and return the match's id."""
        await self.open("/")
        await self.page.click(f"[data-start='bots {game}']")
        return await self.match_id()

    async def match_id(self) -> str:
        """Wait for a match, and return its id."""
        await self.page.wait_for_url(re.compile(r"/matches/m_\w+$"))
        await self.page.wait_for_selector(".seat")
        return self.page.url.rsplit("/", 1)[1]

    async def next_offer(self) -> str:
        """Wait until something can be done, and return what: a move, or ``over``."""
        handle = await self.page.wait_for_function(_OFFERED, polling=20, timeout=60_000)
        return str(await handle.json_value())

    async def play_by_mouse(self) -> int:
        """Play until the match is over, and return the number of clicks."""
        for clicks in range(MOVES_MAX):
            if await self.click_once() == "over":
                return clicks
        raise AssertionError(f"not over after {MOVES_MAX} clicks")

    async def click_once(self) -> str:
        """Do what can be done next, and return what it was."""
        offered = await self.next_offer()
        if offered != "over":
            selector = _SELECTORS.get(offered, f".actions [data-move='{offered}']")
            # Others may move at the same moment, so that a button is there no longer.
            box = await self.page.evaluate(_MIDDLE, selector)
            if box is not None:
                await self.page.mouse.click(*box)
        return offered

    async def play_by_keyboard(self) -> int:
        """Play until the match is over with Tab, arrows, Enter and Space; return how many moves that took."""
        for moves in range(MOVES_MAX):
            offered = await self.next_offer()
            if offered == "over":
                return moves
            selector = _SELECTORS.get(offered, f".actions [data-move='{offered}']")
            if await self.tab_to(selector):
                await self.page.keyboard.press("Enter" if moves % 2 else "Space")
        raise AssertionError(f"not over after {MOVES_MAX} moves")

    async def tab_to(self, selector: str) -> bool:
        """Press Tab, and in a hand the right arrow, until the focus is there; False when it has gone meanwhile."""
        for _ in range(TABS_MAX):
            where = await self.page.evaluate(
                "(selector) => document.activeElement?.matches(selector) ? 'there' :"
                " !document.querySelector(selector) ? 'gone' :"
                " document.activeElement?.closest('.hand') && document.querySelector(selector).closest('.hand') ?"
                " 'hand' : ''",
                selector,
            )
            if where == "there":
                return True
            if where == "gone":
                return False
            await self.page.keyboard.press("ArrowRight" if where == "hand" else "Tab")
        raise AssertionError(f"{selector} cannot be reached by Tab")

    def _request(self, request: Request) -> None:
        self.requested.append(request)

    def _console(self, message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"}:
            self._heard.append(f"{message.type}: {message.text} ({message.location['url']})")
