"""cards-places: get rid of your cards, and make the others draw.

Each player has five cards; one lies face up. In turn everybody lays a card of the same suit or the same rank on
it, or several of one rank at once, or draws one card. A two makes the next player draw two, a three three, the
black joker five and the red joker ten, unless that player lays a card that passes the penalty on, and then it all
adds up for the one after. A four makes the next player sit out. An ace goes on anything and calls a suit. Who is
down to one card has to say "Macao!"; who forgets may be caught, and draws five. The first without cards has the
first place, and the others play on until one has cards left.

House rules, which mix freely: single cards only; drawing only for those who cannot play; sevens that cancel a
penalty; jokers that go on anything; kings that turn the direction of play; and playing for points, where a deal
ends with the first player out and the cards left in the hands are counted.

The file reads in the order of the game: options, state, which card goes on which, what may be done and why not,
how plays, draws, turns and deals go on, and at the end how each fact changes the state and who may see what.
Clause numbers are those of docs/rules/cards-places.md.
"""

from __future__ import annotations

from functools import cache
from itertools import combinations
from typing import Annotated, Any, Final, Literal, assert_never, get_args

from msgspec import Meta, Struct
from msgspec.structs import replace

from services.contracts.events.cards import (
    Dealt,
    Drew,
    HandCounted,
    Lapsed,
    MacaoCalled,
    MacaoCaught,
    PenaltyCancelled,
    PenaltyStacked,
    PenaltyTaken,
    PileTurned,
    Played,
    SatOut,
    SkipStacked,
    Stalled,
    SuitCalled,
    TurnedUp,
)
from services.contracts.events.match import LotDrawn, PlayerEliminated, RoundEnded, RoundStarted, WentOut
from services.engine.rules.cards import (
    BLACK_JOKER,
    JOKERS,
    PACK,
    RED_JOKER,
    Card,
    Suit,
    colour_of,
    rank_of,
    suit_of,
)
from services.engine.rules.hands import Hand, dealt_one_at_a_time, without, without_all
from services.engine.rules.kernel import (
    AUDITOR,
    Chance,
    Expire,
    Leave,
    Move,
    Over,
    Refusal,
    Rules,
    Story,
    Viewer,
    Waiting,
)
from services.engine.rules.places import clockwise, shared_places
from services.engine.rules.shedding import (
    HAND_SIZE,
    Call,
    Catch,
    Draw,
    Play,
    SitOut,
    Take,
    covered_for,
    points_of,
)

CARDS: Final = (*PACK, BLACK_JOKER, RED_JOKER)
SUITS: Final[tuple[Suit, ...]] = get_args(Suit)
CAUGHT_CARDS: Final = 5
STALL_TURNS_EACH: Final = 60
STALL_TURNS_MIN: Final = 200
FEWEST_TO_TURN: Final = 3
SPECIAL: Final = frozenset(card for card in CARDS if card in JOKERS or rank_of(card) in "234A")
NOBODY: Final = -1


# Options (CP-1.2)


