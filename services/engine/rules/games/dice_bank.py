"""dice-bank: one die, as near to nine as you dare, against a bank that goes round.

One player holds the bank, all others lay a stake against it. Each in turn rolls the die as often as they like
and adds up; above nine the player busts, and the stake is the bank's at once. Last the bank rolls. If it busts,
it pays everybody still standing as much as they staked. If it stands, it pays those with more and takes the
stakes of those with as much or less: equal goes to the bank. That is an advantage, so the bank passes to the left
after every round, and everybody holds it equally often. Most chips win.

Variants: exactly nine pays double; the target is 21; points on paper, which may go below zero, instead of chips; a
plain number of rounds.

The file reads in the order of the game: options, state, what may be done, how stakes, rolls, a round and the match
go on, and at the end how each fact changes the state and who may see what. Stakes and the bank, which
cards-bank has as well, are in ``banking``. Clause numbers are those of docs/rules/dice-bank.md.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal, assert_never

from msgspec import Meta, Struct
from msgspec.structs import replace

from services.contracts.events.bank import BankPassed, RoundSatOut, RoundSkipped, StakeReturned, StakeTaken
from services.contracts.events.chips import Paid, Staked
from services.contracts.events.dice import Busted, Rolled, Stood
from services.contracts.events.match import LotDrawn, PlayerEliminated, RoundEnded, RoundStarted, WentOut
from services.engine.rules import banking
from services.engine.rules.banking import Ledger, Stake, Terms
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
from services.engine.rules.places import clockwise

PLAYER_OWES: Final = 1
"""How many stakes a player can lose: the one that was laid (DB-2.2)."""


# Options (DB-1.2)


class Options(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How the table plays.

    Attributes:
        target: the total not to exceed.
        exact_pays_double: a player who is paid and has exactly the target is paid twice.
        starting_chips: what everybody begins with.
        min_stake: the smallest stake.
        max_stake: the largest stake; equal to the smallest it is fixed, and laid without a command.
        points: on paper instead of with chips: without limits, and nobody goes out.
        laps: how often each seat holds the bank. Not with ``rounds``.
        first_bank: the seat that holds the bank first, or ``lot``.
        rounds: a plain number of rounds; null plays laps.
    """

    target: Literal[9, 21] = 9
    exact_pays_double: bool = False
    starting_chips: Annotated[int, Meta(ge=1, le=1000)] = 20
    min_stake: Annotated[int, Meta(ge=1, le=1000)] = 1
    max_stake: Annotated[int, Meta(ge=1, le=1000)] = 1
    points: bool = False
    laps: Annotated[int, Meta(ge=1, le=100)] = 3
    first_bank: Literal["lot"] | Annotated[int, Meta(ge=0)] = "lot"
    rounds: Annotated[int, Meta(ge=1, le=1000)] | None = None

    @property
    def bank_owes(self) -> int:
        """How many stakes the bank may have to pay on one (m in DB-2.4)."""
        return 2 if self.exact_pays_double else 1


def check(options: Options, given: frozenset[str], seats: int) -> Refusal | None:
    """Refuse options that do not go together (G11, DB-1.2, DB-1.4)."""

    def refused(option: str, reason: str, clause: str = "DB-1.2") -> Refusal:
        return Refusal("options-invalid", clause, {"option": option, "reason": reason})

    if options.min_stake > options.max_stake:
        return refused("min_stake", "no more than max_stake")
    if isinstance(options.first_bank, int) and options.first_bank >= seats:
        return refused("first_bank", f"the table has the seats 0 to {seats - 1}")
    if options.rounds is not None and "laps" in given:
        return refused("laps", "not with rounds")
    least = options.bank_owes * options.min_stake
    if not options.points and options.starting_chips < least:
        option = "starting_chips" if "starting_chips" in given else "min_stake"
        return refused(option, f"a round needs {least} starting_chips", "DB-1.4")
    return None


# State


