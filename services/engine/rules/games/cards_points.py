"""cards-points: two packs, and every card left in hand costs.

Each player has five cards; one lies face up. In turn everybody lays a card of the same suit or the same rank on
it, or draws one and then lays or passes. A nine goes on anything and brings its suit, an ace goes on anything and
names a suit. A two makes the next player draw two, a three three, the king of hearts five, unless that player lays
another of the same rank, and then it all adds up for the one after. Who is down to one card says "Macao"; who
forgets it until the next player has moved draws two. When somebody has laid the last card the deal is over, and
the others lose points for what they hold. Deals follow until somebody has lost too many.

One thing can be played in another way: the word may belong to the last card instead of the last but one. Who
lays it in silence is then not out.

The file reads in the order of the game: options, state, which card goes on which, what may be done and why not,
how plays, turns and deals go on, and at the end how each fact changes the state and who may see what. Clause
numbers are those of docs/rules/cards-points.md.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, assert_never, get_args

from msgspec import Meta, Struct
from msgspec.structs import replace

from services.contracts.events.cards import (
    Dealt,
    Drew,
    HandCounted,
    Lapsed,
    MacaoCalled,
    MacaoFined,
    Passed,
    PenaltyStacked,
    PenaltyTaken,
    PileShuffled,
    Played,
    Stalled,
    SuitCalled,
    TurnedUp,
)
from services.contracts.events.match import LotDrawn, PlayerEliminated, RoundEnded, RoundStarted
from services.engine.rules.cards import PACK, Card, Suit, rank_of, suit_of
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
from services.engine.rules.shedding import HAND_SIZE, Call, Draw, Pass, Play, Take, covered_for, points_of

CARDS: Final = PACK + PACK
SUITS: Final[tuple[Suit, ...]] = get_args(Suit)
FINE_CARDS: Final = 2
STALL_TURNS_EACH: Final = 200
NOBODY: Final = -1


# Options (PT-1.2)


class Options(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How the table plays.

    Attributes:
        loss_limit: the match ends when a player has lost so many points.
        macao_call: the word belongs to the play that leaves one card, or to the last card (section 5).
    """

    loss_limit: Annotated[int, Meta(ge=200, le=1000)] = 500
    macao_call: Literal["one_left", "last_card"] = "one_left"


def check(options: Options, given: frozenset[str], seats: int) -> Refusal | None:
    """Refuse nothing: the options go together."""
    del options, given, seats
    return None


# State


class State(Struct, frozen=True, gc=False):
    """A match of cards-points between two facts.

    Attributes:
        hands: per seat, the card held longest first.
        places: per seat, 0 for a player who is still in.
        losses: per seat, the points lost in the deals so far.
        deal: the number of the running deal, 0 before the first.
        dealer: the seat that deals.
        stock: what can be drawn, the next card first.
        pile: the open pile, the top card last.
        turn: who must decide next, or `NOBODY` when the deal is over.
        suit: the suit named, which the next card has to match, or empty.
        penalty: how many cards the unpaid penalty cards ask for, 0 when the top card is paid or none.
        drawn: how many cards the player on turn has drawn in it, 0 where there were none, or None before that.
        silent: who owes the word, or `NOBODY`.
        out: who has laid the last card, the word said where it is needed: the deal ends when no penalty is open.
        turns: how many turns have been taken in the deal.
        barren: in how many of the last turns, without a break, nothing was drawn and then passed.
    """

    options: Options
    hands: tuple[Hand, ...]
    places: tuple[int, ...]
    losses: tuple[int, ...]
    deal: int = 0
    dealer: int = 0
    stock: Hand = ()
    pile: Hand = ()
    turn: int = NOBODY
    suit: Suit | Literal[""] = ""
    penalty: int = 0
    drawn: int | None = None
    silent: int = NOBODY
    out: tuple[int, ...] = ()
    turns: int = 0
    barren: int = 0

    @property
    def seats(self) -> int:
        """How many seats the match has."""
        return len(self.hands)

    @property
    def top(self) -> Card:
        """The card that the next one has to match."""
        return self.pile[-1]

    @property
    def still_in(self) -> tuple[int, ...]:
        """The seats that have no place yet."""
        return tuple(seat for seat, place in enumerate(self.places) if not place)

    @property
    def cards_with_the_word(self) -> int:
        """How many cards a play leaves that needs the word (PT-5.1)."""
        return 1 if self.options.macao_call == "one_left" else 0


