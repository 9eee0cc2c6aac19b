"""High card: a toy with a hidden hand, in two versions of its rules, for tests of what dice-race does not have.

Each deal everybody gets a few of twelve cards, lays a stake, may once put a card under the deck for its top
card, and plays a card. The best card takes the pot: under version 1 the highest, under version 2 the lowest.
After the last deal the places follow chips.
"""

from __future__ import annotations

from functools import partial
from typing import Annotated, Final, Literal

from msgspec import Meta, Struct
from msgspec.structs import replace

from services.contracts.events.base import Fact
from services.contracts.events.chance import ShuffleDraw
from services.contracts.events.chips import Paid, Staked
from services.contracts.events.match import LotDrawn, PlayerEliminated, RoundEnded, RoundStarted
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
)  # fmt: skip
from services.engine.rules.places import clockwise, shared_places

DECK: Final = tuple(f"{rank}S" for rank in "23456789TJQK")
CLAUSES: Final = frozenset({"TOY-1.1", "TOY-1.2", "TOY-2.1", "TOY-2.2", "TOY-2.3"})


class Options(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    hand: Annotated[int, Meta(ge=1, le=3)] = 2
    chips: Annotated[int, Meta(ge=1, le=9)] = 5
    stake_max: Annotated[int, Meta(ge=1, le=9)] = 3
    deals: Annotated[int, Meta(ge=1, le=3)] = 2
    swap: bool = True


class Dealt(Fact, frozen=True, tag="toy-dealt"):
    """The whole deal; a hand that the reader may not see is None, and so is the draw."""

    hands: tuple[tuple[str, ...] | None, ...]
    counts: tuple[int, ...]
    deck: int
    draw: ShuffleDraw | None


class Swapped(Fact, frozen=True, tag="toy-swapped"):
    seat: int
    given: str | None
    taken: str | None


class Played(Fact, frozen=True, tag="toy-played"):
    seat: int
    card: str


class Stake(Move, frozen=True, tag="stake"):
    amount: int


class Swap(Move, frozen=True, tag="swap"):
    card: str


class Play(Move, frozen=True, tag="play"):
    card: str


class StakeRange(Struct, frozen=True, tag_field="type", tag="stake"):
    min: int
    max: int


class State(Struct, frozen=True):
    options: Options
    lowest_wins: bool
    chips: tuple[int, ...]
    places: tuple[int, ...]
    pot: int = 0
    round: int = 0
    starter: int = 0
    order: tuple[int, ...] = ()
    to_play: tuple[int, ...] = ()
    staked: bool = False
    swapped: bool = False
    hands: tuple[tuple[str, ...] | None, ...] = ()
    counts: tuple[int, ...] = ()
    deck: tuple[str, ...] | None = ()
    deck_count: int = 0
    played: tuple[str | None, ...] = ()

    @property
    def still_in(self) -> tuple[int, ...]:
        return tuple(seat for seat, place in enumerate(self.places) if not place)


Event = LotDrawn | RoundStarted | Dealt | Staked | Swapped | Played | RoundEnded | Paid | PlayerEliminated
Tale = Story[State, Event]


def check(options: Options, given: frozenset[str], seats: int) -> Refusal | None:
    del given, seats
    if options.stake_max > options.chips:
        return Refusal("options-invalid", "TOY-1.2", {"option": "stake_max", "reason": "no more than chips"})
    return None


def initial(options: Options, seats: int, *, lowest_wins: bool) -> State:
    return State(options, lowest_wins, (options.chips,) * seats, (0,) * seats)


def start(state: State, chance: Chance) -> tuple[Event, ...]:
    story = Tale(state, evolve)
    draw = chance.lot(0, tuple(range(len(state.places))))
    story.tell(LotDrawn("dealer", draw.result, draw))
    _deal(story, draw.result, chance)
    return story.facts


def pending(state: State) -> Waiting | Over:
    if not state.to_play or len(state.still_in) == 1:
        places = shared_places({seat: state.chips[seat] for seat in state.still_in})
        return Over(tuple(place or places[seat] for seat, place in enumerate(state.places)))
    return Waiting(state.to_play[0], state.to_play[:1])


def legal(state: State, seat: int) -> tuple[Struct, ...]:
    waiting = pending(state)
    hand = state.hands[seat] if state.hands else None
    if isinstance(waiting, Over) or waiting.turn != seat or hand is None:
        return ()
    if not state.staked:
        return (StakeRange(1, min(state.options.stake_max, state.chips[seat])),)
    swaps = hand if _may_swap(state) else ()
    return (*map(Swap, swaps), *map(Play, hand))


def _may_swap(state: State) -> bool:
    return state.options.swap and not state.swapped and state.deck_count > 0


def decide(
    state: State, seat: int, move: Stake | Swap | Play | Leave | Expire, chance: Chance
) -> tuple[Event, ...] | Refusal:
    waiting = pending(state)
    if isinstance(waiting, Over):
        return Refusal("match-over", "G9")
    if state.places[seat]:
        return Refusal("already-out", "G14")
    story = Tale(state, evolve)
    if isinstance(move, Leave):
        story.tell(PlayerEliminated(seat, "left", len(state.still_in)))
        _go_on(story, chance)
        return story.facts
    if seat != waiting.turn:
        return Refusal("not-your-turn", "TOY-2.1")
    hand = state.hands[seat] or ()
    match move:
        case Expire():
            story.tell(PlayerEliminated(seat, "timeout", len(state.still_in)))
            _go_on(story, chance)
        case Stake(amount=amount):
            if state.staked:
                return Refusal("move-not-offered", "TOY-2.2")
            if not 1 <= amount <= min(state.options.stake_max, state.chips[seat]):
                return Refusal("stake-out-of-range", "TOY-2.2")
            story.tell(Staked(seat, amount))
        case Swap(card=card) | Play(card=card) if not state.staked or card not in hand:
            return Refusal("move-not-offered", "TOY-2.1", {"card": card})
        case Swap(card=card):
            if not _may_swap(state) or not state.deck:
                return Refusal("move-not-offered", "TOY-2.3")
            story.tell(Swapped(seat, card, state.deck[0]))
        case Play(card=card):
            story.tell(Played(seat, card))
            _go_on(story, chance)
    return story.facts


def _deal(story: Tale, starter: int, chance: Chance) -> None:
    state = story.state
    seats = len(state.places)
    order = tuple(seat for seat in clockwise(seats, starter) if seat in state.still_in)
    story.tell(RoundStarted(state.round + 1, "round", order))
    draw = chance.shuffle(state.round + 1, DECK)
    size = state.options.hand
    hands = tuple(
        draw.result[order.index(seat) * size : (order.index(seat) + 1) * size] if seat in order else ()
        for seat in range(seats)
    )
    story.tell(Dealt(hands, tuple(map(len, hands)), len(DECK) - size * len(order), draw))


def _go_on(story: Tale, chance: Chance) -> None:
    if len(story.state.still_in) == 1:
        (winner,) = story.state.still_in
        if story.state.pot:
            story.tell(Paid(winner, story.state.pot, "pot"))
        return
    if story.state.to_play:
        return
    shown = {card: seat for seat, card in enumerate(story.state.played) if card}
    best = (min if story.state.lowest_wins else max)(shown, key=DECK.index)
    story.tell(RoundEnded(story.state.round, (shown[best],)))
    story.tell(Paid(shown[best], story.state.pot, "pot"))
    if story.state.round < story.state.options.deals:
        _deal(story, (story.state.starter + 1) % len(story.state.places), chance)


def evolve(state: State, event: Event) -> State:
    match event:
        case LotDrawn():
            return replace(state, starter=event.seat)
        case RoundStarted():
            return replace(
                state, round=event.round, starter=event.order[0], order=event.order,
                to_play=event.order, staked=False, swapped=False, played=(None,) * len(state.places),
            )  # fmt: skip
        case Dealt():
            deck = None if event.draw is None else event.draw.result[len(DECK) - event.deck :]
            state = replace(state, hands=event.hands, counts=event.counts, deck=deck, deck_count=event.deck)
            return replace(state, staked=state.chips[state.to_play[0]] == 0)
        case Staked():
            return replace(
                state, staked=True, pot=state.pot + event.amount,
                chips=_put(state.chips, event.seat, state.chips[event.seat] - event.amount),
            )  # fmt: skip
        case Swapped():
            hand = state.hands[event.seat]
            if hand is not None and event.given is not None and event.taken is not None:
                hand = (*_less(hand, event.given), event.taken)
            deck = (*state.deck[1:], event.given) if state.deck and event.given else None
            return replace(state, swapped=True, hands=_put(state.hands, event.seat, hand), deck=deck)
        case Played():
            hand = state.hands[event.seat]
            return _next(replace(
                state,
                hands=_put(state.hands, event.seat, hand and _less(hand, event.card)),
                counts=_put(state.counts, event.seat, state.counts[event.seat] - 1),
                played=_put(state.played, event.seat, event.card),
            ), state.to_play[1:])  # fmt: skip
        case RoundEnded():
            return state
        case Paid():
            chips = _put(state.chips, event.seat, state.chips[event.seat] + event.amount)
            return replace(state, chips=chips, pot=state.pot - event.amount)
        case PlayerEliminated():
            left = replace(
                state,
                places=_put(state.places, event.seat, event.place),
                chips=_put(state.chips, event.seat, 0),
                hands=_put(state.hands, event.seat, ()),
                counts=_put(state.counts, event.seat, 0),
                played=_put(state.played, event.seat, None),
            )
            if state.to_play[:1] == (event.seat,):
                return _next(left, state.to_play[1:])
            return replace(left, to_play=_less(state.to_play, event.seat))


def _next(state: State, to_play: tuple[int, ...]) -> State:
    """Pass the turn on; who has no chips has nothing to stake."""
    return replace(
        state, to_play=to_play, staked=bool(to_play) and state.chips[to_play[0]] == 0, swapped=False
    )


def _put(values: tuple, seat: int, value: object) -> tuple:  # type: ignore[type-arg]
    return (*values[:seat], value, *values[seat + 1 :])


def _less(values: tuple, value: object) -> tuple:  # type: ignore[type-arg]
    at = values.index(value) if value in values else len(values)
    return values[:at] + values[at + 1 :]


class View(Struct, frozen=True, tag_field="game", tag="toy-card"):
    round: int
    pot: int
    chips: tuple[int, ...]
    to_play: tuple[int, ...]
    staked: bool
    swapped: bool
    hands: tuple[tuple[str, ...] | None, ...]
    counts: tuple[int, ...]
    deck: tuple[str, ...] | None
    deck_count: int
    played: tuple[str | None, ...]


def observe(state: State, viewer: Viewer) -> View:
    whole = viewer == AUDITOR
    # A hand without cards hides nothing; every other hand only its holder may see.
    hands = tuple(
        () if not state.counts[seat] else hand if whole or seat == viewer else None
        for seat, hand in enumerate(state.hands)
    )
    return View(
        state.round, state.pot, state.chips, state.to_play, state.staked, state.swapped, hands,
        state.counts, state.deck if whole else None, state.deck_count, state.played,
    )  # fmt: skip


def redact(event: Event, viewer: Viewer) -> Event:
    if viewer == AUDITOR:
        return event
    match event:
        case Dealt():
            hands = tuple(
                hand if seat == viewer or not hand else None for seat, hand in enumerate(event.hands)
            )
            return replace(event, hands=hands, draw=None)
        case Swapped() if event.seat != viewer:
            return replace(event, given=None, taken=None)
        case _:
            return event


def _rules(version: Literal[1, 2]) -> Rules[Options, State, Stake | Swap | Play, Event]:
    return Rules(
        name="toy-card", version=version, title="High card", seats_min=2, seats_max=4,
        options=Options, options_clause="TOY-1.2", moves=Stake | Swap | Play | Leave, check=check,
        initial=partial(initial, lowest_wins=version == 2), start=start, pending=pending, legal=legal,
        decide=decide, evolve=evolve, observe=observe, redact=redact,
    )  # fmt: skip


TOY_1: Final = _rules(1)
TOY_2: Final = _rules(2)