class State(Struct, frozen=True):
    """A match of dice-bank between two facts.

    Attributes:
        ledger: chips, stakes and the bank.
        round: the number of the running or last round, those not played included; 0 before the first.
        to_roll: those who have laid a stake and whose turn to roll is not over, and last the bank.
        totals: per seat, what was rolled in the round, 0 before the first roll and after a bust.
    """

    options: Options
    ledger: Ledger
    round: int = 0
    to_roll: tuple[int, ...] = ()
    totals: tuple[int, ...] = ()

    @property
    def chips(self) -> tuple[int, ...]:
        """Per seat, without what is staked."""
        return self.ledger.chips

    @property
    def stakes(self) -> tuple[int, ...]:
        """Per seat, what lies on the table."""
        return self.ledger.stakes

    @property
    def rounds_in_all(self) -> int:
        """How many rounds the match has (DB-4.1)."""
        return self.options.rounds or self.options.laps * self.ledger.seats


Event = (
    LotDrawn | RoundStarted | Staked | RoundSatOut | Rolled | Busted | Stood | Paid | StakeTaken | StakeReturned
    | RoundEnded | WentOut | RoundSkipped | BankPassed | PlayerEliminated
)  # fmt: skip

Tale = Story[State, Event]


def initial(options: Options, seats: int) -> State:
    """Nobody has staked, and everybody has the starting chips (DB-1.1)."""
    terms = Terms(
        min=options.min_stake,
        max=options.max_stake,
        bank_owes=options.bank_owes,
        player_owes=PLAYER_OWES,
        limits=not options.points,
    )
    bank = options.first_bank if isinstance(options.first_bank, int) else 0
    return State(options, banking.opened(terms, seats, options.starting_chips, bank), totals=(0,) * seats)


def start(state: State, chance: Chance) -> tuple[Event, ...]:
    """Choose the first bank (DB-1.3) and begin the first round."""
    story = Tale(state, evolve)
    if state.options.first_bank == "lot":
        draw = chance.lot(0, tuple(range(state.ledger.seats)))
        story.tell(LotDrawn("bank", draw.result, draw))
    _begin_round(story, story.state.ledger.bank)
    _go_on(story)
    return story.facts


# What may be done


class Roll(Move, frozen=True, tag="roll"):
    """Roll, and add to the total."""


class Stand(Move, frozen=True, tag="stand"):
    """End the turn and keep the total."""


def pending(state: State) -> Waiting | Over:
    """Say whose turn it is, or how the match ended: when a round was over and no other began."""
    if state.ledger.settled:
        return Over(banking.final_places(state.ledger))
    turn = (state.ledger.to_stake or state.to_roll)[0]
    return Waiting(turn, (turn,))


def legal(state: State, seat: int) -> tuple[Struct, ...]:
    """Laying a stake, then rolling, and after the first roll also standing, for the player on turn."""
    waiting = pending(state)
    if isinstance(waiting, Over) or waiting.turn != seat:
        return ()
    if state.ledger.to_stake:
        return banking.stake_range(state.ledger)
    return (Roll(), Stand()) if state.totals[seat] else (Roll(),)


def decide(
    state: State, seat: int, move: Stake | Roll | Stand | Leave | Expire, chance: Chance
) -> tuple[Event, ...] | Refusal:
    """Carry a move out, with all that follows from it, or say why it cannot be."""
    refusal = _refuse(state, seat, move)
    if refusal:
        return refusal
    story = Tale(state, evolve)
    match move:
        case Stake():
            story.tell(Staked(seat, move.amount))
        case Roll():
            _roll(story, seat, chance)
        case Stand():
            story.tell(Stood(seat, state.totals[seat]))
        case Leave():
            story.tell(*banking.eliminated(state.ledger, seat, "left"))
        case Expire():
            story.tell(*banking.eliminated(state.ledger, seat, "timeout"))
        case _:
            assert_never(move)
    _go_on(story)
    return story.facts