Event = (
    LotDrawn | RoundStarted | Dealt | TurnedUp | Played | Drew | Passed | SuitCalled | PenaltyStacked | PenaltyTaken
    | Lapsed | PileShuffled | MacaoCalled | MacaoFined | PlayerEliminated | Stalled | HandCounted | RoundEnded
)  # fmt: skip
Tale = Story[State, Event]
AnyMove = Play | Draw | Take | Pass | Call | Leave | Expire


def initial(options: Options, seats: int) -> State:
    """Nothing is dealt yet."""
    return State(options=options, hands=((),) * seats, places=(0,) * seats, losses=(0,) * seats)


def start(state: State, chance: Chance) -> tuple[Event, ...]:
    """Draw the first dealer by lot, and deal (PT-1.3)."""
    story = Tale(state, evolve)
    draw = chance.lot(0, tuple(range(state.seats)))
    story.tell(LotDrawn("dealer", draw.result, draw))
    _deal(story, draw.result, chance)
    return story.facts


# Which card goes on which (sections 2 and 3)


def _matches(card: Card, top: Card) -> bool:
    """Say whether a card may be laid on a top card that is no unpaid penalty card, and named no suit."""
    if rank_of(card) in "A9":
        return True  # PT-2.2
    if card == "KH":
        return suit_of(top) == "H"  # PT-3.1
    return suit_of(card) == suit_of(top) or rank_of(card) == rank_of(top)


def _answers(card: Card, top: Card) -> bool:
    """Say whether a card may be laid on an unpaid penalty card (PT-3.2)."""
    return card == "KH" if top == "KH" else rank_of(card) == rank_of(top)


ON_CARD: Final = {top: frozenset(card for card in PACK if _matches(card, top)) for top in PACK}
ON_SUIT: Final = {
    suit: frozenset(card for card in PACK if suit_of(card) == suit or rank_of(card) in "A9") for suit in SUITS
}
ON_UNPAID: Final = {top: frozenset(card for card in PACK if _answers(card, top)) for top in PACK}
PENALTIES: Final = {
    card: {"2": 2, "3": 3, "K": 5}[card[0]] for card in PACK if card[0] in "23" or card == "KH"
}


def _fitting(state: State) -> frozenset[Card]:
    """Return the cards that may be laid now, whoever holds them."""
    if state.penalty:
        return ON_UNPAID[state.pile[-1]]
    if state.suit:
        return ON_SUIT[state.suit]
    return ON_CARD[state.pile[-1]]


# What may be done


def pending(state: State) -> Waiting | Over:
    """Say whose turn it is and who still may say the word, or how the match ended."""
    if state.turn == NOBODY:
        return Over(_final_places(state))
    if state.silent == NOBODY:
        return Waiting(state.turn, (state.turn,))
    return Waiting(state.turn, tuple(sorted((state.turn, state.silent))))


def legal(state: State, seat: int) -> tuple[Move, ...]:
    """Return plays, then drawing, taking or passing, then the word; of two alike cards one play stands for both."""
    moves: list[Move] = []
    if seat == state.turn:
        fitting = _fitting(state)
        hand = state.hands[seat]
        needs_word = not state.out and len(hand) - 1 == state.cards_with_the_word
        for card in dict.fromkeys(hand):
            if card in fitting:
                plays = [Play((card,), suit) for suit in SUITS] if card[0] == "A" else [Play((card,))]
                moves += plays
                if needs_word:
                    moves += [Play(play.cards, play.suit, macao=True) for play in plays]
        if state.penalty:
            moves.append(Take())  # PT-3.3
        else:
            moves.append(Draw() if state.drawn is None else Pass())  # PT-2.3, PT-2.4
    elif seat == state.silent:
        moves.append(Call())
    return tuple(moves)


def decide(state: State, seat: int, move: AnyMove, chance: Chance) -> tuple[Event, ...] | Refusal:
    """Carry a move out, with all that follows from it, or say why it cannot be."""
    refusal = _refuse(state, seat, move)
    if refusal:
        return refusal
    story = Tale(state, evolve)
    match move:
        case Play():
            _fine(story, chance)
            _play(story, seat, move)
        case Draw():
            _fine(story, chance)
            story.tell(Drew(seat, _from_stock(story, 1, chance)))
        case Take():
            _fine(story, chance)
            story.tell(PenaltyTaken(seat, state.penalty, _from_stock(story, state.penalty, chance)))
        case Pass():
            story.tell(Passed(seat))
        case Call():
            story.tell(MacaoCalled(seat))
        case Leave():
            _eliminate(story, seat, "left")
        case Expire():
            _eliminate(story, seat, "timeout")
        case _:
            assert_never(move)
    _go_on(story, chance)
    return story.facts


# Why not


