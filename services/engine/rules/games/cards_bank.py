"""cards-bank: one card, and at most one more, as near to nine as you dare, against the bank.

One player holds the bank, all others lay a stake against it, each on their own. Everybody gets one card face
down. Numbers count what they say, the ace one, ten and court cards nothing. A first card of seven, eight or nine
is a natural: shown at once, and worth one, two or three stakes. If the bank has one too, the higher wins its worth
and equal ones cancel, and the coup is over; otherwise naturals are paid and the others play on. Each stands or
asks for one card, face up; above nine the player busts, shows the first card, and the bank takes the stake.
Then the bank stands or draws, in sight of the cards on the table, and totals are compared: it pays one stake to the
higher, takes the lower, and equal ones cancel. A bank above nine pays everybody left.

The bank goes round, or stays with one player. It has to guarantee what it may lose, three times every stake.

The file reads in the order of the game: options, state, what may be done, how a coup and the match go on, and at the
end how each fact changes the state and who may see what. Stakes and the bank, which dice-bank has as well, are
in ``banking``. Clause numbers are those of docs/rules/cards-bank.md.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal, assert_never

from msgspec import Meta, Struct
from msgspec.structs import replace

from services.contracts.events.bank import (
    BankPassed,
    FirstCardDealt,
    FirstCardKept,
    FirstCardShown,
    PacksShuffled,
    RoundSatOut,
    SecondCardDrawn,
    StakeReturned,
    StakeTaken,
)
from services.contracts.events.chips import Paid, Staked
from services.contracts.events.dice import Busted
from services.contracts.events.match import LotDrawn, PlayerEliminated, RoundEnded, RoundStarted, WentOut
from services.engine.rules import banking
from services.engine.rules.banking import Ledger, Stake, Terms
from services.engine.rules.cards import HIDDEN, PACK, Card, rank_of
from services.engine.rules.hands import covered
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

AIM: Final = 9
COUNT: Final = dict(zip("A23456789TJQK", (1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 0, 0, 0), strict=True))
"""What a card counts, by rank (CB-1.2)."""
NATURALS: Final = {"7": 1, "8": 2, "9": 3}
"""How many stakes a first card is worth, by rank (CB-3.2)."""
MOST_OWED: Final = max(NATURALS.values())
"""How many stakes either side can come to owe on one (CB-2.2)."""
CARDS_EACH: Final = 2
COUPS_PER_SEAT: Final = 2


# Options (CB-1.3)


class Options(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How the table plays.

    Attributes:
        decks: how many packs of 52; they must give every seat two cards.
        bank: whether the bank passes to the left after each coup, or stays.
        first_bank: the seat that holds the bank first, or ``lot``.
        starting_chips: what everybody begins with.
        min_stake: the smallest stake.
        max_stake: the largest stake; equal to the smallest it is fixed, and laid without a command.
        points: balances on paper instead of chips: without limits, and nobody goes out.
        coups: how many coups are played; null for twice as many as there are seats.
    """

    decks: Annotated[int, Meta(ge=1, le=8)] = 1
    bank: Literal["rotates", "stays"] = "rotates"
    first_bank: Literal["lot"] | Annotated[int, Meta(ge=0)] = "lot"
    starting_chips: Annotated[int, Meta(ge=1, le=100_000)] = 60
    min_stake: Annotated[int, Meta(ge=1, le=1000)] = 1
    max_stake: Annotated[int, Meta(ge=1, le=1000)] = 5
    points: bool = False
    coups: Annotated[int, Meta(ge=1, le=1000)] | None = None


def check(options: Options, given: frozenset[str], seats: int) -> Refusal | None:
    """Refuse options that do not go together (G11, CB-1.3, CB-1.5)."""

    def refused(option: str, reason: str, clause: str = "CB-1.3") -> Refusal:
        return Refusal("options-invalid", clause, {"option": option, "reason": reason})

    if options.min_stake > options.max_stake:
        return refused("min_stake", "no more than max_stake")
    if isinstance(options.first_bank, int) and options.first_bank >= seats:
        return refused("first_bank", f"the table has the seats 0 to {seats - 1}")
    if len(PACK) * options.decks < CARDS_EACH * seats:
        return refused("decks", "too few to give every seat two cards")
    least = MOST_OWED * options.min_stake
    if not options.points and options.starting_chips < least:
        option = "starting_chips" if "starting_chips" in given else "min_stake"
        return refused(option, f"a coup needs {least} starting_chips", "CB-1.5")
    return None