def _refuse(state: State, seat: int, move: Stake | Roll | Stand | Leave | Expire) -> Refusal | None:
    waiting = pending(state)
    if isinstance(waiting, Over):
        return Refusal("match-over", "G9")
    if state.ledger.places[seat]:
        return Refusal("already-out", "G14", {"place": state.ledger.places[seat]})
    if isinstance(move, Leave):
        return None
    if seat != waiting.turn:
        return Refusal("not-your-turn", "DB-2.1", {"turn": waiting.turn})
    laying = bool(state.ledger.to_stake)
    match move:
        case Stake() if laying:
            return banking.refuse_stake(
                state.ledger, move.amount, options="DB-1.2", own="DB-2.2", cover="DB-2.3"
            )
        case Stake():
            return Refusal("move-not-offered", "DB-2.1")
        case Roll() | Stand() if laying:
            return Refusal("move-not-offered", "DB-2.1")
        case Stand() if not state.totals[seat]:
            return Refusal("must-roll-first", "DB-3.1")
        case _:
            return None


# The round (section 3)


def _roll(story: Tale, seat: int, chance: Chance) -> None:
    """Add to the total; above the target the player busts, and the bank has the stake at once (DB-3.1, DB-3.2)."""
    state = story.state
    draw = chance.dice(state.round, 1)
    total = state.totals[seat] + sum(draw.result)
    story.tell(Rolled(seat, draw, total))
    if total > state.options.target:
        story.tell(Busted(seat))
        if seat != state.ledger.bank:
            story.tell(banking.bank_takes(state.ledger, seat))


def _go_on(story: Tale) -> None:
    """Let all happen that takes no command, until somebody has to decide or the match is over.

    A round is over when its stakes are settled. That can be before anybody has rolled (DB-3.7), before the bank
    rolls (DB-3.3), and, by an elimination, at any time (DB-3.8).
    """
    while True:
        story.tell(*banking.stakes_without_command(story.state.ledger))
        if not story.state.ledger.settled and not story.state.to_roll:
            _settle(story)
        if not story.state.ledger.settled:
            return
        story.tell(RoundEnded(story.state.round, story.state.ledger.paid))
        story.tell(*banking.going_out(story.state.ledger))
        if not _next_round_begins(story):
            return


def _settle(story: Tale) -> None:
    """The bank has had its turn: it pays, or takes, the stakes of those still standing (DB-3.4)."""
    state = story.state
    bank_total = state.totals[state.ledger.bank]
    for seat in state.ledger.staked:
        # A bank that has bust has a total of 0, and everybody standing has more. Equal goes to the bank.
        if state.totals[seat] > bank_total:
            exactly = state.totals[seat] == state.options.target
            double = exactly and state.options.exact_pays_double  # DB-3.5
            story.tell(*banking.bank_pays(state.ledger, seat, 2 if double else 1))
        else:
            story.tell(banking.bank_takes(state.ledger, seat))


def _begin_round(story: Tale, bank: int) -> None:
    story.tell(RoundStarted(story.state.round + 1, "round", banking.round_order(story.state.ledger, bank)))


# Eliminations are in `banking.eliminated`; between two rounds, and the end (section 4)


def _next_round_begins(story: Tale) -> bool:
    """Pass the bank to the left (DB-3.6) and begin a round, unless the match is over (DB-4.1)."""
    before = story.state.ledger
    if len(before.still_in) < 2:  # noqa: PLR2004 - one player left, or none
        return False
    bank = banking.left_of(before, before.bank)
    if story.state.options.rounds is None:
        _skip_rounds_of_those_out(story, before.bank, bank)
    if story.state.round >= story.state.rounds_in_all:
        return False
    story.tell(BankPassed(bank))
    _begin_round(story, bank)
    return True


