"""One sentence for every fact of a match."""

from __future__ import annotations

from typing import assert_never

from services.contracts.events import bank, chance, chips, dice, match
from services.contracts.events.catalogue import MatchFact
from services.engine.words.cards import with_cards
from services.engine.words.naming import Namer, count, listed, places_in_words, seat_name

Course = match.MatchStarted | match.MatchEnded | match.MatchVoided | match.PlayerEliminated | match.WentOut
Rounds = match.RoundStarted | match.RoundEnded | dice.PlayoffStarted | bank.RoundSkipped
Fairness = match.LotDrawn | chance.ChanceCommitted | chance.ChanceRevealed | chance.SeedRevealed
Chips = chips.Staked | chips.Paid | bank.StakeTaken | bank.StakeReturned | bank.BankPassed | bank.RoundSatOut
Dice = dice.Rolled | dice.Busted | dice.Stood


def sentence(fact: MatchFact, name: Namer = seat_name) -> str:
    """Return a fact as a sentence, without the full stop."""
    if isinstance(fact, Course):
        return _course(fact, name)
    if isinstance(fact, Rounds):
        return _rounds(fact, name)
    if isinstance(fact, Fairness):
        return _fairness(fact, name)
    if isinstance(fact, Chips):
        return _chips(fact, name)
    if isinstance(fact, Dice):
        return _dice(fact, name)
    return with_cards(fact, name)


def _course(fact: Course, name: Namer) -> str:
    match fact:
        case match.MatchStarted():
            return f"A match of {fact.game} begins, with {len(fact.seats)} seats"
        case match.MatchEnded():
            return f"The match is over: {places_in_words(fact.places, name)}"
        case match.MatchVoided():
            return f"The match does not count: {fact.reason}"
        case match.PlayerEliminated(reason="left"):
            return f"{name(fact.seat)} leaves the match and takes place {fact.place}"
        case match.PlayerEliminated():
            return f"{name(fact.seat)} has run out of time and takes place {fact.place}"
        case match.WentOut():
            return f"{name(fact.seat)} is out, in place {fact.place}"
        case _:
            assert_never(fact)


def _rounds(fact: Rounds, name: Namer) -> str:
    match fact:
        case match.RoundStarted(kind="extra"):
            return f"Round {fact.round} is an extra one for the pot; {name(fact.order[0])} begins"
        case match.RoundStarted():
            return f"Round {fact.round}; {name(fact.order[0])} begins"
        case dice.PlayoffStarted():
            return f"A tie: {listed(map(name, fact.order))} play it off, {name(fact.order[0])} first"
        case bank.RoundSkipped():
            return f"Round {fact.round} is not played: {name(fact.bank)} would hold the bank, and is out"
        case match.RoundEnded(winners=()):
            return f"Round {fact.round} is over"
        case match.RoundEnded(winners=(winner,)):
            return f"{name(winner)} wins round {fact.round}"
        case match.RoundEnded():
            return f"{listed(map(name, fact.winners))} win round {fact.round}"
        case _:
            assert_never(fact)


def _fairness(fact: Fairness, name: Namer) -> str:
    match fact:
        case match.LotDrawn():
            office = {"starter": "begins", "bank": "holds the bank first", "dealer": "deals first"}
            return f"The lot falls on {name(fact.seat)}, who {office[fact.purpose]}"
        case chance.ChanceCommitted():
            return f"The chance of {_drawing(fact.round)} is fixed: {fact.commitment[:16]}…"
        case chance.ChanceRevealed():
            return f"The key to the chance of {_drawing(fact.round)} is shown: {fact.key[:16]}…"
        case chance.SeedRevealed():
            return f"The service's seed is shown: {fact.seed[:16]}…"
        case _:
            assert_never(fact)


def _drawing(round_number: int) -> str:
    return f"round {round_number}" if round_number else "the lots"


def _chips(fact: Chips, name: Namer) -> str:
    match fact:
        case chips.Staked(reason="danger"):
            return f"{name(fact.seat)} pays {count(fact.amount, 'chip')} more for the bust"
        case chips.Staked():
            return f"{name(fact.seat)} stakes {count(fact.amount, 'chip')}"
        case chips.Paid():
            source = {
                "pot": " from the pot", "supply": "", "remainder": " of what did not divide", "bank": " from the bank",
            }  # fmt: skip
            return f"{name(fact.seat)} gets {count(fact.amount, 'chip')}{source[fact.source]}"
        case bank.StakeTaken():
            beyond = f", and {fact.beyond} more" if fact.beyond else ""
            return f"The bank takes the {count(fact.amount, 'chip')} of {name(fact.seat)}{beyond}"
        case bank.StakeReturned():
            return f"{name(fact.seat)} takes back the {count(fact.amount, 'chip')} staked"
        case bank.BankPassed():
            return f"{name(fact.seat)} holds the bank"
        case bank.RoundSatOut():
            return f"{name(fact.seat)} sits the round out: the bank could not pay"
        case _:
            assert_never(fact)


def _dice(fact: Dice, name: Namer) -> str:
    match fact:
        case dice.Rolled():
            return f"{name(fact.seat)} rolled {listed(map(str, fact.draw.result))}: {fact.total}"
        case dice.Busted():
            return f"{name(fact.seat)} has bust"
        case dice.Stood(instant_win=True):
            return f"{name(fact.seat)} has exactly {fact.score} and wins at once"
        case dice.Stood():
            return f"{name(fact.seat)} stands with {fact.score}"
        case _:
            assert_never(fact)