# State


class Held(Struct, frozen=True):
    """The cards in front of one seat.

    Attributes:
        first: the first card, ``??`` where it is not known, None before the deal and for who got none.
        shown: whether the first card lies face up.
        second: the one further card, which lies face up.
    """

    first: Card | None = None
    shown: bool = False
    second: Card | None = None

    @property
    def natural(self) -> int:
        """How many stakes the first card is worth, 0 if it is no natural (CB-3.2)."""
        return NATURALS.get(rank_of(self.first), 0) if self.first else 0

    @property
    def total(self) -> int:
        """What the cards count together."""
        return sum(COUNT[rank_of(card)] for card in (self.first, self.second) if card)


class State(Struct, frozen=True):
    """A match of cards-bank between two facts.

    Attributes:
        ledger: chips, stakes and the bank.
        round: the number of the running or last coup, 0 before the first.
        stock: the shuffled cards of the coup, all of them; ``??`` where they are not known.
        given: how many cards of the stock have been given out.
        held: per seat, the cards in front of it.
        to_act: who has a card and is still to decide about another, and last the bank.
    """

    options: Options
    ledger: Ledger
    held: tuple[Held, ...]
    round: int = 0
    stock: tuple[Card, ...] = ()
    given: int = 0
    to_act: tuple[int, ...] = ()

    @property
    def chips(self) -> tuple[int, ...]:
        """Per seat, without what is staked."""
        return self.ledger.chips

    @property
    def stakes(self) -> tuple[int, ...]:
        """Per seat, what lies on the table."""
        return self.ledger.stakes

    @property
    def coups(self) -> int:
        """How many coups the match has (CB-4.1)."""
        return self.options.coups or COUPS_PER_SEAT * self.ledger.seats


Event = (
    LotDrawn | RoundStarted | PacksShuffled | Staked | RoundSatOut | FirstCardDealt | FirstCardShown | FirstCardKept
    | SecondCardDrawn | Busted | Paid | StakeTaken | StakeReturned | RoundEnded | WentOut | BankPassed
    | PlayerEliminated
)  # fmt: skip

Tale = Story[State, Event]


def initial(options: Options, seats: int) -> State:
    """Nobody has staked, and everybody has the starting chips."""
    terms = Terms(
        min=options.min_stake,
        max=options.max_stake,
        bank_owes=MOST_OWED,
        player_owes=MOST_OWED,
        limits=not options.points,
    )
    bank = options.first_bank if isinstance(options.first_bank, int) else 0
    return State(options, banking.opened(terms, seats, options.starting_chips, bank), held=(Held(),) * seats)


def start(state: State, chance: Chance) -> tuple[Event, ...]:
    """Choose the first bank (CB-1.3) and begin the first coup."""
    story = Tale(state, evolve)
    if state.options.first_bank == "lot":
        draw = chance.lot(0, tuple(range(state.ledger.seats)))
        story.tell(LotDrawn("bank", draw.result, draw))
    _begin_coup(story, story.state.ledger.bank, chance)
    _go_on(story, chance)
    return story.facts


# What may be done


class Ask(Move, frozen=True, tag="ask"):
    """Take one more card."""


class Stand(Move, frozen=True, tag="stand"):
    """Keep the one card."""


def pending(state: State) -> Waiting | Over:
    """Say whose turn it is, or how the match ended: when a coup was over and no other began."""
    if state.ledger.settled:
        return Over(banking.final_places(state.ledger))
    turn = (state.ledger.to_stake or state.to_act)[0]
    return Waiting(turn, (turn,))