class Options(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How the table plays. The defaults are the rules of record, anything else is a house rule.

    Attributes:
        several_at_once: cards of one rank may be laid in one play (section 5).
        voluntary_draw: who could play may draw all the same (CP-2.3).
        seven_cancels: a fitting seven makes an open penalty void (CP-8.1).
        joker_wild: a joker goes on any card, and any card on a joker (CP-8.2).
        king_reverses: each king turns the direction of play (CP-8.3).
        points_limit: play several deals for points, until somebody has so many; null for one deal for places (CP-8.4).
    """

    several_at_once: bool = True
    voluntary_draw: bool = True
    seven_cancels: bool = False
    joker_wild: bool = False
    king_reverses: bool = False
    points_limit: Annotated[int, Meta(ge=100, le=1000)] | None = None


def check(options: Options, given: frozenset[str], seats: int) -> Refusal | None:
    """Refuse nothing: all options go together (CP-8.8)."""
    del options, given, seats
    return None


# State


class State(Struct, frozen=True, gc=False):
    """A match of cards-places between two facts.

    Attributes:
        hands: per seat; whoever has cards plays, whoever has none is out of play or eliminated.
        places: per seat, 0 for a player who has none yet.
        points: per seat, with ``points_limit``.
        eliminated: the seats that left or ran out of time.
        removed: the cards of eliminated players, which left the game.
        deal: the number of the running deal, 0 before the first.
        first: the seat that began the deal, or will begin the first.
        stock: the draw pile, the next card to draw first.
        pile: the cards played, the top card last.
        step: 1 for clockwise play, -1 for counter-clockwise.
        turn: who must decide next, or `NOBODY` when the deal is over.
        laid_by: who laid the top card.
        suit: the suit called, which the next card has to have, or empty.
        penalty: how many cards the open chain asks for, 0 when none is open.
        skips: how many turns the open fours ask to be sat out, 0 when none are open.
        sitting: per seat, how many turns are still to be sat out.
        called: whether the player on turn has said "Macao!" in advance (CP-6.5).
        silent: the seats that came down to one card without the word, and whose next turn has not started.
        closing: with ``points_limit``, a player is out, and the deal ends as soon as no penalty is open (CP-8.5).
        low: the fewest cards that anybody still in has held since the deal, or since somebody went out (CP-7.4).
        idle: how many turns have passed since without progress; -1 in a turn that has brought it.
    """

    options: Options
    hands: tuple[Hand, ...]
    places: tuple[int, ...]
    points: tuple[int, ...]
    eliminated: tuple[int, ...] = ()
    removed: Hand = ()
    deal: int = 0
    first: int = 0
    stock: Hand = ()
    pile: Hand = ()
    step: Literal[1, -1] = 1
    turn: int = NOBODY
    laid_by: int = NOBODY
    suit: Suit | Literal[""] = ""
    penalty: int = 0
    skips: int = 0
    sitting: tuple[int, ...] = ()
    called: bool = False
    silent: tuple[int, ...] = ()
    closing: bool = False
    low: int = 0
    idle: int = 0

    @property
    def seats(self) -> int:
        """How many seats the match has."""
        return len(self.hands)

    @property
    def top(self) -> Card:
        """The card that the next one has to go on."""
        return self.pile[-1]

    @property
    def still_in(self) -> tuple[int, ...]:
        """The seats that have no place yet."""
        return tuple(seat for seat, place in enumerate(self.places) if not place)

    @property
    def playing(self) -> int:
        """How many players have cards."""
        return sum(map(bool, self.hands))

    @property
    def catchable(self) -> tuple[int, ...]:
        """The seats that others may catch: nobody while a chain is open (CP-6.2, CP-6.3)."""
        return () if self.penalty else self.silent


Event = (
    LotDrawn | RoundStarted | Dealt | TurnedUp | Played | Drew | SuitCalled | PenaltyStacked | PenaltyTaken
    | PenaltyCancelled | SkipStacked | SatOut | Lapsed | PileTurned | MacaoCalled | MacaoCaught | WentOut
    | PlayerEliminated | Stalled | HandCounted | RoundEnded
)  # fmt: skip
Tale = Story[State, Event]
AnyMove = Play | Draw | Take | SitOut | Call | Catch | Leave | Expire


def initial(options: Options, seats: int) -> State:
    """Nothing is dealt yet."""
    return State(options=options, hands=((),) * seats, places=(0,) * seats, points=(0,) * seats)


def start(state: State, chance: Chance) -> tuple[Event, ...]:
    """Draw the first player by lot, and deal (CP-1.3)."""
    story: Tale = Story(state, evolve)
    draw = chance.lot(0, tuple(range(state.seats)))
    story.tell(LotDrawn("starter", draw.result, draw))
    _deal(story, draw.result, chance)
    return story.facts


# Which card goes on which (sections 2, 4 and 8)


def _goes_on(card: Card, top: Card) -> bool:
    """Say whether a card may be laid when nothing is open (CP-2.1, CP-2.2, CP-2.4)."""
    if rank_of(card) == "A" or (card in JOKERS and top in JOKERS):
        return True
    if card in JOKERS or top in JOKERS:
        return colour_of(card) == colour_of(top)
    return suit_of(card) == suit_of(top) or rank_of(card) == rank_of(top)


def _goes_on_suit(card: Card, suit: str) -> bool:
    """Say whether a card may be laid when a suit is called (CP-2.2)."""
    if card in JOKERS:
        return colour_of(card) == ("red" if suit in "DH" else "black")
    return rank_of(card) == "A" or suit_of(card) == suit


def _passes_on(card: Card, top: Card) -> bool:
    """Say whether a card passes on the penalty of the top card (CP-4.1)."""
    return (card in JOKERS or rank_of(card) in "23") and _goes_on(card, top)


def _cancels(card: Card, top: Card) -> bool:
    """Say whether a card makes the penalty of the top card void, where sevens do (CP-8.1)."""
    if rank_of(card) != "7":
        return False
    return colour_of(card) == colour_of(top) if top in JOKERS else suit_of(card) == suit_of(top)


class Fits(Struct, frozen=True):
    """The cards that may be laid, looked up instead of thought out at every turn.

    Attributes:
        on_card: by top card, when nothing is open.
        on_suit: by the suit called.
        in_chain: by top card, when a penalty is open.
    """

    on_card: dict[Card, frozenset[Card]]
    on_suit: dict[str, frozenset[Card]]
    in_chain: dict[Card, frozenset[Card]]


def _fits(*, joker_wild: bool, seven_cancels: bool) -> Fits:
    def wild(card: Card) -> bool:
        return joker_wild and card in JOKERS

    return Fits(
        on_card={
            top: frozenset(card for card in CARDS if wild(card) or wild(top) or _goes_on(card, top))  # CP-8.2
            for top in CARDS
        },
        on_suit={
            suit: frozenset(card for card in CARDS if wild(card) or _goes_on_suit(card, suit))
            for suit in SUITS
        },
        in_chain={
            top: frozenset(
                card
                for card in CARDS
                if wild(card) or _passes_on(card, top) or (seven_cancels and _cancels(card, top))  # CP-8.6
            )
            for top in CARDS
        },
    )


FITS: Final = {
    (joker_wild, seven_cancels): _fits(joker_wild=joker_wild, seven_cancels=seven_cancels)
    for joker_wild in (False, True)
    for seven_cancels in (False, True)
}
PENALTIES: Final = {
    BLACK_JOKER: 5,
    RED_JOKER: 10,
    **{card: int(rank_of(card)) for card in PACK if rank_of(card) in "23"},
}
FOURS: Final = frozenset(card for card in CARDS if rank_of(card) == "4")
RANK_MATES: Final = {
    card: frozenset(mate for mate in PACK if mate != card and rank_of(mate) == rank_of(card))
    for card in CARDS
}


def _fitting(state: State) -> frozenset[Card]:
    """Return the cards that may be laid first now, whoever holds them."""
    if state.skips:
        return FOURS  # CP-3.2, CP-8.6, CP-8.8
    fits = FITS[state.options.joker_wild, state.options.seven_cancels]
    if state.penalty:
        return fits.in_chain[state.pile[-1]]
    if state.suit:
        return fits.on_suit[state.suit]
    return fits.on_card[state.pile[-1]]


# What may be done


def pending(state: State) -> Waiting | Over:
    """Say whose turn it is and who else may call or catch, or how the match ended."""
    if state.turn == NOBODY:
        return Over(_final_places(state))
    if not state.silent:
        return Waiting(state.turn, (state.turn,))
    return Waiting(state.turn, tuple(seat for seat in range(state.seats) if _may_act(state, seat)))


def _may_act(state: State, seat: int) -> bool:
    return (
        seat == state.turn
        or seat in state.silent
        or any(_may_catch(state, seat, other) for other in state.silent)
    )


def _may_catch(state: State, seat: int, offender: int) -> bool:
    """Anybody but the offender may, also without cards, but nobody who was eliminated (CP-6.2, CP-6.3, CP-6.6)."""
    return offender in state.catchable and seat != offender and seat not in state.eliminated


def legal(state: State, seat: int) -> tuple[Move, ...]:
    """Return plays, then draws, then the word, then catches.

    Of several cards laid at once only the first, which has to fit, and the last, which lies on top, make a
    difference beside which cards they are: one order of those between stands for all.
    """
    moves: list[Move] = []
    if seat == state.turn:
        may_call = _add_plays(moves, state)
        if state.skips:
            moves.append(SitOut())
        elif state.penalty:
            moves.append(Take())
        elif state.options.voluntary_draw or not moves:  # CP-2.3
            moves.append(Draw())
        if may_call:
            moves.append(Call())
    if state.silent and state.turn != NOBODY:
        if seat in state.silent:
            moves.append(Call())
        moves += [Catch(offender) for offender in state.silent if _may_catch(state, seat, offender)]
    return tuple(moves)


def _add_plays(moves: list[Move], state: State) -> bool:
    """Add the plays of the player on turn, and say whether one of them leaves one card and may be called (CP-6.5)."""
    may_call = False
    hand = state.hands[state.turn]
    several = state.options.several_at_once
    with_call = 0 if state.called else len(hand) - 1  # a play of so many cards leaves one
    for card in filter(_fitting(state).__contains__, hand):
        alike = () if not several or RANK_MATES[card].isdisjoint(hand) else _rank_mates(card, hand)
        if 0 < with_call <= 1 + len(alike):
            may_call = True
            moves += _plays_beginning_with(card, alike, with_call)
        else:
            moves += _plays_beginning_with(card, alike)
    return may_call


def _rank_mates(card: Card, hand: Hand) -> Hand:
    """Return the other cards of its rank in a hand, always in the same order."""
    return tuple(sorted(RANK_MATES[card].intersection(hand)))


@cache  # there are few answers, and a random player asks for them at every turn
def _plays_beginning_with(card: Card, alike: Hand, with_call: int = 0) -> tuple[Play, ...]:
    """Return the plays of a card alone, and with others of its rank: every choice of these, with each of them last.

    With an ace comes every suit, and a play of ``with_call`` cards comes with the call and without.
    """
    orders: list[Hand] = [(card,)]
    for size in range(1, len(alike) + 1):
        for others in combinations(alike, size):
            orders += [(card, *without(others, last), last) for last in others]
    return tuple(
        Play(cards, suit, macao)
        for cards in orders
        for macao in ((False, True) if len(cards) == with_call else (False,))
        for suit in (SUITS if rank_of(card) == "A" else (None,))
    )


def decide(state: State, seat: int, move: AnyMove, chance: Chance) -> tuple[Event, ...] | Refusal:
    """Carry a move out, with all that follows from it, or say why it cannot be."""
    story = tell(state, seat, move, chance)
    return story.facts if isinstance(story, Story) else story


def tell(state: State, seat: int, move: AnyMove, chance: Chance) -> Tale | Refusal:
    """Tell what follows from a move, or say why it cannot be made."""
    refusal = _refuse(state, seat, move)
    if refusal:
        return refusal
    story: Tale = Story(state, evolve)
    match move:
        case Play():
            _play(story, seat, move, chance)
        case Draw():
            story.tell(Drew(seat, _from_stock(story, 1)))
            _go_on(story, chance)
        case Take():
            story.tell(PenaltyTaken(seat, state.penalty, _from_stock(story, state.penalty)))
            _go_on(story, chance)
        case SitOut():
            story.tell(SatOut(seat, state.skips - 1, accepted=True))  # CP-3.3
            _go_on(story, chance)
        case Call():
            story.tell(MacaoCalled(seat))
        case Catch():
            story.tell(MacaoCaught(move.seat, seat, _from_stock(story, CAUGHT_CARDS)))
        case Leave():
            _eliminate(story, seat, "left", chance)
        case Expire():
            _eliminate(story, seat, "timeout", chance)
        case _:
            assert_never(move)
    return story


# Why not


def _refuse(state: State, seat: int, move: AnyMove) -> Refusal | None:
    if state.turn == NOBODY:
        return Refusal("match-over", "G9")
    if isinstance(move, Play) and seat == state.turn:
        return _refuse_play(state, move)
    if isinstance(move, Draw) and seat == state.turn:
        return _refuse_draw(state)
    if isinstance(move, Catch):
        return _refuse_catch(state, seat, move.seat)
    if state.places[seat]:
        return Refusal("already-out", "G14", {"place": state.places[seat]})
    if isinstance(move, Leave):
        return None
    if isinstance(move, Call):
        return _refuse_call(state, seat)
    if seat != state.turn:
        return Refusal("not-your-turn", "CP-2.1", {"turn": state.turn})
    if isinstance(move, Take) and not state.penalty:
        return Refusal("nothing-to-take", "CP-4.1")
    if isinstance(move, SitOut) and not state.skips:
        return Refusal("nothing-to-sit-out", "CP-2.3")
    return None


def _refuse_play(state: State, move: Play) -> Refusal | None:
    hand = state.hands[state.turn]
    for card in move.cards:
        if card not in hand or move.cards.count(card) > 1:  # there is one of each
            return Refusal("card-not-in-hand", "CP-2.1", {"card": card})
    if not move.cards:
        return Refusal("card-not-in-hand", "CP-2.1")
    first = move.cards[0]
    if len(move.cards) > 1:
        if first in JOKERS:
            return Refusal("cards-not-together", "CP-5.3", {"card": first})
        if not state.options.several_at_once or any(card[0] != first[0] for card in move.cards):
            return Refusal("cards-not-together", "CP-5.1", {"card": move.cards[1]})
    if first not in _fitting(state):
        return Refusal("card-does-not-fit", _why_not(state, first), {"card": first, "top": state.top})
    if first[0] == "A" and move.suit is None:
        return Refusal("suit-missing", "CP-2.5", {"card": first})
    if first[0] != "A" and move.suit is not None:
        return Refusal("suit-not-offered", "CP-2.2", {"card": first})
    if move.macao and (state.called or len(hand) - len(move.cards) != 1):
        return Refusal("call-not-owed", "CP-6.5", {"cards_left": len(hand) - len(move.cards)})
    return None


def _why_not(state: State, card: Card) -> str:
    """Name the clause by which a card does not fit."""
    if state.skips:
        return "CP-3.2"
    if state.penalty:
        if state.options.seven_cancels and rank_of(card) == "7":
            return "CP-8.1"
        return "CP-4.1" if card in JOKERS or rank_of(card) in "23" else "CP-4.4"
    if state.suit:
        return "CP-2.2"
    return "CP-2.4" if card in JOKERS or state.top in JOKERS else "CP-2.1"


def _refuse_draw(state: State) -> Refusal | None:
    if state.skips:
        return Refusal("draw-not-offered", "CP-3.2")
    if state.penalty:
        return Refusal("draw-not-offered", "CP-4.1", {"penalty": state.penalty})
    fitting = _fitting(state)
    if not state.options.voluntary_draw and any(card in fitting for card in state.hands[state.turn]):
        return Refusal("draw-not-offered", "CP-2.3")
    return None


def _refuse_call(state: State, seat: int) -> Refusal | None:
    if seat in state.silent or (seat == state.turn and _add_plays([], state)):
        return None
    return Refusal("call-not-owed", "CP-6.5", {"cards_left": len(state.hands[seat])})


def _refuse_catch(state: State, seat: int, offender: int) -> Refusal | None:
    if seat in state.eliminated:
        return Refusal("already-out", "CP-6.6", {"place": state.places[seat]})
    if _may_catch(state, seat, offender):
        return None
    if seat == offender:
        return Refusal("not-catchable", "CP-6.2", {"seat": offender})
    return Refusal("not-catchable", "CP-6.3" if offender in state.silent else "CP-6.4", {"seat": offender})


# A turn


def _play(story: Tale, seat: int, move: Play, chance: Chance) -> None:
    """Lay cards, and say with them what there is to say."""
    before = story.state
    story.tell(Played(seat, move.cards, _new_direction(before, move.cards)))
    if not before.closing:  # CP-8.5: nobody answers the answer
        _take_effect(story, seat, move.cards, move.suit)
    if move.macao:
        story.tell(MacaoCalled(seat))
    state = story.state
    if not state.hands[seat] and not state.options.points_limit:
        best_free = state.seats - len(state.still_in) - len(state.eliminated) + 1
        story.tell(WentOut(seat, best_free))  # CP-7.1
    _go_on(story, chance)


def _take_effect(story: Tale, seat: int, cards: Hand, suit: Suit | None) -> None:
    """Let special cards do what they do, all of them together (CP-3.1, CP-3.2, CP-5.2)."""
    state = story.state
    each = PENALTIES.get(cards[0])
    if each:
        added = each * len(cards)
        story.tell(PenaltyStacked(seat, added, state.penalty + added))
    elif state.penalty:
        story.tell(PenaltyCancelled(seat, state.penalty))  # CP-8.1: nothing but a seven comes here
    elif cards[0] in FOURS:
        story.tell(SkipStacked(seat, len(cards), state.skips + len(cards)))
    elif suit:
        story.tell(SuitCalled(seat, suit))  # CP-2.5


def _new_direction(state: State, cards: Hand) -> Literal["clockwise", "counter-clockwise"] | None:
    """Each king turns the direction, as long as more than two are in before the play (CP-8.3, CP-8.7)."""
    if not state.options.king_reverses or rank_of(cards[0]) != "K":
        return None
    if len(cards) % 2 == 0 or state.playing < FEWEST_TO_TURN:
        return None
    return "counter-clockwise" if state.step == 1 else "clockwise"


def _from_stock(story: Tale, wanted: int) -> Hand:
    """Return the cards to be drawn; where the stock does not suffice the pile is turned first (CP-7.3, CP-7.7)."""
    if wanted > len(story.state.stock) and len(story.state.pile) > 1:
        story.tell(PileTurned(story.state.pile[:-1]))
    return story.state.stock[:wanted]


def _go_on(story: Tale, chance: Chance) -> None:
    """End the deal where it is over, else let the turn come to a player who has one (CP-3.3, CP-3.4)."""
    state = story.state
    if state.places.count(0) == 1 or (state.closing and not state.penalty):
        _end_deal(story, chance)  # CP-7.2, CP-8.5
        return
    while True:
        state = story.state
        if state.idle >= STALL_TURNS_MIN and state.idle >= STALL_TURNS_EACH * state.playing:
            story.tell(Stalled(state.idle))  # CP-7.4
            _end_deal(story, chance)
            return
        if not state.sitting[state.turn]:
            break
        story.tell(SatOut(state.turn, state.sitting[state.turn] - 1, accepted=False))
    if state.turn == state.laid_by and (state.penalty or state.skips):
        story.tell(Lapsed(state.turn, state.penalty, state.skips))  # CP-3.4


def _eliminate(story: Tale, seat: int, reason: Literal["left", "timeout"], chance: Chance) -> None:
    """Give the player the last place still open; what the player faced lapses (G7, CP-7.5, CP-7.6)."""
    before = story.state
    story.tell(PlayerEliminated(seat, reason, before.seats - len(before.eliminated)))
    if seat == before.turn and (before.penalty or before.skips):
        story.tell(Lapsed(seat, before.penalty, before.skips))
    _go_on(story, chance)


# Deals (CP-1.3, CP-8.4, CP-8.5), and the end


def _deal(story: Tale, first: int, chance: Chance) -> None:
    """Give everybody still in five cards, and turn up the first that is neither 2, 3, 4, ace nor joker (CP-1.3)."""
    state = story.state
    order = tuple(seat for seat in clockwise(state.seats, first) if not state.places[seat])
    story.tell(RoundStarted(state.deal + 1, "round", order))
    draw = chance.shuffle(state.deal + 1, CARDS)
    story.tell(Dealt(draw, dealt_one_at_a_time(draw.result, order, HAND_SIZE, state.seats)))
    story.tell(TurnedUp(next(card for card in story.state.stock if card not in SPECIAL)))


def _end_deal(story: Tale, chance: Chance) -> None:
    """End the match with its only deal, or when one player is left; for points, count hands and deal again."""
    state = story.state
    limit = state.options.points_limit
    if limit is None or len(state.still_in) == 1:
        winners = tuple(seat for seat, place in enumerate(_final_places(state)) if place == 1)
        story.tell(RoundEnded(state.deal, winners))
        return
    for seat in state.still_in:
        if state.hands[seat]:
            points = points_of(state.hands[seat])
            story.tell(HandCounted(seat, state.hands[seat], points, state.points[seat] + points))  # CP-8.4
    story.tell(RoundEnded(state.deal, tuple(seat for seat in state.still_in if not state.hands[seat])))
    if max(story.state.points[seat] for seat in state.still_in) < limit:
        _deal(story, _first_of_next_deal(state), chance)


def _first_of_next_deal(state: State) -> int:
    """Return the player to the left of who began this deal (CP-8.5)."""
    return next(seat for seat in clockwise(state.seats, state.first + 1) if not state.places[seat])


def _final_places(state: State) -> tuple[int, ...]:
    """Those without a place share what is open by cards left, or by points (CP-7.2, CP-7.4, CP-8.4)."""
    if state.options.points_limit:
        results = {seat: -state.points[seat] for seat in state.still_in}
    else:
        results = {seat: -len(state.hands[seat]) for seat in state.still_in}
    open_places = shared_places(results, first=state.seats - len(results) - len(state.eliminated) + 1)
    return tuple(place or open_places[seat] for seat, place in enumerate(state.places))


# How each fact changes the state


def evolve(state: State, event: Event) -> State:
    """Return the state after a fact. What happens often is asked for first."""
    match event:
        case Played():
            return _played(state, event)
        case Drew():
            return _drawn_and_passed(state, event, state.penalty)
        case PenaltyStacked():
            return replace(state, penalty=event.total)
        case PenaltyTaken():
            return _drawn_and_passed(state, event, 0)
        case SuitCalled():
            return replace(state, suit=event.suit)
        case MacaoCalled():
            if event.seat in state.silent:
                return replace(state, silent=_seats_without(state.silent, event.seat))
            return replace(state, called=True)
        case MacaoCaught():
            caught = _drawn(state, event.seat, event.cards)
            return replace(caught, silent=_seats_without(state.silent, event.seat))
        case SkipStacked():
            return replace(state, skips=event.total)
        case SatOut():
            sitting = _with(state.sitting, event.seat, event.turns_left)
            return _turn_passes(replace(state, sitting=sitting, skips=0 if event.accepted else state.skips))
        case PileTurned():
            return replace(state, stock=state.stock + event.cards, pile=state.pile[-1:])
        case WentOut():
            return _low_anew(replace(state, places=_with(state.places, event.seat, event.place), idle=0))
        case PenaltyCancelled():
            return replace(state, penalty=0)
        case Lapsed():
            return replace(state, penalty=0, skips=0)
        case PlayerEliminated():
            out = _low_anew(_eliminated(state, event))
            return _turn_passes(out) if event.seat == state.turn else out
        case LotDrawn():
            return replace(state, first=event.seat)
        case RoundStarted():
            return replace(
                state,
                deal=event.round, first=event.order[0], turn=event.order[0], step=1, laid_by=NOBODY,
                suit="", penalty=0, skips=0, sitting=(0,) * state.seats, called=False, silent=(), closing=False,
                removed=(), idle=0,
            )  # fmt: skip
        case Dealt():
            rest = event.draw.result[sum(map(len, event.hands)) :]
            return _low_anew(replace(state, hands=event.hands, stock=rest, pile=()))
        case TurnedUp():
            return replace(state, stock=without(state.stock, event.card), pile=(event.card,))
        case HandCounted():
            return replace(state, points=_with(state.points, event.seat, event.total))
        case RoundEnded():
            return replace(state, turn=NOBODY, called=False, silent=())
        case Stalled():
            return state
        case _:
            assert_never(event)


def _played(state: State, event: Played) -> State:
    """The cards lie on the pile, and the turn passes; of all facts the most frequent, so it is all one change."""
    hand = without_all(state.hands[event.seat], event.cards)
    hands = _with(state.hands, event.seat, hand)
    step = state.step if event.direction is None else 1 if event.direction == "clockwise" else -1
    turn = _next_turn(hands, state.turn, step)
    silent = state.silent
    if len(hand) == 1 and not state.called:
        silent = (*silent, event.seat)
    new_low = len(hand) < state.low
    return replace(
        state,
        hands=hands,
        pile=state.pile + event.cards,
        laid_by=event.seat,
        suit="",
        step=step,
        turn=turn,
        called=False,
        silent=_seats_without(silent, turn) if silent else (),
        penalty=0 if state.closing else state.penalty,
        closing=state.closing or (state.options.points_limit is not None and not hand),
        low=len(hand) if new_low else state.low,
        idle=0 if new_low else state.idle + 1,
    )


def _drawn(state: State, seat: int, cards: Hand) -> State:
    """The cards come from the top of the stock; a reader who may not know them counts them."""
    hands = _with(state.hands, seat, state.hands[seat] + cards)
    return replace(state, hands=hands, stock=state.stock[len(cards) :])


def _drawn_and_passed(state: State, event: Drew | PenaltyTaken, penalty: int) -> State:
    """The cards come from the stock, and the turn ends: all one change, as it happens often."""
    hands = _with(state.hands, event.seat, state.hands[event.seat] + event.cards)
    turn = _next_turn(hands, state.turn, state.step)
    return replace(
        state,
        hands=hands,
        stock=state.stock[len(event.cards) :],
        penalty=penalty,
        turn=turn,
        called=False,
        silent=_seats_without(state.silent, turn) if state.silent else (),
        idle=state.idle + 1,
    )


def _eliminated(state: State, event: PlayerEliminated) -> State:
    """The cards leave the game (CP-7.5)."""
    return replace(
        state,
        places=_with(state.places, event.seat, event.place),
        eliminated=(*state.eliminated, event.seat),
        removed=state.removed + state.hands[event.seat],
        hands=_with(state.hands, event.seat, ()),
        silent=_seats_without(state.silent, event.seat),
        sitting=_with(state.sitting, event.seat, 0),
        idle=-1,
    )


def _low_anew(state: State) -> State:
    """With a deal, a going out or an elimination the fewest cards that anybody holds are counted anew (CP-7.4)."""
    return replace(state, low=min((len(hand) for hand in state.hands if hand), default=0))


def _turn_passes(state: State) -> State:
    """The turn ends and the next player's starts (CP-2.1), who can no longer be caught (CP-6.2)."""
    turn = _next_turn(state.hands, state.turn, state.step)
    silent = _seats_without(state.silent, turn) if state.silent else ()
    return replace(state, turn=turn, called=False, silent=silent, idle=state.idle + 1)


def _next_turn(hands: tuple[Hand, ...], turn: int, step: int) -> int:
    """Return the next seat that has cards, in the direction of play."""
    for _ in hands:
        turn = (turn + step) % len(hands)
        if hands[turn]:
            break
    return turn


def _with(values: tuple[Any, ...], seat: int, value: Any) -> tuple[Any, ...]:
    changed = list(values)
    changed[seat] = value
    return tuple(changed)


def _seats_without(seats: tuple[int, ...], seat: int) -> tuple[int, ...]:
    return tuple(other for other in seats if other != seat)


# Who may see what (G5)


class PlayerView(Struct, frozen=True):
    """One player at the table.

    Attributes:
        cards: how many cards the player holds.
        hand: which, for the player and after the end, else None.
        points: what was counted against the player in the deals so far, with ``points_limit``.
        turns_to_sit_out: how many of the player's turns will still pass without a choice.
        catchable: whether the player may be caught now.
        owes_call: whether the player is down to one card, has not called, and still may.
        place: the final place, or None for a player who has none yet.
    """

    seat: int
    cards: int
    hand: tuple[Card, ...] | None
    points: int
    turns_to_sit_out: int
    catchable: bool
    owes_call: bool
    place: int | None


class View(Struct, frozen=True, tag_field="game", tag="cards-places"):
    """A match of cards-places as a viewer sees it.

    Attributes:
        deal: the number of the deal.
        turn: who must decide next, or None after the end.
        called: whether the player on turn has said "Macao!" in advance.
        pile: the cards played and not drawn again, the top card last.
        stock: how many cards can be drawn before the pile is turned.
        stock_cards: which, the next to draw first, after the end, else None.
        suit: the suit called, which the next card has to have, or None.
        penalty: how many cards the open chain asks for.
        skips: how many turns the open fours ask to be sat out.
        idle_turns: the turns since the last progress (CP-7.4).
    """

    deal: int
    turn: int | None
    called: bool
    direction: Literal["clockwise", "counter-clockwise"]
    pile: tuple[Card, ...]
    stock: int
    stock_cards: tuple[Card, ...] | None
    suit: Suit | None
    penalty: int
    skips: int
    idle_turns: int
    players: tuple[PlayerView, ...]


def observe(state: State, viewer: Viewer) -> View:
    """Show the table, and of the hands the viewer's own."""
    knows_all = viewer == AUDITOR
    return View(
        deal=state.deal,
        turn=None if state.turn == NOBODY else state.turn,
        called=state.called,
        direction="clockwise" if state.step == 1 else "counter-clockwise",
        pile=state.pile,
        stock=len(state.stock),
        stock_cards=state.stock if knows_all else None,
        suit=state.suit or None,
        penalty=state.penalty,
        skips=state.skips,
        idle_turns=max(state.idle, 0),
        players=tuple(
            PlayerView(
                seat=seat,
                cards=len(hand),
                hand=hand if knows_all or seat == viewer else None,
                points=state.points[seat],
                turns_to_sit_out=state.sitting[seat] if state.sitting else 0,
                catchable=seat in state.catchable,
                owes_call=seat in state.silent,
                place=state.places[seat] or None,
            )
            for seat, hand in enumerate(state.hands)
        ),
    )


def redact(event: Event, viewer: Viewer) -> Event:
    """Show the fact, with the cards face down that the viewer may not know."""
    match event:
        case Dealt() | Drew() | PenaltyTaken() | MacaoCaught() | HandCounted():
            return covered_for(event, viewer)
        case (
            LotDrawn() | RoundStarted() | TurnedUp() | Played() | SuitCalled() | PenaltyStacked() | PenaltyCancelled()
            | SkipStacked() | SatOut() | Lapsed() | PileTurned() | MacaoCalled() | WentOut() | PlayerEliminated()
            | Stalled() | RoundEnded()
        ):  # fmt: skip
            return event
        case _:
            assert_never(event)


CARDS_PLACES = Rules(
    name="cards-places",
    version=1,
    title="Macao for places",
    seats_min=2,
    seats_max=6,
    options=Options,
    options_clause="CP-1.2",
    moves=Play | Draw | Take | SitOut | Call | Catch | Leave,
    check=check,
    initial=initial,
    start=start,
    pending=pending,
    legal=legal,
    decide=decide,
    evolve=evolve,
    story=tell,
    observe=observe,
    redact=redact,
    turn_seconds=30,  # G10
    house_rules=lambda options: options != Options(),  # CP-1.2
)
