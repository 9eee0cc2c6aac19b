"""Cards as they lie on a table or in a hand, red suits in red."""

from collections.abc import Collection, Sequence
from typing import Final

from rich.text import Text

from services.engine.rules.cards import BLACK_JOKER, HIDDEN, RED_JOKER, colour_of
from services.engine.words.naming import card_in_words

FACE_CELLS: Final = 3
CARD_CELLS: Final = FACE_CELLS + 2
BACK: Final = "▒"
BACKS_DRAWN_MAX: Final = 12
RED: Final = "bright_red"

# A joker's code is how one types it, and how one tells the two apart where there are no colours.
JOKERS: Final = {BLACK_JOKER: "BJ★", RED_JOKER: "RJ★"}


def card_name(card: str) -> str:
    """Return a card in at most three characters."""
    if card == HIDDEN:
        return BACK * 2
    return JOKERS.get(card) or card_in_words(card)


def card_style(card: str) -> str:
    """Return the colour of a card; nothing for a black one or a back."""
    return RED if card != HIDDEN and colour_of(card) == "red" else ""


def cards_in_line(cards: Sequence[str]) -> Text:
    """Return cards one after the other in a line of text."""
    return Text(" ").join(Text(card_name(card), card_style(card)) for card in cards)


def backs(count: int) -> Text:
    """Return so many cards face down."""
    return Text(BACK * min(count, BACKS_DRAWN_MAX) + ("…" if count > BACKS_DRAWN_MAX else ""), "dim")


def cards_in_rows(
    cards: Sequence[str], cells: int, labels: Sequence[str] = (), faint: Collection[int] = ()
) -> Text:
    """Return cards side by side, three lines high, in as many rows as it takes.

    Args:
        cards: their codes.
        cells: how wide a row may be.
        labels: what stands below each, where something does; at most five characters.
        faint: which of them, from 0, to draw without emphasis.
    """
    each = max(1, cells // CARD_CELLS)
    return Text("\n").join(
        _row(cards[at : at + each], labels[at : at + each], {number - at for number in faint})
        for at in range(0, len(cards), each)
    )


def _row(cards: Sequence[str], labels: Sequence[str], faint: Collection[int]) -> Text:
    row = Text()
    for part in range(3):
        for at, card in enumerate(cards):
            row.append(
                _part(card, part), f"{card_style(card)} dim".strip() if at in faint else card_style(card)
            )
        row.append("\n" if part < 2 or labels else "")  # noqa: PLR2004 - the last of three lines
    for at, label in enumerate(labels):
        row.append(f"{label:^{CARD_CELLS}}", "dim" if at in faint else "bold")
    return row


def _part(card: str, part: int) -> str:
    if part == 1:
        return f"│{BACK * FACE_CELLS if card == HIDDEN else card_name(card).rjust(FACE_CELLS)}│"
    left, right = "╭╮" if part == 0 else "╰╯"
    return f"{left}{'─' * FACE_CELLS}{right}"