def legal(state: State, seat: int) -> tuple[Struct, ...]:
    """Laying a stake, and later asking or standing, for the player on turn."""
    waiting = pending(state)
    if isinstance(waiting, Over) or waiting.turn != seat:
        return ()
    if state.ledger.to_stake:
        return banking.stake_range(state.ledger)
    return Ask(), Stand()


def decide(
    state: State, seat: int, move: Stake | Ask | Stand | Leave | Expire, chance: Chance
) -> tuple[Event, ...] | Refusal:
    """Carry a move out, with all that follows from it, or say why it cannot be."""
    refusal = _refuse(state, seat, move)
    if refusal:
        return refusal
    story = Tale(state, evolve)
    match move:
        case Stake():
            story.tell(Staked(seat, move.amount))
        case Ask():
            _draw(story, seat)
        case Stand():
            story.tell(FirstCardKept(seat))
        case Leave():
            story.tell(*banking.eliminated(state.ledger, seat, "left"))
        case Expire():
            story.tell(*banking.eliminated(state.ledger, seat, "timeout"))
        case _:
            assert_never(move)
    _go_on(story, chance)
    return story.facts


def _refuse(state: State, seat: int, move: Stake | Ask | Stand | Leave | Expire) -> Refusal | None:
    waiting = pending(state)
    if isinstance(waiting, Over):
        return Refusal("match-over", "G9")
    if state.ledger.places[seat]:
        return Refusal("already-out", "G14", {"place": state.ledger.places[seat]})
    if isinstance(move, Leave):
        return None
    if seat != waiting.turn:
        return Refusal("not-your-turn", "CB-2.1", {"turn": waiting.turn})
    laying = bool(state.ledger.to_stake)
    match move:
        case Stake() if laying:
            return banking.refuse_stake(
                state.ledger, move.amount, options="CB-1.3", own="CB-2.2", cover="CB-2.2"
            )
        case Stake():
            return Refusal("move-not-offered", "CB-2.1")
        case Ask() | Stand() if laying:
            return Refusal("move-not-offered", "CB-2.1")
        case _:
            return None


# The coup (section 3)


def _begin_coup(story: Tale, bank: int, chance: Chance) -> None:
    """All packs are shuffled before the stakes are laid (CB-1.4)."""
    coup = story.state.round + 1
    story.tell(RoundStarted(coup, "round", banking.round_order(story.state.ledger, bank)))
    story.tell(PacksShuffled(chance.shuffle(coup, PACK * story.state.options.decks)))


def _go_on(story: Tale, chance: Chance) -> None:
    """Let all happen that takes no command, until somebody has to decide or the match is over.

    A coup is over when its stakes are settled. That can be by naturals (CB-3.3, CB-3.4), when nobody is left for
    the bank (CB-3.6), and, by an elimination, at any time (CB-3.10).
    """
    while True:
        story.tell(*banking.stakes_without_command(story.state.ledger))
        if story.state.ledger.to_stake:
            return
        if not story.state.ledger.settled and not story.state.given:
            _deal(story)
        if not story.state.ledger.settled and not story.state.to_act:
            _compare(story)
        if not story.state.ledger.settled:
            return
        story.tell(RoundEnded(story.state.round, story.state.ledger.paid))
        out = banking.going_out(story.state.ledger)
        story.tell(*out)
        bank_is_out = any(fact.seat == story.state.ledger.bank for fact in out)
        if bank_is_out and story.state.options.bank == "stays":
            return  # CB-2.3
        if not _next_coup_begins(story, chance):
            return


def _deal(story: Tale) -> None:
    """One card each, face down, from the bank's left, the bank last; naturals are shown (CB-3.1, CB-3.2, CB-3.9)."""
    order = (*story.state.ledger.staked, story.state.ledger.bank)
    for seat in order:
        story.tell(FirstCardDealt(seat, _top(story.state)))
    held = story.state.held
    story.tell(*(_shown(story.state, seat) for seat in order if held[seat].natural))
    if held[order[-1]].natural:
        _settle_with_natural_of_bank(story)
    else:
        for seat in order:
            if held[seat].natural:
                story.tell(*banking.bank_pays(story.state.ledger, seat, held[seat].natural))  # CB-3.4