def _refuse(state: State, seat: int, move: AnyMove) -> Refusal | None:
    if state.turn == NOBODY:
        return Refusal("match-over", "G9")
    if state.places[seat]:
        return Refusal("already-out", "G14", {"place": state.places[seat]})
    if isinstance(move, Leave):
        return None
    if isinstance(move, Call):
        return None if seat == state.silent else Refusal("call-not-owed", "PT-5.3")
    if seat != state.turn:
        return Refusal("not-your-turn", "PT-2.1", {"turn": state.turn})
    if isinstance(move, Play):
        return _refuse_play(state, move)
    if isinstance(move, Draw) and state.penalty:
        return Refusal("draw-not-offered", "PT-3.4", {"penalty": state.penalty})
    if isinstance(move, Draw) and state.drawn is not None:
        return Refusal("already-drew", "PT-2.3")
    if isinstance(move, Take) and not state.penalty:
        return Refusal("nothing-to-take", "PT-3.3")
    if isinstance(move, Pass) and state.drawn is None:
        return Refusal("must-draw-first", "PT-2.4")
    return None


def _refuse_play(state: State, move: Play) -> Refusal | None:
    hand = state.hands[state.turn]
    for card in move.cards:
        if move.cards.count(card) > hand.count(card):
            return Refusal("card-not-in-hand", "PT-2.1", {"card": card})
    if len(move.cards) != 1:
        return Refusal("cards-not-together", "PT-2.1", {"cards": len(move.cards)})
    (card,) = move.cards
    if card not in _fitting(state):
        return Refusal("card-does-not-fit", _why_not(state, card), {"card": card, "top": state.top})
    if card[0] == "A" and move.suit is None:
        return Refusal("suit-missing", "PT-2.5", {"card": card})
    if card[0] != "A" and move.suit is not None:
        return Refusal("suit-not-offered", "PT-2.2", {"card": card})
    if move.macao and state.out:
        return Refusal("call-not-owed", "PT-6.5")
    if move.macao and len(hand) - 1 != state.cards_with_the_word:
        return Refusal("call-not-owed", "PT-5.3", {"cards_left": len(hand) - 1})
    return None


def _why_not(state: State, card: Card) -> str:
    """Name the clause by which a card does not fit."""
    if state.penalty:
        return "PT-3.2"
    if state.suit:
        return "PT-2.2"
    return "PT-3.1" if card == "KH" and rank_of(state.top) == "K" else "PT-2.1"


# A turn


def _fine(story: Tale, chance: Chance) -> None:
    """Let who did not say the word draw two, just before another's move takes effect (PT-5.2, PT-5.3)."""
    if story.state.silent != NOBODY:
        story.tell(MacaoFined(story.state.silent, _from_stock(story, FINE_CARDS, chance)))


def _play(story: Tale, seat: int, move: Play) -> None:
    """Lay a card, and say with it what there is to say."""
    (card,) = move.cards
    is_answer = bool(story.state.out)
    story.tell(Played(seat, move.cards))
    if card in PENALTIES and not is_answer:  # PT-6.5
        story.tell(PenaltyStacked(seat, PENALTIES[card], story.state.penalty + PENALTIES[card]))
    if move.suit:
        story.tell(SuitCalled(seat, move.suit))
    if move.macao:
        story.tell(MacaoCalled(seat))


def _from_stock(story: Tale, wanted: int, chance: Chance) -> Hand:
    """Return the cards to be drawn; where the stock does not suffice the pile is shuffled first (PT-4.1, PT-4.2)."""
    state = story.state
    if wanted > len(state.stock) and len(state.pile) > 1:
        story.tell(PileShuffled(chance.shuffle(state.deal, state.pile[:-1])))
    return story.state.stock[:wanted]


def _eliminate(story: Tale, seat: int, reason: Literal["left", "timeout"]) -> None:
    """Give the player the last place; an unpaid penalty that the player faced counts as paid (G7, PT-6.4)."""
    before = story.state
    story.tell(PlayerEliminated(seat, reason, len(before.still_in)))
    if seat == before.turn and before.penalty:
        story.tell(Lapsed(seat, before.penalty, 0))


def _go_on(story: Tale, chance: Chance) -> None:
    """See whether the deal, or the match, is over."""
    state = story.state
    players = state.places.count(0)
    if players == 1:
        story.tell(RoundEnded(state.deal, state.still_in))  # G9, PT-6.7
    elif state.out:
        if not state.penalty:  # PT-6.1
            _end_deal(story, chance)
    elif state.turns >= STALL_TURNS_EACH * players or state.barren >= players:
        story.tell(Stalled(state.turns))  # PT-6.6
        _end_deal(story, chance)


# Deals, and the end


