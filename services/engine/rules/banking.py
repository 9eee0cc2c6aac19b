"""What the two games against a bank have in common: stakes and their cover, the bank on its way round, going out.

Chips lie in three places: in front of their players, on the table as stakes, and at the bank, who is one of the
players. `Ledger` is that much of a match; each game keeps one in its state and adds its dice or cards. The
functions here look at it and say which facts follow; the games tell them where their rules come to it.

Clause numbers stand in pairs: those of docs/rules/dice-bank.md and docs/rules/cards-bank.md.
"""

from __future__ import annotations

from typing import Literal, assert_never

from msgspec import Struct
from msgspec.structs import replace

from services.contracts.events.bank import BankPassed, RoundSatOut, StakeReturned, StakeTaken
from services.contracts.events.chips import Paid, Staked
from services.contracts.events.match import LotDrawn, PlayerEliminated, RoundEnded, RoundStarted, WentOut
from services.engine.rules.kernel import Move, Refusal
from services.engine.rules.places import clockwise, shared_places


class Stake(Move, frozen=True, tag="stake"):
    """Lay a stake."""

    amount: int


class StakeRange(Struct, frozen=True, tag_field="type", tag="stake"):
    """The stakes that may be laid, as ``legal`` lists them: any amount from ``min`` to ``max``."""

    min: int
    max: int


class Terms(Struct, frozen=True):
    """What a stake may be, and what it can cost.

    Attributes:
        min: the smallest stake.
        max: the largest stake.
        bank_owes: how many times the stake the bank may have to pay.
        player_owes: how many times the stake its player may have to pay.
        limits: whether stakes must be covered; not where the game is played for points.
    """

    min: int
    max: int
    bank_owes: int
    player_owes: int
    limits: bool

    @property
    def fixed(self) -> bool:
        """Whether there is only one stake, which is laid without a command (G17)."""
        return self.min == self.max


class Ledger(Struct, frozen=True):
    """Chips, stakes and the bank.

    Attributes:
        chips: per seat, without what is staked.
        places: per seat, 0 for a player who is still in.
        stakes: per seat, what lies on the table, 0 for who has no part in the round, or no longer.
        bank: the seat that holds the bank.
        bank_funds: what the bank had when the round began.
        to_stake: who is still to lay a stake, in turn.
        paid: whom the bank has paid in the round, in that order.
    """

    terms: Terms
    chips: tuple[int, ...]
    places: tuple[int, ...]
    stakes: tuple[int, ...]
    bank: int
    bank_funds: int = 0
    to_stake: tuple[int, ...] = ()
    paid: tuple[int, ...] = ()

    @property
    def seats(self) -> int:
        """How many seats the match has."""
        return len(self.places)

    @property
    def still_in(self) -> tuple[int, ...]:
        """The seats that have no place yet."""
        return tuple(seat for seat, place in enumerate(self.places) if not place)

    @property
    def staked(self) -> tuple[int, ...]:
        """The seats with a stake on the table, from the bank's left: those who are in the round."""
        return tuple(seat for seat in clockwise(self.seats, self.bank) if self.stakes[seat])

    @property
    def settled(self) -> bool:
        """Whether no stake lies on the table and none is to be laid: the round is over."""
        return not self.to_stake and not any(self.stakes)


LedgerFact = (
    LotDrawn | RoundStarted | Staked | RoundSatOut | Paid | StakeTaken | StakeReturned | RoundEnded | WentOut
    | BankPassed | PlayerEliminated
)  # fmt: skip


def opened(terms: Terms, seats: int, chips: int, bank: int) -> Ledger:
    """Everybody has the starting chips."""
    nothing = (0,) * seats
    return Ledger(terms, chips=(chips,) * seats, places=nothing, stakes=nothing, bank=bank)


# Stakes


