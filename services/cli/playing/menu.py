"""What a person may do now, as it is offered: the hand with numbers, a letter for everything else."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from msgspec import Struct
from rich.text import Text

from services.cli.pictures.cards import CARD_CELLS, card_name, card_style, cards_in_rows
from services.cli.playing.vocabulary import Vocabulary
from services.engine.rules.banking import StakeRange
from services.engine.rules.shedding import Play
from services.engine.words import cards_in_words, move_in_words
from services.engine.words.naming import SUIT_NAMES, card_in_words

BETWEEN: Final = "   "
WRITTEN_CELLS: Final = 8
"""How much room a card takes that is written, with its number."""


class Item(NamedTuple):
    """A line of a menu: what to type, and what it does."""

    keys: str
    does: str


def items(legal: Sequence[Struct], hand: Sequence[str], vocabulary: Vocabulary) -> list[Item]:
    """Return the menu for these moves: examples of cards that can be laid, and one item for each other move."""
    plays = [entry for entry in legal if isinstance(entry, Play)]
    offered = list(_examples(plays, hand)) if plays else []
    for entry in legal:
        if isinstance(entry, StakeRange):
            offered.append(Item(_range(entry), "stake so many chips"))
        elif not isinstance(entry, Play):
            value = next((str(getattr(entry, field)) for field in vocabulary.of(entry).fields), "")
            offered.append(Item(f"{vocabulary.of(entry).letter}{value}", move_in_words(entry)))
    return offered


def _range(stakes: StakeRange) -> str:
    return str(stakes.min) if stakes.min == stakes.max else f"{stakes.min} to {stakes.max}"


def _examples(plays: Sequence[Play], hand: Sequence[str]) -> Iterator[Item]:
    """Yield one play of each sort, written as it can be typed."""
    first = plays[0].cards[0]
    yield Item(f"{hand.index(first) + 1} or {_code(first)}", f"lay {card_in_words(first)}")
    several = next((play for play in plays if len(play.cards) > 1), None)
    if several:
        yield Item(_typed(several, hand), f"lay {cards_in_words(several.cards)}")
    ace = next((play for play in plays if play.suit), None)
    if ace and ace.suit:
        yield Item(_typed(ace, hand), f"call {SUIT_NAMES[ace.suit]} with {card_in_words(ace.cards[0])}")
    word = next((play for play in plays if play.macao), None)
    if word:
        yield Item(_typed(word, hand), 'say "Macao!" with it')


def _typed(play: Play, hand: Sequence[str]) -> str:
    numbers = [str(hand.index(card) + 1) for card in play.cards]
    return " ".join([*numbers, *([play.suit.lower()] if play.suit else []), *(["!"] if play.macao else [])])


def _code(card: str) -> str:
    return card.lower().replace("t", "10")


def in_lines(offered: Sequence[Item], cells: int) -> Text:
    """Return a menu in as few lines as it takes, broken between its items only."""
    lines: list[Text] = []
    for item in offered:
        text = Text.assemble((item.keys, "bold cyan"), f"  {item.does}")
        if lines and lines[-1].cell_len + len(BETWEEN) + text.cell_len <= cells:
            lines[-1] = Text(BETWEEN).join((lines[-1], text))
        else:
            lines.append(text)
    return Text("\n").join(lines)


def what_to_type(offered: Sequence[Item]) -> str:
    """Return a menu as the end of a sentence."""
    return "; ".join(f"{item.keys} to {item.does}" for item in offered)


def numbered_hand(hand: Sequence[str], legal: Sequence[Struct], cells: int) -> Text:
    """Return the cards of a hand with their numbers, those that cannot be laid first faintly.

    A hand too large for one row of cards is written instead, so that it leaves room for the rest.
    """
    fitting = {play.cards[0] for play in legal if isinstance(play, Play)}
    unfitting = {at for at, card in enumerate(hand) if card not in fitting}
    if len(hand) * CARD_CELLS <= cells:
        return cards_in_rows(hand, cells, [str(at) for at in range(1, len(hand) + 1)], unfitting)
    each = max(1, cells // WRITTEN_CELLS)
    return Text("\n").join(
        Text().join(
            _written(at, hand[at], faint=at in unfitting) for at in range(row, min(row + each, len(hand)))
        )
        for row in range(0, len(hand), each)
    )


def _written(at: int, card: str, *, faint: bool) -> Text:
    style = f"{card_style(card)}{' dim' if faint else ''}".strip()
    return Text.assemble((f"{at + 1:>3} ", "dim" if faint else "bold"), (f"{card_name(card):<4}", style))


def hand_of(view: Any, seat: int) -> tuple[str, ...]:
    """Return the cards that a view shows in the hand of a seat, none in games without hands."""
    return getattr(view.players[seat], "hand", None) or ()