def _deal(story: Tale, dealer: int, chance: Chance) -> None:
    """Give everybody still in five cards, the dealer's left neighbour first, and turn up the next (PT-1.3)."""
    state = story.state
    order = tuple(seat for seat in clockwise(state.seats, dealer + 1) if not state.places[seat])
    story.tell(RoundStarted(state.deal + 1, "round", order))
    draw = chance.shuffle(state.deal + 1, CARDS)
    story.tell(Dealt(draw, dealt_one_at_a_time(draw.result, order, HAND_SIZE, state.seats)))
    story.tell(TurnedUp(story.state.stock[0]))


def _end_deal(story: Tale, chance: Chance) -> None:
    """Count the cards left, and deal again unless somebody has lost the limit (PT-6.2, PT-6.3)."""
    state = story.state
    for seat in state.still_in:
        if state.hands[seat]:
            points = points_of(state.hands[seat])
            story.tell(HandCounted(seat, state.hands[seat], points, state.losses[seat] + points))
    story.tell(RoundEnded(state.deal, tuple(seat for seat in state.still_in if seat in state.out)))
    if max(story.state.losses[seat] for seat in state.still_in) < state.options.loss_limit:
        dealer = next(seat for seat in clockwise(state.seats, state.dealer + 1) if not state.places[seat])
        _deal(story, dealer, chance)  # PT-1.4


def _final_places(state: State) -> tuple[int, ...]:
    """Those still in come first, by losses (PT-6.3); the others have their places."""
    places = shared_places({seat: -state.losses[seat] for seat in state.still_in})
    return tuple(place or places[seat] for seat, place in enumerate(state.places))


# How each fact changes the state


def evolve(state: State, event: Event) -> State:
    """Return the state after a fact."""
    match event:
        case Played():
            return _played(state, event)
        case Drew():
            return replace(
                state,
                hands=_with(state.hands, event.seat, state.hands[event.seat] + event.cards),
                stock=state.stock[len(event.cards) :],
                drawn=len(event.cards),
            )
        case Passed():
            barren = state.barren + 1 if state.drawn == 0 else 0
            return replace(_turn_passes(state), barren=barren)
        case PenaltyStacked():
            return replace(state, penalty=event.total)
        case PenaltyTaken():
            return _turn_passes(replace(_drawn(state, event.seat, event.cards), penalty=0))
        case SuitCalled():
            return replace(state, suit=event.suit)
        case MacaoCalled():
            out = state.out if state.hands[event.seat] else (*state.out, event.seat)  # PT-5.4
            return replace(state, silent=NOBODY, out=out)
        case MacaoFined():
            return replace(_drawn(state, event.seat, event.cards), silent=NOBODY)
        case PileShuffled():
            return replace(state, stock=state.stock + event.draw.result, pile=state.pile[-1:])
        case Lapsed():
            return replace(state, penalty=0)
        case PlayerEliminated():
            return _eliminated(state, event)
        case LotDrawn():
            return replace(state, dealer=event.seat)
        case RoundStarted():
            return replace(
                state,
                deal=event.round, dealer=event.order[-1], turn=event.order[0], suit="", penalty=0, drawn=None,
                silent=NOBODY, out=(), turns=0, barren=0,
            )  # fmt: skip
        case Dealt():
            rest = event.draw.result[sum(map(len, event.hands)) :]
            return replace(state, hands=event.hands, stock=rest, pile=())
        case TurnedUp():
            return replace(state, stock=without(state.stock, event.card), pile=(event.card,))
        case HandCounted():
            return replace(state, losses=_with(state.losses, event.seat, event.total))
        case RoundEnded():
            return replace(state, turn=NOBODY, silent=NOBODY)
        case Stalled():
            return state
        case _:
            assert_never(event)


def _played(state: State, event: Played) -> State:
    """The cards lie on the pile, and the turn passes; of all facts the most frequent, so it is all one change."""
    hand = without_all(state.hands[event.seat], event.cards)
    needs_word = not state.out and len(hand) == state.cards_with_the_word
    laid_last = not hand and not needs_word
    return replace(
        state,
        hands=_with(state.hands, event.seat, hand),
        pile=state.pile + event.cards,
        suit="",
        penalty=0 if state.out else state.penalty,  # PT-6.5
        silent=event.seat if needs_word else NOBODY,
        out=(*state.out, event.seat) if laid_last else state.out,
        turn=_next_turn(state),
        drawn=None,
        turns=state.turns + 1,
        barren=0,
    )


def _drawn(state: State, seat: int, cards: Hand) -> State:
    """The cards come from the top of the stock; a reader who may not know them counts them."""
    hands = _with(state.hands, seat, state.hands[seat] + cards)
    return replace(state, hands=hands, stock=state.stock[len(cards) :])