def _settle_with_natural_of_bank(story: Tale) -> None:
    """The higher natural wins its own worth, equal ones cancel (CB-3.3)."""
    ledger, held = story.state.ledger, story.state.held
    of_bank = held[ledger.bank].natural
    for seat in ledger.staked:
        own = held[seat].natural
        if own > of_bank:
            story.tell(*banking.bank_pays(ledger, seat, own))
        elif own == of_bank:
            story.tell(StakeReturned(seat, ledger.stakes[seat]))
        else:
            story.tell(banking.bank_takes(ledger, seat, of_bank))


def _draw(story: Tale, seat: int) -> None:
    """One card and no more, face up; above nine is a bust, which shows the first card (CB-3.5, CB-3.6)."""
    story.tell(SecondCardDrawn(seat, _top(story.state)))
    if story.state.held[seat].total <= AIM:
        return
    story.tell(_shown(story.state, seat), Busted(seat))
    ledger = story.state.ledger
    if seat != ledger.bank:
        story.tell(banking.bank_takes(ledger, seat))
    else:
        for player in ledger.staked:
            story.tell(*banking.bank_pays(ledger, player, 1))


def _compare(story: Tale) -> None:
    """First cards are shown; the bank pays the higher, takes the lower, and equal ones cancel (CB-3.7, CB-3.8)."""
    ledger, held = story.state.ledger, story.state.held
    story.tell(*(_shown(story.state, seat) for seat in (*ledger.staked, ledger.bank)))
    of_bank = held[ledger.bank].total
    for seat in ledger.staked:
        own = held[seat].total
        if own > of_bank:
            story.tell(*banking.bank_pays(ledger, seat, 1))
        elif own == of_bank:
            story.tell(StakeReturned(seat, ledger.stakes[seat]))
        else:
            story.tell(banking.bank_takes(ledger, seat))


def _top(state: State) -> Card:
    return state.stock[state.given]


def _shown(state: State, seat: int) -> FirstCardShown:
    return FirstCardShown(seat, state.held[seat].first or HIDDEN)


# Eliminations are in `banking.eliminated`; between two coups, and the end (section 4)


def _next_coup_begins(story: Tale, chance: Chance) -> bool:
    """Pass the bank on, where it does not stay, and begin a coup, unless the match is over (CB-4.1)."""
    ledger = story.state.ledger
    if len(ledger.still_in) < 2 or story.state.round >= story.state.coups:  # noqa: PLR2004 - one left, or none
        return False
    bank = ledger.bank
    if (
        story.state.options.bank == "rotates" or ledger.places[bank]
    ):  # CB-3.10: also one that stays, if eliminated
        bank = banking.left_of(ledger, bank)
        story.tell(BankPassed(bank))
    _begin_coup(story, bank, chance)
    return True


# How each fact changes the state


def evolve(state: State, event: Event) -> State:
    """Return the state after a fact; the cards in it may be hidden. What happens often is asked for first."""
    match event:
        case FirstCardDealt():
            return replace(
                state,
                held=_put(state.held, event.seat, Held(event.card)),
                given=state.given + 1,
                to_act=(*state.to_act, event.seat),
            )
        case FirstCardShown():
            held = state.held[event.seat]
            return replace(
                state,
                held=_put(state.held, event.seat, replace(held, first=event.card, shown=True)),
                to_act=_without(state.to_act, event.seat),
            )
        case (
            Staked()
            | StakeReturned()
            | StakeTaken()
            | Paid()
            | BankPassed()
            | LotDrawn()
            | RoundSatOut()
            | WentOut()
        ):
            return replace(state, ledger=banking.evolve(state.ledger, event))
        case FirstCardKept():
            return replace(state, to_act=_without(state.to_act, event.seat))
        case SecondCardDrawn():
            held = state.held[event.seat]
            return replace(
                state,
                held=_put(state.held, event.seat, replace(held, second=event.card)),
                given=state.given + 1,
                to_act=_without(state.to_act, event.seat),
            )
        case RoundStarted():
            return replace(
                state,
                ledger=banking.evolve(state.ledger, event),
                round=event.round,
                held=(Held(),) * state.ledger.seats,
                stock=(),
                given=0,
                to_act=(),
            )
        case PacksShuffled():
            return replace(state, stock=event.draw.result)
        case RoundEnded():
            return replace(state, ledger=banking.evolve(state.ledger, event), to_act=())
        case Busted():
            return state
        case PlayerEliminated():
            return replace(
                state,
                ledger=banking.evolve(state.ledger, event),
                to_act=_without(state.to_act, event.seat),
            )
        case _:
            assert_never(event)


