"""The rest of a deal of cards-places, played by a plain and quick policy with all cards known.

The policy lays what it can: common cards first, then twos and threes, fours, jokers and aces, all of a rank together.
It answers penalties and fours, and turns to its heaviest card when the next player is nearly out.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from msgspec import Struct

from services.engine.bots.shedding_deck import NO_SUIT, Deck, deck_of, fullest_suit
from services.engine.rules.cards import BLACK_JOKER, JOKERS, RED_JOKER, SUITS, rank_of
from services.engine.rules.games.cards_places import FITS, PENALTIES, Options
from services.engine.rules.shedding import POINTS

ORDER: Final = (
    *(rank + suit for rank in "56789TJQK23" for suit in SUITS),
    *("4" + suit for suit in SUITS),
    BLACK_JOKER,
    RED_JOKER,
    *("A" + suit for suit in SUITS),
)
NEARLY_OUT: Final = 2
TURNS_EACH_MAX: Final = 14
"""Longer playouts say little more: who has fewer cards by then is ahead."""
FEWEST_TO_TURN: Final = 3


class Policy(Struct, frozen=True):
    """What the playouts look up: the deck under a table's options, and the cards by what they do."""

    deck: Deck
    several: bool
    kings: int
    penalty: tuple[int, ...]
    fours: int
    aces: int
    attacks: int
    points: tuple[int, ...]
    for_points: bool


class Lay(Struct, frozen=True):
    """The first step of a playout: the kinds laid and the one on top, or nothing, which draws or sits out."""

    kinds: int = 0
    top: int = 0
    suit: int = NO_SUIT


class Position(Struct):
    """A position with all cards known. In ``stock`` the next card to draw is the last."""

    hands: list[int]
    stock: list[int]
    pile: list[int]
    turn: int
    step: int
    suit: int
    penalty: int
    skips: int
    sitting: list[int]
    laid_by: int


@cache
def policy_for(options: Options) -> Policy:
    """Return the policy for a table's options."""
    fits = FITS[options.joker_wild, options.seven_cancels]
    deck = deck_of(ORDER, 1, fits.on_card, tuple(fits.on_suit.values()), fits.in_chain)

    def of_rank(ranks: str) -> int:
        return deck.mask(card for card in ORDER if card not in JOKERS and rank_of(card) in ranks)

    return Policy(
        deck=deck,
        several=options.several_at_once,
        kings=of_rank("K") if options.king_reverses else 0,
        penalty=tuple(PENALTIES.get(card, 0) for card in ORDER),
        fours=of_rank("4"),
        aces=of_rank("A"),
        attacks=of_rank("234") | deck.mask(JOKERS),
        points=tuple(POINTS[card] for card in ORDER),
        for_points=options.points_limit is not None,
    )


