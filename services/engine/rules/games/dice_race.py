"""dice-race: one die, as near to nine as you dare.

Everybody in turn rolls the die as often as they like and adds up. Above nine the turn is lost: the player
has bust. When all have had their turn, the highest total wins the round and a chip, and the first with three
chips wins the match. Tied players play the round off among themselves, counter-clockwise.

Variants, which mix freely: play to 12 or 15 (Quinze) or with two dice to 21 (Pontoon); win the round at once
with exactly the target; or play for stakes, where everybody pays into a pot that the round's winner takes,
and where a bust may cost a second stake (dangerous stakes).

The file reads in the order of the game: options, state, what may be done, how a turn, a round and the match
go on, and at the end how each fact changes the state and who may see what. Clause numbers are those of
docs/rules/dice-race.md.
"""

from __future__ import annotations

from typing import Annotated, Literal, assert_never

from msgspec import Meta, Struct
from msgspec.structs import replace

from services.contracts.events.chips import Paid, Staked
from services.contracts.events.dice import Busted, PlayoffStarted, Rolled, Stood
from services.contracts.events.match import LotDrawn, PlayerEliminated, RoundEnded, RoundStarted, WentOut
from services.engine.rules.kernel import (
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
from services.engine.rules.places import clockwise, counter_clockwise, shared_places

PONTOON_TARGET = 21
PONTOON_ONE_DIE_FROM = 14


# Options (DR-1.3)


class Options(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How the table plays.

    Attributes:
        target: the total not to exceed; 12 and 15 are Quinze. Not with ``pontoon``.
        pontoon: two dice up to 13, one from 14 on, and the target is 21.
        chips_to_win: without stakes, the first with so many chips wins the match.
        first: the seat that takes the first turn, or ``lot``.
        instant_win: exactly the target wins the round at once.
        stakes: ``even`` plays for a pot; ``dangerous`` makes a bust cost a second stake.
        ties: tied players play off, or (with stakes) share the pot.
        starting_chips: with stakes, what everybody begins with.
        stake: with stakes, what everybody pays into the pot at the start of a round.
        max_rounds: with stakes, how many rounds are played; null for no limit.
    """

    target: Literal[9, 12, 15] = 9
    pontoon: bool = False
    chips_to_win: Annotated[int, Meta(ge=1, le=20)] = 3
    first: Literal["lot"] | Annotated[int, Meta(ge=0)] = "lot"
    instant_win: bool = False
    stakes: Literal["none", "even", "dangerous"] = "none"
    ties: Literal["playoff", "share"] = "playoff"
    starting_chips: Annotated[int, Meta(ge=1, le=1000)] = 20
    stake: Annotated[int, Meta(ge=1, le=1000)] = 1
    max_rounds: Annotated[int, Meta(ge=1, le=1000)] | None = 20


WITH_STAKES_ONLY = ("starting_chips", "stake", "max_rounds")


def check(options: Options, given: frozenset[str], seats: int) -> Refusal | None:
    """Refuse options that do not go together (G11, DR-1.3)."""

    def refused(option: str, reason: str) -> Refusal:
        return Refusal("options-invalid", "DR-1.3", {"option": option, "reason": reason})

    if options.pontoon and "target" in given:
        return refused("target", "Pontoon has the target 21")
    if isinstance(options.first, int) and options.first >= seats:
        return refused("first", f"the table has the seats 0 to {seats - 1}")
    if options.stakes == "none":
        for option in WITH_STAKES_ONLY:
            if option in given:
                return refused(option, "only with stakes")
        if options.ties == "share":
            return refused("ties", "a pot to share is only there with stakes")
        return None
    if "chips_to_win" in given:
        return refused("chips_to_win", "only without stakes")
    if options.stake > options.starting_chips:
        return refused("stake", "no more than starting_chips")
    return None


# State


class State(Struct, frozen=True):
    """A match of dice-race between two facts.

    Attributes:
        chips: per seat.
        places: per seat, 0 for a player who is still in.
        pot: the chips in the middle.
        round: the number of the running or last round, 0 before the first.
        kind: ``extra`` for a round about a pot that was still waiting (DR-4.7).
        rounds_played: how many rounds have begun, extra ones apart.
        starter: the seat that began the round, or will begin the first.
        playoff: whether the running contest is a playoff.
        field: who takes part in the running contest (round or playoff), in the order of their turns.
        to_play: those of the field whose turn is not over; the first of them is on turn.
        total: what the player on turn has rolled so far, 0 before the first roll.
        scores: per seat, the score of the running contest, 0 for none and after a bust.
    """

    options: Options
    chips: tuple[int, ...]
    places: tuple[int, ...]
    pot: int = 0
    round: int = 0
    kind: Literal["round", "extra"] = "round"
    rounds_played: int = 0
    starter: int = 0
    playoff: bool = False
    field: tuple[int, ...] = ()
    to_play: tuple[int, ...] = ()
    total: int = 0
    scores: tuple[int, ...] = ()

    @property
    def seats(self) -> int:
        """How many seats the match has."""
        return len(self.places)

    @property
    def still_in(self) -> tuple[int, ...]:
        """The seats that have no place yet."""
        return tuple(seat for seat, place in enumerate(self.places) if not place)

    @property
    def with_stakes(self) -> bool:
        """Whether the match is played for a pot (section 4)."""
        return self.options.stakes != "none"

    @property
    def target(self) -> int:
        """The total not to exceed."""
        return PONTOON_TARGET if self.options.pontoon else self.options.target

    @property
    def dice(self) -> int:
        """How many dice the next roll takes (DR-1.2, DR-2.5)."""
        return 2 if self.options.pontoon and self.total < PONTOON_ONE_DIE_FROM else 1


Event = (
    LotDrawn | RoundStarted | Staked | Rolled | Busted | Stood | PlayoffStarted | RoundEnded | Paid | WentOut
    | PlayerEliminated
)  # fmt: skip

Tale = Story[State, Event]


def initial(options: Options, seats: int) -> State:
    """Nobody has rolled; with stakes everybody has the starting chips (DR-4.1)."""
    chips = options.starting_chips if options.stakes != "none" else 0
    return State(options=options, chips=(chips,) * seats, places=(0,) * seats)


def start(state: State, chance: Chance) -> tuple[Event, ...]:
    """Choose who starts (DR-1.4) and begin the first round."""
    story: Tale = Story(state, evolve)
    first = state.options.first
    if isinstance(first, int):
        starter = first
    else:
        draw = chance.lot(0, tuple(range(state.seats)))
        story.tell(LotDrawn("starter", draw.result, draw))
        starter = draw.result
    _begin_round(story, starter, "round")
    return story.facts


# What may be done


class Roll(Move, frozen=True, tag="roll"):
    """Roll, and add to the total."""


class Stand(Move, frozen=True, tag="stand"):
    """End the turn and keep the total as the score."""


def pending(state: State) -> Waiting | Over:
    """Say whose turn it is, or how the match ended. No turn left to take means that no round was begun: it is over."""
    if not state.to_play or state.places.count(0) == 1:
        return Over(_final_places(state))
    turn = state.to_play[0]
    return Waiting(turn, (turn,))


def legal(state: State, seat: int) -> tuple[Move, ...]:
    """Rolling, and after the first roll also standing, for the player on turn (DR-2.1 to DR-2.4)."""
    waiting = pending(state)
    if isinstance(waiting, Over) or waiting.turn != seat:
        return ()
    return (Roll(), Stand()) if state.total else (Roll(),)


def decide(
    state: State, seat: int, move: Roll | Stand | Leave | Expire, chance: Chance
) -> tuple[Event, ...] | Refusal:
    """Carry a move out, with all that follows from it, or say why it cannot be."""
    story = tell(state, seat, move, chance)
    return story.facts if isinstance(story, Story) else story


def tell(state: State, seat: int, move: Roll | Stand | Leave | Expire, chance: Chance) -> Tale | Refusal:
    """Tell what follows from a move, or say why it cannot be made."""
    refusal = _refuse(state, seat, move)
    if refusal:
        return refusal
    story: Tale = Story(state, evolve)
    match move:
        case Roll():
            _roll(story, seat, chance)
        case Stand():
            story.tell(Stood(seat, state.total))
            _go_on(story)
        case Leave():
            _eliminate(story, seat, "left")
        case Expire():
            _eliminate(story, seat, "timeout")
        case _:
            assert_never(move)
    return story


def _refuse(state: State, seat: int, move: Roll | Stand | Leave | Expire) -> Refusal | None:
    waiting = pending(state)
    if isinstance(waiting, Over):
        return Refusal("match-over", "G9")
    if state.places[seat]:
        return Refusal("already-out", "G14", {"place": state.places[seat]})
    if isinstance(move, Leave):
        return None
    if seat != waiting.turn:
        return Refusal("not-your-turn", "DR-2.1", {"turn": waiting.turn})
    if isinstance(move, Stand) and not state.total:
        return Refusal("must-roll-first", "DR-2.2")
    return None


# A turn (section 2)


def _roll(story: Tale, seat: int, chance: Chance) -> None:
    state = story.state
    draw = chance.dice(state.round, state.dice)
    total = state.total + sum(draw.result)
    story.tell(Rolled(seat, draw, total))
    if total > state.target:
        story.tell(Busted(seat))
        _pay_for_danger(story, seat)
        _go_on(story)
    elif total == state.target and state.options.instant_win:
        story.tell(Stood(seat, total, instant_win=True))
        _end_round(story, (seat,))


def _pay_for_danger(story: Tale, seat: int) -> None:
    """A second stake for a bust, or what is left; not in a playoff and not in an extra round (DR-4.4, DR-4.7)."""
    state = story.state
    if state.options.stakes != "dangerous" or state.playoff or state.kind == "extra":
        return
    second_stake = min(state.options.stake, state.chips[seat])
    if second_stake:
        story.tell(Staked(seat, second_stake, "danger"))


def _go_on(story: Tale) -> None:
    """Let the next player have the turn, or settle the contest when all have had theirs."""
    state = story.state
    if state.playoff and len(state.field) == 1:
        _end_round(story, state.field)  # DR-3.9: the others were eliminated
    elif not state.to_play:
        _settle(story)


# A round (section 3)


def _begin_round(story: Tale, starter: int, kind: Literal["round", "extra"]) -> None:
    state = story.state
    order = tuple(seat for seat in clockwise(state.seats, starter) if seat in state.still_in)
    story.tell(RoundStarted(state.round + 1, kind, order))
    if state.with_stakes and kind == "round":
        story.tell(*(Staked(seat, state.options.stake) for seat in order))  # DR-4.1


def _settle(story: Tale) -> None:
    """Find who won the contest in which everybody has had a turn (DR-3.1 to DR-3.3)."""
    state = story.state
    best = max(state.scores[seat] for seat in state.field)
    leaders = tuple(seat for seat in state.field if state.scores[seat] == best)
    everybody_bust = best == 0
    if len(leaders) == 1:
        _end_round(story, leaders)
    elif everybody_bust and not state.playoff:
        _end_round(story, ())
    elif state.options.ties == "share":
        _end_round(story, leaders)
    else:
        order = tuple(seat for seat in counter_clockwise(state.seats, leaders[-1]) if seat in leaders)
        story.tell(PlayoffStarted(state.round, order))


def _end_round(story: Tale, winners: tuple[int, ...]) -> None:
    """Give the round to its winner, the sharers of its pot, or nobody, and see how the match goes on."""
    story.tell(RoundEnded(story.state.round, winners))
    if story.state.with_stakes:
        _pay_out(story, winners)
        if _was_last_round(story.state):
            _finish(story, winners)
            return
        _those_who_cannot_pay_go_out(story)
    elif winners:
        story.tell(Paid(winners[0], 1, "supply"))  # DR-3.5
        if story.state.chips[winners[0]] == story.state.options.chips_to_win:
            return  # DR-3.7
    _begin_next_round(story, "round")


def _begin_next_round(story: Tale, kind: Literal["round", "extra"]) -> None:
    """Begin with the player to the left of the last starter (DR-3.6)."""
    _begin_round(story, (story.state.starter + 1) % story.state.seats, kind)


# Stakes (section 4)


def _pay_out(story: Tale, winners: tuple[int, ...]) -> None:
    """The winner takes the pot, several divide it; what does not divide stays (DR-4.2, DR-4.3)."""
    share = story.state.pot // len(winners) if winners else 0
    if share:
        story.tell(*(Paid(seat, share, "pot") for seat in winners))


def _was_last_round(state: State) -> bool:
    """Say whether the match ends here (DR-4.5); after an extra round it always does."""
    limit = state.options.max_rounds
    able_to_pay = [seat for seat in state.still_in if state.chips[seat] >= state.options.stake]
    reached = limit is not None and state.rounds_played >= limit
    return state.kind == "extra" or reached or len(able_to_pay) <= 1


def _finish(story: Tale, winners: tuple[int, ...]) -> None:
    """Clear the pot after the last round: a remainder goes round the tied players, else the pot is played for."""
    if winners:
        story.tell(*(Paid(seat, 1, "remainder") for seat in winners[: story.state.pot]))  # DR-4.3
    elif story.state.pot:
        _begin_next_round(story, "extra")  # DR-4.7


def _those_who_cannot_pay_go_out(story: Tale) -> None:
    """Whoever cannot pay the next stake is out; those who go out together are ordered by chips (DR-4.1, G12)."""
    state = story.state
    unable = {seat: state.chips[seat] for seat in state.still_in if state.chips[seat] < state.options.stake}
    places = shared_places(unable, first=len(state.still_in) - len(unable) + 1)
    story.tell(*(WentOut(seat, place) for seat, place in places.items()))


# Leaving, and the end


def _eliminate(story: Tale, seat: int, reason: Literal["left", "timeout"]) -> None:
    """The player takes the last place still open, and the others go on (G7, DR-3.9)."""
    story.tell(PlayerEliminated(seat, reason, len(story.state.still_in)))
    if len(story.state.still_in) == 1:
        (winner,) = story.state.still_in
        if story.state.pot:
            story.tell(Paid(winner, story.state.pot, "pot"))  # DR-4.8
    else:
        _go_on(story)


def _final_places(state: State) -> tuple[int, ...]:
    """Those still in come first, by chips (DR-3.7, DR-4.5); the others have their places."""
    places = shared_places({seat: state.chips[seat] for seat in state.still_in})
    return tuple(place or places[seat] for seat, place in enumerate(state.places))


# How each fact changes the state


def evolve(state: State, event: Event) -> State:
    """Return the state after a fact. What happens often is asked for first."""
    match event:
        case Rolled():
            return replace(state, total=event.total)
        case Stood():
            return replace(
                state, total=0, to_play=state.to_play[1:], scores=_with(state.scores, event.seat, event.score)
            )
        case Busted():
            return replace(state, total=0, to_play=state.to_play[1:])
        case RoundStarted():
            return replace(
                state,
                round=event.round, kind=event.kind, starter=event.order[0],
                rounds_played=state.rounds_played + (event.kind == "round"),
                playoff=False, field=event.order, to_play=event.order, total=0, scores=(0,) * state.seats,
            )  # fmt: skip
        case RoundEnded():
            return replace(state, to_play=(), total=0)
        case Paid():
            from_pot = 0 if event.source == "supply" else event.amount
            return replace(
                state, pot=state.pot - from_pot, chips=_with(state.chips, event.seat, event.amount)
            )
        case Staked():
            return replace(
                state, pot=state.pot + event.amount, chips=_with(state.chips, event.seat, -event.amount)
            )
        case PlayoffStarted():
            return replace(
                state,
                playoff=True,
                field=event.order,
                to_play=event.order,
                total=0,
                scores=(0,) * state.seats,
            )
        case LotDrawn():
            return replace(state, starter=event.seat)
        case WentOut():
            return replace(state, places=_with(state.places, event.seat, event.place))
        case PlayerEliminated():
            on_turn = state.to_play[:1] == (event.seat,)
            return replace(
                state,
                places=_with(state.places, event.seat, event.place),
                chips=_with(state.chips, event.seat, -state.chips[event.seat]),
                scores=_with(state.scores, event.seat, -state.scores[event.seat]),
                field=_without(state.field, event.seat),
                to_play=_without(state.to_play, event.seat),
                total=0 if on_turn else state.total,
            )
        case _:
            assert_never(event)


def _with(values: tuple[int, ...], seat: int, change: int) -> tuple[int, ...]:
    changed = list(values)
    changed[seat] += change
    return tuple(changed)


def _without(seats: tuple[int, ...], seat: int) -> tuple[int, ...]:
    return tuple(other for other in seats if other != seat)


# Who may see what: everything lies open on the table


class PlayerView(Struct, frozen=True):
    """One player at the table.

    Attributes:
        score: of the running round or playoff: 0 before the turn is over, and after a bust.
        place: the final place, or None for a player who is still in.
    """

    seat: int
    chips: int
    score: int
    place: int | None


class View(Struct, frozen=True, tag_field="game", tag="dice-race"):
    """A match of dice-race as everybody sees it.

    Attributes:
        to_play: the seats whose turn in this round or playoff is still to come, the player on turn first.
        total: what the player on turn has so far.
        dice: how many dice the next roll takes.
    """

    target: int
    round: int
    kind: Literal["round", "extra"]
    playoff: bool
    pot: int
    to_play: tuple[int, ...]
    total: int
    dice: int
    players: tuple[PlayerView, ...]


def observe(state: State, viewer: Viewer) -> View:
    """Show the table; nothing is hidden in this game."""
    del viewer
    return View(
        target=state.target,
        round=state.round,
        kind=state.kind,
        playoff=state.playoff,
        pot=state.pot,
        to_play=state.to_play,
        total=state.total,
        dice=state.dice,
        players=tuple(
            PlayerView(
                seat, state.chips[seat], state.scores[seat] if state.scores else 0, state.places[seat] or None
            )
            for seat in range(state.seats)
        ),
    )


def redact(event: Event, viewer: Viewer) -> Event:
    """Show the fact; nothing is hidden in this game."""
    del viewer
    return event


DICE_RACE = Rules(
    name="dice-race",
    version=1,
    title="Macao with one die",
    seats_min=2,
    seats_max=16,
    options=Options,
    options_clause="DR-1.3",
    moves=Roll | Stand | Leave,
    check=check,
    initial=initial,
    start=start,
    pending=pending,
    legal=legal,
    decide=decide,
    evolve=evolve,
    observe=observe,
    redact=redact,
    story=tell,
)
