"""What the two shedding games look like alike: hands, and stock and pile with what lies open beside them."""

from collections.abc import Sequence
from typing import Final

from rich.text import Text

from services.cli.pictures.cards import backs, cards_in_line, cards_in_rows
from services.engine.rules.cards import HIDDEN
from services.engine.words.naming import SUIT_NAMES, SUITS, count

PILE_SHOWN: Final = 5


def hand(cards: int, known: Sequence[str] | None) -> Text:
    """Return a hand as far as it is known; the cards' number stands beside it."""
    return backs(cards) if known is None else cards_in_line(known)


def piles(stock: int, pile: Sequence[str], notes: Sequence[Text]) -> Text:
    """Return the stock face down, the top of the pile face up, and up to three notes to their right."""
    if not pile:
        return Text("nothing is dealt")
    two = (HIDDEN if stock else "", pile[-1])
    lines = cards_in_rows([card for card in two if card], 80).split("\n")
    before = pile[-1 - PILE_SHOWN : -1][::-1]
    beneath = Text("on ", "dim").append(cards_in_line(before)) if before else Text()
    texts = [*notes[:2], *[Text()] * (2 - len(notes)), beneath]
    drawn = Text("\n").join(Text("  ").join((line, text)) for line, text in zip(lines, texts, strict=True))
    return drawn.append(f"\n{count(stock, 'card')} to draw" if stock else "\nno card left to draw", "dim")


def suit_called(suit: str | None) -> list[Text]:
    """Return the note on a suit that the next card has to have."""
    return [Text(f"{SUITS[suit]} {SUIT_NAMES[suit]} called", "bold")] if suit else []


def penalty(cards: int) -> list[Text]:
    """Return the note on an open penalty."""
    return [Text(f"penalty: {count(cards, 'card')} to draw", "bold yellow")] if cards else []
