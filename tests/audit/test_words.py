"""Facts and moves in plain words."""

from pathlib import Path
from typing import get_args

import pytest
from msgspec import Struct

from services.contracts.events.bank import FirstCardDealt
from services.contracts.events.cards import Drew, Lapsed, MacaoCaught, Played, SuitCalled
from services.contracts.events.catalogue import MatchFact
from services.contracts.events.chance import DiceDraw
from services.contracts.events.chips import Paid, Staked
from services.contracts.events.dice import Busted, PlayoffStarted, Rolled, Stood
from services.contracts.events.match import MatchEnded, PlayerEliminated, RoundEnded, RoundStarted
from services.engine import words
from services.engine.rules.games.dice_race import Roll
from services.engine.rules.kernel import Move
from services.engine.words import move_in_words, places_in_words, sentence


@pytest.mark.parametrize(
    ("fact", "told"),
    [
        (Rolled(2, DiceDraw(1, 0, 1, (4,)), 7), "Seat 2 rolled 4: 7"),
        (Rolled(2, DiceDraw(1, 0, 2, (4, 6)), 10), "Seat 2 rolled 4 and 6: 10"),
        (Busted(0), "Seat 0 has bust"),
        (Stood(1, 8), "Seat 1 stands with 8"),
        (Stood(1, 9, instant_win=True), "Seat 1 has exactly 9 and wins at once"),
        (RoundStarted(2, "round", (1, 0)), "Round 2; Seat 1 begins"),
        (RoundStarted(9, "extra", (1, 0)), "Round 9 is an extra one for the pot; Seat 1 begins"),
        (RoundEnded(2, ()), "Round 2 is over"),
        (RoundEnded(2, (1,)), "Seat 1 wins round 2"),
        (RoundEnded(2, (0, 1, 3)), "Seat 0, Seat 1 and Seat 3 win round 2"),
        (PlayoffStarted(1, (2, 0)), "A tie: Seat 2 and Seat 0 play it off, Seat 2 first"),
        (Staked(0, 1), "Seat 0 stakes 1 chip"),
        (Staked(0, 3, "danger"), "Seat 0 pays 3 chips more for the bust"),
        (Paid(0, 1, "supply"), "Seat 0 gets 1 chip"),
        (Paid(0, 6, "pot"), "Seat 0 gets 6 chips from the pot"),
        (PlayerEliminated(1, "left", 3), "Seat 1 leaves the match and takes place 3"),
        (PlayerEliminated(1, "timeout", 3), "Seat 1 has run out of time and takes place 3"),
        (MatchEnded((2, 1, 2)), "The match is over: 1. Seat 1, 2. Seat 0 and Seat 2"),
    ],
)
def test_a_fact_in_words(fact, told):
    assert sentence(fact) == told


def test_seats_are_called_by_the_names_that_are_given():
    assert sentence(Busted(1), name=["Anna", "Bela"].__getitem__) == "Bela has bust"
    assert places_in_words((1, 2), name=["Anna", "Bela"].__getitem__) == "1. Anna, 2. Bela"


@pytest.mark.parametrize(
    ("fact", "told"),
    [
        (Played(0, ("7H", "7S")), "Seat 0 plays 7♥ and 7♠"),
        (Played(0, ("KH",), "clockwise"), "Seat 0 plays K♥; play goes clockwise now"),
        (Drew(1, ("??", "??")), "Seat 1 draws 2 cards"),
        (Drew(1, ("TH", "BJ")), "Seat 1 draws 2 cards (10♥ and the black joker)"),
        (Drew(1, ()), "Seat 1 draws no card"),
        (SuitCalled(2, "S"), "Seat 2 calls spades"),
        (FirstCardDealt(0, "??"), "Seat 0 is dealt 1 card"),
        (Lapsed(0, 5, 0), "The penalty of 5 cards before Seat 0 comes to nothing"),
        (Lapsed(0, 0, 2), "The 2 turns to sit out before Seat 0 come to nothing"),
        (MacaoCaught(0, 1, ("??",)), "Seat 1 catches Seat 0, who had not called and draws 1 card"),
    ],
)
def test_cards_in_words(fact, told):
    assert sentence(fact) == told


class Play(Move, frozen=True, tag="play"):
    cards: tuple[str, ...]
    suit: str | None = None
    macao: bool = False


class Catch(Move, frozen=True, tag="catch"):
    seat: int


class Stake(Struct, frozen=True, tag="stake", tag_field="type"):
    min: int
    max: int


@pytest.mark.parametrize(
    ("move", "told"),
    [
        (Roll(), "roll"),
        (Stake(0, 5), "stake 0 to 5"),
        (Play(("7H",)), "play 7♥"),
        (Play(("AH",), "S", macao=True), "play A♥ calling spades with macao"),
        (Catch(0), "catch Seat 0"),
    ],
)
def test_moves_in_words(move, told):
    assert move_in_words(move) == told


def test_every_fact_of_a_match_has_a_case():
    """The type check holds this too; here it is told by name which one is missing."""
    source = "".join(path.read_text() for path in Path(words.__file__).parent.glob("*.py"))
    assert [fact.__name__ for fact in get_args(MatchFact) if f".{fact.__name__}(" not in source] == []