def _skip_rounds_of_those_out(story: Tale, last_bank: int, next_bank: int) -> None:
    """With laps, a round whose bank would be a player who is out is not played, and counts (DB-4.1)."""
    for seat in clockwise(story.state.ledger.seats, last_bank + 1):
        if seat == next_bank or story.state.round >= story.state.rounds_in_all:
            return
        story.tell(RoundSkipped(story.state.round + 1, seat))


# How each fact changes the state


def evolve(state: State, event: Event) -> State:
    """Return the state after a fact. What happens often is asked for first."""
    match event:
        case Rolled():
            return replace(state, totals=_put(state.totals, event.seat, event.total))
        case Stood():
            return replace(state, to_roll=state.to_roll[1:])
        case Staked():
            *players, bank = state.to_roll
            return replace(
                state, ledger=banking.evolve(state.ledger, event), to_roll=(*players, event.seat, bank)
            )
        case StakeTaken() | Paid() | StakeReturned() | BankPassed() | LotDrawn() | RoundSatOut() | WentOut():
            return replace(state, ledger=banking.evolve(state.ledger, event))
        case RoundStarted():
            return replace(
                state, ledger=banking.evolve(state.ledger, event), round=event.round,
                to_roll=event.order[-1:], totals=(0,) * state.ledger.seats,
            )  # fmt: skip
        case RoundEnded():
            return replace(state, ledger=banking.evolve(state.ledger, event), to_roll=())
        case Busted():
            return replace(state, to_roll=state.to_roll[1:], totals=_put(state.totals, event.seat, 0))
        case RoundSkipped():
            return replace(state, round=event.round)
        case PlayerEliminated():
            return replace(
                state,
                ledger=banking.evolve(state.ledger, event),
                to_roll=tuple(seat for seat in state.to_roll if seat != event.seat),
                totals=_put(state.totals, event.seat, 0),
            )
        case _:
            assert_never(event)


def _put(totals: tuple[int, ...], seat: int, total: int) -> tuple[int, ...]:
    changed = list(totals)
    changed[seat] = total
    return tuple(changed)


# Who may see what: everything lies open on the table


class PlayerView(Struct, frozen=True):
    """One player at the table.

    Attributes:
        chips: without the stake.
        stake: what lies on the table, 0 for the bank, and for who is not in the round or no longer.
        total: what was rolled in the running or last round: 0 before the first roll and after a bust.
        place: the final place, or None for a player who is still in.
    """

    seat: int
    chips: int
    stake: int
    total: int
    place: int | None


class View(Struct, frozen=True, tag_field="game", tag="dice-bank"):
    """A match of dice-bank as everybody sees it.

    Attributes:
        round: the running or last round.
        rounds: how many there are in all.
        bank: who holds the bank.
        to_stake: who is still to lay a stake, in turn.
        to_roll: who has laid one and is still to roll, and last the bank.
    """

    target: int
    round: int
    rounds: int
    bank: int
    to_stake: tuple[int, ...]
    to_roll: tuple[int, ...]
    players: tuple[PlayerView, ...]


def observe(state: State, viewer: Viewer) -> View:
    """Show the table; nothing is hidden in this game."""
    del viewer
    table = state.ledger
    return View(
        target=state.options.target,
        round=state.round,
        rounds=state.rounds_in_all,
        bank=table.bank,
        to_stake=table.to_stake,
        to_roll=state.to_roll,
        players=tuple(
            PlayerView(
                seat, table.chips[seat], table.stakes[seat], state.totals[seat], table.places[seat] or None
            )
            for seat in range(table.seats)
        ),
    )


def redact(event: Event, viewer: Viewer) -> Event:
    """Show the fact; nothing is hidden in this game."""
    del viewer
    return event


DICE_BANK = Rules(
    name="dice-bank",
    version=1,
    title="Macao with one die against the bank",
    seats_min=2,
    seats_max=6,
    options=Options,
    options_clause="DB-1.2",
    moves=Stake | Roll | Stand | Leave,
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