def _put(held: tuple[Held, ...], seat: int, cards: Held) -> tuple[Held, ...]:
    changed = list(held)
    changed[seat] = cards
    return tuple(changed)


def _without(seats: tuple[int, ...], seat: int) -> tuple[int, ...]:
    return tuple(other for other in seats if other != seat)


# Who may see what: first cards lie face down until they are shown, and nobody knows the stock


class PlayerView(Struct, frozen=True):
    """One player at the table.

    Attributes:
        chips: without the stake.
        stake: what lies on the table, 0 for the bank, and for who is not in the coup or no longer.
        first: the first card, ``??`` for one that lies face down before somebody else, None for none.
        shown: whether it lies face up.
        second: the one further card, which everybody sees, None for none.
        total: what the cards count, None where the first is not to be seen.
        place: the final place, or None for a player who is still in.
    """

    seat: int
    chips: int
    stake: int
    first: Card | None
    shown: bool
    second: Card | None
    total: int | None
    place: int | None


class View(Struct, frozen=True, tag_field="game", tag="cards-bank"):
    """A match of cards-bank as one viewer sees it.

    Attributes:
        coup: the running or last coup.
        coups: how many there are in all.
        bank: who holds the bank.
        stock: how many cards have not been given out in the coup.
        to_stake: who is still to lay a stake, in turn.
        to_act: who has a card and is still to decide, in turn, and last the bank.
    """

    coup: int
    coups: int
    bank: int
    stock: int
    to_stake: tuple[int, ...]
    to_act: tuple[int, ...]
    players: tuple[PlayerView, ...]


def observe(state: State, viewer: Viewer) -> View:
    """Show the table; a first card that lies face down only to its holder."""
    ledger = state.ledger
    return View(
        coup=state.round,
        coups=state.coups,
        bank=ledger.bank,
        stock=len(state.stock) - state.given,
        to_stake=ledger.to_stake,
        to_act=state.to_act,
        players=tuple(_player(state, seat, viewer) for seat in range(ledger.seats)),
    )


def _player(state: State, seat: int, viewer: Viewer) -> PlayerView:
    ledger, held = state.ledger, state.held[seat]
    known = held.first is not None and (held.shown or viewer in (seat, AUDITOR))
    return PlayerView(
        seat=seat,
        chips=ledger.chips[seat],
        stake=ledger.stakes[seat],
        first=held.first if known or held.first is None else HIDDEN,
        shown=held.shown,
        second=held.second,
        total=held.total if known else None,
        place=ledger.places[seat] or None,
    )


def redact(event: Event, viewer: Viewer) -> Event:
    """Show the fact; the shuffle to nobody before the end, and a first card that is dealt to its holder."""
    if viewer == AUDITOR:
        return event
    match event:
        case PacksShuffled():
            face_down = covered(event.draw.cards)
            return replace(event, draw=replace(event.draw, cards=face_down, result=face_down))
        case FirstCardDealt() if event.seat != viewer:
            return replace(event, card=HIDDEN)
        case _:
            return event


CARDS_BANK = Rules(
    name="cards-bank",
    version=1,
    title="Macao with cards against the bank",
    seats_min=2,
    seats_max=32,
    options=Options,
    options_clause="CB-1.3",
    moves=Stake | Ask | Stand | Leave,
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
