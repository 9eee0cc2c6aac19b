"""The rest of a deal of cards-points, played by a plain and quick policy with all cards known.

The policy lays what it can: common cards first, the dear ones before the cheap, then penalty cards, nines and aces.
When the next player is nearly out it lays a penalty card if one fits, and when anybody is, whatever costs most. It
answers penalties, draws only for want of a fitting card, and lays the card drawn if it fits.

A hand has two bits for each kind, since every card exists twice: kind ``k`` is at bits ``2k`` and ``2k + 1``.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Final

from msgspec import Struct

from services.engine.bots.shedding_deck import NO_SUIT, deck_of, fullest_suit
from services.engine.rules.cards import PACK, SUITS, Card
from services.engine.rules.games.cards_points import ON_CARD, ON_SUIT, ON_UNPAID, PENALTIES
from services.engine.rules.shedding import POINTS

ORDER: Final[tuple[Card, ...]] = (
    *(rank + suit for rank in "45678TJQK" for suit in SUITS if rank + suit != "KH"),
    *(rank + suit for rank in "23" for suit in SUITS),
    "KH",
    *(rank + suit for rank in "9A" for suit in SUITS),
)
COPIES: Final = 2
DECK: Final = deck_of(ORDER, COPIES, ON_CARD, tuple(ON_SUIT.values()), ON_UNPAID)
NEARLY_OUT: Final = 2
WORTH_ATTACKING: Final = 3
"""From so few cards on a penalty is a better use of a card than any other."""
TURNS_EACH_MAX: Final = 14
"""Longer playouts say little more: the hands as they are by then are counted."""


def both(kinds: int) -> int:
    """Return the bits of both copies of these kinds."""
    return sum(3 << 2 * kind for kind in range(len(ORDER)) if kinds >> kind & 1)


_ON_CARD: Final = tuple(both(fits) for fits in DECK.on_card)
_ON_SUIT: Final = tuple(both(fits) for fits in DECK.on_suit)
_ON_UNPAID: Final = tuple(both(fits) for fits in DECK.in_chain)
_OF_SUIT: Final = tuple(both(fits) for fits in DECK.of_suit)
_ACES: Final = both(DECK.mask("A" + suit for suit in SUITS))
_ATTACKS: Final = both(DECK.mask(PENALTIES))
_COMMON: Final = both(DECK.mask(card for card in PACK if card[0] in "45678TJQK" and card != "KH"))
_PENALTY: Final = tuple(PENALTIES.get(card, 0) for card in ORDER)
_WORTH: Final = tuple(
    (points, both(DECK.mask(card for card in PACK if POINTS[card] == points)))
    for points in sorted({POINTS[card] for card in PACK})
)


class Lay(Struct, frozen=True):
    """The first step of a playout: the kind laid, or None for drawing, taking or passing."""

    kind: int | None = None
    suit: int = NO_SUIT


class Position(Struct):
    """A position with all cards known. In ``stock`` the next card to draw is the last.

    Attributes:
        drew: whether the player on turn has drawn.
        answering: somebody is out, and this turn answers the penalty and ends the deal (PT-6.1).
    """

    hands: list[int]
    stock: list[int]
    pile: list[int]
    turn: int
    suit: int
    penalty: int
    drew: bool
    answering: bool


def hand_of(kinds: Iterable[int]) -> int:
    """Return a hand of these kinds, of which some may come twice."""
    hand = 0
    for kind in kinds:
        bit = 1 << 2 * kind
        hand |= bit << 1 if hand & bit else bit
    return hand


def points_in(hand: int) -> int:
    """Return what a hand costs (PT-6.2)."""
    return sum(points * (hand & cards).bit_count() for points, cards in _WORTH)


def hands_after(start: Position, playing: tuple[int, ...], first: Lay) -> list[int]:  # noqa: PLR0912 - one hot loop
    """Play on from ``first`` and return the hands at the end of the deal.

    Args:
        start: left as it is.
        playing: the seats still in.
        first: what the seat on turn does first.
    """
    hands, stock, pile = start.hands.copy(), start.stock.copy(), start.pile.copy()
    turn, suit, penalty, drew = start.turn, start.suit, start.penalty, start.drew
    after = _after(playing)
    forced: Lay | None = first
    for _ in range(TURNS_EACH_MAX * len(playing)):
        hand = hands[turn]
        called = NO_SUIT
        if forced is not None:
            bit = 0
            if forced.kind is not None:
                bit = hand & 3 << 2 * forced.kind
                bit &= -bit
                called = forced.suit
            forced = None
        else:
            if penalty:
                fitting = hand & _ON_UNPAID[pile[-1]]
            elif suit >= 0:
                fitting = hand & _ON_SUIT[suit]
            else:
                fitting = hand & _ON_CARD[pile[-1]]
            bit = _chosen(hands, playing, turn, after[turn], fitting, penalty)
            if bit & _ACES:
                called = fullest_suit(_OF_SUIT, hand ^ bit)
        if bit:
            hand ^= bit
            hands[turn] = hand
            kind = bit.bit_length() - 1 >> 1
            pile.append(kind)
            suit = called
            if start.answering:
                return hands
            penalty += _PENALTY[kind]
            if not hand:
                if penalty:
                    _answer(hands, stock, pile, after[turn], penalty)
                return hands
        elif penalty:
            _draw(hands, stock, pile, turn, penalty)
            if start.answering:
                return hands
            penalty = 0
        elif not drew:
            _draw(hands, stock, pile, turn, 1)
            drew = True
            continue
        drew = False
        turn = after[turn]
    return hands


@cache
def _after(playing: tuple[int, ...]) -> dict[int, int]:
    return {seat: playing[(at + 1) % len(playing)] for at, seat in enumerate(playing)}


def favourite(start: Position, playing: tuple[int, ...]) -> Lay:
    """Return what the policy does first; of the hands of others it looks at their number of cards only."""
    turn = start.turn
    hand = start.hands[turn]
    bit = _chosen(start.hands, playing, turn, _after(playing)[turn], hand & _fitting(start), start.penalty)
    if not bit:
        return Lay()
    suit = fullest_suit(_OF_SUIT, hand ^ bit) if bit & _ACES else NO_SUIT
    return Lay(bit.bit_length() - 1 >> 1, suit)


def _fitting(start: Position) -> int:
    if start.penalty:
        return _ON_UNPAID[start.pile[-1]]
    return _ON_SUIT[start.suit] if start.suit >= 0 else _ON_CARD[start.pile[-1]]


def _chosen(
    hands: list[int], playing: tuple[int, ...], turn: int, following: int, fitting: int, penalty: int
) -> int:
    """Return the card to lay of those that fit, as its bit, or 0 where none does."""
    if penalty or not fitting:
        return fitting & -fitting
    attacks = fitting & _ATTACKS
    if attacks and hands[following].bit_count() <= WORTH_ATTACKING:
        return 1 << attacks.bit_length() - 1
    common = fitting & _COMMON
    if common != fitting:
        for seat in playing:
            if seat != turn and hands[seat].bit_count() <= NEARLY_OUT:
                return 1 << fitting.bit_length() - 1
    if common:
        return 1 << common.bit_length() - 1
    return 1 << fitting.bit_length() - 1 if hands[turn].bit_count() <= NEARLY_OUT else fitting & -fitting


def _answer(hands: list[int], stock: list[int], pile: list[int], turn: int, penalty: int) -> None:
    """Let the next player answer the last card of the deal, or take its penalty (PT-6.1)."""
    fitting = hands[turn] & _ON_UNPAID[pile[-1]]
    if fitting:
        hands[turn] ^= fitting & -fitting
    else:
        _draw(hands, stock, pile, turn, penalty)


def _draw(hands: list[int], stock: list[int], pile: list[int], turn: int, count: int) -> None:
    hand = hands[turn]
    for _ in range(count):
        if not stock:
            stock.extend(pile[:-1])  # in some order: a playout has had its share of chance in the deal
            del pile[:-1]
            if not stock:
                break
        bit = 1 << 2 * stock.pop()
        hand |= bit << 1 if hand & bit else bit
    hands[turn] = hand
