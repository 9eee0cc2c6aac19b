"""A game with a secret, small enough to see through: each round hides a lot, and whom it falls on wins the round.

It is made of facts that exist, so that its matches are stored, sealed and audited as any other. Others see a lot of
-1 until the match is over.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from services.contracts.events.base import Fact
from services.contracts.events.chance import LotDraw
from services.contracts.events.dice import Stood
from services.contracts.events.match import LotDrawn, PlayerEliminated, RoundEnded, RoundStarted
from services.engine.rules.catalogue import Catalogue
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

HIDDEN = -1


class Options(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    rounds: int = 2


class Stand(Move, frozen=True, tag="stand"):
    """Wait for the others."""


class State(Struct, frozen=True):
    options: Options
    wins: tuple[int, ...]
    round: int = 0
    lot: int = HIDDEN
    to_play: tuple[int, ...] = ()


class View(Struct, frozen=True, tag_field="game", tag="hidden-lot"):
    wins: tuple[int, ...]
    lot: int


def start(state: State, chance: Chance) -> tuple[Fact, ...]:
    story = Story[State, Fact](state, evolve)
    _begin(story, chance)
    return story.facts


def _begin(story: Story[State, Fact], chance: Chance) -> None:
    seats = tuple(range(len(story.state.wins)))
    story.tell(RoundStarted(story.state.round + 1, "round", seats))
    draw = chance.lot(story.state.round, seats)
    story.tell(LotDrawn("dealer", draw.result, draw))


def pending(state: State) -> Waiting | Over:
    if state.to_play:
        return Waiting(state.to_play[0], state.to_play[:1])
    return Over(tuple(1 + sum(other > wins for other in state.wins) for wins in state.wins))


def legal(state: State, seat: int) -> tuple[Struct, ...]:
    return (Stand(),) if state.to_play[:1] == (seat,) else ()


def decide(state: State, seat: int, move: Any, chance: Chance) -> tuple[Fact, ...] | Refusal:
    if isinstance(move, Leave | Expire) or state.to_play[:1] != (seat,):
        return Refusal("not-your-turn", "HL-1")
    story = Story[State, Fact](state, evolve)
    story.tell(Stood(seat, 0))
    if not story.state.to_play:
        story.tell(RoundEnded(state.round, (state.lot,)))
        if state.round < state.options.rounds:
            _begin(story, chance)
    return story.facts


def evolve(state: State, fact: Fact) -> State:
    match fact:
        case RoundStarted():
            return replace(state, round=fact.round, to_play=fact.order)
        case LotDrawn():
            return replace(state, lot=fact.seat)
        case Stood():
            return replace(state, to_play=state.to_play[1:])
        case RoundEnded():
            wins = tuple(won + (seat in fact.winners) for seat, won in enumerate(state.wins))
            return replace(state, wins=wins, lot=HIDDEN)
        case PlayerEliminated():
            return state
        case _:
            raise AssertionError(fact)


def observe(state: State, viewer: Viewer) -> View:
    return View(state.wins, state.lot if viewer == AUDITOR else HIDDEN)


def redact(fact: Fact, viewer: Viewer) -> Fact:
    if isinstance(fact, LotDrawn) and viewer != AUDITOR:
        draw = fact.draw
        return LotDrawn(fact.purpose, HIDDEN, LotDraw(draw.round, draw.op, draw.among, HIDDEN))
    return fact


HIDDEN_LOT: Rules[Any, Any, Any, Any] = Rules(
    name="hidden-lot",
    version=1,
    title="A lot that nobody sees",
    seats_min=2,
    seats_max=9,
    options=Options,
    options_clause="HL-1",
    moves=Stand | Leave,
    check=lambda options, given, seats: None,
    initial=lambda options, seats: State(options=options, wins=(0,) * seats),
    start=start,
    pending=pending,
    legal=legal,
    decide=decide,
    evolve=evolve,
    observe=observe,
    redact=redact,
)

CATALOGUE = Catalogue([HIDDEN_LOT])