def largest_stake(ledger: Ledger) -> int | None:
    """Return the largest stake of the player whose turn it is to lay one, None for who sits out (DB-2.4, CB-2.4)."""
    terms = ledger.terms
    if not terms.limits:
        return terms.max
    laid = sum(ledger.stakes)
    others_to_lay = len(ledger.to_stake) - 1
    free = ledger.bank_funds - terms.bank_owes * laid
    if free < terms.bank_owes * terms.min:
        return None
    cover = max(terms.min, (free - terms.bank_owes * others_to_lay * terms.min) // terms.bank_owes)
    return min(terms.max, _own_limit(ledger), cover)


def _own_limit(ledger: Ledger) -> int:
    """The player must be able to pay as well (DB-2.2, CB-2.2)."""
    return ledger.chips[ledger.to_stake[0]] // ledger.terms.player_owes


def stake_range(ledger: Ledger) -> tuple[StakeRange, ...]:
    """Return what the player whose turn it is may lay."""
    largest = largest_stake(ledger)
    return () if largest is None else (StakeRange(ledger.terms.min, largest),)


def refuse_stake(ledger: Ledger, amount: int, *, options: str, own: str, cover: str) -> Refusal | None:
    """Refuse a stake outside its range, with the clause on the options, the own chips or the bank's cover."""
    terms = ledger.terms
    largest = largest_stake(ledger)
    if largest is None or terms.min <= amount <= largest:
        return None
    if not terms.min <= amount <= terms.max:
        clause = options
    elif amount > _own_limit(ledger):
        clause = own
    else:
        clause = cover
    return Refusal("stake-out-of-range", clause, {"amount": amount, "min": terms.min, "max": largest})


def stakes_without_command(ledger: Ledger) -> tuple[Staked | RoundSatOut, ...]:
    """Return what follows until a player has a stake to choose: who sits out, and fixed stakes (G17)."""
    told: list[Staked | RoundSatOut] = []
    while ledger.to_stake:
        seat = ledger.to_stake[0]
        if largest_stake(ledger) is None:
            fact: Staked | RoundSatOut = RoundSatOut(seat)
        elif ledger.terms.fixed:
            fact = Staked(seat, ledger.terms.min)
        else:
            break
        told.append(fact)
        ledger = evolve(ledger, fact)
    return tuple(told)


# Settling


def bank_pays(ledger: Ledger, seat: int, times: int) -> tuple[Paid | StakeReturned, ...]:
    """The bank pays so many stakes, and the player takes the own one back too."""
    stake = ledger.stakes[seat]
    return Paid(seat, times * stake, "bank"), StakeReturned(seat, stake)


def bank_takes(ledger: Ledger, seat: int, times: int = 1) -> StakeTaken:
    """The bank takes the stake, and for a natural of its own what that is worth beyond it."""
    stake = ledger.stakes[seat]
    return StakeTaken(seat, stake, (times - 1) * stake)


def eliminated(
    ledger: Ledger, seat: int, reason: Literal["left", "timeout"]
) -> tuple[PlayerEliminated | StakeTaken | StakeReturned, ...]:
    """A player's stake falls to the bank; when it is the bank, the stakes go back (G7, DB-3.8, CB-3.10)."""
    fact = PlayerEliminated(seat, reason, len(ledger.still_in))
    if seat == ledger.bank:
        return fact, *(StakeReturned(other, ledger.stakes[other]) for other in ledger.staked)
    return (fact, bank_takes(ledger, seat)) if ledger.stakes[seat] else (fact,)


# Between rounds


def round_order(ledger: Ledger, bank: int) -> tuple[int, ...]:
    """Return who plays a round, in turn from the bank's left, the bank last."""
    players = (seat for seat in clockwise(ledger.seats, bank + 1) if not ledger.places[seat])
    return (*(seat for seat in players if seat != bank), bank)


def left_of(ledger: Ledger, seat: int) -> int:
    """Return the next seat clockwise that is still in (G2)."""
    return next(other for other in clockwise(ledger.seats, seat + 1) if not ledger.places[other])


def going_out(ledger: Ledger) -> tuple[WentOut, ...]:
    """Whoever could neither stake nor be the bank is out; together they are ordered by chips (DB-2.2, CB-2.3, G12)."""
    terms = ledger.terms
    least = terms.player_owes * terms.min
    unable = {seat: ledger.chips[seat] for seat in ledger.still_in if ledger.chips[seat] < least}
    if not terms.limits or not unable:
        return ()
    places = shared_places(unable, first=len(ledger.still_in) - len(unable) + 1)
    return tuple(WentOut(seat, place) for seat, place in places.items())


def final_places(ledger: Ledger) -> tuple[int, ...]:
    """Those still in come first, by chips; the others have their places (G12, DB-4.1, CB-4.1)."""
    places = shared_places({seat: ledger.chips[seat] for seat in ledger.still_in})
    return tuple(place or places[seat] for seat, place in enumerate(ledger.places))


# How each fact changes chips, stakes and bank


def evolve(ledger: Ledger, fact: LedgerFact) -> Ledger:
    """Return what is left where after a fact. What happens often is asked for first."""
    chips, stakes = ledger.chips, ledger.stakes
    match fact:
        case Staked():
            return replace(
                ledger,
                chips=_with(chips, fact.seat, -fact.amount),
                stakes=_with(stakes, fact.seat, fact.amount),
                to_stake=ledger.to_stake[1:],
            )
        case StakeTaken():
            from_player = _with(chips, fact.seat, -fact.beyond)
            return replace(
                ledger,
                chips=_with(from_player, ledger.bank, fact.amount + fact.beyond),
                stakes=_with(stakes, fact.seat, -fact.amount),
            )
        case StakeReturned():
            return replace(
                ledger,
                chips=_with(chips, fact.seat, fact.amount),
                stakes=_with(stakes, fact.seat, -fact.amount),
            )
        case Paid():
            from_bank = _with(chips, ledger.bank, -fact.amount)
            return replace(
                ledger, chips=_with(from_bank, fact.seat, fact.amount), paid=(*ledger.paid, fact.seat)
            )
        case RoundStarted():
            *players, bank = fact.order
            return replace(ledger, bank=bank, bank_funds=chips[bank], to_stake=tuple(players), paid=())
        case RoundEnded():
            return replace(ledger, to_stake=())
        case BankPassed() | LotDrawn():
            return replace(ledger, bank=fact.seat)
        case RoundSatOut():
            return replace(ledger, to_stake=ledger.to_stake[1:])
        case WentOut():
            return replace(ledger, places=_with(ledger.places, fact.seat, fact.place))
        case PlayerEliminated():
            without = tuple(seat for seat in ledger.to_stake if seat != fact.seat)
            return replace(
                ledger,
                places=_with(ledger.places, fact.seat, fact.place),
                chips=_with(chips, fact.seat, -chips[fact.seat]),
                # Nobody stakes against a bank that is gone.
                to_stake=() if fact.seat == ledger.bank else without,
            )
        case _:
            assert_never(fact)


def _with(values: tuple[int, ...], seat: int, change: int) -> tuple[int, ...]:
    changed = list(values)
    changed[seat] += change
    return tuple(changed)