def value_of(policy: Policy, start: Position, seat: int, first: Lay) -> float:  # noqa: C901, PLR0912, PLR0915 - one hot loop
    """Play on from ``first`` and return how well the seat does: 1 for the first of the places left, 0 for the last.

    Played for points it is what the others lose on the average, less what the seat loses.
    """
    hands, stock, pile = start.hands.copy(), start.stock.copy(), start.pile.copy()
    turn, step, suit, penalty, skips = start.turn, start.step, start.suit, start.penalty, start.skips
    sitting, laid_by = start.sitting.copy(), start.laid_by
    seats = len(hands)
    playing = players = sum(map(bool, hands))
    forced: Lay | None = first
    for _ in range(TURNS_EACH_MAX * players):
        hand = hands[turn]
        following = (turn + step) % seats
        while not hands[following]:
            following = (following + step) % seats
        if forced is not None:
            kinds, top, called = forced.kinds, forced.top, forced.suit
            forced = None
        elif sitting[turn]:
            sitting[turn] -= 1
            turn = following
            continue
        else:
            if turn == laid_by:
                penalty = skips = 0
            fitting = hand & _fitting(policy, pile[-1], suit, penalty, skips)
            kinds, top, called = _chosen(policy, hand, fitting, hands[following], penalty)
        if kinds:
            hand &= ~kinds
            hands[turn] = hand
            laid = kinds & ~(1 << top)
            while laid:
                low = laid & -laid
                pile.append(low.bit_length() - 1)
                laid ^= low
            pile.append(top)
            laid_by, suit = turn, called
            each = policy.penalty[top]
            if each:
                penalty += each * kinds.bit_count()
            elif penalty:
                penalty = 0
            elif kinds & policy.fours:
                skips += kinds.bit_count()
            elif kinds & policy.kings and kinds.bit_count() & 1 and playing >= FEWEST_TO_TURN:
                step = -step
                following = (turn + step) % seats
                while not hands[following]:
                    following = (following + step) % seats
            if not hand:
                playing -= 1
                if policy.for_points:
                    _draw(hands, stock, pile, following, penalty)
                    return _ahead(policy, hands, seat)
                if turn == seat or playing == 1:
                    place = players - playing if turn == seat else players
                    return (players - place) / (players - 1)
        elif skips:
            sitting[turn] = skips - 1
            skips = 0
        else:
            _draw(hands, stock, pile, turn, penalty or 1)
            penalty = 0
        turn = following
    return _ahead(policy, hands, seat) if policy.for_points else _estimate(hands, seat, players)


def favourite(policy: Policy, start: Position) -> Lay:
    """Return what the policy does first; of the hands of others it looks at their number of cards only."""
    following = (start.turn + start.step) % len(start.hands)
    while not start.hands[following]:
        following = (following + start.step) % len(start.hands)
    hand = start.hands[start.turn]
    fitting = hand & _fitting(policy, start.pile[-1], start.suit, start.penalty, start.skips)
    return Lay(*_chosen(policy, hand, fitting, start.hands[following], start.penalty))


def _fitting(policy: Policy, top: int, suit: int, penalty: int, skips: int) -> int:
    if skips:
        return policy.fours
    if penalty:
        return policy.deck.in_chain[top]
    return policy.deck.on_suit[suit] if suit >= 0 else policy.deck.on_card[top]


def _chosen(policy: Policy, hand: int, fitting: int, next_hand: int, penalty: int) -> tuple[int, int, int]:
    """Return the kinds to lay, the one on top, and the suit called; no kinds where none fits."""
    if not fitting:
        return 0, 0, NO_SUIT
    attacks = fitting & policy.attacks
    if attacks and not penalty and next_hand.bit_count() <= NEARLY_OUT:
        first = attacks.bit_length() - 1
    else:
        first = (fitting & -fitting).bit_length() - 1
    kinds = 1 << first
    if kinds & policy.aces:
        return kinds, first, fullest_suit(policy.deck.of_suit, hand & ~kinds)
    mates = hand & policy.deck.mates[first] if policy.several else kinds
    return (kinds, first, NO_SUIT) if mates == kinds else (mates, (mates & ~kinds).bit_length() - 1, NO_SUIT)


def _draw(hands: list[int], stock: list[int], pile: list[int], turn: int, count: int) -> None:
    for _ in range(count):
        if not stock:
            stock.extend(pile[-2::-1])  # CP-7.3
            del pile[:-1]
            if not stock:
                return
        hands[turn] |= 1 << stock.pop()


def _estimate(hands: list[int], seat: int, players: int) -> float:
    """Place a seat that still has cards by how many others have fewer."""
    own = hands[seat].bit_count()
    others = [hand.bit_count() for at, hand in enumerate(hands) if hand and at != seat]
    behind = sum((count > own) + (count == own) / 2 for count in others)
    return behind / (players - 1)


def _ahead(policy: Policy, hands: list[int], seat: int) -> float:
    lost = [sum(points for kind, points in enumerate(policy.points) if hand >> kind & 1) for hand in hands]
    return (sum(lost) - lost[seat]) / max(1, len(hands) - 1) - lost[seat]