def _eliminated(state: State, event: PlayerEliminated) -> State:
    """The cards go under the stock (PT-6.4); the turn, if it was this player's, does not count (PT-6.6)."""
    seat = event.seat
    out = replace(
        state,
        places=_with(state.places, seat, event.place),
        stock=state.stock + state.hands[seat],
        hands=_with(state.hands, seat, ()),
        silent=NOBODY if state.silent == seat else state.silent,
        barren=0,
    )
    return replace(_turn_passes(out), turns=state.turns) if seat == state.turn else out


def _turn_passes(state: State) -> State:
    """The turn ends, and that of the next player still in starts."""
    return replace(state, turn=_next_turn(state), drawn=None, turns=state.turns + 1, barren=0)


def _next_turn(state: State) -> int:
    """Return the next seat that is still in."""
    turn, places = state.turn, state.places
    for _ in places:
        turn = (turn + 1) % len(places)
        if not places[turn]:
            break
    return turn


def _with(values: tuple[Any, ...], seat: int, value: Any) -> tuple[Any, ...]:
    changed = list(values)
    changed[seat] = value
    return tuple(changed)


# Who may see what (G5)


class PlayerView(Struct, frozen=True):
    """One player at the table.

    Attributes:
        cards: how many cards the player holds.
        hand: which, for the player and after the end, else None.
        losses: the points lost in the deals so far.
        owes_call: whether the player has still to say "Macao", before another player moves.
        place: the final place, or None for a player who is still in.
    """

    seat: int
    cards: int
    hand: tuple[Card, ...] | None
    losses: int
    owes_call: bool
    place: int | None


class View(Struct, frozen=True, tag_field="game", tag="cards-points"):
    """A match of cards-points as a viewer sees it.

    Attributes:
        deal: the number of the deal.
        dealer: the seat that deals.
        turn: who must decide next, or None after the end.
        drew: whether the player on turn has drawn in it.
        pile: the open pile, the top card last.
        stock: how many cards can be drawn before the pile is shuffled.
        stock_cards: which, the next to draw first, after the end, else None.
        suit: the suit named, which the next card has to match, or None.
        penalty: how many cards the unpaid penalty cards ask for.
        out: who has laid the last card, while the answer to it is awaited (PT-6.1).
        turns: how many turns have been taken in the deal.
    """

    deal: int
    dealer: int
    turn: int | None
    drew: bool
    pile: tuple[Card, ...]
    stock: int
    stock_cards: tuple[Card, ...] | None
    suit: Suit | None
    penalty: int
    out: tuple[int, ...]
    turns: int
    players: tuple[PlayerView, ...]


def observe(state: State, viewer: Viewer) -> View:
    """Show the table, and of the hands the viewer's own."""
    knows_all = viewer == AUDITOR
    return View(
        deal=state.deal,
        dealer=state.dealer,
        turn=None if state.turn == NOBODY else state.turn,
        drew=state.drawn is not None,
        pile=state.pile,
        stock=len(state.stock),
        stock_cards=state.stock if knows_all else None,
        suit=state.suit or None,
        penalty=state.penalty,
        out=state.out,
        turns=state.turns,
        players=tuple(
            PlayerView(
                seat=seat,
                cards=len(hand),
                hand=hand if knows_all or seat == viewer else None,
                losses=state.losses[seat],
                owes_call=seat == state.silent,
                place=state.places[seat] or None,
            )
            for seat, hand in enumerate(state.hands)
        ),
    )


def redact(event: Event, viewer: Viewer) -> Event:
    """Show the fact, with the cards face down that the viewer may not know."""
    match event:
        case Dealt() | Drew() | PenaltyTaken() | MacaoFined() | HandCounted() | PileShuffled():
            return covered_for(event, viewer)
        case (
            LotDrawn() | RoundStarted() | TurnedUp() | Played() | Passed() | SuitCalled() | PenaltyStacked() | Lapsed()
            | MacaoCalled() | PlayerEliminated() | Stalled() | RoundEnded()
        ):  # fmt: skip
            return event
        case _:
            assert_never(event)


CARDS_POINTS = Rules(
    name="cards-points",
    version=1,
    title="Macao for points",
    seats_min=2,
    seats_max=5,
    options=Options,
    options_clause="PT-1.2",
    moves=Play | Draw | Take | Pass | Call | Leave,
    check=check,
    initial=initial,
    start=start,
    pending=pending,
    legal=legal,
    decide=decide,
    evolve=evolve,
    observe=observe,
    redact=redact,
)
